package glob

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

type tokenKind uint8

const (
	literal tokenKind = iota
	anyOne
	star
	set
)

type token struct {
	kind tokenKind
	r    rune
	set  *charSet
}

// segment is the compiled pattern of one name.
type segment struct {
	globstar bool
	// exact is the whole pattern when it holds no wildcard.
	exact  string
	plain  bool
	tokens []token
	// suffix is set for "*" followed by plain text, the commonest pattern.
	suffix   string
	isSuffix bool
	dot      bool // begins with a literal dot
	decode   decoder
}

type charSet struct {
	negate bool
	ranges [][2]rune
	posix  []func(rune) bool
}

func (c *charSet) has(r rune) bool {
	for _, x := range c.ranges {
		if r >= x[0] && r <= x[1] {
			return !c.negate
		}
	}
	for _, f := range c.posix {
		if f(r) {
			return !c.negate
		}
	}
	return c.negate
}

// decoder reads the first character of a text and its length.
type decoder func(string) (rune, int)

// runes takes whole characters; a byte that is no UTF-8 equals only itself.
func runes(s string) (rune, int) {
	r, n := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && n == 1 {
		r = invalid(s[0])
	}
	return r, n
}

// bytewise takes bytes, as git and ripgrep do in ignore files.
func bytewise(s string) (rune, int) {
	if s[0] < utf8.RuneSelf {
		return rune(s[0]), 1
	}
	return invalid(s[0]), 1
}

// compileSegment reads the pattern of one name; false means that it matches nothing (an unclosed set, a trailing backslash).
func compileSegment(p string, decode decoder) (segment, bool) {
	s := segment{plain: true, decode: decode}
	var lit strings.Builder
	for i := 0; i < len(p); {
		c := p[i]
		switch c {
		case '*':
			s.plain = false
			if n := len(s.tokens); n == 0 || s.tokens[n-1].kind != star {
				s.tokens = append(s.tokens, token{kind: star})
			}
			i++
		case '?':
			s.plain = false
			s.tokens = append(s.tokens, token{kind: anyOne})
			i++
		case '[':
			cs, n, ok := compileSet(p[i:], decode)
			if !ok {
				return segment{}, false
			}
			s.plain = false
			s.tokens = append(s.tokens, token{kind: set, set: cs})
			i += n
		default:
			if c == '\\' {
				i++
				if i == len(p) {
					return segment{}, false
				}
			}
			r, n := decode(p[i:])
			s.tokens = append(s.tokens, token{kind: literal, r: r})
			lit.WriteString(p[i : i+n])
			i += n
		}
	}
	s.exact = lit.String()
	s.dot = len(s.tokens) > 0 && s.tokens[0].kind == literal && s.tokens[0].r == '.'
	if len(s.tokens) > 1 && s.tokens[0].kind == star && !hasWildcard(s.tokens[1:]) {
		s.isSuffix, s.suffix = true, s.exact
	}
	return s, true
}

// invalid maps a byte that is no UTF-8 to a number outside Unicode, so that it equals only itself.
func invalid(b byte) rune { return unicode.MaxRune + 1 + rune(b) }

func hasWildcard(ts []token) bool {
	for _, t := range ts {
		if t.kind != literal {
			return true
		}
	}
	return false
}

// compileSet reads "[...]" and returns its length.
func compileSet(p string, decode decoder) (*charSet, int, bool) {
	cs := &charSet{}
	i := 1
	if i < len(p) && (p[i] == '!' || p[i] == '^') {
		cs.negate = true
		i++
	}
	first := true
	for {
		if i >= len(p) {
			return nil, 0, false
		}
		if p[i] == ']' && !first {
			return cs, i + 1, true
		}
		first = false
		if strings.HasPrefix(p[i:], "[:") {
			end := strings.Index(p[i+2:], ":]")
			if end >= 0 {
				f, ok := posixClass(p[i+2 : i+2+end])
				if !ok {
					return nil, 0, false
				}
				cs.posix = append(cs.posix, f)
				i += 2 + end + 2
				continue
			}
		}
		lo, n, ok := setRune(p[i:], decode)
		if !ok {
			return nil, 0, false
		}
		i += n
		hi := lo
		if i+1 < len(p) && p[i] == '-' && p[i+1] != ']' {
			hi, n, ok = setRune(p[i+1:], decode)
			if !ok {
				return nil, 0, false
			}
			i += 1 + n
		}
		cs.ranges = append(cs.ranges, [2]rune{lo, hi})
	}
}

func setRune(p string, decode decoder) (rune, int, bool) {
	esc := 0
	if strings.HasPrefix(p, `\`) {
		esc = 1
	}
	if len(p) <= esc {
		return 0, 0, false
	}
	r, n := decode(p[esc:])
	return r, n + esc, true
}

func posixClass(name string) (func(rune) bool, bool) {
	in := func(f func(rune) bool) (func(rune) bool, bool) {
		return func(r rune) bool { return r < utf8.RuneSelf && f(r) }, true
	}
	switch name {
	case "alpha":
		return in(unicode.IsLetter)
	case "digit":
		return in(unicode.IsDigit)
	case "alnum":
		return in(func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
	case "upper":
		return in(unicode.IsUpper)
	case "lower":
		return in(unicode.IsLower)
	case "space":
		return in(unicode.IsSpace)
	case "blank":
		return in(func(r rune) bool { return r == ' ' || r == '\t' })
	case "punct":
		return in(func(r rune) bool { return r > ' ' && r < 0x7f && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	case "cntrl":
		return in(unicode.IsControl)
	case "graph":
		return in(func(r rune) bool { return r > ' ' && r < 0x7f })
	case "print":
		return in(func(r rune) bool { return r >= ' ' && r < 0x7f })
	case "xdigit":
		return in(func(r rune) bool { return unicode.Is(unicode.ASCII_Hex_Digit, r) })
	}
	return nil, false
}

// match compares a whole name. dotted says that wildcards do not match a dot at its start.
func (s *segment) match(name string, dotted bool) bool {
	if s.globstar {
		return !dotted || !strings.HasPrefix(name, ".")
	}
	if s.plain {
		return name == s.exact
	}
	if dotted && !s.dot && strings.HasPrefix(name, ".") {
		return false
	}
	if s.isSuffix {
		return strings.HasSuffix(name, s.suffix)
	}
	return s.matchTokens(name)
}

// matchTokens goes back to the last star only, which is enough since a star takes anything: the time is at most len(tokens)*len(name).
func (s *segment) matchTokens(name string) bool {
	ts := s.tokens
	ti, ni := 0, 0
	starTi, starNi := -1, 0
	for ni < len(name) {
		r, n := s.decode(name[ni:])
		if ti < len(ts) {
			t := ts[ti]
			if t.kind == star {
				starTi, starNi = ti, ni
				ti++
				continue
			}
			if t.kind == anyOne || t.kind == literal && t.r == r || t.kind == set && t.set.has(r) {
				ti++
				ni += n
				continue
			}
		}
		if starTi < 0 {
			return false
		}
		_, n = s.decode(name[starNi:])
		starNi += n
		ti, ni = starTi+1, starNi
	}
	for ti < len(ts) && ts[ti].kind == star {
		ti++
	}
	return ti == len(ts)
}
