package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
)

// chunk is an event of Chat. The names are those that servers use for the same thing.
type chunk struct {
	ID      string          `json:"id"`
	Choices []choice        `json:"choices"`
	Usage   *chatUsage      `json:"usage"`
	Error   json.RawMessage `json:"error"`
	Object  string          `json:"object"` // "error" where the event itself is the error
	Groq    struct {
		Usage *chatUsage `json:"usage"`
	} `json:"x_groq"`
}

type choice struct {
	Index  int       `json:"index"`
	Delta  chatDelta `json:"delta"`
	Finish string    `json:"finish_reason"`
}

type chatDelta struct {
	Content          content           `json:"content"`
	Refusal          string            `json:"refusal"`
	ReasoningContent string            `json:"reasoning_content"`
	Reasoning        string            `json:"reasoning"`
	Details          []json.RawMessage `json:"reasoning_details"`
	Calls            []chatCall        `json:"tool_calls"`
}

type chatCall struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string    `json:"name"`
		Arguments arguments `json:"arguments"`
	} `json:"function"`
}

// content is a text, or Mistral's list of texts and thoughts.
type content struct{ text, thinking string }

func (c *content) UnmarshalJSON(b []byte) error {
	if b[0] != '[' {
		return json.Unmarshal(b, &c.text)
	}
	var parts []struct {
		Type     string  `json:"type"`
		Text     string  `json:"text"`
		Thinking content `json:"thinking"`
	}
	if err := json.Unmarshal(b, &parts); err != nil {
		return err
	}
	for _, p := range parts {
		c.text += p.Text
		c.thinking += p.Thinking.text
	}
	return nil
}

// arguments are a text; some servers send the object itself.
type arguments string

func (a *arguments) UnmarshalJSON(b []byte) error {
	if b[0] == '{' {
		*a = arguments(b)
		return nil
	}
	return json.Unmarshal(b, (*string)(a))
}

type chatUsage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
	CacheHit   int `json:"prompt_cache_hit_tokens"` // DeepSeek
	Cached     int `json:"cached_tokens"`           // Moonshot
	In         struct {
		Cached  int `json:"cached_tokens"`
		Written int `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	Out struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// normal counts in our way. A server whose total is more than its two halves (xAI) does not count reasoning as output.
func (u *chatUsage) normal() *message.Usage {
	n := &message.Usage{
		CacheRead: max(u.In.Cached, u.CacheHit, u.Cached), CacheWrite: u.In.Written, Reasoning: u.Out.Reasoning, Output: u.Completion,
	}
	if n.Reasoning > 0 && u.Total == u.Prompt+u.Completion+n.Reasoning {
		n.Output += n.Reasoning
	}
	n.Input = max(0, u.Prompt-n.CacheRead-n.CacheWrite)
	n.Total = n.Input + n.Output + n.CacheRead + n.CacheWrite
	return n
}

// chatStream is the handler of Chat.
type chatStream struct {
	*output
	m       *Model
	calls   []slot
	usage   *chatUsage
	reason  string // finish_reason
	refused bool
	field   string // where the reasoning that is not signed yet came from
	details []map[string]json.RawMessage
}

// slot is a call that the server is sending.
type slot struct {
	server int // the server's index
	id     string
}

func (s *chatStream) event(data []byte) (bool, error) {
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return false, s.m.malformed(data, err)
	}
	if len(c.Error) > 0 && string(c.Error) != "null" || c.Object == "error" {
		return false, s.m.failure(0, nil, data)
	}
	s.messageID(c.ID)
	for i := range c.Choices {
		if c.Choices[i].Index == 0 {
			s.choice(&c.Choices[i])
		}
	}
	if c.Usage == nil {
		c.Usage = c.Groq.Usage
	}
	if c.Usage != nil {
		s.usage = c.Usage
	}
	done := s.reason != "" && c.Usage != nil // nothing follows but the end, which some servers never send
	switch s.reason {
	case "error", "insufficient_system_resource":
		return false, &model.Error{
			Kind: model.Overloaded, Provider: s.m.o.Provider, Code: s.reason, Err: errors.New("the server gave the answer up"),
		}
	}
	return done, nil
}

func (s *chatStream) choice(c *choice) {
	d := &c.Delta
	s.think(fieldContent, d.ReasoningContent)
	if d.ReasoningContent == "" {
		s.think(fieldPlain, d.Reasoning)
	}
	s.think(fieldThinking, d.Content.thinking)
	for _, raw := range d.Details {
		s.detail(raw)
	}
	if t := d.Content.text; t != "" {
		s.sign()
		s.emit(model.Delta{Text: t})
	}
	if d.Refusal != "" {
		s.sign()
		s.refused = true
		s.emit(model.Delta{Text: d.Refusal})
	}
	for i := range d.Calls {
		s.sign()
		s.call(&d.Calls[i])
	}
	if c.Finish != "" {
		s.reason = c.Finish
	}
}

func (s *chatStream) think(field, text string) {
	if text == "" {
		return
	}
	if s.field != field {
		s.sign()
	}
	s.field = field
	s.emit(model.Delta{Reasoning: text})
}

// sign says whose the reasoning was that just ended, and what field it came in. The structured form, which comes with the
// same text, is signed at the end.
func (s *chatStream) sign() {
	field := s.field
	if s.field = ""; field != "" && len(s.details) == 0 {
		s.thought(thought{Field: field})
	}
}

func (s *chatStream) thought(t thought) {
	raw, err := marshal(t)
	if err == nil {
		s.emit(model.Delta{Part: message.Reasoning{Provider: s.m.o.Provider, Opaque: raw}})
	}
}

// marshal encodes v without HTML escaping.
func marshal(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// detail takes a piece of structured reasoning. Pieces of one type and index are one block, whose signature holds for all of
// its text.
func (s *chatStream) detail(raw json.RawMessage) {
	var d map[string]json.RawMessage
	if json.Unmarshal(raw, &d) != nil || d == nil {
		return
	}
	if len(d["index"]) > 0 {
		for _, known := range s.details {
			if bytes.Equal(known["index"], d["index"]) && bytes.Equal(known["type"], d["type"]) {
				mergeDetail(known, d)
				return
			}
		}
	}
	s.details = append(s.details, d)
}

func mergeDetail(known, d map[string]json.RawMessage) {
	for k, v := range d {
		switch k {
		case "text", "summary", "data":
			var a, b string
			if json.Unmarshal(known[k], &a) == nil && json.Unmarshal(v, &b) == nil || known[k] == nil {
				if joined, err := marshal(a + b); known[k] != nil && err == nil {
					known[k] = joined
					continue
				}
				known[k] = v
			}
		default:
			if string(v) != "null" {
				known[k] = v
			}
		}
	}
}

// call takes a piece of a call. Some servers leave the index out or send the same one for all calls: a new id is a new call.
func (s *chatStream) call(c *chatCall) {
	server := len(s.calls)
	switch {
	case c.Index != nil:
		server = *c.Index
	case c.ID == "" && len(s.calls) > 0:
		server = s.calls[len(s.calls)-1].server
	}
	at := -1
	for i := len(s.calls) - 1; i >= 0; i-- {
		if s.calls[i].server == server {
			at = i
			break
		}
	}
	if at < 0 || c.ID != "" && s.calls[at].id != "" && c.ID != s.calls[at].id {
		at = len(s.calls)
		s.calls = append(s.calls, slot{server: server})
	}
	if s.calls[at].id == "" {
		s.calls[at].id = c.ID
	}
	s.emit(model.Delta{Call: &model.CallDelta{
		Index: at, ID: c.ID, Name: s.name(c.Function.Name), Args: string(c.Function.Arguments),
	}})
}

func (s *chatStream) end() bool { return s.reason != "" }

func (s *chatStream) finish() {
	s.rest()
	s.emit(model.Delta{Finish: s.finishReason()})
}

func (s *chatStream) cut() { s.rest() }

// rest yields what was held back: signatures and usage.
func (s *chatStream) rest() {
	s.sign()
	if len(s.details) > 0 {
		t := thought{Field: fieldDetails}
		for _, d := range s.details {
			if raw, err := marshal(d); err == nil {
				t.Details = append(t.Details, raw)
			}
		}
		s.thought(t)
	}
	if s.usage != nil {
		s.emit(model.Delta{Usage: s.usage.normal()})
	}
}

func (s *chatStream) finishReason() model.Finish {
	switch strings.ToLower(s.reason) {
	case "length", "max_tokens", "model_length":
		return model.Length
	case "content_filter":
		return model.Refusal
	}
	switch {
	case len(s.calls) > 0:
		return model.ToolCalls
	case s.refused:
		return model.Refusal
	}
	return model.Stop
}
