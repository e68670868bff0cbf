package thread

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/policy"
	"github.com/deepagents-go/deepagents/state"
)

// Body is the data of a record.
type Body interface{ kind() Kind }

// RunStarted begins a run.
type RunStarted struct {
	Agent string `json:"agent"`
	Model string `json:"model,omitempty"`
	// Resumed says that the run goes on where another one stopped.
	Resumed bool `json:"resumed,omitempty"`
	// Tools are the names that the model sees.
	Tools []string `json:"tools,omitempty"`
	// Meta is what the program wants to remember with the run, such as its directory.
	Meta map[string]json.RawMessage `json:"meta,omitempty"`
}

// Input is what a run, or a sub-agent, begins with.
type Input struct {
	// From is the commit of the parent whose state a sub-agent inherits. The state itself is never copied.
	From ID `json:"from,omitempty"`
	// Agent is the name of the sub-agent.
	Agent   string         `json:"agent,omitempty"`
	Updates []state.Update `json:"updates,omitempty"`
}

// Model is the answer of a model.
type Model struct {
	Message *message.Message `json:"message"`
	// Updates are those of the wrappers around the model, applied after the message.
	Updates []state.Update `json:"updates,omitempty"`
}

// CallStarted says that the code of a tool is about to run.
type CallStarted struct {
	Task    string          `json:"task"`
	CallID  string          `json:"call_id"`
	Name    string          `json:"name"`
	Args    json.RawMessage `json:"args,omitempty"`
	Attempt int             `json:"attempt"`
	// Repeatable says that the call may be run again when its end is not known.
	Repeatable bool `json:"repeatable,omitempty"`
}

// Outcome says how a call ended.
type Outcome string

// The outcomes.
const (
	OK        Outcome = "ok"
	Failed    Outcome = "error"
	Denied    Outcome = "denied"
	TimedOut  Outcome = "timeout"
	Cancelled Outcome = "cancelled"
	// Unknown is a call that was started and whose end nobody saw.
	Unknown Outcome = "unknown"
	// Aborted is a call whose error ended the run. It is no result: the call runs again when the run goes on.
	Aborted Outcome = "aborted"
)

// CallEnded is the result of a call.
type CallEnded struct {
	Task    string           `json:"task"`
	Message *message.Message `json:"message"`
	Outcome Outcome          `json:"outcome"`
	Updates []state.Update   `json:"updates,omitempty"`
	// Denial says why, and what would allow the call.
	Denial *Denial `json:"denial,omitempty"`
	// Direct says that the tool wants the run to end after it.
	Direct bool `json:"direct,omitempty"`
	// MS is how long the call took.
	MS int64 `json:"ms"`
}

// Denial is a refused action.
type Denial struct {
	Name   string          `json:"name"`
	Args   json.RawMessage `json:"args,omitempty"`
	Reason string          `json:"reason"`
	Fix    string          `json:"fix,omitempty"`
	// By is what refused: a mode, a rule, a flag, a person.
	By string `json:"by,omitempty"`
}

// Once is the recorded result of part of a call.
type Once struct {
	Task  string          `json:"task"`
	Name  string          `json:"name"`
	Value json.RawMessage `json:"value"`
}

// Interrupt is a question that waits for an answer.
type Interrupt struct {
	// ID is a hash of where and what was asked, so that asking again gives the same id.
	ID   string `json:"interrupt_id"`
	Task string `json:"task"`
	// CallID and Name are the provider's id and the tool's name, when a call asks.
	CallID string `json:"call_id,omitempty"`
	Name   string `json:"name,omitempty"`
	// N counts the askings of this question in this task, from 0.
	N     int             `json:"n"`
	Kind  string          `json:"kind"`
	Value json.RawMessage `json:"value"`
	// Schema is the JSON Schema of answers.
	Schema json.RawMessage `json:"schema,omitempty"`
	// Inner are the questions of a sub-agent that this call waits for.
	Inner []string `json:"inner,omitempty"`
}

// Answer answers an interrupt.
type Answer struct {
	Interrupt string          `json:"interrupt_id"`
	Task      string          `json:"task"`
	CallID    string          `json:"call_id,omitempty"`
	Kind      string          `json:"kind"`
	Value     json.RawMessage `json:"value"`
	// By says who answered: a user, a rule, a flag.
	By string `json:"by,omitempty"`
}

// Update is what a hook, or a person editing the state, changed.
type Update struct {
	Node    string         `json:"node"`
	Updates []state.Update `json:"updates,omitempty"`
	// Answered, Replaced and Granted are a hook's decisions about the calls of the last message.
	Answered []CallEnded `json:"answered,omitempty"`
	Replaced []Replaced  `json:"replaced,omitempty"`
	Granted  []Granted   `json:"granted,omitempty"`
}

// Replaced is a call that runs instead of the one the model asked for.
type Replaced struct {
	Task string           `json:"task"`
	Call message.ToolCall `json:"call"`
}

// Granted are actions of a call that need no further approval.
type Granted struct {
	Task    string          `json:"task"`
	Actions []policy.Action `json:"actions"`
}

// Source says what a commit stands for.
type Source string

// The sources.
const (
	SourceInput  Source = "input"
	SourceLoop   Source = "loop"
	SourceUpdate Source = "update"
	SourceFork   Source = "fork"
)

// Commit ends a step. A root commit is a checkpoint.
type Commit struct {
	Source Source `json:"source"`
	// Node is the node whose work the step was.
	Node string `json:"node,omitempty"`
	// Next is the node that comes next, or NodeEnd.
	Next   string `json:"next"`
	Parent ID     `json:"parent,omitempty"`
	// Applied are the records whose updates the step applies, in order.
	Applied []ID `json:"applied,omitempty"`
	// Dropped maps applied calls whose updates could not be applied to the reason. Their message becomes an error.
	Dropped map[ID]string `json:"dropped,omitempty"`
	// Replaced maps applied calls to what their updates replaced although another call of the step changed it too. Their message
	// says so.
	Replaced map[ID][]string `json:"replaced,omitempty"`
}

// NodeEnd is the next node of a finished run.
const NodeEnd = "__end__"

// Snapshot is the whole state at a root commit.
type Snapshot struct {
	At     ID              `json:"at"`
	Next   string          `json:"next"`
	Node   string          `json:"node,omitempty"`
	Source Source          `json:"source,omitempty"`
	State  json.RawMessage `json:"state"`
	// Records are the bytes of all records up to At, Snapshots those of the snapshots before this one: what bounds the size of
	// all snapshots goes on from here.
	Records   int64 `json:"records,omitempty"`
	Snapshots int64 `json:"snapshots,omitempty"`
}

// Status is the outcome of a run.
type Status string

// The outcomes.
const (
	// Done: the run came to its end.
	Done Status = "done"
	// Waiting: the run waits for answers.
	Waiting Status = "waiting"
	// Stopped: the run was cancelled, hit a limit or failed. It can go on.
	Stopped Status = "stopped"
)

// RunEnded ends a run.
type RunEnded struct {
	Status Status `json:"status"`
	// Cause is the status that surfaces show ("success", "limit", ...), ExitCode that of the command line, Error why a run
	// stopped.
	Cause    string        `json:"cause"`
	ExitCode int           `json:"exit_code"`
	Error    string        `json:"error,omitempty"`
	Result   string        `json:"result,omitempty"`
	Turns    int           `json:"turns"`
	Usage    message.Usage `json:"usage"`
	MS       int64         `json:"ms"`
	// Denials are the refused calls that nothing made up for, Pending the questions that wait, Files the files that changed.
	Denials []Denial `json:"denials,omitempty"`
	Pending []string `json:"pending,omitempty"`
	Files   []string `json:"files,omitempty"`
}

func (*RunStarted) kind() Kind  { return KindRunStarted }
func (*Input) kind() Kind       { return KindInput }
func (*Model) kind() Kind       { return KindModel }
func (*CallStarted) kind() Kind { return KindCallStarted }
func (*CallEnded) kind() Kind   { return KindCallEnded }
func (*Once) kind() Kind        { return KindOnce }
func (*Interrupt) kind() Kind   { return KindInterrupt }
func (*Answer) kind() Kind      { return KindAnswer }
func (*Update) kind() Kind      { return KindUpdate }
func (*Commit) kind() Kind      { return KindCommit }
func (*Snapshot) kind() Kind    { return KindSnapshot }
func (*RunEnded) kind() Kind    { return KindRunEnded }

// Decode returns the data of a record.
func Decode(r Record) (Body, error) {
	if err := CheckVersion(r); err != nil {
		return nil, err
	}
	var b Body
	switch r.Kind {
	case KindRunStarted:
		b = new(RunStarted)
	case KindInput:
		b = new(Input)
	case KindModel:
		b = new(Model)
	case KindCallStarted:
		b = new(CallStarted)
	case KindCallEnded:
		b = new(CallEnded)
	case KindOnce:
		b = new(Once)
	case KindInterrupt:
		b = new(Interrupt)
	case KindAnswer:
		b = new(Answer)
	case KindUpdate:
		b = new(Update)
	case KindCommit:
		b = new(Commit)
	case KindSnapshot:
		b = new(Snapshot)
	case KindRunEnded:
		b = new(RunEnded)
	default:
		return nil, fmt.Errorf("record %d: kind %q: %w: use a newer program", r.Seq, r.Kind, ErrNewer)
	}
	if err := json.Unmarshal(r.Data, b); err != nil {
		return nil, fmt.Errorf("record %d (%s): %w: %w", r.Seq, r.Kind, ErrCorrupt, err)
	}
	if !whole(b) {
		return nil, fmt.Errorf("record %d (%s): %w: it has no message", r.Seq, r.Kind, ErrCorrupt)
	}
	return b, nil
}

// whole reports whether a record that stands for a message has one.
func whole(b Body) bool {
	switch b := b.(type) {
	case *Model:
		return b.Message != nil
	case *CallEnded:
		return b.Message != nil
	case *Update:
		return !slices.ContainsFunc(b.Answered, func(c CallEnded) bool { return c.Message == nil })
	}
	return true
}

// Entry is a record with its decoded data.
type Entry struct {
	Record
	Body Body
}
