package agent

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/thread"
	"github.com/deepagents-go/deepagents/tool"
)

// Event is something that happened in a thread, in the form every surface shows. Its JSON is one flat object: the envelope
// below and the fields of Data. docs/events.md describes each type.
type Event struct {
	// Seq counts the events of a thread without gaps.
	Seq  int64
	Time time.Time
	// Thread and Run are ids; NS is the path of task ids that leads to a sub-agent.
	Thread, Run string
	NS          []string
	// Data is one of the types below.
	Data EventData
}

// EventVersion is the version of the events that this program writes.
const EventVersion = 1

// EventData is the payload of an event. Its type is the event's type.
type EventData interface{ Type() string }

// The payloads. The names of types and fields are those of surfaces.md 2.2.
type (
	// RunStarted: a run begins. Meta's entries are fields of the event (cwd, mode, sandbox, version, ...).
	RunStarted struct {
		Agent   string                     `json:"agent"`
		Model   string                     `json:"model"`
		Tools   []string                   `json:"tools"`
		Resumed bool                       `json:"resumed"`
		Meta    map[string]json.RawMessage `json:"-"`
	}
	// MessageDelta: the model goes on writing. A new attempt makes what earlier ones wrote void.
	MessageDelta struct {
		MessageID string `json:"message_id"`
		Text      string `json:"text"`
		Attempt   int    `json:"attempt"`
	}
	// ReasoningDelta: the model goes on thinking.
	ReasoningDelta struct {
		MessageID string `json:"message_id"`
		Text      string `json:"text"`
		Attempt   int    `json:"attempt"`
	}
	// MessageCompleted: a message is in the conversation.
	MessageCompleted struct {
		MessageID string         `json:"message_id"`
		Role      message.Role   `json:"role"`
		Content   string         `json:"content"`
		Reasoning string         `json:"reasoning,omitempty"`
		Finish    string         `json:"finish,omitempty"`
		Usage     *message.Usage `json:"usage,omitempty"`
	}
	// ToolRequested: the model asks for a call. Args that are no JSON object are in RawArgs.
	ToolRequested struct {
		TaskID     string          `json:"task_id"`
		ToolCallID string          `json:"tool_call_id"`
		Name       string          `json:"name"`
		Args       json.RawMessage `json:"args,omitempty"`
		RawArgs    string          `json:"raw_args,omitempty"`
	}
	// ApprovalRequested: the run waits for a person to decide.
	ApprovalRequested struct {
		InterruptID string          `json:"interrupt_id"`
		TaskID      string          `json:"task_id"`
		Actions     json.RawMessage `json:"actions"`
	}
	// QuestionAsked: the run waits for an answer that is no approval.
	QuestionAsked struct {
		InterruptID string          `json:"interrupt_id"`
		TaskID      string          `json:"task_id"`
		Kind        string          `json:"kind"`
		Value       json.RawMessage `json:"value"`
	}
	// ApprovalResolved: a person, a rule, a mode or a flag decided.
	ApprovalResolved struct {
		InterruptID string `json:"interrupt_id,omitempty"`
		TaskID      string `json:"task_id"`
		ToolCallID  string `json:"tool_call_id"`
		Decision    string `json:"decision"`
		By          string `json:"by"`
		Reason      string `json:"reason,omitempty"`
		Fix         string `json:"fix,omitempty"`
	}
	// ToolStarted: the code of a tool runs.
	ToolStarted struct {
		TaskID     string `json:"task_id"`
		ToolCallID string `json:"tool_call_id"`
		Name       string `json:"name"`
		Attempt    int    `json:"attempt"`
	}
	// ToolOutput: live output of a call.
	ToolOutput struct {
		TaskID     string `json:"task_id"`
		ToolCallID string `json:"tool_call_id"`
		Text       string `json:"text"`
	}
	// ToolCompleted: a call has its result.
	ToolCompleted struct {
		TaskID     string          `json:"task_id"`
		ToolCallID string          `json:"tool_call_id"`
		Name       string          `json:"name"`
		Status     thread.Outcome  `json:"status"`
		ExitCode   *int            `json:"exit_code,omitempty"`
		DurationMS int64           `json:"duration_ms"`
		Content    string          `json:"content"`
		Truncated  bool            `json:"truncated"`
		Artifact   json.RawMessage `json:"artifact,omitempty"`
	}
	// FileChanged: a call changed a file.
	FileChanged struct {
		TaskID     string `json:"task_id"`
		ToolCallID string `json:"tool_call_id"`
		tool.FileChange
	}
	// SubagentStarted: a sub-agent begins.
	SubagentStarted struct {
		TaskID string `json:"task_id"`
		Name   string `json:"name"`
	}
	// RunCompleted: the run has ended. It is the last event of a run.
	RunCompleted struct {
		Status       string          `json:"status"`
		ExitCode     int             `json:"exit_code"`
		Result       string          `json:"result"`
		Error        string          `json:"error,omitempty"`
		Denials      []thread.Denial `json:"denials"`
		Pending      []string        `json:"pending"`
		FilesChanged []string        `json:"files_changed"`
		Usage        message.Usage   `json:"usage"`
		Turns        int             `json:"turns"`
		DurationMS   int64           `json:"duration_ms"`
	}
	// Gap: the live events from From to To are no longer kept. The durable ones among them follow.
	Gap struct {
		From int64 `json:"from"`
		To   int64 `json:"to"`
	}
)

// Type returns "run.started".
func (RunStarted) Type() string { return "run.started" }

// Type returns "message.delta".
func (MessageDelta) Type() string { return "message.delta" }

// Type returns "reasoning.delta".
func (ReasoningDelta) Type() string { return "reasoning.delta" }

// Type returns "message.completed".
func (MessageCompleted) Type() string { return "message.completed" }

// Type returns "tool.requested".
func (ToolRequested) Type() string { return "tool.requested" }

// Type returns "approval.requested".
func (ApprovalRequested) Type() string { return "approval.requested" }

// Type returns "question.asked".
func (QuestionAsked) Type() string { return "question.asked" }

// Type returns "approval.resolved".
func (ApprovalResolved) Type() string { return "approval.resolved" }

// Type returns "tool.started".
func (ToolStarted) Type() string { return "tool.started" }

// Type returns "tool.output".
func (ToolOutput) Type() string { return "tool.output" }

// Type returns "tool.completed".
func (ToolCompleted) Type() string { return "tool.completed" }

// Type returns "file.changed".
func (FileChanged) Type() string { return "file.changed" }

// Type returns "subagent.started".
func (SubagentStarted) Type() string { return "subagent.started" }

// Type returns "run.completed".
func (RunCompleted) Type() string { return "run.completed" }

// Type returns "gap".
func (Gap) Type() string { return "gap" }

// MarshalJSON adds Meta's entries to the fields.
func (r RunStarted) MarshalJSON() ([]byte, error) {
	type plain RunStarted
	b, err := json.Marshal(plain(r))
	if err != nil || len(r.Meta) == 0 {
		return b, err
	}
	m, err := json.Marshal(r.Meta)
	if err != nil {
		return nil, err
	}
	return append(append(b[:len(b)-1], ','), m[1:]...), nil
}

// MarshalJSON encodes the event as one flat object.
func (e Event) MarshalJSON() ([]byte, error) {
	if e.Data == nil {
		return nil, fmt.Errorf("event %d has no data", e.Seq)
	}
	b := make([]byte, 0, 256)
	b = append(b, `{"v":`...)
	b = strconv.AppendInt(b, EventVersion, 10)
	b = append(b, `,"seq":`...)
	b = strconv.AppendInt(b, e.Seq, 10)
	b = append(b, `,"ts":"`...)
	b = e.Time.UTC().AppendFormat(b, "2006-01-02T15:04:05.000Z")
	b = append(b, `","type":"`...)
	b = append(b, e.Data.Type()...)
	b = append(b, `","thread_id":`...)
	b = strconv.AppendQuote(b, e.Thread)
	b = append(b, `,"run_id":`...)
	b = strconv.AppendQuote(b, e.Run)
	if len(e.NS) > 0 {
		ns, err := json.Marshal(e.NS)
		if err != nil {
			return nil, err
		}
		b = append(b, `,"ns":`...)
		b = append(b, ns...)
	}
	body, err := json.Marshal(e.Data)
	if err != nil {
		return nil, err
	}
	if len(body) > 2 {
		b = append(b, ',')
	}
	return append(b, body[1:]...), nil
}
