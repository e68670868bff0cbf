package openai

import (
	"encoding/json"

	"github.com/deepagents-go/deepagents/internal/jsonenc"
	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/internal/provider"
)

var responsesDialect = dialect{
	path: "responses", messages: "input", head: (*Model).responsesHead, piece: (*Model).responsesPiece, user: responsesUser,
}

func (m *Model) responsesHead(b []byte, r *model.Request) ([]byte, error) {
	if m.o.Store {
		b = append(b, `,"store":true`...)
	} else {
		b = append(b, `,"store":false`...)
		if m.reasons {
			b = append(b, `,"include":["reasoning.encrypted_content"]`...)
		}
	}
	if text := systemText(r.System); text != "" {
		b = append(b, `,"instructions":`...)
		b = jsonenc.String(b, text)
	}
	b, err := m.responsesTools(b, r)
	if err != nil {
		return nil, err
	}
	if len(r.Schema) > 0 {
		if b, err = m.responsesSchema(b, r); err != nil {
			return nil, err
		}
	}
	if t := r.Settings.Temperature; t != nil && !m.fixedTemperature() {
		if b, err = appendField(b, "temperature", *t); err != nil {
			return nil, err
		}
	}
	if n := r.Settings.MaxTokens; n > 0 {
		if b, err = appendField(b, "max_output_tokens", n); err != nil {
			return nil, err
		}
	}
	return m.responsesReasoning(b, r)
}

func (m *Model) responsesReasoning(b []byte, r *model.Request) ([]byte, error) {
	reasoning := make(map[string]string, 2)
	if e := r.Settings.Effort; e != "" && !m.o.Quirks.NoEffort {
		reasoning["effort"] = e
	}
	if s := m.o.Summary; s != "" {
		reasoning["summary"] = s
	}
	if len(reasoning) == 0 {
		return b, nil
	}
	return appendField(b, "reasoning", reasoning)
}

func (m *Model) responsesTools(b []byte, r *model.Request) ([]byte, error) {
	if len(r.Tools) == 0 {
		return b, nil
	}
	b = append(b, `,"tools":[`...)
	for i, t := range r.Tools {
		schema, err := checkSchema("tool "+t.Name, t.Input)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"type":"function","name":`...)
		b = jsonenc.String(b, wireName(t.Name))
		b = append(b, `,"description":`...)
		b = jsonenc.String(b, t.Description)
		b = append(b, `,"parameters":`...)
		b = append(b, schema...)
		b = append(b, `,"strict":false}`...) // the default here is true, which changes the schema
	}
	b = append(b, ']')
	switch r.Choice {
	case "":
	case "any", "none":
		b = append(b, `,"tool_choice":`...)
		b = jsonenc.String(b, m.choice(r.Choice))
	default:
		b = append(b, `,"tool_choice":{"type":"function","name":`...)
		b = jsonenc.String(b, wireName(r.Choice))
		b = append(b, '}')
	}
	return b, nil
}

func (m *Model) responsesSchema(b []byte, r *model.Request) ([]byte, error) {
	if m.o.Quirks.JSONObject {
		return append(b, `,"text":{"format":{"type":"json_object"}}`...), nil
	}
	schema, err := checkSchema("the answer", r.Schema)
	if err != nil {
		return nil, err
	}
	b = append(b, `,"text":{"format":{"type":"json_schema","name":`...)
	b = jsonenc.String(b, schemaName(r))
	if isStrict(schema) {
		b = append(b, `,"strict":true`...)
	} else {
		b = append(b, `,"strict":false`...)
	}
	b = append(b, `,"schema":`...)
	b = append(b, schema...)
	return append(b, `}}`...), nil
}

func (m *Model) responsesPiece(msg *message.Message) piece {
	switch msg.Role {
	case message.System:
		text := systemText(msg.Parts)
		if text == "" {
			return piece{}
		}
		b := append([]byte(nil), `{"type":"message","role":"developer","content":[`...)
		return piece{main: append(inputText(b, text), ']', '}')}
	case message.Assistant:
		return piece{main: m.responsesAssistant(msg)}
	case message.Tool:
		return m.responsesResult(msg)
	case message.User:
	}
	return piece{main: m.responsesPrompt(msg)}
}

func responsesUser(b, content []byte) []byte {
	b = append(b, `{"type":"message","role":"user","content":[`...)
	b = append(b, content...)
	return append(b, ']', '}')
}

func inputText(b []byte, text string) []byte {
	b = append(b, `{"type":"input_text","text":`...)
	b = jsonenc.String(b, text)
	return append(b, '}')
}

func (m *Model) responsesPrompt(msg *message.Message) []byte {
	var content []byte
	for _, p := range msg.Parts {
		switch p := p.(type) {
		case message.Text:
			if p.Text != "" {
				content = appendList(content, inputText(nil, p.Text))
			}
		case message.Media:
			part, ok := m.inputMedia(p)
			if !ok {
				part = inputText(nil, mediaText(p))
			}
			content = appendList(content, part)
		}
	}
	if len(content) == 0 {
		return nil
	}
	return responsesUser(nil, content)
}

// inputMedia encodes media as an input part; ok is false when there is none for it. The API takes no sound and no video.
func (m *Model) inputMedia(p message.Media) (part []byte, ok bool) {
	kind, field, value := "", "", ""
	switch {
	case p.Kind == message.Image && m.profile.Image:
		kind, field, value = "input_image", "image_url", p.URL
		if len(p.Data) > 0 {
			value = provider.DataURL(p)
		} else if p.ID != "" {
			field, value = "file_id", p.ID
		}
	case p.Kind == message.File && m.profile.PDF && (provider.IsPDF(p) || p.ID != ""):
		kind, field, value = "input_file", "file_url", p.URL
		if len(p.Data) > 0 {
			p.MIME = "application/pdf"
			field, value = "file_data", provider.DataURL(p)
		} else if p.ID != "" {
			field, value = "file_id", p.ID
		}
	}
	if value == "" {
		return nil, false
	}
	part = append(part, `{"type":"`...)
	part = append(part, kind...)
	part = append(part, '"')
	if field == "file_data" {
		part = append(part, `,"filename":`...)
		part = jsonenc.String(part, fileName(p))
	}
	if kind == "input_image" {
		part = append(part, `,"detail":"auto"`...)
	}
	part = append(part, `,"`...)
	part = append(part, field...)
	part = append(part, `":`...)
	part = jsonenc.String(part, value)
	return append(part, '}'), true
}

// responsesResult encodes the answer of a call: a text, or a list when media are in it.
func (m *Model) responsesResult(msg *message.Message) piece {
	texts := make([]string, 0, len(msg.Parts)+1)
	if t := provider.ResultText(msg, true); t != "" {
		texts = append(texts, t)
	}
	var media []byte
	for _, p := range msg.Parts {
		v, ok := p.(message.Media)
		if !ok {
			continue
		}
		if part, ok := m.inputMedia(v); ok {
			media = appendList(media, part)
		} else {
			texts = append(texts, mediaText(v))
		}
	}
	var out piece
	b := append([]byte(nil), `{"type":"function_call_output","call_id":`...)
	b = jsonenc.String(b, m.callID(msg.CallID))
	b = append(b, `,"output":`...)
	switch {
	case len(media) == 0:
		b = jsonenc.String(b, resultOr(texts))
	case m.profile.ToolMedia:
		b = append(b, '[')
		if len(texts) > 0 {
			b = inputText(b, resultOr(texts))
			b = append(b, ',')
		}
		b = append(b, media...)
		b = append(b, ']')
	default:
		texts = append(texts, "[the media of this result follow in the next user message]")
		b = jsonenc.String(b, resultOr(texts))
		out.media = appendList(inputText(nil, origin(msg)), media)
	}
	out.main = append(b, '}')
	return out
}

// item is what is read of an output item.
type item struct {
	Type      string  `json:"type"`
	ID        string  `json:"id"`
	CallID    string  `json:"call_id"`
	Name      string  `json:"name"`
	Arguments string  `json:"arguments"`
	Phase     string  `json:"phase"`
	Encrypted string  `json:"encrypted_content"`
	Content   []block `json:"content"`
	Summary   []block `json:"summary"`
}

type block struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Refusal string `json:"refusal"`
}

// mark is what is kept of a message item beside its text.
type mark struct {
	Type  string `json:"type"`
	ID    string `json:"id,omitempty"`
	Phase string `json:"phase,omitempty"`
}

// replay builds the items of an answer.
type replay struct {
	m       *Model
	b       []byte
	thought []byte // reasoning items, which may not stand last
	text    string
}

// responsesAssistant encodes an answer as the items it came in.
func (m *Model) responsesAssistant(msg *message.Message) []byte {
	r := replay{m: m}
	for _, p := range msg.Parts {
		switch p := p.(type) {
		case message.Text:
			if r.text != "" && p.Text != "" {
				r.text += "\n"
			}
			r.text += p.Text
		case message.Reasoning:
			r.flush(mark{})
			if p.Provider == m.o.Provider {
				r.reasoning(p.Opaque)
			}
		case message.ToolCall:
			r.flush(mark{})
			r.call(p)
		case message.Opaque:
			if p.Provider == m.o.Provider {
				r.opaque(p.Data)
			}
		}
	}
	r.flush(mark{})
	return r.b
}

// reasoning takes an item. The server finds one without its encrypted content only when it keeps the answers.
func (r *replay) reasoning(raw json.RawMessage) {
	var i item
	if json.Unmarshal(raw, &i) != nil || i.Type != "reasoning" || r.m.o.Quirks.DropReasoning || i.Encrypted == "" && !r.m.o.Store {
		return
	}
	r.thought = appendList(r.thought, raw)
}

func (r *replay) add(item []byte) {
	r.b = appendList(appendList(r.b, r.thought), item)
	r.thought = nil
}

func (r *replay) opaque(raw json.RawMessage) {
	var i item
	if json.Unmarshal(raw, &i) != nil || i.Type == "" {
		return
	}
	if i.Type == "message" {
		r.flush(mark{ID: i.ID, Phase: i.Phase})
		return
	}
	r.flush(mark{})
	r.add(raw)
}

// flush adds the text so far as a message item.
func (r *replay) flush(k mark) {
	if r.text == "" {
		return
	}
	b := append([]byte(nil), `{"type":"message","role":"assistant"`...)
	if k.ID != "" {
		b = append(b, `,"id":`...)
		b = jsonenc.String(b, k.ID)
		b = append(b, `,"status":"completed"`...)
	}
	if k.Phase != "" {
		b = append(b, `,"phase":`...)
		b = jsonenc.String(b, k.Phase)
	}
	b = append(b, `,"content":[{"type":"output_text","text":`...)
	b = jsonenc.String(b, r.text)
	b = append(b, `,"annotations":[]}]}`...)
	r.text = ""
	r.add(b)
}

func (r *replay) call(c message.ToolCall) {
	b := append([]byte(nil), `{"type":"function_call"`...)
	var i item
	if c.Provider == r.m.o.Provider && json.Unmarshal(c.Opaque, &i) == nil && i.ID != "" {
		b = append(b, `,"id":`...)
		b = jsonenc.String(b, i.ID)
	}
	b = append(b, `,"call_id":`...)
	b = jsonenc.String(b, r.m.callID(c.ID))
	b = append(b, `,"name":`...)
	b = jsonenc.String(b, wireName(c.Name))
	b = append(b, `,"arguments":`...)
	b = jsonenc.String(b, r.m.arguments(c))
	r.add(append(b, '}'))
}
