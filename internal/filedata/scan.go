package filedata

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"unicode/utf8"
)

// fields returns the fields of a JSON object. The file's content is most of it, so that going through it as few times as possible is
// what counts: encoding/json takes four turns, this two. Whatever is not plain goes to encoding/json, errors included.
func fields(raw []byte) (map[string]json.RawMessage, error) {
	s := scanner{b: raw}
	if m, err := s.object(); err == nil {
		return m, nil
	}
	var m map[string]json.RawMessage
	err := json.Unmarshal(raw, &m)
	return m, err
}

// errScan says that the scanner leaves the input to encoding/json.
var errScan = errors.New("not a plain object")

// scanner cuts an object into its fields. Strings among them are not checked; unquote does that.
type scanner struct {
	b []byte
	i int
}

func (s *scanner) space() {
	for s.i < len(s.b) && (s.b[s.i] == ' ' || s.b[s.i] == '\n' || s.b[s.i] == '\t' || s.b[s.i] == '\r') {
		s.i++
	}
}

// next skips space and takes the byte c when it is next.
func (s *scanner) next(c byte) bool {
	s.space()
	if s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	return false
}

func (s *scanner) object() (map[string]json.RawMessage, error) {
	if !s.next('{') {
		return nil, errScan
	}
	m := make(map[string]json.RawMessage, 8)
	for more := !s.next('}'); more; more = s.next(',') {
		s.space()
		name, err := s.text()
		if err != nil || !s.next(':') {
			return nil, errScan
		}
		key, err := unquote(name)
		if err != nil {
			return nil, err
		}
		if _, twice := m[key]; twice {
			return nil, errScan
		}
		if m[key], err = s.value(); err != nil {
			return nil, err
		}
	}
	if len(m) > 0 && !s.next('}') {
		return nil, errScan
	}
	if s.space(); s.i != len(s.b) {
		return nil, errScan
	}
	return m, nil
}

// text takes a string with its quotes.
func (s *scanner) text() ([]byte, error) {
	if s.i >= len(s.b) || s.b[s.i] != '"' {
		return nil, errScan
	}
	for end := s.i + 1; ; end++ {
		n := bytes.IndexByte(s.b[end:], '"')
		if n < 0 {
			return nil, errScan
		}
		end += n
		escapes := 0
		for s.b[end-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			out := s.b[s.i : end+1]
			s.i = end + 1
			return out, nil
		}
	}
}

// value takes a value; all but strings are checked.
func (s *scanner) value() (json.RawMessage, error) {
	s.space()
	from, depth := s.i, 0
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case '"':
			t, err := s.text()
			if err != nil {
				return nil, err
			}
			if depth == 0 && len(t) == s.i-from {
				return t, nil
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if depth < 0 || depth == 0 && s.b[s.i] == ',' {
			break
		}
		s.i++
	}
	out := bytes.TrimRight(s.b[from:s.i], " \n\t\r")
	if !json.Valid(out) {
		return nil, errScan
	}
	return out, nil
}

// unquote decodes a string with its quotes, as encoding/json does.
func unquote(raw []byte) (string, error) {
	in := raw[1 : len(raw)-1]
	if !utf8.Valid(in) {
		return slowUnquote(raw)
	}
	out := make([]byte, 0, len(in))
	for i := 0; i < len(in); {
		from := i
		for i < len(in) && in[i] != '\\' && in[i] >= ' ' {
			i++
		}
		out = append(out, in[from:i]...)
		if i == len(in) {
			break
		}
		c, width := unescape(in[i:])
		if width == 0 {
			return slowUnquote(raw)
		}
		out = utf8.AppendRune(out, c)
		i += width
	}
	return string(out), nil
}

func slowUnquote(raw []byte) (s string, err error) {
	err = json.Unmarshal(raw, &s)
	return s, err
}

// unescape decodes one escape; width 0 means that it takes more than that.
func unescape(b []byte) (c rune, width int) {
	if len(b) < 2 || b[0] != '\\' {
		return 0, 0
	}
	switch b[1] {
	case '"', '\\', '/':
		return rune(b[1]), 2
	case 'n':
		return '\n', 2
	case 't':
		return '\t', 2
	case 'r':
		return '\r', 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'u':
		if len(b) < 6 {
			return 0, 0
		}
		n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
		if c = rune(n); err == nil && utf8.ValidRune(c) { // halves of a pair are none
			return c, 6
		}
	}
	return 0, 0
}
