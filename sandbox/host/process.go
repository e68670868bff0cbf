package host

import (
	"context"
	"sync"
	"syscall"
	"time"

	"github.com/deepagents-go/deepagents/internal/proc"
	"github.com/deepagents-go/deepagents/sandbox"
)

// process is a started command.
type process struct {
	host *Host
	id   string
	tree *proc.Tree
	log  *sandbox.Log // nil for a tapped process

	mu     sync.Mutex
	reason sandbox.Reason // why the tree was ended from here; empty when it was not
	ending chan struct{}  // closed when that is done; nil when it was not begun
	timer  *time.Timer

	closing  sync.Once
	closed   chan struct{}
	closeErr error
}

// launch starts the tree of a command.
func launch(ctx context.Context, h *Host, id string, spec proc.Spec, c sandbox.Command, tap func(sandbox.Stream, []byte)) (*process, error) {
	p := &process{host: h, id: id, closed: make(chan struct{})}
	if tap == nil {
		p.log = sandbox.NewLog(h.o.KeepOutput/2, h.o.KeepOutput-h.o.KeepOutput/2)
	}
	if p.log != nil {
		spec.Ended = p.log.End
	}
	spec.Sink = func(fd int, data []byte, late bool) {
		s := sandbox.Stdout
		if fd == 2 {
			s = sandbox.Stderr
		}
		switch {
		case p.log != nil:
			p.log.Append(s, data)
		case !late:
			tap(s, data)
		}
	}
	tree, err := proc.Start(ctx, spec)
	if err != nil {
		return nil, err
	}
	p.tree = tree
	return p, nil
}

// follow sets the time limit.
func (p *process) follow(limit time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if limit > 0 {
		p.timer = time.AfterFunc(limit, func() { p.end(context.Background(), sandbox.TimedOut) })
	}
}

func (p *process) tapped() bool { return p.log == nil }

// ended reports whether the shell has ended and its output was read.
func (p *process) ended() bool {
	select {
	case <-p.tree.Done():
		return true
	default:
		return false
	}
}

// end ends the tree for a reason, unless the shell has exited by itself.
func (p *process) end(ctx context.Context, why sandbox.Reason) {
	p.mu.Lock()
	select {
	case <-p.tree.Exited():
		p.mu.Unlock()
		return
	default:
	}
	if p.reason != "" {
		ending := p.ending
		p.mu.Unlock()
		<-ending
		return
	}
	p.reason, p.ending = why, make(chan struct{})
	p.mu.Unlock()
	defer close(p.ending)
	if grace := p.host.o.Grace; grace > 0 {
		p.tree.Signal(syscall.SIGTERM)
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-p.tree.Exited():
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	if err := p.tree.Kill(context.WithoutCancel(ctx)); err != nil {
		p.host.o.Logger.Warn("processes survive their command", "process", p.id, "error", err)
	}
}

// ID names the process.
func (p *process) ID() string { return p.id }

// Wait returns how the shell ended.
func (p *process) Wait(ctx context.Context) (sandbox.Exit, error) {
	select {
	case <-p.tree.Done():
	case <-ctx.Done():
		return sandbox.Exit{}, context.Cause(ctx)
	}
	p.mu.Lock()
	if p.timer != nil {
		p.timer.Stop()
	}
	e, ending := exit(p.tree.State(), p.reason), p.ending
	p.mu.Unlock()
	if ending == nil {
		return e, nil
	}
	// What was counted when the shell died was dying too.
	select {
	case <-ending:
	case <-ctx.Done():
		return sandbox.Exit{}, context.Cause(ctx)
	}
	e.Background = p.tree.Live()
	return e, nil
}

// exit puts together what the system and this package know of an end.
func exit(st proc.State, why sandbox.Reason) sandbox.Exit {
	e := sandbox.Exit{Code: st.Code, Reason: sandbox.Exited, Background: st.Background, Duration: st.Duration}
	switch {
	case why == sandbox.TimedOut:
		e.Code, e.Reason = sandbox.TimeoutCode, why
	case why != "":
		e.Code, e.Reason = -1, why
	case st.Err != nil:
		e.Reason = sandbox.Lost
	case st.Signal != 0:
		e.Reason = sandbox.Signaled
	}
	return e
}

// Signal signals the whole tree.
func (p *process) Signal(ctx context.Context, s sandbox.Signal) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	select {
	case <-p.closed:
		return sandbox.ErrClosed
	default:
	}
	switch s {
	case sandbox.Interrupt:
		p.tree.Signal(syscall.SIGINT)
	case sandbox.Terminate:
		p.tree.Signal(syscall.SIGTERM)
	default:
		return p.tree.Kill(ctx)
	}
	return nil
}

// Write writes to standard input; nil closes it.
func (p *process) Write(ctx context.Context, b []byte) (int, error) { return p.tree.Write(ctx, b) }

// Close kills the tree and lets go of it. It goes on when the context ends, for half a close helps nobody; it takes seconds at most.
func (p *process) Close(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	p.closing.Do(func() {
		defer close(p.closed)
		p.end(ctx, sandbox.Cancelled)
		p.closeErr = p.tree.Close(ctx)
		p.mu.Lock()
		if p.timer != nil {
			p.timer.Stop()
		}
		p.mu.Unlock()
		p.host.forget(p)
	})
	return p.closeErr
}
