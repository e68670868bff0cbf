package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
)

// DefaultGrace is how long output is waited for after the first process has exited while others hold its pipes.
const DefaultGrace = 100 * time.Millisecond

const (
	bufferSize = 64 << 10
	// latePause slows the reading of what background processes write: about 13 MB/s at most.
	latePause = 5 * time.Millisecond
	// killTime bounds Kill when the context does not: a process in an uninterruptible call cannot be ended.
	killTime = 5 * time.Second
)

// ErrSurvivors says that processes of the tree could not be ended in time.
var ErrSurvivors = errors.New("processes did not end")

// Spec says what to start.
type Spec struct {
	// Path is the program, Args its arguments with the name first.
	Path string
	Args []string
	// Dir is the working directory.
	Dir string
	// Env is the whole environment.
	Env []string
	// Stdin opens a pipe to standard input; without it the program reads end of file.
	Stdin bool
	// Mark identifies the tree among all others of this machine; 0 means none. See [Marks].
	Mark uint64
	// Grace is how long output is waited for after the first process has exited; 0 means [DefaultGrace].
	Grace time.Duration
	// Sink gets the output: fd is 1 or 2, data is valid during the call only. Calls never overlap, and while one works the
	// program is held back. Late is true for what arrives after the end that Done announces.
	Sink func(fd int, data []byte, late bool)
	// Ended is called between the last Sink call that is not late and the first that is.
	Ended func()
}

// State is how the first process of a tree ended.
type State struct {
	// Code is the exit code, or minus the number of the signal.
	Code int
	// Signal is the signal that ended it, or 0.
	Signal syscall.Signal
	// Background is the number of other processes of the tree that lived when it ended.
	Background int
	// Duration is the time from start to exit.
	Duration time.Duration
	// Err is set when the exit status was lost: somebody else waited for the process.
	Err error
}

// Tree is a started program and everything it started.
type Tree struct {
	spec    Spec
	pid     int
	proc    *os.Process
	started time.Time
	stdin   *os.File
	outs    [2]*os.File
	table   table

	mu      sync.Mutex // guards the three below and table
	reaped  bool
	ps      *os.ProcessState
	waitErr error

	outMu sync.Mutex // held for each read and the Sink call that follows it
	buf   []byte
	late  bool
	ended [2]bool
	eof   chan struct{} // closed when both streams have ended

	exited chan struct{} // closed when the first process has exited
	done   chan struct{} // closed when its output has been read too
	state  State
	stop   chan struct{}
	close  sync.Once
	wg     sync.WaitGroup
}

// Start starts a tree. The context bounds the start only.
func Start(ctx context.Context, spec Spec) (*Tree, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if spec.Grace == 0 {
		spec.Grace = DefaultGrace
	}
	t := &Tree{
		spec: spec, buf: make([]byte, bufferSize),
		eof: make(chan struct{}), exited: make(chan struct{}), done: make(chan struct{}), stop: make(chan struct{}),
	}
	if err := t.spawn(); err != nil {
		return nil, err
	}
	t.wg.Add(3)
	go t.read(0)
	go t.read(1)
	go t.wait()
	return t, nil
}

// spawn starts the first process with pipes of our own.
func (t *Tree) spawn() (err error) {
	var files []*os.File // all ends that were opened
	defer func() {
		if err != nil {
			for _, f := range files {
				_ = f.Close()
			}
		}
	}()
	pipe := func() (r, w *os.File) {
		if err != nil {
			return nil, nil
		}
		if r, w, err = os.Pipe(); err == nil {
			files = append(files, r, w)
		}
		return r, w
	}
	var in *os.File
	if t.spec.Stdin {
		in, t.stdin = pipe()
	} else if in, err = os.Open(os.DevNull); err == nil {
		files = append(files, in)
	}
	var theirs [2]*os.File
	t.outs[0], theirs[0] = pipe()
	t.outs[1], theirs[1] = pipe()
	if err != nil {
		return err
	}
	t.started = time.Now()
	t.proc, err = t.startProcess(&os.ProcAttr{
		Dir: t.spec.Dir, Env: t.spec.Env, Files: []*os.File{in, theirs[0], theirs[1]}, Sys: sysProcAttr(),
	})
	if err != nil {
		return err
	}
	t.pid = t.proc.Pid
	for _, f := range []*os.File{in, theirs[0], theirs[1]} {
		_ = f.Close()
	}
	return nil
}

// wait follows the first process to its end.
func (t *Tree) wait() {
	defer t.wg.Done()
	t.blockUntilExit()
	state := State{Duration: time.Since(t.started)}
	close(t.exited)
	for i := range t.outs {
		t.drain(i)
	}
	// The zombie still holds its id here, so that the session cannot be taken for a stranger's.
	t.mu.Lock()
	state.Background = t.table.live(t.reaped, time.Since(t.started))
	t.table.empty = state.Background == 0 && t.table.complete()
	if !t.reaped {
		t.ps, t.waitErr = t.proc.Wait()
		t.reaped = true
	}
	t.mu.Unlock()
	if t.waitErr != nil {
		state.Err, state.Code = fmt.Errorf("exit status lost: %w", t.waitErr), -1
	} else {
		state.Code, state.Signal = exitCode(t.ps)
	}
	if held := t.settle(); held || !t.table.complete() {
		state.Background = t.Live()
	}
	t.outMu.Lock()
	t.late = true
	if t.spec.Ended != nil {
		t.spec.Ended()
	}
	t.outMu.Unlock()
	t.state = state
	close(t.done)
}

// settle waits a little for the end of the output and reports whether somebody still holds the pipes.
func (t *Tree) settle() bool {
	select {
	case <-t.eof:
		return false
	default:
	}
	timer := time.NewTimer(t.spec.Grace)
	defer timer.Stop()
	select {
	case <-t.eof:
	case <-t.stop:
	case <-timer.C:
	}
	return true
}

// deliver hands n bytes of the buffer to the sink; outMu is held.
func (t *Tree) deliver(i int, data []byte) {
	if t.spec.Sink != nil {
		t.spec.Sink(i+1, data, t.late)
	}
}

// streamEnded notes the end of a stream.
func (t *Tree) streamEnded(i int) {
	t.outMu.Lock()
	defer t.outMu.Unlock()
	if t.ended[i] {
		return
	}
	t.ended[i] = true
	if t.ended[0] && t.ended[1] {
		close(t.eof)
	}
}

func (t *Tree) isLate() bool {
	t.outMu.Lock()
	defer t.outMu.Unlock()
	return t.late
}

// pause slows the reading of late output; it reports false when the tree was closed.
func (t *Tree) pause() bool {
	timer := time.NewTimer(latePause)
	defer timer.Stop()
	select {
	case <-t.stop:
		return false
	case <-timer.C:
		return true
	}
}

// Pid returns the process id of the first process.
func (t *Tree) Pid() int { return t.pid }

// Exited is closed as soon as the first process has exited.
func (t *Tree) Exited() <-chan struct{} { return t.exited }

// Done is closed when the first process has exited and everything it wrote has been given to the sink.
func (t *Tree) Done() <-chan struct{} { return t.done }

// State returns how the first process ended; it is valid once Done is closed.
func (t *Tree) State() State { return t.state }

// Live returns the number of processes of the tree that live.
func (t *Tree) Live() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.table.live(t.reaped, 0)
}

// Signal signals every process of the tree. It reports how many were there.
func (t *Tree) Signal(sig syscall.Signal) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.table.signal(sig, t.reaped, t.proc)
}

// Kill ends the tree and returns when no process of it lives. It gives up with [ErrSurvivors] when the context ends, or after
// five seconds.
func (t *Tree) Kill(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, killTime)
	defer cancel()
	for pause := 200 * time.Microsecond; ; pause = min(2*pause, 20*time.Millisecond) {
		n := t.Signal(syscall.SIGKILL)
		if n == 0 {
			return nil
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("%d %w", n, ErrSurvivors)
		case <-timer.C:
		}
	}
}

// ErrNoStdin says that the tree was started without a pipe to standard input, or that it was closed.
var ErrNoStdin = errors.New("standard input is closed")

// Write writes to standard input; nil closes it. The context ends a write that the program does not read.
func (t *Tree) Write(ctx context.Context, p []byte) (int, error) {
	if t.stdin == nil {
		return 0, ErrNoStdin
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if p == nil {
		return 0, t.stdinError(ctx, t.stdin.Close())
	}
	stop := context.AfterFunc(ctx, func() { _ = t.stdin.SetWriteDeadline(time.Unix(1, 0)) })
	n, err := t.stdin.Write(p)
	if !stop() {
		_ = t.stdin.SetWriteDeadline(time.Time{})
	}
	return n, t.stdinError(ctx, err)
}

func (t *Tree) stdinError(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, os.ErrClosed), errors.Is(err, syscall.EPIPE):
		return fmt.Errorf("%w: %w", ErrNoStdin, err)
	}
	return err
}

// Close kills what lives, and returns when nothing of the tree is left in this process: no goroutine, file or zombie. It is
// idempotent.
func (t *Tree) Close(ctx context.Context) error {
	err := t.Kill(ctx)
	t.close.Do(func() {
		close(t.stop)
		if t.stdin != nil {
			_ = t.stdin.Close()
		}
		for _, f := range t.outs {
			// Not before the exit: what was written must be read first.
			if err != nil {
				_ = f.Close()
			}
		}
	})
	if err != nil {
		return err
	}
	<-t.done
	for _, f := range t.outs {
		_ = f.Close()
	}
	t.wg.Wait()
	return nil
}
