package jsonenc

import (
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

const hex = "0123456789abcdef"

// String appends a quoted string. Invalid UTF-8 becomes U+FFFD.
func String[S ~string](b []byte, s S) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(string(s[i:]))
			switch {
			case r == utf8.RuneError && n == 1:
				b = append(b, s[start:i]...)
				b = append(b, `\ufffd`...)
			case r == '\u2028' || r == '\u2029':
				b = append(b, s[start:i]...)
				b = append(b, `\u202`...)
				b = append(b, hex[r&0xf])
			default:
				i += n
				continue
			}
			i += n
			start = i
			continue
		}
		if c >= 0x20 && c != '"' && c != '\\' {
			i++
			continue
		}
		b = append(b, s[start:i]...)
		b = escape(b, c)
		i++
		start = i
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

func escape(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	case '\b':
		return append(b, '\\', 'b')
	case '\f':
		return append(b, '\\', 'f')
	}
	return append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
}

// Object builds a JSON object field by field.
type Object struct {
	b     []byte
	comma bool
	err   error
}

// Begin starts an object at the end of b.
func Begin(b []byte) Object { return Object{b: append(b, '{')} }

// End closes the object.
func (o *Object) End() ([]byte, error) { return append(o.b, '}'), o.err }

func (o *Object) key(k string) {
	if o.comma {
		o.b = append(o.b, ',')
	}
	o.comma = true
	o.b = append(o.b, '"')
	o.b = append(o.b, k...)
	o.b = append(o.b, '"', ':')
}

// String appends a string field.
func (o *Object) String(k, v string) {
	o.key(k)
	o.b = String(o.b, v)
}

// NonEmpty appends a string field unless it is empty.
func (o *Object) NonEmpty(k, v string) {
	if v != "" {
		o.String(k, v)
	}
}

// Int appends a number.
func (o *Object) Int(k string, v int64) {
	o.key(k)
	o.b = strconv.AppendInt(o.b, v, 10)
}

// True appends a boolean field that is true; false is left out.
func (o *Object) True(k string, v bool) {
	if v {
		o.key(k)
		o.b = append(o.b, "true"...)
	}
}

// Raw appends a field that somebody else encoded, unless it is empty. What is no JSON is an error, as with encoding/json: it
// would make everything around it unreadable.
func (o *Object) Raw(k string, v json.RawMessage) {
	if len(v) > 0 && !json.Valid(v) {
		o.fail(fmt.Errorf("%s: not valid JSON: %.40q", k, v))
		return
	}
	o.Trusted(k, v)
}

// Trusted is Raw without the check, for what this program has just encoded.
func (o *Object) Trusted(k string, v json.RawMessage) {
	if len(v) > 0 {
		o.key(k)
		o.b = append(o.b, v...)
	}
}

// Value appends any value with encoding/json.
func (o *Object) Value(k string, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		o.fail(err)
		return
	}
	o.Trusted(k, raw)
}

// Append appends a field whose value f writes.
func (o *Object) Append(k string, f func([]byte) ([]byte, error)) {
	o.key(k)
	b, err := f(o.b)
	if err != nil {
		o.fail(err)
		return
	}
	o.b = b
}

func (o *Object) fail(err error) {
	if o.err == nil {
		o.err = err
	}
}
