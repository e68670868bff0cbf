package textio

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// HeadSize is how many bytes at the start of a file decide whether it is binary.
const HeadSize = 8 << 10

// Display turns bytes into a valid string. Every single byte that is no UTF-8 becomes one U+FFFD, so that characters are counted
// alike wherever a text is cut.
func Display(b []byte) (s string, invalid bool) {
	if utf8.Valid(b) {
		return string(b), false
	}
	var sb strings.Builder
	sb.Grow(len(b) + 16)
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		sb.WriteRune(r)
		b = b[n:]
	}
	return sb.String(), true
}

// Binary reports whether the start of a file says that it is no text: a NUL, or more than a tenth of bytes that are no UTF-8.
// Only the first [HeadSize] bytes count. whole says that head is the whole file; else a rune cut at its end is not held against it.
func Binary(head []byte, whole bool) bool {
	if len(head) > HeadSize {
		head, whole = head[:HeadSize], false
	}
	if bytes.IndexByte(head, 0) >= 0 {
		return true
	}
	bad := 0
	for rest := head; len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		if r == utf8.RuneError && n == 1 {
			if !whole && !utf8.FullRune(rest) {
				break
			}
			bad++
		}
		rest = rest[n:]
	}
	return bad*10 > len(head)
}

// CutRunes returns the longest prefix of b that is at most n bytes long and does not end inside a rune, but never less than the first
// rune.
func CutRunes(b []byte, n int) []byte {
	if len(b) <= n {
		return b
	}
	for back := 0; back < utf8.UTFMax && n-back > 0; back++ {
		if utf8.RuneStart(b[n-back]) {
			return b[:n-back]
		}
	}
	_, first := utf8.DecodeRune(b)
	return b[:max(n, first)]
}

// runeCounter counts runes in a text that comes in pieces.
type runeCounter struct {
	n    int
	rest []byte
}

func (c *runeCounter) add(b []byte) {
	if len(c.rest) > 0 {
		for len(b) > 0 && !utf8.FullRune(c.rest) {
			c.rest, b = append(c.rest, b[0]), b[1:]
		}
		if !utf8.FullRune(c.rest) {
			return
		}
		// the bytes that were joined may be a rune, or an invalid byte with something after it
		joined := c.rest
		for len(joined) > 0 && utf8.FullRune(joined) {
			_, n := utf8.DecodeRune(joined)
			joined = joined[n:]
			c.n++
		}
		c.rest = append(c.rest[:0], joined...)
		if len(c.rest) > 0 {
			c.add(b)
			return
		}
	}
	tail := len(b)
	for back := 1; back < utf8.UTFMax && back <= len(b); back++ {
		if utf8.RuneStart(b[len(b)-back]) {
			if !utf8.FullRune(b[len(b)-back:]) {
				tail = len(b) - back
			}
			break
		}
	}
	c.n += utf8.RuneCount(b[:tail])
	c.rest = append(c.rest[:0], b[tail:]...)
}

func (c *runeCounter) total() int { return c.n + utf8.RuneCount(c.rest) }
