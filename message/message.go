package message

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/deepagents-go/deepagents/internal/jsonenc"
)

// Role says who speaks.
type Role string

// The roles.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool"
)

// Status is the outcome of a tool call, on the message that answers it.
type Status string

// The outcomes.
const (
	Success Status = "success"
	Error   Status = "error"
)

// Message is one message of a conversation.
type Message struct {
	// ID is unique within the thread and stable. The agent stamps it before a message is stored.
	ID   string `json:"id,omitempty"`
	Role Role   `json:"role"`
	// Name is the tool's name on a tool message, else the speaker's, where there is one.
	Name  string `json:"name,omitempty"`
	Parts Parts  `json:"parts,omitempty"`
	// CallID is the id of the call that a tool message answers.
	CallID string `json:"call_id,omitempty"`
	// Status is the outcome that a tool message reports.
	Status Status `json:"status,omitempty"`
	// Artifact belongs to a tool message; programs read it, models never see it.
	Artifact json.RawMessage `json:"artifact,omitempty"`
	// Usage and Finish belong to an assistant message.
	Usage  *Usage `json:"usage,omitempty"`
	Finish string `json:"finish,omitempty"`
	// Meta carries marks of middleware and providers. A nil value deletes nothing; keys are names like "evicted_to".
	Meta map[string]json.RawMessage `json:"meta,omitempty"`
}

// Usage counts tokens in one way for every provider: Input leaves out what came from or went to the cache, Output includes
// reasoning, Total is the sum of everything.
type Usage struct {
	Input      int `json:"input"`
	Output     int `json:"output"`
	Total      int `json:"total"`
	CacheRead  int `json:"cache_read,omitempty"`
	CacheWrite int `json:"cache_write,omitempty"`
	Reasoning  int `json:"reasoning,omitempty"`
}

// Add returns the sum of two usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input: u.Input + v.Input, Output: u.Output + v.Output, Total: u.Total + v.Total,
		CacheRead: u.CacheRead + v.CacheRead, CacheWrite: u.CacheWrite + v.CacheWrite, Reasoning: u.Reasoning + v.Reasoning,
	}
}

// NewUser returns a user message with one text.
func NewUser(text string) *Message { return &Message{Role: User, Parts: Parts{Text{Text: text}}} }

// NewSystem returns a system message with one text.
func NewSystem(text string) *Message { return &Message{Role: System, Parts: Parts{Text{Text: text}}} }

// NewAssistant returns an assistant message with one text.
func NewAssistant(text string) *Message {
	return &Message{Role: Assistant, Parts: Parts{Text{Text: text}}}
}

// NewTool returns the message that answers a call.
func NewTool(call ToolCall, status Status, text string) *Message {
	return &Message{Role: Tool, Name: call.Name, CallID: call.ID, Status: status, Parts: Parts{Text{Text: text}}}
}

// Clone returns a copy whose slices and maps can be changed. Parts themselves are shared: they are values.
func (m *Message) Clone() *Message {
	c := *m
	c.Parts = slices.Clone(m.Parts)
	c.Meta = maps.Clone(m.Meta)
	if m.Usage != nil {
		u := *m.Usage
		c.Usage = &u
	}
	return &c
}

// Text returns the text parts joined by LF.
func (m *Message) Text() string {
	first, n := "", 0
	for _, p := range m.Parts {
		if t, ok := p.(Text); ok {
			if n == 0 {
				first = t.Text
			}
			n++
		}
	}
	if n < 2 {
		return first
	}
	texts := make([]string, 0, n)
	for _, p := range m.Parts {
		if t, ok := p.(Text); ok {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// Calls returns the tool calls in order, invalid ones included.
func (m *Message) Calls() []ToolCall {
	var calls []ToolCall
	for _, p := range m.Parts {
		if c, ok := p.(ToolCall); ok {
			calls = append(calls, c)
		}
	}
	return calls
}

// MarshalJSON encodes the message; see [Message.AppendJSON].
func (m *Message) MarshalJSON() ([]byte, error) {
	return m.AppendJSON(make([]byte, 0, 256))
}

// AppendJSON appends the encoding to b: the fields in the order of the struct, empty ones left out.
func (m *Message) AppendJSON(b []byte) ([]byte, error) {
	if m == nil {
		return append(b, "null"...), nil
	}
	o := jsonenc.Begin(b)
	o.NonEmpty("id", m.ID)
	o.String("role", string(m.Role))
	o.NonEmpty("name", m.Name)
	if len(m.Parts) > 0 {
		o.Append("parts", m.Parts.AppendJSON)
	}
	o.NonEmpty("call_id", m.CallID)
	o.NonEmpty("status", string(m.Status))
	o.Raw("artifact", m.Artifact)
	if m.Usage != nil {
		o.Value("usage", m.Usage)
	}
	o.NonEmpty("finish", m.Finish)
	if len(m.Meta) > 0 {
		o.Value("meta", m.Meta)
	}
	return o.End()
}
