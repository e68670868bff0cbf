package openai

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/deepagents-go/deepagents/internal/jsonenc"
	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/internal/provider"
)

var chatDialect = dialect{
	path: "chat/completions", messages: "messages", head: (*Model).chatHead, system: (*Model).chatSystem,
	piece: (*Model).chatPiece, user: chatUser,
}

func (m *Model) chatHead(b []byte, r *model.Request) ([]byte, error) {
	q := &m.o.Quirks
	if !q.NoUsage {
		b = append(b, `,"stream_options":{"include_usage":true}`...)
	}
	b, err := m.chatTools(b, r)
	if err != nil {
		return nil, err
	}
	if len(r.Schema) > 0 {
		if b, err = m.chatSchema(b, r); err != nil {
			return nil, err
		}
	}
	if t := r.Settings.Temperature; t != nil && !m.fixedTemperature() {
		if b, err = appendField(b, "temperature", *t); err != nil {
			return nil, err
		}
	}
	if n := r.Settings.MaxTokens; n > 0 {
		key := "max_completion_tokens"
		if q.MaxTokens {
			key = "max_tokens"
		}
		if b, err = appendField(b, key, n); err != nil {
			return nil, err
		}
	}
	if e := r.Settings.Effort; e != "" && !q.NoEffort {
		b = append(b, `,"reasoning_effort":`...)
		b = jsonenc.String(b, e)
	}
	return b, nil
}

// fixedTemperature reports whether the API refuses a temperature: OpenAI's own models that reason do.
func (m *Model) fixedTemperature() bool {
	return m.reasons && (m.o.Provider == "openai" || m.o.Provider == "azure_openai")
}

func (m *Model) chatTools(b []byte, r *model.Request) ([]byte, error) {
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
		b = append(b, `{"type":"function","function":{"name":`...)
		b = jsonenc.String(b, wireName(t.Name))
		b = append(b, `,"description":`...)
		b = jsonenc.String(b, t.Description)
		b = append(b, `,"parameters":`...)
		b = append(b, schema...)
		b = append(b, '}', '}')
	}
	b = append(b, ']')
	switch r.Choice {
	case "":
	case "any", "none":
		b = append(b, `,"tool_choice":`...)
		b = jsonenc.String(b, m.choice(r.Choice))
	default:
		b = append(b, `,"tool_choice":{"type":"function","function":{"name":`...)
		b = jsonenc.String(b, wireName(r.Choice))
		b = append(b, `}}`...)
	}
	return b, nil
}

func (m *Model) choice(c string) string {
	switch {
	case c != "any":
		return c
	case m.o.Quirks.AnyIsRequired != "":
		return m.o.Quirks.AnyIsRequired
	}
	return "required"
}

func (m *Model) chatSchema(b []byte, r *model.Request) ([]byte, error) {
	if m.o.Quirks.JSONObject {
		return append(b, `,"response_format":{"type":"json_object"}`...), nil
	}
	schema, err := checkSchema("the answer", r.Schema)
	if err != nil {
		return nil, err
	}
	b = append(b, `,"response_format":{"type":"json_schema","json_schema":{"name":`...)
	b = jsonenc.String(b, schemaName(r))
	if isStrict(schema) {
		b = append(b, `,"strict":true`...)
	}
	b = append(b, `,"schema":`...)
	b = append(b, schema...)
	return append(b, `}}`...), nil
}

func (m *Model) chatSystem(b []byte, text string) []byte {
	b = append(b, `{"role":"system","content":`...)
	b = jsonenc.String(b, text)
	return append(b, '}')
}

// chatPiece encodes a message; one that says nothing is left out.
func (m *Model) chatPiece(msg *message.Message) piece {
	switch msg.Role {
	case message.System:
		text := systemText(msg.Parts)
		switch {
		case text == "":
			return piece{}
		case m.o.Quirks.SystemFirst:
			return piece{main: chatUser(nil, chatText(nil, text))}
		}
		return piece{main: m.chatSystem(nil, text)}
	case message.Assistant:
		return piece{main: m.chatAssistant(msg)}
	case message.Tool:
		return m.chatResult(msg)
	case message.User:
	}
	return piece{main: m.chatPrompt(msg)}
}

func chatUser(b, content []byte) []byte {
	b = append(b, `{"role":"user","content":[`...)
	b = append(b, content...)
	return append(b, ']', '}')
}

func chatText(b []byte, text string) []byte {
	b = append(b, `{"type":"text","text":`...)
	b = jsonenc.String(b, text)
	return append(b, '}')
}

// chatPrompt encodes what a person says: a string when it is one text, which every server takes.
func (m *Model) chatPrompt(msg *message.Message) []byte {
	if len(msg.Parts) == 1 {
		if t, ok := msg.Parts[0].(message.Text); ok && t.Text != "" {
			b := append(make([]byte, 0, len(t.Text)+64), `{"role":"user","content":`...)
			b = jsonenc.String(b, t.Text)
			return append(b, '}')
		}
	}
	var content []byte
	for _, p := range msg.Parts {
		switch p := p.(type) {
		case message.Text:
			if p.Text != "" {
				content = appendList(content, chatText(nil, p.Text))
			}
		case message.Media:
			part, ok := m.chatMedia(p)
			if !ok {
				part = chatText(nil, mediaText(p))
			}
			content = appendList(content, part)
		}
	}
	if len(content) == 0 {
		return nil
	}
	return chatUser(nil, content)
}

// mediaText is the text that stands for media that have no part of their own.
func mediaText(p message.Media) string {
	if text, ok := provider.Document(p); ok {
		return text
	}
	return provider.LeftOut(p)
}

// chatMedia encodes media as a content part; ok is false when there is none for it.
func (m *Model) chatMedia(p message.Media) (part []byte, ok bool) {
	address := p.URL
	if len(p.Data) > 0 {
		address = provider.DataURL(p)
	}
	switch {
	case p.Kind == message.Image && m.profile.Image && address != "":
		part = append(part, `{"type":"image_url","image_url":{"url":`...)
	case p.Kind == message.Video && m.profile.Video && address != "":
		part = append(part, `{"type":"video_url","video_url":{"url":`...)
	case p.Kind == message.Audio && m.profile.Audio && len(p.Data) > 0:
		return chatAudio(p)
	case p.Kind == message.File && m.profile.PDF && provider.IsPDF(p) && len(p.Data) > 0:
		part = append(part, `{"type":"file","file":{"filename":`...)
		part = jsonenc.String(part, fileName(p))
		part = append(part, `,"file_data":`...)
		p.MIME = "application/pdf"
		address = provider.DataURL(p)
	case p.Kind == message.File && m.profile.PDF && p.ID != "":
		part = append(part, `{"type":"file","file":{"file_id":`...)
		address = p.ID
	default:
		return nil, false
	}
	part = jsonenc.String(part, address)
	return append(part, '}', '}'), true
}

func chatAudio(p message.Media) ([]byte, bool) {
	var format string
	switch p.MIME {
	case "audio/wav", "audio/x-wav", "audio/wave", "audio/vnd.wave":
		format = "wav"
	case "audio/mpeg", "audio/mp3":
		format = "mp3"
	default:
		return nil, false
	}
	b := append([]byte(nil), `{"type":"input_audio","input_audio":{"data":"`...)
	b = base64.StdEncoding.AppendEncode(b, p.Data)
	b = append(b, `","format":"`...)
	b = append(b, format...)
	return append(b, `"}}`...), true
}

func fileName(p message.Media) string {
	if p.Name == "" {
		return "document.pdf"
	}
	return p.Name
}

// chatResult encodes the answer of a call. A tool message holds text only, so its media go behind the results of the turn.
func (m *Model) chatResult(msg *message.Message) piece {
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
		if part, ok := m.chatMedia(v); ok {
			media = appendList(media, part)
		} else {
			texts = append(texts, mediaText(v))
		}
	}
	if len(media) > 0 {
		texts = append(texts, "[the media of this result follow in the next user message]")
		media = appendList(chatText(nil, origin(msg)), media)
	}
	b := append([]byte(nil), `{"role":"tool","tool_call_id":`...)
	b = jsonenc.String(b, m.callID(msg.CallID))
	b = append(b, `,"content":`...)
	b = jsonenc.String(b, resultOr(texts))
	return piece{main: append(b, '}'), media: media}
}

// origin says where the media in a user message come from.
func origin(msg *message.Message) string {
	return "Media of the result of " + msg.Name + ", call " + msg.CallID + ":"
}

func resultOr(texts []string) string {
	if len(texts) == 0 {
		return provider.Empty
	}
	return strings.Join(texts, "\n")
}

// thought is the provider's part of a reasoning part in Chat: the field it came in, and the structured form where there is one.
type thought struct {
	Field   string            `json:"field"`
	Details []json.RawMessage `json:"details,omitempty"`
}

// The fields that servers put reasoning into.
const (
	fieldContent  = "reasoning_content"
	fieldPlain    = "reasoning"
	fieldDetails  = "reasoning_details"
	fieldThinking = "thinking" // Mistral: a part of the content
)

// chatAssistant encodes an answer; one that says nothing is left out.
func (m *Model) chatAssistant(msg *message.Message) []byte {
	text := msg.Text()
	calls := m.chatCalls(msg)
	if text == "" && len(calls) == 0 {
		return nil
	}
	thoughts, thinking := m.chatThoughts(msg)
	b := append(make([]byte, 0, len(text)+len(calls)+len(thoughts)+len(thinking)+64), `{"role":"assistant","content":`...)
	switch {
	case thinking != "":
		b = append(b, `[{"type":"thinking","thinking":[`...)
		b = chatText(b, thinking)
		b = append(b, `]}`...)
		if text != "" {
			b = append(b, ',')
			b = chatText(b, text)
		}
		b = append(b, ']')
	case text != "":
		b = jsonenc.String(b, text)
	default:
		b = append(b, `null`...)
	}
	b = append(b, thoughts...)
	if len(calls) > 0 {
		b = append(b, `,"tool_calls":[`...)
		b = append(b, calls...)
		b = append(b, ']')
	}
	return append(b, '}')
}

func (m *Model) chatCalls(msg *message.Message) []byte {
	var b []byte
	for _, p := range msg.Parts {
		c, ok := p.(message.ToolCall)
		if !ok {
			continue
		}
		if len(b) > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"id":`...)
		b = jsonenc.String(b, m.callID(c.ID))
		b = append(b, `,"type":"function","function":{"name":`...)
		b = jsonenc.String(b, wireName(c.Name))
		b = append(b, `,"arguments":`...)
		b = jsonenc.String(b, m.arguments(c))
		b = append(b, '}', '}')
	}
	return b
}

// chatThoughts returns the reasoning that goes back, as fields that follow another, and Mistral's, which is content.
func (m *Model) chatThoughts(msg *message.Message) (fields []byte, thinking string) {
	texts := make(map[string]string, 1)
	var details []byte
	for _, p := range msg.Parts {
		r, ok := p.(message.Reasoning)
		if !ok || r.Provider != m.o.Provider || m.o.Quirks.DropReasoning {
			continue
		}
		var t thought
		if json.Unmarshal(r.Opaque, &t) != nil {
			continue
		}
		if t.Field == fieldDetails {
			for _, d := range t.Details {
				details = appendList(details, d)
			}
			continue
		}
		texts[t.Field] += r.Text
	}
	if f := m.o.Quirks.ReasoningField; f != "" && texts[f] == "" {
		texts[f] = ""
	}
	for _, f := range []string{fieldContent, fieldPlain} {
		if t, ok := texts[f]; ok {
			fields = append(fields, ',', '"')
			fields = append(fields, f...)
			fields = append(fields, '"', ':')
			fields = jsonenc.String(fields, t)
		}
	}
	if len(details) > 0 {
		fields = append(fields, `,"reasoning_details":[`...)
		fields = append(fields, details...)
		fields = append(fields, ']')
	}
	return fields, texts[fieldThinking]
}
