package glob

import "strings"

// IgnorePattern is one compiled pattern of a gitignore file: no dot is special, "**" crosses directories, and "?"
// takes one byte.
type IgnorePattern struct {
	// Anchored patterns are compared with the whole path below the directory of the file, others with the last name.
	Anchored bool
	segs     []segment
}

// CompileIgnore reads a pattern whose "!", trailing "/" and trailing spaces were taken off. False means that it matches nothing.
func CompileIgnore(p string) (IgnorePattern, bool) {
	ip := IgnorePattern{Anchored: strings.Contains(p, "/")}
	p = strings.TrimPrefix(p, "/")
	if p == "" {
		return ip, false
	}
	parts := strings.Split(p, "/")
	for _, part := range parts {
		if part == "**" && ip.Anchored {
			if n := len(ip.segs); n == 0 || !ip.segs[n-1].globstar {
				ip.segs = append(ip.segs, segment{globstar: true})
			}
			continue
		}
		if part == "" {
			return ip, false
		}
		s, ok := compileSegment(part, bytewise)
		if !ok {
			return ip, false
		}
		ip.segs = append(ip.segs, s)
	}
	return ip, true
}

// Match compares the path below the directory of the file.
func (p *IgnorePattern) Match(rel string) bool {
	if !p.Anchored {
		return p.segs[0].match(rel[strings.LastIndexByte(rel, '/')+1:], false)
	}
	if len(p.segs) == 1 && !p.segs[0].globstar {
		return !strings.Contains(rel, "/") && p.segs[0].match(rel, false)
	}
	return matchParts(p.segs, strings.Split(rel, "/"), false)
}
