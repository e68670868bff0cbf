package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/thread"
)

// Follow shows a run until it has ended and returns its exit code. An output that nobody reads any more ends the run.
func Follow(r *agent.Run, o *Output) (*agent.Result, error) {
	ctx := context.Background() // the run ends by its own context; everything up to its end is shown
	var closed error
	for ev, err := range r.Events(ctx, r.Before()) {
		if err == nil {
			err = o.Event(ev)
		}
		if err != nil {
			closed = err
			r.Cancel(&ExitError{ExitFailure, err})
			break
		}
	}
	res, err := r.Wait(ctx)
	switch {
	case closed != nil:
		return res, &ExitError{ExitFailure, closed}
	case err != nil && res != nil:
		return res, &ExitError{res.ExitCode, err}
	case err != nil:
		return nil, err
	}
	return res, nil
}

// Again says how a thread is taken up again.
type Again struct {
	// Possible is false for a thread that is gone with the process.
	Possible bool
	// Data is the value of --data.
	Data string
}

// Resume is the command line that goes on with a thread.
func (a Again) Resume(id string) string {
	s := "deepagents resume " + id
	if a.Data != "" {
		s += " --data " + quote(a.Data)
	}
	return s
}

// quote makes a word of a POSIX shell of a text.
func quote(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+:@%,=") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Conclude turns the result of a run into the error of the command, nil for success.
func Conclude(id string, c Again, res *agent.Result, err error) error {
	if err != nil {
		code := Code(err)
		if c.Possible && res != nil && res.Status == thread.Stopped {
			err = fmt.Errorf("%w\ngo on with: %s", err, c.Resume(id))
		}
		return &ExitError{code, err}
	}
	switch res.ExitCode {
	case ExitOK:
		return nil
	case ExitPaused:
		return &ExitError{ExitPaused, errors.New(Questions(id, c, res.Interrupts))}
	case ExitDenied:
		return &ExitError{ExitDenied, errors.New(denials(res.Denials))}
	}
	return &ExitError{Code: res.ExitCode}
}

func denials(ds []thread.Denial) string {
	s := fmt.Sprintf("%d call(s) were denied:", len(ds))
	for _, d := range ds {
		s += "\n  " + Plain(d.Name) + " " + short(string(d.Args)) + ": " + Plain(d.Reason)
		if d.Fix != "" {
			s += " (allowed by " + Plain(d.Fix) + ")"
		}
	}
	return s
}
