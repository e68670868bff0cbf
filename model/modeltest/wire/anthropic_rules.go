package wire

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var (
	claudeID   = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	claudeName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)
)

// check returns what the service would refuse.
func (r *claudeRequest) check() error {
	c := claudeChecker{r: r, used: make(map[string]bool)}
	c.top()
	c.blocks("system", "system", r.System)
	for i, m := range r.Messages {
		c.message(i, m)
	}
	c.need(len(c.open) == 0, "tool_use ids %q have no tool_result right after them", c.open)
	c.need(c.marks <= 4, "a maximum of 4 blocks with cache_control may be provided, found %d", c.marks)
	return errors.Join(c.errs...)
}

type claudeChecker struct {
	r     *claudeRequest
	errs  []error
	used  map[string]bool // ids of calls
	open  []string        // ids of the calls of the last answer
	marks int
}

func (c *claudeChecker) need(ok bool, format string, args ...any) {
	if !ok {
		c.errs = append(c.errs, fmt.Errorf(format, args...))
	}
}

func (c *claudeChecker) top() {
	r := c.r
	c.need(r.Model != "", "model: field required")
	c.need(r.MaxTokens > 0, "max_tokens: field required")
	c.need(len(r.Messages) > 0, "messages: at least one message is required")
	c.need(r.System == nil || len(r.System) > 0, "system: empty")
	c.cache(r.CacheControl)
	names := make(map[string]bool)
	for _, t := range r.Tools {
		var schema struct{ Type any }
		c.need(claudeName.MatchString(t.Name), "tools: name %q", t.Name)
		c.need(!names[t.Name], "tools: names must be unique: %q", t.Name)
		custom := t.Type == "" || t.Type == "custom"
		c.need(!custom || json.Unmarshal(t.Input, &schema) == nil && schema.Type == "object", "tools: input_schema of %q is not of type object", t.Name)
		c.cache(t.Cache)
		names[t.Name] = true
	}
	c.settings(names)
}

func (c *claudeChecker) settings(names map[string]bool) {
	r, forced := c.r, false
	if ch := r.ToolChoice; ch != nil {
		c.need(len(r.Tools) > 0, "tool_choice may only be specified while providing tools")
		c.need(slices.Contains([]string{"auto", "any", "none"}, ch.Type) || ch.Type == "tool" && names[ch.Name], "tool_choice: %+v", *ch)
		forced = ch.Type == "any" || ch.Type == "tool"
	}
	if t := r.Thinking; t != nil && t.Type != "disabled" {
		enabled := t.Type == "enabled" && t.Budget >= 1024 && t.Budget < r.MaxTokens
		c.need(enabled || t.Type == "adaptive" && t.Budget == 0, "thinking: %+v", *t)
		c.need(!forced, "thinking may not be enabled when tool_choice forces tool use")
		c.need(r.Temperature == nil || *r.Temperature == 1, "temperature may only be set to 1 when thinking is enabled")
	}
	if o := r.Output; o != nil && o.Format != nil {
		c.need(o.Format.Type == "json_schema" && len(o.Format.Schema) > 0 && o.Format.Schema[0] == '{', "output_config.format: no JSON schema")
	}
}

func (c *claudeChecker) cache(m *claudeCache) {
	if m != nil {
		c.need(m.Type == "ephemeral" && slices.Contains([]string{"", "5m", "1h"}, m.TTL), "cache_control: %+v", *m)
		c.marks++
	}
}

func (c *claudeChecker) message(i int, m claudeMessage) {
	at := fmt.Sprintf("messages.%d", i)
	first, last := i == 0, i == len(c.r.Messages)-1
	c.need(m.Role == "user" || m.Role == "assistant", "%s: role %q", at, m.Role)
	c.need(!first || m.Role == "user", "the first message must be the user's")
	c.need(!last || m.Role == "user", "the last message must be the user's: this model does not support prefill")
	c.need(first || m.Role != c.r.Messages[i-1].Role, "%s: two messages of one role", at)
	c.need(len(m.Content) > 0, "%s: content is empty", at)
	if m.Role == "user" {
		c.results(at, m.Content)
	}
	c.blocks(at, m.Role, m.Content)
	if m.Role != "assistant" || len(m.Content) == 0 {
		return
	}
	for _, b := range m.Content {
		if b.Type == "tool_use" {
			c.open = append(c.open, b.ID)
		}
	}
	end := m.Content[len(m.Content)-1].Type
	c.need(end != "thinking" && end != "redacted_thinking", "%s: the final block of an assistant message cannot be %q", at, end)
	if t := c.r.Thinking; t != nil && t.Type == "enabled" && i == len(c.r.Messages)-2 && len(c.open) > 0 {
		begin := m.Content[0].Type
		c.need(begin == "thinking" || begin == "redacted_thinking", "%s: expected thinking, but found %q", at, begin)
	}
}

// results checks that a user message answers the calls before it: at its beginning, once each, in order.
func (c *claudeChecker) results(at string, content claudeContent) {
	n := 0
	for ; n < len(content) && content[n].Type == "tool_result"; n++ {
		id := content[n].UseID
		if len(c.open) == 0 || c.open[0] != id {
			c.need(false, "%s: unexpected tool_use_id %q in tool_result, want the next of %q", at, id, c.open)
			return
		}
		c.open = c.open[1:]
	}
	c.need(len(c.open) == 0, "%s: tool_use ids %q were found without tool_result blocks right after them", at, c.open)
	c.open = nil
	for _, b := range content[n:] {
		c.need(b.Type != "tool_result", "%s: tool_result blocks must come first", at)
	}
}

func (c *claudeChecker) blocks(at, where string, content claudeContent) {
	var allowed []string
	switch where {
	case "system":
		allowed = []string{"text"}
	case "user":
		allowed = []string{"text", "image", "document", "tool_result"}
	case "tool_result":
		allowed = []string{"text", "image", "document"}
	case "assistant":
		allowed = []string{"text", "thinking", "redacted_thinking", "tool_use"}
	}
	for i, b := range content {
		at := fmt.Sprintf("%s.content.%d", at, i)
		c.need(slices.Contains(allowed, b.Type) || where == "assistant" && serverBlock(b.Type), "%s: a %q block may not stand there", at, b.Type)
		c.block(at, b)
	}
}

func (c *claudeChecker) block(at string, b claudeBlock) {
	c.cache(b.Cache)
	switch b.Type {
	case "text":
		c.need(b.Text != nil && strings.TrimSpace(*b.Text) != "", "%s: text content blocks must contain non-whitespace text", at)
	case "thinking":
		c.need(b.Thinking != nil && b.Signature != "", "%s: thinking and signature: fields required", at)
		signed := b.Thinking != nil && strings.HasPrefix(b.Signature, claudeSigned)
		c.need(!signed || b.Signature == claudeSignature(*b.Thinking), "%s: invalid signature in thinking block", at)
		c.need(b.Cache == nil, "%s: thinking cannot have cache_control", at)
	case "redacted_thinking":
		c.need(b.Data != "", "%s: data: field required", at)
	case "tool_use":
		c.need(claudeID.MatchString(b.ID), "%s: id %q", at, b.ID)
		c.need(!c.used[b.ID], "%s: tool_use ids must be unique: %q", at, b.ID)
		c.need(claudeName.MatchString(b.Name), "%s: name %q", at, b.Name)
		c.need(len(b.Input) > 0 && b.Input[0] == '{', "%s: input should be an object", at)
		c.used[b.ID] = true
	case "tool_result":
		c.need(!b.IsError || len(b.Content) > 0, "%s: content cannot be empty if is_error is true", at)
		for _, x := range b.Content {
			c.need(!b.IsError || x.Type == "text", "%s: all content must be text if is_error is true", at)
		}
		c.blocks(at, "tool_result", b.Content)
	case "image", "document":
		c.source(at, b)
	}
}

func (c *claudeChecker) source(at string, b claudeBlock) {
	if b.Source == nil {
		c.need(false, "%s: source: field required", at)
		return
	}
	switch s := *b.Source; s.Type {
	case "base64":
		data, err := base64.StdEncoding.DecodeString(s.Data)
		c.need(err == nil && len(data) > 0, "%s: data is empty or no base64", at)
		allowed := []string{"image/jpeg", "image/png", "image/gif", "image/webp"}
		if b.Type == "document" {
			allowed = []string{"application/pdf"}
		}
		c.need(slices.Contains(allowed, s.MediaType), "%s: media_type %q", at, s.MediaType)
	case "url":
		c.need(strings.HasPrefix(s.URL, "http"), "%s: url %q", at, s.URL)
	case "file":
		c.need(s.FileID != "", "%s: file_id: field required", at)
	case "text":
		c.need(b.Type == "document" && s.MediaType == "text/plain" && s.Data != "", "%s: a text source", at)
	default:
		c.need(false, "%s: source type %q", at, s.Type)
	}
}
