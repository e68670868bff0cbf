package gemini

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"github.com/deepagents-go/deepagents/internal/jsonenc"
	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model/internal/provider"
)

// piece is a message as the parts that it becomes.
type piece struct {
	role message.Role
	// parts are joined by commas, without brackets. For a result they are its response alone.
	parts []byte
	// media are those of a result.
	media []byte
	calls []call
	// name is that of the tool of a result.
	name string
}

// call is what a result must repeat. The id is the service's own, or empty.
type call struct{ id, name string }

// kept is what is kept of a call or a text besides what the contract knows. It is JSON as the service sent it.
type kept struct {
	ID        string `json:"id,omitempty"`
	Signature string `json:"thoughtSignature,omitempty"`
}

// foreign is the signature with which the service takes a call that it did not make.
const foreign = "skip_thought_signature_validator"

// encoder encodes one message.
type encoder struct {
	piece
	m *Model
	// open says that a signature can be added to the last part.
	open bool
}

func (m *Model) encode(msg *message.Message) piece {
	e := encoder{m: m, piece: piece{role: msg.Role, name: msg.Name}}
	switch msg.Role {
	case message.Tool:
		e.result(msg)
	case message.Assistant:
		for _, p := range msg.Parts {
			e.modelPart(p)
		}
	case message.User, message.System:
		e.role = message.User
		for _, p := range msg.Parts {
			e.userPart(p)
		}
	}
	e.parts = slices.Clip(e.parts)
	return e.piece
}

func (e *encoder) add(part []byte, open bool) {
	if len(e.parts) > 0 {
		e.parts = append(e.parts, ',')
	}
	e.parts = append(e.parts, part...)
	e.open = open
}

func (e *encoder) userPart(p message.Part) {
	switch p := p.(type) {
	case message.Text:
		e.text(p.Text)
	case message.Media:
		e.add(e.m.media(p), false)
	case message.Reasoning, message.Opaque, message.ToolCall: // nobody but a model says these
	}
}

func (e *encoder) modelPart(p message.Part) {
	switch p := p.(type) {
	case message.Text:
		e.text(p.Text)
	case message.Media:
		e.add(e.m.media(p), true)
	case message.Reasoning:
		if k := e.kept(p.Provider, p.Opaque); k.Signature != "" {
			b := append(textStart(nil, p.Text), `,"thought":true`...)
			e.add(sign(append(b, '}'), k.Signature), false)
		}
	case message.Opaque:
		if p.Provider == e.m.o.Provider {
			e.opaque(p.Data)
		}
	case message.ToolCall:
		e.call(p)
	}
}

// text appends a text. The service refuses empty ones.
func (e *encoder) text(text string) {
	if text != "" {
		e.add(append(textStart(nil, text), '}'), true)
	}
}

func textStart(b []byte, text string) []byte {
	b = append(b, `{"text":`...)
	return jsonenc.String(b, text)
}

// sign adds a signature to a part.
func sign(part []byte, signature string) []byte {
	part = append(part[:len(part)-1], `,"thoughtSignature":`...)
	return append(jsonenc.String(part, signature), '}')
}

// kept reads what was kept, unless another provider did.
func (e *encoder) kept(owner string, raw json.RawMessage) kept {
	var k kept
	if owner != e.m.o.Provider || json.Unmarshal(raw, &k) != nil {
		return kept{}
	}
	return k
}

// opaque appends a part as it came. One that is but a signature belongs to the part before it.
func (e *encoder) opaque(data json.RawMessage) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil || len(fields) == 0 {
		return
	}
	var signature string
	if len(fields) > 1 || json.Unmarshal(fields["thoughtSignature"], &signature) != nil {
		e.add(data, false)
		return
	}
	if e.open {
		e.parts, e.open = sign(e.parts, signature), false
		return
	}
	e.add(sign([]byte(`{"text":""}`), signature), false)
}

func (e *encoder) call(c message.ToolCall) {
	k := e.kept(c.Provider, c.Opaque)
	// The first call of a turn carries the signature.
	if k.Signature == "" && len(e.calls) == 0 && e.m.version.three() {
		k.Signature = foreign
	}
	e.calls = append(e.calls, call{k.ID, c.Name})
	b := append([]byte(nil), `{"functionCall":{`...)
	if k.ID != "" {
		b = append(b, `"id":`...)
		b = append(jsonenc.String(b, k.ID), ',')
	}
	b = append(b, `"name":`...)
	b = jsonenc.String(b, c.Name)
	b = append(b, `,"args":`...)
	if c.Invalid != "" || !json.Valid(c.Args) {
		b = append(b, `{"invalid_arguments":`...)
		b = append(jsonenc.String(b, c.Raw), '}')
	} else {
		b = append(b, c.Args...)
	}
	b = append(b, `}}`...)
	if k.Signature != "" {
		b = sign(b, k.Signature)
	}
	e.add(b, false)
}

// result encodes a tool message. What it answers is known to the builder.
func (e *encoder) result(m *message.Message) {
	key := "output"
	if m.Status == message.Error {
		key = "error"
	}
	text := m.Text()
	for _, p := range m.Parts {
		media, ok := p.(message.Media)
		if !ok {
			continue
		}
		if _, known := e.m.mime(media); !known {
			text += "\n" + e.m.instead(media)
			continue
		}
		if len(e.media) > 0 {
			e.media = append(e.media, ',')
		}
		e.media = append(e.media, e.m.media(media)...)
	}
	if text = strings.TrimPrefix(text, "\n"); text == "" && len(e.media) == 0 {
		text = provider.Empty
	}
	e.parts = append(e.parts, `"response":{"`...)
	e.parts = append(e.parts, key...)
	e.parts = append(e.parts, `":`...)
	e.parts = append(jsonenc.String(e.parts, text), '}')
}

// mime returns the type under which the service takes a media part, if it does.
func (m *Model) mime(p message.Media) (string, bool) {
	if len(p.Data) == 0 && p.URL == "" && p.ID == "" {
		return "", false
	}
	mime, _, _ := strings.Cut(strings.ToLower(p.MIME), ";")
	switch p.Kind {
	case message.Image:
		if mime == "image/jpg" {
			mime = "image/jpeg"
		}
		return mime, m.profile.Image && slices.Contains([]string{"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"}, mime)
	case message.Audio:
		return mime, m.profile.Audio && strings.HasPrefix(mime, "audio/")
	case message.Video:
		return mime, m.profile.Video && strings.HasPrefix(mime, "video/")
	case message.File:
		return "application/pdf", m.profile.PDF && provider.IsPDF(p)
	}
	return "", false
}

// media returns the part for a media part, which is a text where the service does not take it.
func (m *Model) media(p message.Media) []byte {
	mime, ok := m.mime(p)
	address := p.ID
	if address == "" {
		address = p.URL
	}
	if !ok {
		return append(textStart(nil, m.instead(p)), '}')
	}
	if address != "" {
		b := append([]byte(nil), `{"fileData":{"mimeType":`...)
		b = jsonenc.String(b, mime)
		b = append(b, `,"fileUri":`...)
		return append(jsonenc.String(b, address), `}}`...)
	}
	b := append([]byte(nil), `{"inlineData":{"mimeType":`...)
	b = jsonenc.String(b, mime)
	b = append(b, `,"data":"`...)
	b = base64.StdEncoding.AppendEncode(b, p.Data)
	return append(b, `"}}`...)
}

func (m *Model) instead(p message.Media) string {
	if text, ok := provider.Document(p); ok {
		return text
	}
	return provider.LeftOut(p)
}
