package glob

import (
	"errors"
	"fmt"
	"strings"
)

// PatternError says that a pattern is refused. Its text is the one that file-tools.md 2.6 gives.
type PatternError struct {
	Pattern string
	text    string
}

// Error returns the text.
func (e *PatternError) Error() string { return e.text }

// Is reports whether target is [ErrPattern].
func (e *PatternError) Is(target error) bool { return target == ErrPattern }

// Matcher matches paths below a search root in the language of the glob tool. The zero value matches nothing.
type Matcher struct {
	// bare patterns hold no slash and are compared with the last name only.
	bare bool
	alts [][]segment
}

// Compile reads a pattern of the glob tool. A pattern that can match nothing (empty, unclosed, ending with a slash) is no error.
// A ".." component and more than 1,000 brace alternatives are a [*PatternError].
func Compile(pattern string) (*Matcher, error) {
	m := &Matcher{bare: !strings.Contains(pattern, "/")}
	if hasDotDot(pattern) {
		return nil, &PatternError{pattern, fmt.Sprintf("Path traversal not allowed in glob pattern '%s'", pattern)}
	}
	var alts []string
	err := errLimit
	if len(pattern) <= maxPattern {
		alts, err = expand(pattern)
	}
	if errors.Is(err, errLimit) {
		return nil, &PatternError{pattern, fmt.Sprintf("Invalid glob pattern '%s': Pattern limit exceeded the limit of %d", pattern, maxAlternatives)}
	}
	if err != nil {
		return m, nil //nolint:nilerr // an unclosed brace matches nothing, and is no error
	}
	for _, a := range alts {
		if hasDotDot(a) {
			return nil, &PatternError{pattern, fmt.Sprintf("Path traversal not allowed in glob pattern '%s'", pattern)}
		}
		if segs, ok := m.compile(a); ok {
			m.alts = append(m.alts, segs)
		}
	}
	return m, nil
}

func hasDotDot(p string) bool {
	for part := range strings.SplitSeq(p, "/") {
		if part == ".." {
			return true
		}
	}
	return false
}

// compile reads one alternative; false means that it matches nothing.
func (m *Matcher) compile(p string) ([]segment, bool) {
	if p == "" || strings.HasSuffix(p, "/") {
		return nil, false
	}
	var segs []segment
	for part := range strings.SplitSeq(p, "/") {
		if part == "" {
			continue
		}
		if part == "**" && !m.bare {
			if n := len(segs); n == 0 || !segs[n-1].globstar {
				segs = append(segs, segment{globstar: true})
			}
			continue
		}
		s, ok := compileSegment(part, runes)
		if !ok {
			return nil, false
		}
		segs = append(segs, s)
	}
	return segs, len(segs) > 0
}

// Match reports whether a path matches. The path is relative to the search root, without a leading slash.
func (m *Matcher) Match(rel string) bool {
	if m.bare {
		name := rel[strings.LastIndexByte(rel, '/')+1:]
		for _, a := range m.alts {
			if len(a) == 1 && a[0].match(name, true) {
				return true
			}
		}
		return false
	}
	parts := strings.Split(rel, "/")
	for _, a := range m.alts {
		if matchParts(a, parts, true) {
			return true
		}
	}
	return false
}

// Bare reports whether the pattern holds no slash and so speaks of names at any depth.
func (m *Matcher) Bare() bool { return m.bare }

// Below reports whether something below a directory may match. The directory is relative to the search root.
func (m *Matcher) Below(dir string) bool {
	if m.bare {
		return len(m.alts) > 0
	}
	parts := strings.Split(dir, "/")
	for _, a := range m.alts {
		if matchPrefix(a, parts) {
			return true
		}
	}
	return false
}

// matchParts compares names with segments; a globstar takes any number of names that do not begin with a dot (with dots: that do).
func matchParts(segs []segment, parts []string, dotted bool) bool {
	// reach[j] tells whether the segments so far can take exactly the first j names
	reach := make([]bool, len(parts)+1)
	reach[0] = true
	for i, s := range segs {
		if s.globstar {
			reach = spread(reach, parts, dotted, i > 0 && i == len(segs)-1)
			continue
		}
		for j := len(parts); j > 0; j-- {
			reach[j] = reach[j-1] && s.match(parts[j-1], dotted)
		}
		reach[0] = false
	}
	return reach[len(parts)]
}

// spread is the reach of a globstar. At the end of a longer pattern it takes at least one name: "a/**" does not cover a.
func spread(reach []bool, parts []string, dotted, some bool) []bool {
	next := make([]bool, len(reach))
	for j, p := range parts {
		next[j+1] = (reach[j] || next[j]) && !(dotted && strings.HasPrefix(p, "."))
	}
	if !some {
		for j, r := range reach {
			next[j] = next[j] || r
		}
	}
	return next
}

// matchPrefix reports whether the names can be the start of a longer match.
func matchPrefix(segs []segment, parts []string) bool {
	reach := make([]bool, len(segs)+1) // reach[i]: the names so far took exactly the first i segments
	reach[0] = true
	skip := func() {
		for i, s := range segs {
			if s.globstar && reach[i] {
				reach[i+1] = true
			}
		}
	}
	skip()
	for _, p := range parts {
		next := make([]bool, len(segs)+1)
		for i, s := range segs {
			if !reach[i] {
				continue
			}
			if s.globstar {
				if !strings.HasPrefix(p, ".") {
					next[i], next[i+1] = true, true
				}
			} else if s.match(p, true) {
				next[i+1] = true
			}
		}
		reach = next
		skip()
	}
	for i := range segs {
		if reach[i] {
			return true
		}
	}
	return len(segs) > 0 && segs[len(segs)-1].globstar && reach[len(segs)]
}
