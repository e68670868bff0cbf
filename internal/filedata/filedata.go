package filedata

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Encoding says how Data.Content holds the bytes of a file.
type Encoding string

// The encodings. Empty means UTF8.
const (
	UTF8   Encoding = "utf-8"
	Base64 Encoding = "base64"
)

// Data is a file as it is stored, in the form that Deep Agents stores it. Its JSON is an object with the fields content,
// encoding, created_at, modified_at and whatever else was there. Content that was a list of lines, the older form, is joined by
// LF and goes back as a list until it is written anew.
type Data struct {
	// Content is the text, or the bytes in base64.
	Content  string
	Encoding Encoding
	// CreatedAt and ModifiedAt are times in RFC 3339, UTC when this package wrote them; empty when not known.
	CreatedAt, ModifiedAt string
	// Extra are the fields that this package does not know. They survive writes. Do not change the map.
	Extra map[string]json.RawMessage

	lines bool // stored as a list of lines
}

// Format is the form that content is written in. Both are read.
type Format uint8

// The formats; 0 means V2.
const (
	// V1 is the older form: the content of a text is a list of lines, and there is no encoding. Content that is not valid UTF-8
	// has no such form and is written as V2.
	V1 Format = iota + 1
	// V2 is one string and its encoding.
	V2
)

// Check refuses a format that does not exist.
func (f Format) Check() error {
	if f > V2 {
		return fmt.Errorf("unknown file format %d, want V1 or V2", f)
	}
	return nil
}

// New returns the data of a file that is created at a time. Content that is not valid UTF-8 is stored in base64.
func New(content string, now time.Time, f Format) Data {
	return Data{CreatedAt: stamp(now)}.With(content, now, f)
}

// With returns the file with new content, modified at a time.
func (d Data) With(content string, now time.Time, f Format) Data {
	d.ModifiedAt = stamp(now)
	d.lines = f == V1 && utf8.ValidString(content)
	switch {
	case d.lines:
		d.Content, d.Encoding = content, ""
	case utf8.ValidString(content):
		d.Content, d.Encoding = content, UTF8
	default:
		d.Content, d.Encoding = base64.StdEncoding.EncodeToString([]byte(content)), Base64
	}
	return d
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// Bytes returns the content of the file.
func (d Data) Bytes() ([]byte, error) {
	s, err := d.Text()
	return []byte(s), err
}

// Text returns the content of the file, which need not be valid UTF-8.
func (d Data) Text() (string, error) {
	if d.Encoding != Base64 {
		return d.Content, nil
	}
	b, err := base64.StdEncoding.DecodeString(d.Content)
	if err != nil {
		return "", fmt.Errorf("the stored content is not valid base64: %w", err)
	}
	return string(b), nil
}

// ModTime returns the zero time when the stamp is missing or no time. Stamps without an offset are UTC.
func (d Data) ModTime() time.Time {
	for _, layout := range [...]string{time.RFC3339, "2006-01-02T15:04:05"} {
		if t, err := time.Parse(layout, d.ModifiedAt); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

// MarshalJSON encodes the known fields in a fixed order, then the others sorted by name.
func (d Data) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	field := func(name string, v any) error {
		raw, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("field %q: %w", name, err)
		}
		key, err := json.Marshal(name)
		if err != nil {
			return err
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(raw)
		return nil
	}
	if err := field("content", d.stored()); err != nil {
		return nil, err
	}
	for _, f := range [...]struct{ name, value string }{
		{"encoding", string(d.Encoding)}, {"created_at", d.CreatedAt}, {"modified_at", d.ModifiedAt},
	} {
		if f.value == "" {
			continue
		}
		if err := field(f.name, f.value); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.Extra)) {
		if err := field(name, d.Extra[name]); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func (d Data) stored() any {
	switch {
	case !d.lines:
		return d.Content
	case d.Content == "":
		return []string{}
	}
	return strings.Split(d.Content, "\n")
}

// UnmarshalJSON decodes both forms of content. A null where a text belongs is as good as no field.
func (d *Data) UnmarshalJSON(raw []byte) error {
	fields, err := fields(raw)
	if err != nil {
		return fmt.Errorf("a file must be a JSON object: %w", err)
	}
	if fields == nil {
		return fmt.Errorf("a file must be a JSON object, got null")
	}
	var out Data
	content, ok := fields["content"]
	if !ok {
		return &NoContentError{Fields: slices.Sorted(maps.Keys(fields))}
	}
	if out.Content, out.lines, err = decodeContent(content); err != nil {
		return err
	}
	var encoding string
	for _, f := range [...]struct {
		name string
		to   *string
	}{{"encoding", &encoding}, {"created_at", &out.CreatedAt}, {"modified_at", &out.ModifiedAt}} {
		if v, ok := fields[f.name]; ok {
			if err := json.Unmarshal(v, f.to); err != nil {
				return fmt.Errorf("field %q of a file must be a string, got %s", f.name, typeOf(v))
			}
		}
		delete(fields, f.name)
	}
	switch out.Encoding = Encoding(encoding); out.Encoding {
	case "", UTF8, Base64:
	default:
		return fmt.Errorf("unknown encoding %q of a file, want utf-8 or base64", encoding)
	}
	if delete(fields, "content"); len(fields) > 0 {
		out.Extra = fields
	}
	for name, v := range out.Extra {
		if v[0] == '"' && !json.Valid(v) {
			return fmt.Errorf("field %q of a file is not valid JSON", name)
		}
		out.Extra[name] = bytes.Clone(v) // not a part of raw
	}
	*d = out
	return nil
}

// NoContentError says that an object is no file because it has no content.
type NoContentError struct {
	// Fields are the names of the fields that are there, sorted.
	Fields []string
}

// Error returns the text of file-tools.md 3.3.
func (e *NoContentError) Error() string { return notContent("nothing") }

func notContent(got string) string {
	return fmt.Sprintf("File content must be a string or a legacy list of strings, got %s.", got)
}

// decodeContent uses the texts of file-tools.md 3.3.
func decodeContent(raw json.RawMessage) (s string, lines bool, err error) {
	if t := typeOf(raw); t != "string" && t != "array" {
		return "", false, errors.New(notContent(t))
	}
	if raw[0] == '"' {
		s, err = unquote(raw)
		return s, false, err
	}
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return "", false, err
	}
	list := make([]string, len(items))
	for i, item := range items {
		if t := typeOf(item); t != "string" {
			return "", false, errors.New(notContent("a list with " + t))
		}
		if err := json.Unmarshal(item, &list[i]); err != nil {
			return "", false, err
		}
	}
	return strings.Join(list, "\n"), true, nil
}

// typeOf names the JSON type of a raw value.
func typeOf(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '"':
		return "string"
	case '[':
		return "array"
	case '{':
		return "object"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}
