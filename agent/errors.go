package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/policy"
	"github.com/deepagents-go/deepagents/state"
	"github.com/deepagents-go/deepagents/thread"
)

// The sentinels of runs. They are found with [errors.Is] in the error of a run, or of [Agent.Start].
var (
	// ErrTurnLimit says that Limits.Turns ended the run.
	ErrTurnLimit = errors.New("turn limit reached")
	// ErrTimeLimit says that Limits.Time ended the run.
	ErrTimeLimit = errors.New("time limit reached")
	// ErrCancelled is the cause of [Run.Cancel] without one.
	ErrCancelled = errors.New("cancelled")
	// ErrGoexit says that code of a tool, a hook or a model ended its goroutine, as a test's FailNow does. The run ends with it.
	ErrGoexit = errors.New("the code that was called ended its goroutine (runtime.Goexit) instead of returning")
	// ErrNothingToDo says that there is no input and nothing to go on with.
	ErrNothingToDo = errors.New("nothing to do: the thread is finished and there is no new input")
	// ErrAnswer says that an answer does not fit its question, which stays open.
	ErrAnswer = errors.New("the answer does not fit the question")
	// ErrNoQuestion says that no open question has that id.
	ErrNoQuestion = errors.New("no open question has that id")
	// ErrNoThread says that Input.Thread is missing.
	ErrNoThread = errors.New("Input.Thread is missing: a run on a thread store needs a thread id")
)

// Result is what a run came to.
type Result struct {
	Status thread.Status
	// Cause and ExitCode are the status and the exit code of surfaces.md 2.2 ("success", "limit", ...).
	Cause    string
	ExitCode int
	// State is the state at the last commit. Message is the newest assistant message, Text its text.
	State   state.State
	Message *message.Message
	Text    string
	// Interrupts are the questions that wait for an answer.
	Interrupts []thread.OpenInterrupt
	// Denials are the refused calls that no later call made up for; Files the files that changed.
	Denials []thread.Denial
	Files   []string
	// Updates are what a sub-agent changed in the public state ([Agent.Nested]).
	Updates []state.Update
	Turns   int
	Usage   message.Usage
}

// causeOf names why a run ended, with the exit code of the command line.
func causeOf(status thread.Status, err error, denied bool) (cause string, code int) {
	var coded interface{ ExitCode() int }
	switch {
	case status == thread.Waiting:
		return "paused", 5
	case err == nil && denied:
		return "denied", 4
	case err == nil:
		return "success", 0
	case errors.As(err, &coded):
		if coded.ExitCode() == 130 || coded.ExitCode() == 143 {
			return "cancelled", coded.ExitCode()
		}
		return "error", coded.ExitCode()
	case errors.Is(err, ErrTurnLimit), errors.Is(err, model.ErrContextOverflow):
		return "limit", 6
	case errors.Is(err, ErrTimeLimit):
		return "timeout", 124
	case errors.Is(err, model.ErrAuth):
		return "auth", 3
	case errors.Is(err, policy.ErrDenied), errors.Is(err, ErrNobody):
		return "denied", 4
	case errors.Is(err, ErrCancelled), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "cancelled", 130
	}
	return "error", 1
}

func limitError(n int) error {
	return fmt.Errorf("the run stopped after %d turns: %w: raise --max-turns (Limits.Turns), or resume to go on", n, ErrTurnLimit)
}
