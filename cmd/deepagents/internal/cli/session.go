package cli

import (
	"context"
	"errors"
	"fmt"

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

// Conclude turns the result of a run into the error of the command, nil for success.
func Conclude(id string, res *agent.Result, err error, resumable bool) error {
	if err != nil {
		code := Code(err)
		if resumable && res != nil && res.Status == thread.Stopped {
			err = fmt.Errorf("%w\ngo on with: deepagents resume %s", err, id)
		}
		return &ExitError{code, err}
	}
	switch res.ExitCode {
	case ExitOK:
		return nil
	case ExitPaused:
		return &ExitError{ExitPaused, errors.New(Questions(id, res.Interrupts))}
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
