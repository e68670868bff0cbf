package wire

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
)

// chat is OpenAI Chat Completions.
type chat struct{}

func (chat) match(path string) bool { return strings.HasSuffix(path, "/chat/completions") }

type chatRequest struct {
	Model         string        `json:"model"`
	Messages      []chatMessage `json:"messages"`
	Stream        bool          `json:"stream"`
	StreamOptions *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Tools               []chatTool      `json:"tools"`
	ToolChoice          json.RawMessage `json:"tool_choice"`
	ParallelToolCalls   *bool           `json:"parallel_tool_calls"`
	Temperature         *float64        `json:"temperature"`
	TopP                *float64        `json:"top_p"`
	MaxTokens           int             `json:"max_tokens"`
	MaxCompletionTokens int             `json:"max_completion_tokens"`
	ReasoningEffort     string          `json:"reasoning_effort"`
	ResponseFormat      *chatFormat     `json:"response_format"`
	Stop                json.RawMessage `json:"stop"`
	Seed                *int            `json:"seed"`
	N                   *int            `json:"n"`
	User                string          `json:"user"`
	Store               *bool           `json:"store"`
	Metadata            json.RawMessage `json:"metadata"`
}

type chatTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
		Strict      *bool           `json:"strict"`
	} `json:"function"`
}

type chatFormat struct {
	Type   string `json:"type"`
	Schema *struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Strict      bool            `json:"strict"`
		Schema      json.RawMessage `json:"schema"`
	} `json:"json_schema"`
}

type chatMessage struct {
	Role             string            `json:"role"`
	Name             string            `json:"name"`
	Content          json.RawMessage   `json:"content"`
	ToolCalls        []chatCall        `json:"tool_calls"`
	ToolCallID       string            `json:"tool_call_id"`
	Refusal          *string           `json:"refusal"`
	ReasoningContent *string           `json:"reasoning_content"`
	Reasoning        *string           `json:"reasoning"`
	ReasoningDetails []json.RawMessage `json:"reasoning_details"`
}

type chatCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

func (chat) decode(_ *http.Request, body []byte) (*call, error) {
	var r chatRequest
	if err := strictJSON(body, &r); err != nil {
		return nil, err
	}
	if r.Model == "" {
		return nil, errors.New("model is missing")
	}
	c := &call{model: r.Model, stream: r.Stream}
	c.Settings = model.Settings{Temperature: r.Temperature, MaxTokens: r.MaxTokens + r.MaxCompletionTokens, Effort: r.ReasoningEffort}
	if err := r.tools(c); err != nil {
		return nil, err
	}
	if f := r.ResponseFormat; f != nil && f.Type == "json_schema" {
		if f.Schema == nil {
			return nil, errors.New("response_format has no json_schema")
		}
		if err := checkFormat(f.Schema.Name, f.Schema.Schema, f.Schema.Strict); err != nil {
			return nil, err
		}
		c.Schema, c.SchemaName = f.Schema.Schema, f.Schema.Name
	}
	var t turns
	for i := range r.Messages {
		if err := r.Messages[i].decode(c, &t, i); err != nil {
			return nil, fmt.Errorf("messages[%d]: %w", i, err)
		}
	}
	return c, t.end()
}

func (r *chatRequest) tools(c *call) error {
	for _, t := range r.Tools {
		if t.Type != "function" {
			return fmt.Errorf("tool type %q is not function", t.Type)
		}
		c.Tools = append(c.Tools, model.Tool{Name: t.Function.Name, Description: t.Function.Description, Input: t.Function.Parameters})
	}
	choice, err := toolChoice(r.ToolChoice, func(raw json.RawMessage) (string, error) {
		var f struct {
			Type     string `json:"type"`
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		}
		err := strictJSON(raw, &f)
		return f.Function.Name, err
	})
	if err != nil {
		return err
	}
	c.Choice = choiceOf(choice)
	return checkTools(c.Tools, choice)
}

func (m *chatMessage) decode(c *call, t *turns, at int) error {
	if m.Role != "assistant" && (len(m.ToolCalls) > 0 || m.Refusal != nil || m.ReasoningContent != nil || m.Reasoning != nil) {
		return fmt.Errorf("a %s message has fields of an assistant message", m.Role)
	}
	if m.Role != "tool" {
		if err := t.say(m.Role); err != nil {
			return err
		}
		if m.ToolCallID != "" {
			return fmt.Errorf("a %s message has a tool_call_id", m.Role)
		}
	}
	switch m.Role {
	case "system", "developer":
		parts, err := chatParts(m.Content, "text")
		switch {
		case err != nil:
			return err
		case at == 0:
			c.System = parts
		default:
			c.Messages = append(c.Messages, &message.Message{Role: message.System, Parts: parts})
		}
		return nil
	case "user":
		parts, err := chatParts(m.Content, "text", "image_url", "input_audio", "file", "video_url")
		c.Messages = append(c.Messages, &message.Message{Role: message.User, Parts: parts})
		return err
	case "assistant":
		return m.assistant(c, t)
	case "tool":
		parts, err := chatParts(m.Content, "text")
		if err != nil {
			return err
		}
		c.Messages = append(c.Messages, &message.Message{Role: message.Tool, CallID: m.ToolCallID, Status: message.Success, Parts: parts})
		return t.result(m.ToolCallID)
	}
	return fmt.Errorf("unknown role %q", m.Role)
}

func (m *chatMessage) assistant(c *call, t *turns) error {
	out := &message.Message{Role: message.Assistant}
	for _, r := range []*string{m.ReasoningContent, m.Reasoning} {
		if r != nil && *r != "" {
			out.Parts = append(out.Parts, message.Reasoning{Text: *r})
		}
	}
	if !isNull(m.Content) {
		parts, err := chatParts(m.Content, "text", "refusal", "thinking")
		if err != nil {
			return err
		}
		out.Parts = append(out.Parts, parts...)
	} else if len(m.ToolCalls) == 0 {
		return errors.New("an assistant message has neither content nor calls")
	}
	ids := make([]string, len(m.ToolCalls))
	for i, tc := range m.ToolCalls {
		if tc.Type != "function" {
			return fmt.Errorf("call type %q is not function", tc.Type)
		}
		if err := checkCall(tc.Function.Name, tc.Function.Arguments); err != nil {
			return err
		}
		ids[i] = tc.ID
		out.Parts = append(out.Parts, message.ParseCall(tc.ID, tc.Function.Name, tc.Function.Arguments))
	}
	c.Messages = append(c.Messages, finished(out))
	return t.calls(ids)
}

type chatPart struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Refusal  string `json:"refusal"`
	ImageURL *struct {
		URL    string `json:"url"`
		Detail string `json:"detail"`
	} `json:"image_url"`
	VideoURL *struct {
		URL string `json:"url"`
	} `json:"video_url"`
	Audio *struct {
		Data   string `json:"data"`
		Format string `json:"format"`
	} `json:"input_audio"`
	File *struct {
		Name string `json:"filename"`
		Data string `json:"file_data"`
		ID   string `json:"file_id"`
	} `json:"file"`
	Thinking json.RawMessage `json:"thinking"`
}

// chatParts reads content: a text that is not empty, or a list that is not empty of the kinds that may stand there.
func chatParts(raw json.RawMessage, kinds ...string) (message.Parts, error) {
	var text string
	if isString(raw) {
		if err := json.Unmarshal(raw, &text); err != nil || text == "" {
			return nil, errors.New("the content is empty")
		}
		return message.Parts{message.Text{Text: text}}, nil
	}
	var list []chatPart
	if err := strictJSON(raw, &list); err != nil {
		return nil, fmt.Errorf("content: %w", err)
	}
	if len(list) == 0 {
		return nil, errors.New("the content is an empty list")
	}
	parts := make(message.Parts, 0, len(list))
	for i := range list {
		p, err := list[i].part(kinds)
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	return parts, nil
}

func (p *chatPart) part(kinds []string) (message.Part, error) {
	allowed := false
	for _, k := range kinds {
		allowed = allowed || k == p.Type
	}
	if !allowed {
		return nil, fmt.Errorf("content of type %q may not stand there", p.Type)
	}
	switch {
	case p.Type == "text" && p.Text != "":
		return message.Text{Text: p.Text}, nil
	case p.Type == "refusal" && p.Refusal != "":
		return message.Text{Text: p.Refusal}, nil
	case p.Type == "thinking" && !isNull(p.Thinking):
		inner, err := chatParts(p.Thinking, "text")
		m := message.Message{Parts: inner}
		return message.Reasoning{Text: m.Text()}, err
	case p.Type == "image_url" && p.ImageURL != nil:
		return dataURL(message.Image, p.ImageURL.URL)
	case p.Type == "video_url" && p.VideoURL != nil:
		return dataURL(message.Video, p.VideoURL.URL)
	case p.Type == "file" && p.File != nil && p.File.ID != "":
		return message.Media{Kind: message.File, ID: p.File.ID}, nil
	case p.Type == "file" && p.File != nil && p.File.Name != "":
		m, err := dataURL(message.File, p.File.Data)
		m.Name = p.File.Name
		return m, err
	case p.Type == "input_audio" && p.Audio != nil && (p.Audio.Format == "wav" || p.Audio.Format == "mp3"):
		data, err := base64.StdEncoding.DecodeString(p.Audio.Data)
		return message.Media{Kind: message.Audio, MIME: "audio/" + p.Audio.Format, Data: data}, err
	}
	return nil, fmt.Errorf("content of type %q is empty or not complete", p.Type)
}

func (chat) failure(p problem) (int, any) {
	status, code, kind := openAIError(p)
	return status, map[string]any{"error": map[string]any{"message": p.text, "type": kind, "param": nil, "code": code}}
}

// openAIError returns the status, code and type of an error in OpenAI's words.
func openAIError(p problem) (status int, code any, kind string) {
	switch p.kind {
	case model.RateLimited:
		return http.StatusTooManyRequests, "rate_limit_exceeded", "requests"
	case model.ContextOverflow:
		return http.StatusBadRequest, "context_length_exceeded", "invalid_request_error"
	case model.Auth:
		return http.StatusUnauthorized, "invalid_api_key", "invalid_request_error"
	case model.Overloaded, model.Connection:
		return http.StatusServiceUnavailable, nil, "server_error"
	case model.Refused, model.Invalid, model.Other:
	}
	if p.code != "" {
		code = p.code
	}
	return http.StatusBadRequest, code, "invalid_request_error"
}

func (chat) encoder(c *call, id string) encoder {
	return &chatEncoder{id: "chatcmpl-" + id, model: c.model}
}

type chatEncoder struct {
	id, model string
}

func (e *chatEncoder) chunk(delta map[string]any, finish any) event {
	return event{data: map[string]any{
		"id": e.id, "object": "chat.completion.chunk", "created": 1, "model": e.model,
		"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}},
	}}
}

func (e *chatEncoder) begin() []event {
	return []event{e.chunk(map[string]any{"role": "assistant", "content": ""}, nil)}
}

func (e *chatEncoder) delta(d model.Delta) []event {
	switch {
	case d.Text != "" && d.Finish == model.Refusal:
		return []event{e.chunk(map[string]any{"refusal": d.Text}, nil)}
	case d.Text != "":
		return []event{e.chunk(map[string]any{"content": d.Text}, nil)}
	case d.Reasoning != "":
		return []event{e.chunk(map[string]any{"reasoning_content": d.Reasoning}, nil)}
	case d.Call != nil:
		c := map[string]any{"index": d.Call.Index, "function": map[string]any{"arguments": d.Call.Args}}
		if d.Call.ID != "" || d.Call.Name != "" {
			c["id"], c["type"] = d.Call.ID, "function"
			c["function"] = map[string]any{"name": d.Call.Name, "arguments": d.Call.Args}
		}
		return []event{e.chunk(map[string]any{"tool_calls": []any{c}}, nil)}
	}
	return nil
}

func (e *chatEncoder) finish(f model.Finish, u *message.Usage) []event {
	out := []event{e.chunk(map[string]any{}, chatFinish(f))}
	if u != nil {
		out = append(out, event{data: map[string]any{
			"id": e.id, "object": "chat.completion.chunk", "created": 1, "model": e.model, "choices": []any{}, "usage": chatUsage(u),
		}})
	}
	return append(out, event{data: "[DONE]"})
}

func chatFinish(f model.Finish) string {
	switch f {
	case model.ToolCalls:
		return "tool_calls"
	case model.Length:
		return "length"
	case model.Stop, model.Refusal:
	}
	return "stop" // a refusal says so in its own field
}

func chatUsage(u *message.Usage) map[string]any {
	return map[string]any{
		"prompt_tokens": u.Input + u.CacheRead + u.CacheWrite, "completion_tokens": u.Output, "total_tokens": u.Total,
		"prompt_tokens_details":     map[string]any{"cached_tokens": u.CacheRead, "cache_write_tokens": u.CacheWrite},
		"completion_tokens_details": map[string]any{"reasoning_tokens": u.Reasoning},
	}
}

func (e *chatEncoder) fail(p problem) []event {
	_, body := chat{}.failure(p)
	return []event{{data: body}}
}

func (e *chatEncoder) whole(m *message.Message) any {
	msg := map[string]any{"role": "assistant", "content": nil, "refusal": nil}
	if t := m.Text(); t != "" {
		msg["content"] = t
	}
	if m.Finish == string(model.Refusal) {
		msg["content"], msg["refusal"] = nil, m.Text()
	}
	var calls []any
	for _, c := range m.Calls() {
		calls = append(calls, map[string]any{
			"id": c.ID, "type": "function", "function": map[string]any{"name": c.Name, "arguments": argsText(c)},
		})
	}
	if len(calls) > 0 {
		msg["tool_calls"] = calls
	}
	out := map[string]any{
		"id": e.id, "object": "chat.completion", "created": 1, "model": e.model,
		"choices": []any{map[string]any{"index": 0, "message": msg, "finish_reason": chatFinish(model.Finish(m.Finish))}},
	}
	if m.Usage != nil {
		out["usage"] = chatUsage(m.Usage)
	}
	return out
}

func argsText(c message.ToolCall) string {
	if c.Invalid != "" {
		return c.Raw
	}
	return string(c.Args)
}
