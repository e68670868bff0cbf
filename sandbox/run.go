package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// Defaults of [RunOptions].
const (
	// DefaultHead and DefaultTail are how many bytes of each stream are kept.
	DefaultHead = 400_000
	DefaultTail = 100_000
	// DefaultSpill is how much output is spilled.
	DefaultSpill = 10 << 20
)

const (
	// runSlack is how long after its time limit a sandbox may take to say that the command has ended.
	runSlack = time.Second
	// closeTime bounds the end of a command whose context has ended, beyond the grace.
	closeTime = 5 * time.Second
)

// TimeoutCode is the exit code of a command that ran out of time.
const TimeoutCode = 124

// RunOptions are the options of [Run].
type RunOptions struct {
	// Head and Tail are how many bytes are kept from the beginning and the end of each stream; 0 means [DefaultHead] and
	// [DefaultTail], a negative number none.
	Head, Tail int
	// Live gets the output of both streams as it arrives. A write that blocks holds the command back, and Run with it; after an
	// error it gets no more.
	Live io.Writer
	// Spill opens the place for the whole output. It is called once, when output is about to be lost for the first time, and then
	// gets everything from the first byte on, in the order of arrival, up to SpillMax. Run closes it.
	Spill func() (io.WriteCloser, error)
	// SpillMax bounds what is spilled, in bytes; 0 means [DefaultSpill].
	SpillMax int64
}

// Tapper is a [Sandbox] that hands output over as it arrives and holds the command back meanwhile, so that [Run] loses nothing
// however fast it comes. Calls of the tap never overlap; the data is valid during the call. A process with a tap keeps nothing for
// Output.
type Tapper interface {
	StartTap(ctx context.Context, c Command, tap func(s Stream, data []byte)) (Process, error)
}

// Defaults are what a sandbox does when a [Command] does not say.
type Defaults struct {
	// Timeout is the time limit of a command.
	Timeout time.Duration
	// Grace is the time between asking a command to end and killing it.
	Grace time.Duration
	// MaxOutput is the number of characters of output that a model should see.
	MaxOutput int
}

// Defaulter is a [Sandbox] that tells its defaults.
type Defaulter interface{ Defaults() Defaults }

// Run runs a command to its end and returns its output, bounded in memory. A command that fails or runs out of time is no error.
//
// When the context ends, the command's whole process tree is killed, and Run returns what was collected, with [Cancelled], and
// the context's error. A sandbox that does not end the command at its time limit is given a second more; then Run returns with
// [TimedOut] and leaves it. Background processes of a command that ended by itself live on until the sandbox is closed.
func Run(ctx context.Context, s Sandbox, c Command, o RunOptions) (Result, error) {
	if ctx.Err() != nil {
		return Result{Exit: Exit{Code: -1, Reason: Cancelled}}, context.Cause(ctx)
	}
	r := newRunner(s, c, o)
	p, err := r.start(ctx, s, c)
	if err != nil {
		return Result{}, err
	}
	exit, err := r.await(ctx, p)
	res := r.col.finish()
	res.Exit, res.Limit, res.Custom = exit, r.limit, c.Timeout > 0
	return res, err
}

// runner is one call of Run.
type runner struct {
	col          *collector
	limit, slack time.Duration
	read         chan struct{} // closed when all output has been collected
	stopReading  context.CancelFunc
}

func newRunner(s Sandbox, c Command, o RunOptions) *runner {
	r := &runner{col: newCollector(o), limit: c.Timeout, slack: runSlack, read: make(chan struct{}), stopReading: func() {}}
	if d, ok := s.(Defaulter); ok {
		def := d.Defaults()
		r.slack += def.Grace
		if r.limit == 0 {
			r.limit = def.Timeout
		}
	}
	r.limit = max(r.limit, 0)
	return r
}

// start starts the command with its output going to the collector.
func (r *runner) start(ctx context.Context, s Sandbox, c Command) (Process, error) {
	if t, ok := s.(Tapper); ok {
		close(r.read)
		return t.StartTap(ctx, c, r.col.add)
	}
	p, err := s.Start(ctx, c)
	if err != nil {
		return nil, err
	}
	rctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r.stopReading = cancel
	go func() {
		defer close(r.read)
		defer func() { _ = recover() }() // what the process says of its end counts
		for chunk, err := range p.Output(rctx, 0) {
			if err != nil {
				return
			}
			r.col.add(chunk.Stream, chunk.Data)
			r.col.lost(chunk.Skipped)
		}
	}()
	return p, nil
}

// await waits for the end of the command, whatever the sandbox does.
func (r *runner) await(ctx context.Context, p Process) (Exit, error) {
	defer r.stopReading()
	wctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	type outcome struct {
		exit Exit
		err  error
	}
	ended := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			if v := recover(); v != nil {
				o.err = fmt.Errorf("waiting for the command: panic: %v", v)
			}
			ended <- o
		}()
		o.exit, o.err = p.Wait(wctx)
	}()
	begun := time.Now()
	var deadline <-chan time.Time
	if r.limit > 0 {
		timer := time.NewTimer(r.limit + r.slack)
		defer timer.Stop()
		deadline = timer.C
	}
	select {
	case o := <-ended:
		r.settle()
		exit := r.normal(o.exit, time.Since(begun))
		if o.err != nil {
			exit = Exit{Code: -1, Reason: Lost, Duration: time.Since(begun)}
		}
		if exit.Background == 0 {
			o.err = errors.Join(o.err, r.close(ctx, p))
		}
		return exit, o.err
	case <-ctx.Done():
		err := r.close(ctx, p)
		r.settle()
		return Exit{Code: -1, Reason: Cancelled, Duration: time.Since(begun)}, errors.Join(context.Cause(ctx), err)
	case <-deadline:
		// The sandbox stalls: what it says from here on does not matter.
		go func() { _ = r.close(ctx, p) }()
		return Exit{Code: TimeoutCode, Reason: TimedOut, Duration: time.Since(begun)}, nil
	}
}

// settle waits for the rest of the output of a command that has ended.
func (r *runner) settle() {
	timer := time.NewTimer(runSlack)
	defer timer.Stop()
	select {
	case <-r.read:
	case <-timer.C:
	}
}

// normal makes one form of the ways in which sandboxes tell that a command ran out of time.
func (r *runner) normal(e Exit, took time.Duration) Exit {
	if e.Reason == "" {
		e.Reason = Exited
	}
	late := r.limit > 0 && took >= r.limit
	if e.Reason == TimedOut || late && e.Code < 0 && e.Reason != Cancelled {
		e.Reason, e.Code = TimedOut, TimeoutCode
	}
	return e
}

// close ends a process even though the context has ended, in bounded time.
func (r *runner) close(ctx context.Context, p Process) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime+r.slack)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		var err error
		defer func() {
			if v := recover(); v != nil {
				err = fmt.Errorf("closing the command: panic: %v", v)
			}
			done <- err
		}()
		err = p.Close(ctx)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
