package anthropic_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// The rules of the Messages API that the service enforces with a 400, as far as its documentation and its error texts tell.

type wireRequest struct {
	Model        string        `json:"model"`
	MaxTokens    int           `json:"max_tokens"`
	Stream       bool          `json:"stream"`
	Temperature  *float64      `json:"temperature"`
	Thinking     *wireThinking `json:"thinking"`
	Output       *wireOutput   `json:"output_config"`
	ToolChoice   *wireChoice   `json:"tool_choice"`
	CacheControl *wireCache    `json:"cache_control"`
	System       []wireBlock   `json:"system"`
	Tools        []wireTool    `json:"tools"`
	Messages     []wireMessage `json:"messages"`
	raw          map[string]json.RawMessage
}

type wireThinking struct {
	Type    string `json:"type"`
	Display string `json:"display"`
	Budget  int    `json:"budget_tokens"`
}

type wireOutput struct {
	Effort string `json:"effort"`
	Format *struct {
		Type   string         `json:"type"`
		Schema map[string]any `json:"schema"`
	} `json:"format"`
}

type wireChoice struct{ Type, Name string }

type wireCache struct{ Type, TTL string }

type wireTool struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Input       map[string]any `json:"input_schema"`
}

type wireMessage struct {
	Role    string      `json:"role"`
	Content []wireBlock `json:"content"`
}

type wireBlock struct {
	Type      string          `json:"type"`
	Text      *string         `json:"text"`
	Thinking  *string         `json:"thinking"`
	Signature string          `json:"signature"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	UseID     string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
	Data      string          `json:"data"`
	Title     string          `json:"title"`
	Source    *wireSource     `json:"source"`
	Cache     *wireCache      `json:"cache_control"`
}

type wireSource struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
	URL       string `json:"url"`
	FileID    string `json:"file_id"`
}

var (
	idPattern   = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	namePattern = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)
)

// checkRequest decodes a body and returns what the service would refuse in it.
func checkRequest(body []byte) (*wireRequest, error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	var r wireRequest
	if err := dec.Decode(&r); err != nil {
		return nil, fmt.Errorf("body: %w", err)
	}
	c := checker{r: &r, used: make(map[string]bool)}
	c.top()
	c.blocks("system", "system", r.System)
	for i, m := range r.Messages {
		c.message(i, m)
	}
	if len(c.open) > 0 {
		c.fail("tool_use ids %q have no tool_result right after them", c.open)
	}
	if c.marks > 4 {
		c.fail("a maximum of 4 blocks with cache_control may be provided, found %d", c.marks)
	}
	return &r, errors.Join(c.errs...)
}

type checker struct {
	r     *wireRequest
	errs  []error
	used  map[string]bool // ids of calls
	open  []string        // ids of calls of the last answer
	marks int
}

func (c *checker) fail(format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf(format, args...))
}

func (c *checker) need(ok bool, format string, args ...any) {
	if !ok {
		c.fail(format, args...)
	}
}

func (c *checker) top() {
	r := c.r
	c.need(r.Model != "", "model is empty")
	c.need(r.MaxTokens > 0, "max_tokens is %d", r.MaxTokens)
	c.need(r.Stream, "stream is not set")
	c.need(len(r.Messages) > 0, "messages: at least one message is required")
	c.need(r.System == nil || len(r.System) > 0, "system is empty")
	c.cache(r.CacheControl)
	names := make(map[string]bool)
	for _, t := range r.Tools {
		c.need(namePattern.MatchString(t.Name), "tool name %q", t.Name)
		c.need(!names[t.Name], "tool names must be unique: %q", t.Name)
		c.need(t.Input["type"] == "object", "tool %q: input_schema.type is %v", t.Name, t.Input["type"])
		names[t.Name] = true
	}
	forced := false
	if ch := r.ToolChoice; ch != nil {
		c.need(len(r.Tools) > 0, "tool_choice may only be specified while providing tools")
		c.need(ch.Type == "any" || ch.Type == "none" || ch.Type == "auto" || ch.Type == "tool" && names[ch.Name], "tool_choice %+v", *ch)
		forced = ch.Type == "any" || ch.Type == "tool"
	}
	if t := r.Thinking; t != nil {
		c.need(t.Type == "adaptive" && t.Budget == 0 || t.Type == "enabled" && t.Budget >= 1024 && t.Budget < r.MaxTokens, "thinking %+v", *t)
		c.need(!forced, "thinking may not be enabled when tool_choice forces tool use")
		c.need(r.Temperature == nil, "temperature may only be set to 1 when thinking is enabled")
	}
	if o := r.Output; o != nil && o.Format != nil {
		c.need(o.Format.Type == "json_schema" && o.Format.Schema != nil, "output_config.format %+v", o.Format)
	}
}

func (c *checker) cache(m *wireCache) {
	if m != nil {
		c.need(m.Type == "ephemeral" && (m.TTL == "" || m.TTL == "5m" || m.TTL == "1h"), "cache_control %+v", *m)
		c.marks++
	}
}

func (c *checker) message(i int, m wireMessage) {
	first, last := i == 0, i == len(c.r.Messages)-1
	where := fmt.Sprintf("messages.%d", i)
	c.need(m.Role == "user" || m.Role == "assistant", "%s: role %q", where, m.Role)
	c.need(!first || m.Role == "user", "the first message must be the user's")
	c.need(!last || m.Role == "user", "this model does not support prefill: the last message must be the user's")
	c.need(first || m.Role != c.r.Messages[i-1].Role, "%s: two messages of %s", where, m.Role)
	c.need(len(m.Content) > 0, "%s: content is empty", where)
	if m.Role == "user" {
		c.results(where, m.Content)
	}
	c.blocks(where, m.Role, m.Content)
	if m.Role != "assistant" {
		return
	}
	for _, b := range m.Content {
		if b.Type == "tool_use" {
			c.open = append(c.open, b.ID)
		}
	}
	if n := len(m.Content); n > 0 {
		t := m.Content[n-1].Type
		c.need(t != "thinking" && t != "redacted_thinking", "%s: the final block in an assistant message cannot be %q", where, t)
	}
	if t := c.r.Thinking; t != nil && t.Type == "enabled" && i == len(c.r.Messages)-2 && len(c.open) > 0 {
		t := m.Content[0].Type
		c.need(t == "thinking" || t == "redacted_thinking", "%s: expected thinking, but found %q", where, t)
	}
}

// results checks that a user message answers the calls before it, at its beginning and once each.
func (c *checker) results(where string, content []wireBlock) {
	for _, b := range content {
		if b.Type != "tool_result" {
			break
		}
		if len(c.open) == 0 || b.UseID != c.open[0] {
			c.fail("%s: unexpected tool_use_id %q in tool_result, want the next of %q", where, b.UseID, c.open)
			return
		}
		c.open = c.open[1:]
	}
	c.need(len(c.open) == 0, "%s: tool_use ids %q were found without tool_result blocks immediately after", where, c.open)
	c.open = nil
	n := slices.IndexFunc(content, func(b wireBlock) bool { return b.Type != "tool_result" })
	c.need(n < 0 || !slices.ContainsFunc(content[n:], func(b wireBlock) bool { return b.Type == "tool_result" }),
		"%s: tool_result blocks must come first", where)
}

func (c *checker) blocks(where, role string, content []wireBlock) {
	for i, b := range content {
		at := fmt.Sprintf("%s.content.%d", where, i)
		c.need(slices.Contains(blockTypes[role], b.Type) || role == "assistant" && serverBlock(b.Type), "%s: a %q block of %s", at, b.Type, role)
		c.block(at, b)
	}
}

var blockTypes = map[string][]string{
	"system":      {"text"},
	"user":        {"text", "image", "document", "tool_result"},
	"assistant":   {"text", "thinking", "redacted_thinking", "tool_use"},
	"tool_result": {"text", "image", "document"},
}

func serverBlock(t string) bool {
	return t == "server_tool_use" || strings.HasSuffix(t, "_tool_result")
}

func (c *checker) block(at string, b wireBlock) {
	c.cache(b.Cache)
	switch b.Type {
	case "text":
		c.need(b.Text != nil && strings.TrimSpace(*b.Text) != "", "%s: text content blocks must contain non-whitespace text", at)
	case "thinking":
		c.need(b.Thinking != nil && b.Signature != "", "%s: thinking without text or signature", at)
		c.need(b.Cache == nil, "%s: thinking with cache_control", at)
	case "redacted_thinking":
		c.need(b.Data != "", "%s: no data", at)
	case "tool_use":
		c.need(idPattern.MatchString(b.ID), "%s: id %q", at, b.ID)
		c.need(!c.used[b.ID], "%s: tool_use ids must be unique: %q", at, b.ID)
		c.need(namePattern.MatchString(b.Name), "%s: name %q", at, b.Name)
		c.need(len(b.Input) > 0 && b.Input[0] == '{', "%s: input should be an object: %s", at, b.Input)
		c.used[b.ID] = true
	case "tool_result":
		c.result(at, b)
	case "image", "document":
		c.source(at, b)
	}
}

func (c *checker) result(at string, b wireBlock) {
	var content []wireBlock
	if b.Content != nil {
		if err := json.Unmarshal(b.Content, &content); err != nil {
			c.fail("%s: content: %w", at, err)
		}
	}
	c.need(!b.IsError || len(content) > 0, "%s: content cannot be empty if is_error is true", at)
	for _, x := range content {
		c.need(!b.IsError || x.Type == "text", "%s: all content must be text if is_error is true", at)
	}
	c.blocks(at, "tool_result", content)
}

func (c *checker) source(at string, b wireBlock) {
	if b.Source == nil {
		c.fail("%s: no source", at)
		return
	}
	switch s := *b.Source; s.Type {
	case "base64":
		data, err := base64.StdEncoding.DecodeString(s.Data)
		c.need(err == nil && len(data) > 0, "%s: data is no base64 or empty", at)
		images := []string{"image/jpeg", "image/png", "image/gif", "image/webp"}
		c.need(b.Type == "image" && slices.Contains(images, s.MediaType) || b.Type == "document" && s.MediaType == "application/pdf",
			"%s: media_type %q of %s", at, s.MediaType, b.Type)
	case "url":
		c.need(s.URL != "", "%s: no url", at)
	case "file":
		c.need(s.FileID != "", "%s: no file_id", at)
	default:
		c.fail("%s: source type %q", at, s.Type)
	}
}
