package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/policy"
	"github.com/deepagents-go/deepagents/state"
)

// Tool is something a model can call. It is safe for concurrent use.
type Tool interface {
	Spec() Spec
	// Call runs the tool. An error becomes an error result for the model, except [Fatal] ones and the end of the context.
	Call(ctx context.Context, c Call) (Result, error)
}

// Actor is a tool that says what a call is going to do. Its actions are judged before the call and order the calls of one
// message. An error means that the arguments name nothing that can be judged; the call itself will report it.
type Actor interface {
	Actions(ctx context.Context, c Call) ([]policy.Action, error)
}

// Spec describes a tool.
type Spec struct {
	// Name is what the model calls; letters, digits, "_" and "-".
	Name string
	// Title is a name for people. Optional.
	Title       string
	Description string
	// Input is the JSON Schema of the arguments, an object. Output is the schema of Result.Artifact, where there is one.
	Input, Output json.RawMessage
	Hints         Hints
	// ReturnDirect ends the run after a message whose calls are all to such tools.
	ReturnDirect bool
}

// Hints say how a tool behaves. They decide what happens to a call that a crash interrupted.
type Hints struct {
	// ReadOnly tools change nothing, Idempotent ones change nothing more when they run twice: both are simply run again.
	ReadOnly, Idempotent bool
	// Destructive tools may destroy what was there.
	Destructive bool
	// Resumable tools keep records of their own and go on where they stopped.
	Resumable bool
	// OpenWorld tools reach beyond the backend.
	OpenWorld bool
}

// Repeatable reports whether a call may be run again after a crash without asking.
func (h Hints) Repeatable() bool { return h.ReadOnly || h.Idempotent || h.Resumable }

// Call is a call with valid arguments.
type Call struct {
	// ID is unique in the thread: "<message id>.<call id>". CallID is the provider's id, which may repeat.
	ID, CallID string
	Name       string
	Args       json.RawMessage
}

// Result is what a call gives back.
type Result struct {
	// Parts are what the model sees.
	Parts message.Parts
	// Body is more text for the model, streamed once and closed by the agent: into the message when it is small, into a file
	// when it is large.
	Body io.ReadCloser
	// Artifact is data for programs, stored as JSON.
	Artifact any
	// Update changes the state, after what the call wrote through its scope.
	Update []state.Update
	// Status is Success when empty.
	Status message.Status
	// Denied says that a rule inside the tool refused the call, which Parts tell in the tool's own words. The run counts it as a
	// denial.
	Denied *policy.DeniedError
}

// Text returns a successful result with one text.
func Text(s string) Result { return Result{Parts: message.Parts{message.Text{Text: s}}} }

// Errorf returns an error result: the model sees the text, the run goes on.
func Errorf(format string, args ...any) Result {
	r := Text(fmt.Sprintf(format, args...))
	r.Status = message.Error
	return r
}

// Artifact is the JSON object that the tools of this module put into Result.Artifact. Events and surfaces read it.
type Artifact struct {
	// ExitCode is the exit code of a command.
	ExitCode *int `json:"exit_code,omitempty"`
	// Reason is how the command ended, when it was not by itself ("timeout", "signal", ...).
	Reason string `json:"reason,omitempty"`
	// Truncated says that the output was cut.
	Truncated bool `json:"truncated,omitempty"`
	// Files are the files that the call changed.
	Files []FileChange `json:"files,omitempty"`
}

// FileChange is a file that a call changed.
type FileChange struct {
	Path string `json:"path"`
	// Op is "create", "edit" or "delete".
	Op string `json:"op"`
	// Added and Removed count lines.
	Added   int `json:"added"`
	Removed int `json:"removed"`
}

// Fatal makes an error end the run instead of becoming a result for the model.
func Fatal(err error) error {
	if err == nil {
		return nil
	}
	return &fatalError{err}
}

type fatalError struct{ err error }

func (e *fatalError) Error() string { return e.err.Error() }
func (e *fatalError) Unwrap() error { return e.err }

// IsFatal reports whether an error was made by [Fatal].
func IsFatal(err error) bool {
	var f *fatalError
	return errors.As(err, &f)
}
