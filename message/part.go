package message

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/deepagents-go/deepagents/internal/jsonenc"
)

// Part is a piece of a message: [Text], [Media], [Reasoning], [ToolCall] or [Opaque]. Parts keep the order in which the model
// or the person gave them.
type Part interface{ part() string }

// Text is plain text.
type Text struct {
	Text string `json:"text"`
	// Cache marks the end of a prefix that is worth caching, for providers that want to be told.
	Cache bool `json:"cache,omitempty"`
}

// MediaKind says what a [Media] part shows.
type MediaKind string

// The kinds of media.
const (
	Image MediaKind = "image"
	Audio MediaKind = "audio"
	Video MediaKind = "video"
	File  MediaKind = "file"
)

// Media is an image, a sound, a video or a document, as bytes or by reference.
type Media struct {
	Kind MediaKind `json:"-"`
	MIME string    `json:"mime,omitempty"`
	// Data is the content; in JSON it is base64. Exactly one of Data, URL and ID is set.
	Data []byte `json:"data,omitempty"`
	URL  string `json:"url,omitempty"`
	// ID is the provider's name of an uploaded file.
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
}

// Reasoning is what a model thought before it answered. Provider and Opaque hold what the provider needs to see again, byte for
// byte (a signature, an encrypted block); no other provider gets them.
type Reasoning struct {
	Text     string          `json:"text,omitempty"`
	Provider string          `json:"provider,omitempty"`
	Opaque   json.RawMessage `json:"opaque,omitempty"`
}

// ToolCall is a call that the model asks for. When its arguments are no JSON object, Args is empty, Raw is the text that came
// and Invalid says what is wrong with it; such a call is never run.
type ToolCall struct {
	// ID is the provider's id. Providers repeat ids over time; within one message they are unique.
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Args    json.RawMessage `json:"args,omitempty"`
	Raw     string          `json:"raw,omitempty"`
	Invalid string          `json:"invalid,omitempty"`
	// Provider and Opaque are as in [Reasoning] (Gemini signs its calls).
	Provider string          `json:"provider,omitempty"`
	Opaque   json.RawMessage `json:"opaque,omitempty"`
}

// Opaque is a block that only its provider understands. It goes back to that provider byte for byte and to no other.
type Opaque struct {
	Provider string          `json:"provider"`
	Data     json.RawMessage `json:"data"`
}

func (Text) part() string      { return "text" }
func (m Media) part() string   { return string(m.Kind) }
func (Reasoning) part() string { return "reasoning" }
func (ToolCall) part() string  { return "tool_call" }
func (Opaque) part() string    { return "opaque" }

// ParseCall returns a call with these arguments, marked invalid when they are no JSON object. No text at all means no
// arguments.
func ParseCall(id, name, args string) ToolCall {
	c := ToolCall{ID: id, Name: name}
	raw := bytes.TrimSpace([]byte(args))
	switch {
	case len(raw) == 0:
		c.Args = json.RawMessage("{}")
	case !json.Valid(raw):
		c.Raw, c.Invalid = args, "the arguments are not valid JSON"
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			c.Invalid += ": " + err.Error()
		}
	case raw[0] != '{':
		c.Raw, c.Invalid = args, "the arguments are not a JSON object"
	default:
		c.Args = json.RawMessage(raw)
	}
	return c
}

// Parts is a list of parts that encodes each with its type.
type Parts []Part

// MarshalJSON encodes each part as an object with its "type" first.
func (ps Parts) MarshalJSON() ([]byte, error) {
	if ps == nil {
		return []byte("null"), nil
	}
	return ps.AppendJSON(make([]byte, 0, 64*len(ps)+2))
}

// AppendJSON appends the encoding to b.
func (ps Parts) AppendJSON(b []byte) ([]byte, error) {
	b = append(b, '[')
	for i, p := range ps {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendPart(b, p); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

func appendPart(b []byte, p Part) ([]byte, error) {
	if p == nil {
		return nil, errors.New("message: nil part")
	}
	o := jsonenc.Begin(b)
	o.String("type", p.part())
	switch p := p.(type) {
	case Text:
		o.String("text", p.Text)
		o.True("cache", p.Cache)
	case Reasoning:
		o.NonEmpty("text", p.Text)
		o.NonEmpty("provider", p.Provider)
		o.Raw("opaque", p.Opaque)
	case ToolCall:
		o.String("id", p.ID)
		o.String("name", p.Name)
		o.Raw("args", p.Args)
		o.NonEmpty("raw", p.Raw)
		o.NonEmpty("invalid", p.Invalid)
		o.NonEmpty("provider", p.Provider)
		o.Raw("opaque", p.Opaque)
	case Opaque:
		o.String("provider", p.Provider)
		o.Raw("data", p.Data)
	case Media:
		o.NonEmpty("mime", p.MIME)
		if len(p.Data) > 0 {
			o.Value("data", p.Data)
		}
		o.NonEmpty("url", p.URL)
		o.NonEmpty("id", p.ID)
		o.NonEmpty("name", p.Name)
	}
	return o.End()
}

// UnmarshalJSON decodes a list of typed parts. A type that is not known is an error, so that nothing is lost by rewriting.
func (ps *Parts) UnmarshalJSON(data []byte) error {
	var raws []json.RawMessage
	if err := json.Unmarshal(data, &raws); err != nil {
		return err
	}
	if raws == nil {
		*ps = nil
		return nil
	}
	out := make(Parts, 0, len(raws))
	for _, raw := range raws {
		p, err := decodePart(raw)
		if err != nil {
			return err
		}
		out = append(out, p)
	}
	*ps = out
	return nil
}

func decodePart(raw json.RawMessage) (Part, error) {
	var t struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(raw, &t); err != nil {
		return nil, err
	}
	switch t.Type {
	case "text":
		return decodeAs[Text](raw)
	case "reasoning":
		return decodeAs[Reasoning](raw)
	case "tool_call":
		return decodeAs[ToolCall](raw)
	case "opaque":
		return decodeAs[Opaque](raw)
	case string(Image), string(Audio), string(Video), string(File):
		var m Media
		err := json.Unmarshal(raw, &m)
		m.Kind = MediaKind(t.Type)
		return m, err
	}
	return nil, fmt.Errorf("message: unknown part type %q (written by a newer version?)", t.Type)
}

func decodeAs[P Part](raw json.RawMessage) (Part, error) {
	var p P
	err := json.Unmarshal(raw, &p)
	return p, err
}
