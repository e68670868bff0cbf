package nskey

import (
	"fmt"
	"strings"
)

// end closes a label. A NUL inside a label is written as NUL 0xFF, so that end sorts before everything a longer label can go on with.
const (
	end    = "\x00\x01"
	escape = "\x00\xff"
)

// Encode returns the string of a namespace; "" for the empty one.
func Encode(labels []string) string {
	n := 0
	for _, l := range labels {
		n += len(l) + len(end)
	}
	var b strings.Builder
	b.Grow(n)
	for _, l := range labels {
		if strings.IndexByte(l, 0) >= 0 {
			l = strings.ReplaceAll(l, "\x00", escape)
		}
		b.WriteString(l)
		b.WriteString(end)
	}
	return b.String()
}

// Decode returns the labels of a string that Encode made.
func Decode(s string) ([]string, error) {
	var labels []string
	for s != "" {
		label, rest, ok := strings.Cut(s, end)
		if !ok {
			return nil, fmt.Errorf("%q is no encoded namespace", s)
		}
		labels = append(labels, strings.ReplaceAll(label, escape, "\x00"))
		s = rest
	}
	return labels, nil
}

// Next returns the smallest string after every string that begins with prefix, "" when there is none.
func Next(prefix string) string {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xff {
			return prefix[:i] + string([]byte{prefix[i] + 1})
		}
	}
	return ""
}
