package textio

import "unicode/utf8"

// skipper drops a number of characters at the start of a line that comes in pieces.
type skipper struct {
	left int
	rest []byte
}

// skip returns what of b lies after the dropped characters.
func (s *skipper) skip(b []byte) []byte {
	if s.left == 0 && len(s.rest) == 0 {
		return b
	}
	b = append(s.rest, b...)
	s.rest = nil
	for s.left > 0 && len(b) > 0 {
		if !utf8.FullRune(b) {
			s.rest = append([]byte(nil), b...)
			return nil
		}
		_, n := utf8.DecodeRune(b)
		b = b[n:]
		s.left--
	}
	return b
}

// flush returns what was held back at the end of the line: the invalid bytes after the dropped characters.
func (s *skipper) flush() []byte {
	b := s.rest
	s.rest = nil
	for s.left > 0 && len(b) > 0 {
		_, n := utf8.DecodeRune(b)
		b = b[n:]
		s.left--
	}
	return b
}
