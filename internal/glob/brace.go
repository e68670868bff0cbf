package glob

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// maxAlternatives bounds what braces expand to.
	maxAlternatives = 1000
	// maxPattern bounds the length of a pattern, since unnested braces are looked for again and again.
	maxPattern = 32 << 10
)

var (
	errLimit    = errors.New("too many alternatives")
	errUnclosed = errors.New("unclosed brace")
)

// expand returns the alternatives of a pattern with braces, in order. Escapes stay as they are.
func expand(p string) ([]string, error) {
	open, end, items, err := firstBrace(p)
	if err != nil {
		return nil, err
	}
	if open < 0 {
		return []string{p}, nil
	}
	rest, err := expand(p[end:])
	if err != nil {
		return nil, err
	}
	var heads []string
	for _, it := range items {
		inner, err := expand(it)
		if err != nil {
			return nil, err
		}
		if heads = append(heads, inner...); len(heads) > maxAlternatives {
			return nil, errLimit
		}
	}
	if len(heads)*len(rest) > maxAlternatives {
		return nil, errLimit
	}
	out := make([]string, 0, len(heads)*len(rest))
	for _, h := range heads {
		for _, r := range rest {
			out = append(out, p[:open]+h+r)
		}
	}
	return out, nil
}

// firstBrace finds the first brace that expands: where it opens, where it ends, and its items. A brace with a single item is plain
// text. open is -1 when there is none.
func firstBrace(p string) (open, end int, items []string, err error) {
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '\\':
			i++
		case '{':
			end, items, ok := braceItems(p[i:])
			if !ok {
				return 0, 0, nil, errUnclosed
			}
			if len(items) == 1 {
				items, err = sequence(items[0])
				if err != nil {
					return 0, 0, nil, err
				}
			}
			if len(items) > 0 {
				return i, i + end, items, nil
			}
		}
	}
	return -1, 0, nil, nil
}

// braceItems splits "{a,{b,c}}..." at the commas of its outer level.
func braceItems(p string) (end int, items []string, ok bool) {
	depth, start := 0, 1
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '\\':
			i++
		case '{':
			depth++
		case ',':
			if depth == 1 {
				items = append(items, p[start:i])
				start = i + 1
			}
		case '}':
			if depth--; depth == 0 {
				return i + 1, append(items, p[start:i]), true
			}
		}
	}
	return 0, nil, false
}

// sequence expands "1..3", "01..10", "a..c" and "1..9..2"; other texts give nothing.
func sequence(s string) ([]string, error) {
	parts := strings.Split(s, "..")
	if len(parts) != 2 && len(parts) != 3 {
		return nil, nil
	}
	by := 1
	if len(parts) == 3 {
		n, err := strconv.Atoi(parts[2])
		if err != nil || n == 0 {
			return nil, nil //nolint:nilerr // plain text
		}
		by = max(n, -n)
	}
	from, err1 := strconv.Atoi(parts[0])
	to, err2 := strconv.Atoi(parts[1])
	if err1 == nil && err2 == nil {
		width := 0
		if padded(parts[0]) || padded(parts[1]) {
			width = max(len(parts[0]), len(parts[1]))
		}
		return count(from, to, by, func(n int) string { return pad(n, width) })
	}
	a, n := utf8.DecodeRuneInString(parts[0])
	b, m := utf8.DecodeRuneInString(parts[1])
	if n != len(parts[0]) || m != len(parts[1]) || !letter(a) || !letter(b) {
		return nil, nil
	}
	return count(int(a), int(b), by, func(n int) string { return string(rune(n)) })
}

func letter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

func padded(s string) bool {
	s = strings.TrimPrefix(s, "-")
	return len(s) > 1 && s[0] == '0'
}

func pad(n, width int) string {
	s := strconv.Itoa(max(n, -n))
	sign := ""
	if n < 0 {
		sign = "-"
	}
	return sign + strings.Repeat("0", max(0, width-len(s)-len(sign))) + s
}

func count(from, to, by int, text func(int) string) ([]string, error) {
	span := to - from
	if span < 0 {
		span = -span
	}
	if span < 0 || span/by >= maxAlternatives {
		return nil, errLimit
	}
	var out []string
	for i := 0; i <= span/by; i++ {
		if from <= to {
			out = append(out, text(from+i*by))
		} else {
			out = append(out, text(from-i*by))
		}
	}
	return out, nil
}
