package cli

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/backend/disk"
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/script"
	"github.com/deepagents-go/deepagents/thread"
)

// The exit codes. docs/events.md has the table.
const (
	ExitOK        = 0
	ExitFailure   = 1
	ExitUsage     = 2
	ExitAuth      = 3
	ExitDenied    = 4
	ExitPaused    = 5
	ExitLimit     = 6
	ExitTimeout   = 124
	ExitInterrupt = 130
	ExitTerminate = 143
)

// ExitError is an error with the exit code of the program.
type ExitError struct {
	Code int
	// Err is what to print; nil prints nothing.
	Err error
}

// Error returns the text of the cause.
func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap returns the cause.
func (e *ExitError) Unwrap() error { return e.Err }

// ExitCode returns the code.
func (e *ExitError) ExitCode() int { return e.Code }

// Usage returns an error of the command line or of what it names: exit code 2.
func Usage(err error) error { return &ExitError{ExitUsage, err} }

// Usagef is [Usage] of a formatted error.
func Usagef(format string, args ...any) error { return Usage(fmt.Errorf(format, args...)) }

// Code returns the exit code of an error: its own, if it says, 2 for what the user can put right, else 1.
func Code(err error) int {
	var coded interface{ ExitCode() int }
	var root *disk.RootError
	var spec *model.SpecError
	var broken *script.Error
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &coded):
		return coded.ExitCode()
	case errors.As(err, &root), errors.As(err, &spec), errors.As(err, &broken) && broken.Kind == script.Syntax:
		return ExitUsage
	}
	for _, usage := range []error{
		thread.ErrThreadID, thread.ErrBusy, thread.ErrNewer, thread.ErrCorrupt, thread.ErrNotFound, agent.ErrAnswer, agent.ErrNoQuestion,
	} {
		if errors.Is(err, usage) {
			return ExitUsage
		}
	}
	return ExitFailure
}

// status names an exit code as the status of a run does.
func status(code int) string {
	switch code {
	case ExitOK:
		return "success"
	case ExitUsage:
		return "usage"
	case ExitAuth:
		return "auth"
	case ExitPaused:
		return "paused"
	case ExitInterrupt, ExitTerminate:
		return "cancelled"
	}
	return "error"
}

// SignalError is the cause of a run that a signal ended.
type SignalError struct{ Signal os.Signal }

// Error names the signal.
func (e *SignalError) Error() string {
	if e.Signal == syscall.SIGTERM {
		return "terminated (SIGTERM)"
	}
	return "interrupted (SIGINT)"
}

// ExitCode returns 143 for SIGTERM, else 130.
func (e *SignalError) ExitCode() int {
	if e.Signal == syscall.SIGTERM {
		return ExitTerminate
	}
	return ExitInterrupt
}
