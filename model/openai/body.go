package openai

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/deepagents-go/deepagents/internal/jsonenc"
	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/internal/provider"
)

// piece is what a message is in a body: list elements without a comma around them, either of which may be empty.
type piece struct {
	main []byte
	// media are content parts that follow in a user message after the last result of the turn.
	media []byte
}

func (p piece) size() int { return len(p.main) + len(p.media) }

// dialect is what differs between the two APIs when a body is built.
type dialect struct {
	path     string
	messages string // the key of the list
	head     func(m *Model, b []byte, r *model.Request) ([]byte, error)
	system   func(m *Model, b []byte, text string) []byte
	piece    func(m *Model, msg *message.Message) piece
	user     func(b, content []byte) []byte // a user message around content parts
}

func (m *Model) dialect() *dialect {
	if m.o.API == Responses {
		return &responsesDialect
	}
	return &chatDialect
}

// body returns the request's body. What changes from turn to turn is at its end.
func (m *Model) body(r *model.Request) ([]byte, error) {
	d := m.dialect()
	head, err := m.head(d, r)
	if err != nil {
		return nil, err
	}
	msgs := provider.Arrange(r.Messages)
	pieces := make([]piece, 0, len(msgs))
	ends := make([]bool, 0, len(msgs)) // whether the run of results ends there
	size := len(head) + 64
	encode := func(msg *message.Message) (piece, int) {
		p := d.piece(m, msg)
		return p, p.size()
	}
	m.cache.Each(msgs, encode, func(msg *message.Message, p piece) {
		if n := len(ends); n > 0 && msg.Role == message.Tool {
			ends[n-1] = false
		}
		pieces, ends = append(pieces, p), append(ends, true)
		size += p.size() + 64
	})
	l := list{b: append(make([]byte, 0, size), head...)}
	l.b = append(l.b, ',', '"')
	l.b = append(l.b, d.messages...)
	l.b = append(l.b, `":[`...)
	if text := systemText(r.System); text != "" && d.system != nil {
		l.next()
		l.b = d.system(m, l.b, text)
	}
	var media []byte
	for i, p := range pieces {
		l.add(p.main)
		media = appendList(media, p.media)
		if ends[i] && len(media) > 0 {
			l.next()
			l.b = d.user(l.b, media)
			media = nil
		}
	}
	return append(l.b, ']', '}'), nil
}

// head is everything before the messages, without the closing brace.
func (m *Model) head(d *dialect, r *model.Request) ([]byte, error) {
	b := append(make([]byte, 0, 4096), `{"model":`...)
	b = jsonenc.String(b, m.o.Model)
	b = append(b, `,"stream":true`...)
	b, err := d.head(m, b, r)
	if err != nil {
		return nil, err
	}
	return append(b, m.extra...), nil
}

// list appends elements with commas between them.
type list struct {
	b    []byte
	more bool
}

func (l *list) next() {
	if l.more {
		l.b = append(l.b, ',')
	}
	l.more = true
}

func (l *list) add(element []byte) {
	if len(element) > 0 {
		l.next()
		l.b = append(l.b, element...)
	}
}

func appendList(b, element []byte) []byte {
	if len(element) == 0 {
		return b
	}
	if len(b) > 0 {
		b = append(b, ',')
	}
	return append(b, element...)
}

func systemText(parts message.Parts) string {
	var texts []string
	for _, p := range parts {
		if t, ok := p.(message.Text); ok && t.Text != "" {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// appendField appends ,"key":v.
func appendField(b []byte, key string, v any) ([]byte, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	b = append(b, ',')
	b = jsonenc.String(b, key)
	b = append(b, ':')
	return append(b, raw...), nil
}

func encodeFields(fields map[string]any) ([]byte, error) {
	var b []byte
	for _, k := range slices.Sorted(maps.Keys(fields)) {
		var err error
		if b, err = appendField(b, k, fields[k]); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// checkSchema returns a schema as it goes into a body.
func checkSchema(what string, raw json.RawMessage) (json.RawMessage, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage(`{"type":"object","properties":{}}`), nil
	}
	if !json.Valid(raw) || raw[0] != '{' {
		return nil, fmt.Errorf("the schema of %s is no JSON object", what)
	}
	return raw, nil
}

// strict reports whether OpenAI can enforce a schema: every object closed, every property required, and no keyword that the
// strict mode does not know.
func strict(schema any) bool {
	s, ok := schema.(map[string]any)
	if !ok {
		return false
	}
	for k, v := range s {
		switch k {
		case "properties", "$defs", "definitions":
			m, ok := v.(map[string]any)
			for _, sub := range m {
				ok = ok && strict(sub)
			}
			if !ok {
				return false
			}
		case "anyOf":
			list, ok := v.([]any)
			for _, sub := range list {
				ok = ok && strict(sub)
			}
			if !ok {
				return false
			}
		case "items":
			if !strict(v) {
				return false
			}
		case "type", "required", "additionalProperties", "enum", "const", "title", "description", "$ref", "$schema", "pattern", "format",
			"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems":
		default:
			return false
		}
	}
	return closed(s)
}

// closed reports whether a schema is none of an object, or allows exactly the properties it requires.
func closed(s map[string]any) bool {
	props, isObject := s["properties"].(map[string]any)
	kinds, _ := s["type"].([]any)
	if !isObject && s["type"] != "object" && !slices.Contains(kinds, any("object")) {
		return true
	}
	required, _ := s["required"].([]any)
	for name := range props {
		if !slices.Contains(required, any(name)) {
			return false
		}
	}
	return s["additionalProperties"] == false
}

func isStrict(raw json.RawMessage) bool {
	var v any
	return json.Unmarshal(raw, &v) == nil && strict(v)
}

// schemaName is the name of the answer's schema.
func schemaName(r *model.Request) string {
	if r.SchemaName == "" {
		return "answer"
	}
	return wireName(r.SchemaName)
}

// wireName returns a name that the API takes: letters, digits, _ and -, at most 64. Models invent names, and calls with them
// are in the history.
func wireName(name string) string {
	const most = 64
	ok := name != "" && len(name) <= most
	for i := 0; ok && i < len(name); i++ {
		ok = legal(name[i])
	}
	if ok {
		return name
	}
	var b strings.Builder
	for _, r := range name {
		if r < 0x80 && legal(byte(r)) {
			b.WriteRune(r)
		} else {
			b.WriteByte('_')
		}
	}
	switch s := b.String(); {
	case s == "":
		return "unnamed"
	case len(s) > most:
		return s[:most-9] + "_" + digest(name)[:8]
	default:
		return s
	}
}

func legal(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// callID returns an id that the API takes. Ids of other providers may be longer.
func (m *Model) callID(id string) string {
	const most, short = 40, 9
	if !m.o.Quirks.ShortCallIDs {
		if id == "" || len(id) > most {
			return "call_" + digest(id)[:32]
		}
		return id
	}
	ok := len(id) == short
	for i := 0; ok && i < len(id); i++ {
		ok = legal(id[i]) && id[i] != '_' && id[i] != '-'
	}
	if ok {
		return id
	}
	return digest(id)[:short]
}

// arguments returns the text of a call's arguments as it goes back.
func (m *Model) arguments(c message.ToolCall) string {
	switch {
	case c.Invalid == "" && len(c.Args) > 0:
		return string(c.Args)
	case c.Invalid != "" && m.o.Quirks.RawArguments && c.Raw != "":
		return c.Raw
	}
	return "{}"
}

// names maps the names of the tools that go out changed back to their own.
func names(tools []model.Tool) map[string]string {
	var changed map[string]string
	for _, t := range tools {
		if w := wireName(t.Name); w != t.Name {
			if changed == nil {
				changed = make(map[string]string)
			}
			changed[w] = t.Name
		}
	}
	return changed
}
