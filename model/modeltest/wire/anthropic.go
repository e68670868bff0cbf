package wire

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
)

// anthropic is Anthropic's Messages API.
type anthropic struct{}

func (anthropic) match(path string) bool { return strings.HasSuffix(path, "/messages") }

type claudeRequest struct {
	Model        string          `json:"model"`
	MaxTokens    int             `json:"max_tokens"`
	Stream       bool            `json:"stream"`
	Temperature  *float64        `json:"temperature"`
	TopP         *float64        `json:"top_p"`
	TopK         *int            `json:"top_k"`
	Stop         []string        `json:"stop_sequences"`
	Thinking     *claudeThinking `json:"thinking"`
	Output       *claudeOutput   `json:"output_config"`
	ToolChoice   *claudeChoice   `json:"tool_choice"`
	CacheControl *claudeCache    `json:"cache_control"`
	System       claudeContent   `json:"system"`
	Tools        []claudeTool    `json:"tools"`
	Messages     []claudeMessage `json:"messages"`
	Metadata     json.RawMessage `json:"metadata"`
	ServiceTier  string          `json:"service_tier"`
	Context      json.RawMessage `json:"context_management"`
	Container    json.RawMessage `json:"container"`
}

type claudeThinking struct {
	Type    string `json:"type"`
	Display string `json:"display"`
	Budget  int    `json:"budget_tokens"`
}

type claudeOutput struct {
	Effort string `json:"effort"`
	Format *struct {
		Type   string          `json:"type"`
		Schema json.RawMessage `json:"schema"`
	} `json:"format"`
}

type claudeChoice struct {
	Type       string `json:"type"`
	Name       string `json:"name"`
	NoParallel bool   `json:"disable_parallel_tool_use"`
}

type claudeCache struct {
	Type string `json:"type"`
	TTL  string `json:"ttl"`
}

type claudeTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Input       json.RawMessage `json:"input_schema"`
	Strict      bool            `json:"strict"`
	Cache       *claudeCache    `json:"cache_control"`
}

type claudeMessage struct {
	Role    string        `json:"role"`
	Content claudeContent `json:"content"`
}

// claudeContent is a list of blocks, or a text that stands for one.
type claudeContent []claudeBlock

// UnmarshalJSON reads both forms.
func (c *claudeContent) UnmarshalJSON(data []byte) error {
	if !isString(data) {
		var list []claudeBlock
		err := strictJSON(data, &list)
		*c = list
		return err
	}
	var text string
	err := json.Unmarshal(data, &text)
	*c = claudeContent{{Type: "text", Text: &text}}
	return err
}

type claudeBlock struct {
	Type      string          `json:"type"`
	Text      *string         `json:"text"`
	Thinking  *string         `json:"thinking"`
	Signature string          `json:"signature"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	UseID     string          `json:"tool_use_id"`
	Content   claudeContent   `json:"content"`
	IsError   bool            `json:"is_error"`
	Data      string          `json:"data"`
	Title     string          `json:"title"`
	Context   string          `json:"context"`
	Source    *claudeSource   `json:"source"`
	Citations json.RawMessage `json:"citations"`
	Cache     *claudeCache    `json:"cache_control"`
	raw       json.RawMessage
}

// UnmarshalJSON keeps the blocks of Anthropic's own tools as they are: nobody else knows what is in them.
func (b *claudeBlock) UnmarshalJSON(data []byte) error {
	b.raw = append(json.RawMessage(nil), data...)
	var t struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(data, &t) == nil && serverBlock(t.Type) {
		b.Type = t.Type
		return nil
	}
	type plain claudeBlock
	return strictJSON(data, (*plain)(b))
}

func serverBlock(t string) bool {
	return t == "server_tool_use" || t != "tool_result" && strings.HasSuffix(t, "_tool_result")
}

type claudeSource struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
	URL       string `json:"url"`
	FileID    string `json:"file_id"`
}

func (anthropic) decode(r *http.Request, body []byte) (*call, error) {
	var q claudeRequest
	if err := strictJSON(body, &q); err != nil {
		return nil, err
	}
	if r.Header.Get("Anthropic-Version") == "" {
		return nil, fmt.Errorf("the header anthropic-version is missing")
	}
	if err := q.check(); err != nil {
		return nil, err
	}
	c := &call{model: q.Model, stream: q.Stream}
	c.Settings = model.Settings{Temperature: q.Temperature, MaxTokens: q.MaxTokens}
	if o := q.Output; o != nil {
		c.Settings.Effort = o.Effort
		if o.Format != nil {
			c.Schema = o.Format.Schema
		}
	}
	for _, t := range q.Tools {
		c.Tools = append(c.Tools, model.Tool{Name: t.Name, Description: t.Description, Input: t.Input})
	}
	if q.ToolChoice != nil {
		c.Choice = map[string]string{"any": "any", "none": "none", "tool": q.ToolChoice.Name}[q.ToolChoice.Type]
	}
	c.System = q.System.parts()
	for _, m := range q.Messages {
		c.Messages = append(c.Messages, m.messages()...)
	}
	return c, nil
}

// messages returns what a message means: its results, each a tool message, and the rest.
func (m claudeMessage) messages() []*message.Message {
	var out []*message.Message
	for i, b := range m.Content {
		if b.Type != "tool_result" {
			return append(out, &message.Message{Role: message.Role(m.Role), Parts: m.Content[i:].parts()})
		}
		t := &message.Message{Role: message.Tool, CallID: b.UseID, Status: message.Success, Parts: b.Content.parts()}
		if b.IsError {
			t.Status = message.Error
		}
		out = append(out, t)
	}
	return out
}

func (c claudeContent) parts() message.Parts {
	parts := make(message.Parts, 0, len(c))
	for _, b := range c {
		switch b.Type {
		case "text":
			parts = append(parts, message.Text{Text: *b.Text, Cache: b.Cache != nil})
		case "thinking":
			parts = append(parts, message.Reasoning{Text: *b.Thinking})
		case "tool_use":
			parts = append(parts, message.ParseCall(b.ID, b.Name, string(b.Input)))
		case "image", "document":
			parts = append(parts, b.media())
		default:
			parts = append(parts, message.Opaque{Provider: "anthropic", Data: b.raw})
		}
	}
	return parts
}

func (b claudeBlock) media() message.Media {
	m := message.Media{Kind: message.Image, MIME: b.Source.MediaType, URL: b.Source.URL, ID: b.Source.FileID, Name: b.Title}
	if b.Type == "document" {
		m.Kind = message.File
	}
	m.Data, _ = base64.StdEncoding.DecodeString(b.Source.Data) // checked before
	return m
}

func (anthropic) failure(p problem) (int, any) {
	status, code := http.StatusBadRequest, "invalid_request_error"
	switch p.kind {
	case model.RateLimited:
		status, code = http.StatusTooManyRequests, "rate_limit_error"
	case model.Overloaded, model.Connection:
		status, code = 529, "overloaded_error"
	case model.Auth:
		status, code = http.StatusUnauthorized, "authentication_error"
	case model.ContextOverflow:
		p.text = "prompt is too long: " + p.text
	case model.Refused:
		p.text = "Output blocked by content filtering policy: " + p.text
	case model.Invalid, model.Other:
	}
	return status, map[string]any{"type": "error", "error": map[string]any{"type": code, "message": p.text}, "request_id": "req_wire"}
}

func (anthropic) encoder(c *call, id string) encoder {
	return &claudeEncoder{id: "msg_" + id, model: c.model, index: -1}
}

// claudeEncoder writes one block after the other.
type claudeEncoder struct {
	id, model string
	index     int
	kind      string // of the open block, or ""
	thinking  strings.Builder
}

func claudeEvent(name string, fields map[string]any) event {
	fields["type"] = name
	return event{name: name, data: fields}
}

func (e *claudeEncoder) begin() []event {
	return []event{
		claudeEvent("message_start", map[string]any{"message": map[string]any{
			"id": e.id, "type": "message", "role": "assistant", "model": e.model, "content": []any{}, "stop_reason": nil,
			"stop_sequence": nil, "usage": claudeUsage(&message.Usage{}),
		}}),
		claudeEvent("ping", map[string]any{}),
	}
}

func (e *claudeEncoder) delta(d model.Delta) []event {
	switch {
	case d.Text != "":
		return append(e.open("text", map[string]any{"type": "text", "text": ""}),
			e.piece(map[string]any{"type": "text_delta", "text": d.Text}))
	case d.Reasoning != "":
		out := e.open("thinking", map[string]any{"type": "thinking", "thinking": "", "signature": ""})
		e.thinking.WriteString(d.Reasoning)
		return append(out, e.piece(map[string]any{"type": "thinking_delta", "thinking": d.Reasoning}))
	case d.Call != nil:
		block := map[string]any{"type": "tool_use", "id": d.Call.ID, "name": d.Call.Name, "input": map[string]any{}}
		return append(e.open(fmt.Sprint("call ", d.Call.Index), block),
			e.piece(map[string]any{"type": "input_json_delta", "partial_json": d.Call.Args}))
	}
	return nil
}

// open begins a block of that kind unless it is open.
func (e *claudeEncoder) open(kind string, block map[string]any) []event {
	if e.kind == kind {
		return nil
	}
	out := e.close()
	e.kind = kind
	e.index++
	return append(out, claudeEvent("content_block_start", map[string]any{"index": e.index, "content_block": block}))
}

func (e *claudeEncoder) close() []event {
	var out []event
	if e.kind == "thinking" {
		out = append(out, e.piece(map[string]any{"type": "signature_delta", "signature": claudeSignature(e.thinking.String())}))
		e.thinking.Reset()
	}
	if e.kind != "" {
		out = append(out, claudeEvent("content_block_stop", map[string]any{"index": e.index}))
	}
	e.kind = ""
	return out
}

func (e *claudeEncoder) piece(delta map[string]any) event {
	return claudeEvent("content_block_delta", map[string]any{"index": e.index, "delta": delta})
}

const claudeSigned = "wire+/"

// claudeSignature signs thinking, so that a change of it is seen when it comes back.
func claudeSignature(text string) string {
	sum := sha256.Sum256([]byte(text))
	return claudeSigned + base64.StdEncoding.EncodeToString(sum[:])
}

func (e *claudeEncoder) finish(f model.Finish, u *message.Usage) []event {
	if u == nil {
		u = &message.Usage{}
	}
	return append(e.close(),
		claudeEvent("message_delta", map[string]any{
			"delta": map[string]any{"stop_reason": claudeStop(f), "stop_sequence": nil}, "usage": claudeUsage(u),
		}),
		claudeEvent("message_stop", map[string]any{}))
}

func claudeStop(f model.Finish) string {
	switch f {
	case model.ToolCalls:
		return "tool_use"
	case model.Length:
		return "max_tokens"
	case model.Refusal:
		return "refusal"
	case model.Stop:
	}
	return "end_turn"
}

func claudeUsage(u *message.Usage) map[string]any {
	return map[string]any{
		"input_tokens": u.Input, "output_tokens": u.Output, "cache_read_input_tokens": u.CacheRead,
		"cache_creation_input_tokens": u.CacheWrite, "output_tokens_details": map[string]any{"thinking_tokens": u.Reasoning},
	}
}

func (e *claudeEncoder) fail(p problem) []event {
	_, body := anthropic{}.failure(p)
	return []event{{name: "error", data: body}}
}

func (e *claudeEncoder) whole(m *message.Message) any {
	content := []any{}
	for _, p := range m.Parts {
		switch p := p.(type) {
		case message.Text:
			content = append(content, map[string]any{"type": "text", "text": p.Text})
		case message.Reasoning:
			content = append(content, map[string]any{"type": "thinking", "thinking": p.Text, "signature": claudeSignature(p.Text)})
		case message.ToolCall:
			input := p.Args
			if p.Invalid != "" {
				input = json.RawMessage("{}")
			}
			content = append(content, map[string]any{"type": "tool_use", "id": p.ID, "name": p.Name, "input": input})
		case message.Media, message.Opaque:
		}
	}
	u := m.Usage
	if u == nil {
		u = &message.Usage{}
	}
	return map[string]any{
		"id": e.id, "type": "message", "role": "assistant", "model": e.model, "content": content,
		"stop_reason": claudeStop(model.Finish(m.Finish)), "stop_sequence": nil, "usage": claudeUsage(u),
	}
}
