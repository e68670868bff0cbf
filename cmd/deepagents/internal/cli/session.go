package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/thread"
)

// lastWords is how long a run that was told to end waits for a reader that does not read.
const lastWords = 2 * time.Second

// Follow shows a run until it has ended and returns its result. An output that nobody can read any more ends the run; the context
// is the one the run was started with.
func Follow(ctx context.Context, r *agent.Run, o *Output) (*agent.Result, error) {
	shown := make(chan error, 1)
	go func() { shown <- show(r, o) }()
	var closed error
	select {
	case closed = <-shown:
		shown = nil
	case <-ctx.Done():
	}
	res, err := r.Wait(context.WithoutCancel(ctx))
	if shown != nil {
		select {
		case closed = <-shown:
		case <-time.After(lastWords):
		}
	}
	switch {
	case closed != nil:
		return res, &ExitError{ExitFailure, closed}
	case err != nil && res != nil:
		return res, &ExitError{res.ExitCode, err}
	}
	return res, err
}

// show shows the events of a run up to its end.
func show(r *agent.Run, o *Output) error {
	for ev, err := range r.Events(context.Background(), r.Before()) { // the run ends by its own context
		if err == nil {
			err = o.Event(ev)
		}
		if err != nil {
			r.Cancel(&ExitError{ExitFailure, err})
			return err
		}
	}
	return nil
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
		s += " --data " + Quote(a.Data)
	}
	return s
}

// Quote makes a word of a POSIX shell of a text.
func Quote(s string) string {
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
