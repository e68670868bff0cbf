package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/thread"
)

// The values of --output.
const (
	OutputText  = "text"
	OutputJSON  = "json"
	OutputJSONL = "jsonl"
)

// CheckOutput reports a value of --output that is none.
func CheckOutput(s string) error { return oneOf("--output", s, OutputText, OutputJSON, OutputJSONL) }

// Output shows a run: the answer, or the events, on Out, and for a person what happens on Err.
type Output struct {
	Format   string
	Out, Err io.Writer
	// Terminal says that Out is one: the answer's control characters, which could drive it, are then replaced.
	Terminal bool
}

// ClosedError says that the reader of standard output has gone. The run ends with it.
type ClosedError struct{ Err error }

// Error says what could not be written.
func (e *ClosedError) Error() string { return fmt.Sprintf("standard output: %v", e.Err) }

// Unwrap returns the cause.
func (e *ClosedError) Unwrap() error { return e.Err }

// Event shows one event. The error is a [*ClosedError].
func (o *Output) Event(ev agent.Event) error {
	done, last := ev.Data.(agent.RunCompleted)
	switch {
	case o.Format == OutputJSONL, o.Format == OutputJSON && last:
		return o.line(ev)
	case o.Format == OutputJSON:
		return nil
	case last && done.Result != "" && o.Terminal:
		return o.write([]byte(Plain(done.Result) + "\n"))
	case last && done.Result != "":
		return o.write(append([]byte(done.Result), '\n'))
	case last:
		return nil
	}
	if s := progress(ev); s != "" {
		fmt.Fprintln(o.Err, s) // a person who stopped listening does not end the run
	}
	return nil
}

func (o *Output) line(ev agent.Event) error {
	b, err := json.Marshal(ev)
	if err != nil {
		return err
	}
	return o.write(append(b, '\n'))
}

func (o *Output) write(b []byte) error {
	if _, err := o.Out.Write(b); err != nil {
		return &ClosedError{err}
	}
	return nil
}

// Outcome is the end of a command that ran nothing.
type Outcome struct {
	Thread string
	Code   int
	// Result is the answer that was there already, Error why nothing ran, Pending the questions that wait.
	Result  string
	Error   string
	Pending []string
}

// Nothing shows, in the JSON formats, a run.completed event of a run that did not begin; its seq is 0 and it has no run_id.
func (o *Output) Nothing(x Outcome) error {
	if o.Format != OutputJSON && o.Format != OutputJSONL {
		return nil
	}
	done := agent.RunCompleted{
		Status: status(x.Code), ExitCode: x.Code, Result: x.Result, Error: x.Error, Denials: []thread.Denial{}, Pending: x.Pending,
		FilesChanged: []string{},
	}
	if done.Pending == nil {
		done.Pending = []string{}
	}
	return o.line(agent.Event{Time: time.Now(), Thread: x.Thread, Data: done})
}
