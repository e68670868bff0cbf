package gemini

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/deepagents-go/deepagents/internal/jsonenc"
	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/internal/provider"
)

// goOn stands where the service wants a word of the user and the conversation has none.
const goOn = "Go on."

// body returns the fields of a request. The SDK writes them sorted, so that the conversation comes first and a longer one
// begins with the same bytes.
func (m *Model) body(r *model.Request) (map[string]any, error) {
	const slack = 64 << 10
	c := contents{m: m, b: make([]byte, 0, m.size.Load()+slack)}
	c.messages(provider.Arrange(r.Messages))
	m.size.Store(int64(len(c.b)))
	body := map[string]any{"contents": json.RawMessage(c.b)}
	system := encoder{m: m}
	for _, p := range r.System {
		if t, ok := p.(message.Text); ok {
			system.text(t.Text)
		}
	}
	if len(system.parts) > 0 {
		body["systemInstruction"] = json.RawMessage(`{"parts":[` + string(system.parts) + `]}`)
	}
	settings, err := m.settings(r)
	if err != nil {
		return nil, err
	}
	if settings != "{}" {
		body["generationConfig"] = json.RawMessage(settings)
	}
	if len(r.Tools) == 0 {
		return body, nil
	}
	tools, err := declarations(r.Tools)
	if err != nil {
		return nil, err
	}
	body["tools"] = tools
	if choice := toolConfig(r.Choice); choice != "" {
		body["toolConfig"] = json.RawMessage(choice)
	}
	return body, nil
}

func (m *Model) settings(r *model.Request) (string, error) {
	b := []byte{'{'}
	field := func(name, value string) {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(jsonenc.String(b, name), ':')
		b = append(b, value...)
	}
	if t := r.Settings.Temperature; t != nil {
		field("temperature", strconv.FormatFloat(*t, 'g', -1, 64))
	}
	if n := r.Settings.MaxTokens; n > 0 {
		field("maxOutputTokens", strconv.Itoa(n))
	}
	if t := m.version.thinking(r.Settings.Effort); t != "" {
		field("thinkingConfig", t)
	}
	if len(r.Schema) > 0 {
		switch {
		case !json.Valid(r.Schema) || r.Schema[0] != '{':
			return "", fmt.Errorf("the schema %q is no JSON object", r.SchemaName)
		case len(r.Tools) > 0 && !m.version.three():
			return "", errors.New("this model does not take a schema of the answer together with tools")
		}
		field("responseMimeType", `"application/json"`)
		field("responseJsonSchema", string(r.Schema))
	}
	return string(append(b, '}')), nil
}

func declarations(tools []model.Tool) (json.RawMessage, error) {
	b := []byte(`[{"functionDeclarations":[`)
	for i, t := range tools {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"name":`...)
		b = jsonenc.String(b, t.Name)
		b = append(b, `,"description":`...)
		b = jsonenc.String(b, t.Description)
		if len(t.Input) > 0 {
			var schema struct {
				Properties map[string]json.RawMessage `json:"properties"`
			}
			if err := json.Unmarshal(t.Input, &schema); err != nil {
				return nil, fmt.Errorf("the input schema of the tool %q: %w", t.Name, err)
			}
			if len(schema.Properties) > 0 { // the service refuses an object without any
				b = append(b, `,"parametersJsonSchema":`...)
				b = append(b, t.Input...)
			}
		}
		b = append(b, '}')
	}
	return append(b, `]}]`...), nil
}

func toolConfig(choice string) string {
	mode := map[string]string{"any": `"ANY"`, "none": `"NONE"`}[choice]
	switch {
	case choice == "":
		return ""
	case mode == "":
		mode = `"ANY","allowedFunctionNames":[` + string(jsonenc.String(nil, choice)) + `]`
	}
	return `{"functionCallingConfig":{"mode":` + mode + `}}`
}

// contents puts a conversation together: neighbours of one role become one content, and the user has the first and the last
// word.
type contents struct {
	m *Model
	b []byte
	// pending are the calls whose results come next; after are the media of these results, which follow all of them.
	pending []call
	after   []byte
	// role is that of the content that is open: 'u', 'm' or 0. empty says that it has no part yet.
	role  byte
	empty bool
}

func (c *contents) messages(msgs []*message.Message) {
	c.b = append(c.b, '[')
	encode := func(m *message.Message) (piece, int) {
		p := c.m.encode(m)
		return p, len(p.parts) + len(p.media)
	}
	c.m.cache.Each(msgs, encode, func(_ *message.Message, p piece) { c.message(p) })
	if c.role != 'u' && len(msgs) > 0 {
		c.open('u')
		c.part(append(textStart(nil, goOn), '}'))
	}
	c.close()
	c.b = append(c.b, ']')
}

func (c *contents) message(p piece) {
	switch {
	case p.role == message.Tool:
		c.result(p)
	case len(p.parts) == 0:
	case p.role == message.Assistant:
		if c.role == 0 {
			c.open('u')
			c.part(append(textStart(nil, goOn), '}'))
		}
		c.open('m')
		c.part(p.parts)
		c.pending = append(c.pending, p.calls...)
	default:
		c.open('u')
		c.media()
		c.part(p.parts)
	}
}

// result writes the answer of the next call.
func (c *contents) result(p piece) {
	answered := call{name: p.name}
	if len(c.pending) > 0 {
		answered, c.pending = c.pending[0], c.pending[1:]
	}
	c.open('u')
	c.part([]byte(`{"functionResponse":{`))
	if answered.id != "" {
		c.b = append(c.b, `"id":`...)
		c.b = append(jsonenc.String(c.b, answered.id), ',')
	}
	c.b = append(c.b, `"name":`...)
	c.b = append(jsonenc.String(c.b, answered.name), ',')
	c.b = append(c.b, p.parts...)
	switch {
	case len(p.media) == 0:
	case c.m.version.three():
		c.b = append(c.b, `,"parts":[`...)
		c.b = append(append(c.b, p.media...), ']')
	default:
		if len(c.after) > 0 {
			c.after = append(c.after, ',')
		}
		c.after = append(c.after, p.media...)
	}
	c.b = append(c.b, `}}`...)
}

// media writes what follows the results.
func (c *contents) media() {
	if len(c.after) > 0 {
		after := c.after
		c.after = nil
		c.part(after)
	}
}

func (c *contents) part(p []byte) {
	if !c.empty {
		c.b = append(c.b, ',')
	}
	c.b, c.empty = append(c.b, p...), false
}

func (c *contents) open(role byte) {
	if c.role == role {
		return
	}
	if c.close(); c.role != 0 {
		c.b = append(c.b, ',')
	}
	c.role, c.empty = role, true
	if role == 'u' {
		c.b = append(c.b, `{"role":"user","parts":[`...)
	} else {
		c.b = append(c.b, `{"role":"model","parts":[`...)
	}
}

func (c *contents) close() {
	if c.role != 0 {
		c.media()
		c.b = append(c.b, `]}`...)
	}
}
