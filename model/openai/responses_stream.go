package openai

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
)

// responsesEvent is an event of Responses, with the fields of those that are read.
type responsesEvent struct {
	Type     string          `json:"type"`
	Output   int             `json:"output_index"`
	Summary  int             `json:"summary_index"`
	Delta    lenient         `json:"delta"`
	Item     json.RawMessage `json:"item"`
	Response json.RawMessage `json:"response"`
}

// lenient is a string, or empty where an event that is not read has something else.
type lenient string

func (s *lenient) UnmarshalJSON(b []byte) error {
	if b[0] != '"' {
		return nil
	}
	return json.Unmarshal(b, (*string)(s))
}

type responseBody struct {
	ID         string          `json:"id"`
	Error      json.RawMessage `json:"error"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Usage *responsesUsage `json:"usage"`
}

type responsesUsage struct {
	Input  int `json:"input_tokens"`
	Output int `json:"output_tokens"`
	In     struct {
		Cached  int `json:"cached_tokens"`
		Written int `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	Out struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

func (u *responsesUsage) normal() *message.Usage {
	n := &message.Usage{CacheRead: u.In.Cached, CacheWrite: u.In.Written, Output: u.Output, Reasoning: u.Out.Reasoning}
	n.Input = max(0, u.Input-n.CacheRead-n.CacheWrite)
	n.Total = n.Input + n.Output + n.CacheRead + n.CacheWrite
	return n
}

// responsesStream is the handler of Responses.
type responsesStream struct {
	*output
	m        *Model
	calls    map[int]int  // output index to call index
	came     map[int]bool // output indexes of which text came in deltas
	thought  bool
	refused  bool
	usage    *responsesUsage
	reason   model.Finish
	complete bool
}

func (s *responsesStream) event(data []byte) (bool, error) {
	var e responsesEvent
	if err := json.Unmarshal(data, &e); err != nil {
		return false, s.m.malformed(data, err)
	}
	switch e.Type {
	case "response.output_text.delta":
		s.text(&e, model.Delta{Text: string(e.Delta)})
	case "response.refusal.delta":
		s.refused = true
		s.text(&e, model.Delta{Text: string(e.Delta)})
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		s.text(&e, model.Delta{Reasoning: string(e.Delta)})
	case "response.reasoning_summary_part.added":
		if e.Summary > 0 {
			s.emit(model.Delta{Reasoning: "\n\n"})
		}
	case "response.function_call_arguments.delta":
		if at, ok := s.calls[e.Output]; ok {
			s.text(&e, model.Delta{Call: &model.CallDelta{Index: at, Args: string(e.Delta)}})
		}
	case "response.output_item.added", "response.output_item.done":
		return false, s.item(&e, data)
	case "response.created", "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		return s.response(&e, data)
	case "error":
		return false, s.m.failure(0, nil, data)
	case "":
		if bytes.Contains(data, []byte(`"error"`)) {
			return false, s.m.failure(0, nil, data)
		}
		return false, s.m.malformed(data, errors.New("it has no type"))
	}
	return false, nil
}

// text yields a piece and notes that this output came in pieces.
func (s *responsesStream) text(e *responsesEvent, d model.Delta) {
	if e.Delta == "" {
		return
	}
	if s.came == nil {
		s.came = make(map[int]bool, 1)
	}
	s.came[e.Output] = true
	s.emit(d)
}

func (s *responsesStream) item(e *responsesEvent, data []byte) error {
	var i item
	if err := json.Unmarshal(e.Item, &i); err != nil {
		return s.m.malformed(data, err)
	}
	done := e.Type == "response.output_item.done"
	switch i.Type {
	case "function_call":
		s.call(e, &i, done)
	case "message":
		if done {
			s.message(e, &i)
		}
	case "reasoning":
		if done {
			s.reasoning(e, &i)
		}
	default:
		if done {
			s.emit(model.Delta{Part: message.Opaque{Provider: s.m.o.Provider, Data: bytes.Clone(e.Item)}})
		}
	}
	return nil
}

// call begins a call and, when it is done, gives it what did not come in pieces and the item's own id.
func (s *responsesStream) call(e *responsesEvent, i *item, done bool) {
	at, known := s.calls[e.Output]
	if !known {
		if s.calls == nil {
			s.calls = make(map[int]int, 1)
		}
		at = len(s.calls)
		s.calls[e.Output] = at
		s.emit(model.Delta{Call: &model.CallDelta{Index: at, ID: i.CallID, Name: s.name(i.Name)}})
	}
	if !done {
		return
	}
	d := &model.CallDelta{Index: at}
	if !s.came[e.Output] {
		d.Args = i.Arguments
	}
	if i.ID != "" {
		if raw, err := marshal(mark{Type: "function_call", ID: i.ID}); err == nil {
			d.Provider, d.Opaque = s.m.o.Provider, raw
		}
	}
	s.emit(model.Delta{Call: d})
}

// message yields the text of an item that did not come in pieces, and the mark that must go back with it.
func (s *responsesStream) message(e *responsesEvent, i *item) {
	for _, c := range i.Content {
		if c.Refusal != "" {
			s.refused = true
		}
		if t := c.Text + c.Refusal; t != "" && !s.came[e.Output] {
			s.emit(model.Delta{Text: t})
		}
	}
	if i.Phase == "" && !s.thought {
		return
	}
	if raw, err := marshal(mark{Type: "message", ID: i.ID, Phase: i.Phase}); err == nil {
		s.emit(model.Delta{Part: message.Opaque{Provider: s.m.o.Provider, Data: raw}})
	}
}

// reasoning yields the item as it came, which signs the summary that was streamed.
func (s *responsesStream) reasoning(e *responsesEvent, i *item) {
	s.thought = true
	if !s.came[e.Output] {
		for n, b := range append(i.Summary, i.Content...) {
			if n > 0 {
				s.emit(model.Delta{Reasoning: "\n\n"})
			}
			s.emit(model.Delta{Reasoning: b.Text})
		}
	}
	s.emit(model.Delta{Part: message.Reasoning{Provider: s.m.o.Provider, Opaque: bytes.Clone(e.Item)}})
}

func (s *responsesStream) response(e *responsesEvent, data []byte) (bool, error) {
	var r responseBody
	if err := json.Unmarshal(e.Response, &r); err != nil {
		return false, s.m.malformed(data, err)
	}
	s.messageID(r.ID)
	if r.Usage != nil {
		s.usage = r.Usage
	}
	switch e.Type {
	case "response.created":
		return false, nil
	case "response.failed", "response.cancelled":
		body := []byte(`{"error":` + string(r.Error) + `}`)
		if len(r.Error) == 0 || string(r.Error) == "null" {
			body = []byte(`{"error":{"message":"the server gave the answer up","code":"server_error"}}`)
		}
		return false, s.m.failure(0, nil, body)
	case "response.incomplete":
		s.reason = model.Length
		if r.Incomplete.Reason == "content_filter" {
			s.reason = model.Refusal
		}
	}
	s.complete = true
	return true, nil
}

func (s *responsesStream) end() bool { return s.complete }

func (s *responsesStream) finish() {
	s.rest()
	switch {
	case s.reason != "":
	case len(s.calls) > 0:
		s.reason = model.ToolCalls
	case s.refused:
		s.reason = model.Refusal
	default:
		s.reason = model.Stop
	}
	s.emit(model.Delta{Finish: s.reason})
}

func (s *responsesStream) cut() { s.rest() }

func (s *responsesStream) rest() {
	if s.usage != nil {
		s.emit(model.Delta{Usage: s.usage.normal()})
	}
}
