package filesystem

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// resultCap is how many characters of paths or matches ls, glob and grep show.
	resultCap = 80000
	// truncatedItem ends a list that was cut.
	truncatedItem = "... [results truncated, try being more specific with your parameters]"
	noFiles       = "No files found"
)

// PathList is the form in which ls and glob print paths.
type PathList string

// The forms of path lists.
const (
	// List is a list literal with quoted elements: ['/a', '/b'].
	List PathList = "list"
	// Lines is one path per line; a path with control characters is quoted as in [List].
	Lines PathList = "lines"
)

// render prints paths under the cap, or says that there are none.
func (f PathList) render(paths []string) string {
	if len(paths) == 0 {
		return noFiles
	}
	paths = capped(paths)
	var b strings.Builder
	for i, p := range paths {
		switch {
		case f == Lines && i > 0:
			b.WriteByte('\n')
		case i > 0:
			b.WriteString(", ")
		}
		if f == Lines && strings.IndexFunc(p, unprintable) < 0 {
			b.WriteString(p)
			continue
		}
		quote(&b, p)
	}
	if f == Lines {
		return b.String()
	}
	return "[" + b.String() + "]"
}

// capped keeps the share of the paths that fits into [resultCap] and says so in a last element.
func capped(paths []string) []string {
	sum := 0
	for _, p := range paths {
		sum += utf8.RuneCountInString(p)
	}
	if sum <= resultCap {
		return paths
	}
	keep := len(paths) * resultCap / sum
	return append(paths[:keep:keep], truncatedItem)
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// quote writes a string as a Python literal: the quotes that need the fewest escapes, printable characters as they are.
func quote(b *strings.Builder, s string) {
	q := byte('\'')
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		q = '"'
	}
	b.WriteByte(q)
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(b, `\udc%02x`, s[0])
		case r == rune(q) || r == '\\':
			b.WriteByte('\\')
			b.WriteByte(s[0])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(r):
			b.WriteString(s[:n])
		case r < 0x100:
			fmt.Fprintf(b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(b, `\u%04x`, r)
		default:
			fmt.Fprintf(b, `\U%08x`, r)
		}
		s = s[n:]
	}
	b.WriteByte(q)
}
