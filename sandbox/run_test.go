package sandbox_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/sandbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// faulty is a sandbox whose one process is played by functions.
type faulty struct {
	driver.Driver
	output func(ctx context.Context, yield func(sandbox.Chunk, error) bool)
	wait   func(ctx context.Context, closed <-chan struct{}) (sandbox.Exit, error)
	hold   chan struct{} // Close blocks until it is closed
	broken bool          // Close panics

	once   sync.Once
	closed chan struct{}
}

func (f *faulty) ID() string                  { return "faulty" }
func (f *faulty) Policy() sandbox.Policy      { return sandbox.Policy{Level: "none"} }
func (f *faulty) Close(context.Context) error { return nil }
func (f *faulty) Start(context.Context, sandbox.Command) (sandbox.Process, error) {
	f.closed = make(chan struct{})
	return (*faultyProcess)(f), nil
}

type faultyProcess faulty

func (p *faultyProcess) ID() string { return "p" }
func (p *faultyProcess) Output(ctx context.Context, _ int64) iter.Seq2[sandbox.Chunk, error] {
	return func(yield func(sandbox.Chunk, error) bool) { p.output(ctx, yield) }
}

func (p *faultyProcess) Write(context.Context, []byte) (int, error) {
	return 0, errors.ErrUnsupported
}
func (p *faultyProcess) Signal(context.Context, sandbox.Signal) error { return nil }
func (p *faultyProcess) Wait(ctx context.Context) (sandbox.Exit, error) {
	return p.wait(ctx, p.closed)
}

func (p *faultyProcess) Close(context.Context) error {
	if p.hold != nil {
		<-p.hold
	}
	if p.broken {
		panic("boom")
	}
	p.once.Do(func() { close(p.closed) })
	return nil
}

// say yields text and then stalls until the context ends, if stall is set.
func say(text string, stall bool) func(context.Context, func(sandbox.Chunk, error) bool) {
	return func(ctx context.Context, yield func(sandbox.Chunk, error) bool) {
		if yield(sandbox.Chunk{Stream: sandbox.Stdout, Data: []byte(text)}, nil) && stall {
			<-ctx.Done()
			yield(sandbox.Chunk{}, ctx.Err())
		}
	}
}

func exits(e sandbox.Exit, err error) func(context.Context, <-chan struct{}) (sandbox.Exit, error) {
	return func(context.Context, <-chan struct{}) (sandbox.Exit, error) { return e, err }
}

// TestRunWithFaultyDrivers is case A02's second half: whatever a driver does, the caller gets an answer of the one form.
func TestRunWithFaultyDrivers(t *testing.T) {
	stalls := func(ctx context.Context, _ <-chan struct{}) (sandbox.Exit, error) {
		<-ctx.Done()
		return sandbox.Exit{}, ctx.Err()
	}
	after := func(d time.Duration, e sandbox.Exit) func(context.Context, <-chan struct{}) (sandbox.Exit, error) {
		return func(context.Context, <-chan struct{}) (sandbox.Exit, error) {
			time.Sleep(d)
			return e, nil
		}
	}
	const limit = 100 * time.Millisecond
	hold := make(chan struct{})
	defer close(hold)
	broken := errors.New("connection reset")
	for _, c := range []struct {
		name   string
		f      *faulty
		reason sandbox.Reason
		code   int
		err    error
	}{
		{"sends output and stalls", &faulty{output: say("part\n", true), wait: stalls}, sandbox.TimedOut, 124, nil},
		{"stalls in Close too", &faulty{output: say("part\n", true), wait: stalls, hold: hold}, sandbox.TimedOut, 124, nil},
		{"tells a timeout as -1", &faulty{output: say("part\n", false), wait: after(limit, sandbox.Exit{Code: -1, Reason: sandbox.Exited})}, sandbox.TimedOut, 124, nil},
		{"tells a timeout as a signal", &faulty{output: say("part\n", false), wait: after(limit, sandbox.Exit{Code: -9, Reason: sandbox.Signaled})}, sandbox.TimedOut, 124, nil},
		{"tells a timeout with another code", &faulty{output: say("part\n", false), wait: exits(sandbox.Exit{Code: 1, Reason: sandbox.TimedOut}, nil)}, sandbox.TimedOut, 124, nil},
		{"tells no reason", &faulty{output: say("part\n", false), wait: exits(sandbox.Exit{Code: 3}, nil)}, sandbox.Exited, 3, nil},
		{"output that never ends", &faulty{output: say("part\n", true), wait: exits(sandbox.Exit{Code: 2, Reason: sandbox.Exited}, nil)}, sandbox.Exited, 2, nil},
		{"loses the connection", &faulty{output: say("part\n", false), wait: exits(sandbox.Exit{}, broken)}, sandbox.Lost, -1, broken},
		{"a signal before the limit", &faulty{output: say("part\n", false), wait: exits(sandbox.Exit{Code: -15, Reason: sandbox.Signaled}, nil)}, sandbox.Signaled, -15, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := sandbox.Run(t.Context(), c.f, sandbox.Command{Line: "x", Timeout: limit}, sandbox.RunOptions{})
			if !errors.Is(err, c.err) || r.Exit.Reason != c.reason || r.Exit.Code != c.code || string(r.Output) != "part\n" {
				t.Errorf("exit %+v, output %q, error %v", r.Exit, r.Output, err)
			}
		})
	}
}

func TestRunCancelled(t *testing.T) {
	f := &faulty{
		output: say("part\n", true),
		wait: func(_ context.Context, closed <-chan struct{}) (sandbox.Exit, error) {
			<-closed
			return sandbox.Exit{Code: -1, Reason: sandbox.Cancelled}, nil
		},
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	cause := errors.New("left")
	seen := writerFunc(func(p []byte) (int, error) {
		cancel(cause)
		return len(p), nil
	})
	r, err := sandbox.Run(ctx, f, sandbox.Command{Line: "x"}, sandbox.RunOptions{Live: seen})
	if !errors.Is(err, cause) || r.Exit.Reason != sandbox.Cancelled || r.Exit.Code != -1 || string(r.Output) != "part\n" {
		t.Errorf("exit %+v, output %q, error %v", r.Exit, r.Output, err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TestRunKeepsHeadAndTail checks the parts of each stream, in order, and what is said to be missing.
func TestRunKeepsHeadAndTail(t *testing.T) {
	f := &faulty{
		output: func(_ context.Context, yield func(sandbox.Chunk, error) bool) {
			for i, data := range []string{"out1 ", "err1 ", "out2 ", "err2 ", "out3 ", "err3 ", "out4 ", "err4 "} {
				yield(sandbox.Chunk{Stream: sandbox.Stream(i%2 + 1), Data: []byte(data)}, nil)
			}
			yield(sandbox.Chunk{Skipped: 7}, nil)
		},
		wait: exits(sandbox.Exit{}, nil),
	}
	r, err := sandbox.Run(t.Context(), f, sandbox.Command{Line: "x"}, sandbox.RunOptions{Head: 7, Tail: 5})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(r.Output); got != "out1 err1 ouerout4 err4 " {
		t.Errorf("output %q", got)
	}
	if got := string(r.Stdout()) + "|" + string(r.Stderr()); got != "out1 ouout4 |err1 ererr4 " {
		t.Errorf("streams %q", got)
	}
	if r.Truncated != 8+8+7 {
		t.Errorf("truncated %d", r.Truncated)
	}
	if got, want := sandbox.Format(r, sandbox.FormatOptions{}), "out1 ou\n... [8 bytes omitted] ...\nout4 \n... [7 bytes omitted] ...\n[stderr] err1 er\n... [8 bytes omitted] ...\n[stderr] err4"+ok+truncated; got != want {
		t.Errorf("text %q\nwant %q", got, want)
	}
	r, err = sandbox.Run(t.Context(), f, sandbox.Command{Line: "x"}, sandbox.RunOptions{Head: -1, Tail: -1})
	if err != nil || len(r.Output) != 0 || r.Truncated != 47 {
		t.Errorf("kept %q, truncated %d, error %v", r.Output, r.Truncated, err)
	}
}

func TestLog(t *testing.T) {
	l := sandbox.NewLog(10, 10)
	l.Append(sandbox.Stdout, []byte(strings.Repeat("a", 15)))
	l.Append(sandbox.Stderr, []byte(strings.Repeat("b", 15)))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got []sandbox.Chunk
	for c, err := range l.Chunks(ctx, 4) {
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
			break
		}
		got = append(got, c)
		if c.Stream == sandbox.Stderr {
			cancel() // it has not ended: the reader would wait
		}
	}
	if len(got) != 3 || string(got[0].Data) != "aaaaaa" || got[1].Skipped != 10 || got[1].Offset != 10 || got[2].Offset != 20 || string(got[2].Data) != "bbbbbbbbbb" {
		t.Errorf("chunks %+v", got)
	}
	l.End()
	l.Append(sandbox.Stdout, []byte("late"))
	if l.Len() != 34 {
		t.Errorf("length %d", l.Len())
	}
	var late string
	for c, err := range l.Chunks(t.Context(), 30) {
		if err != nil {
			t.Fatal(err)
		}
		late += string(c.Data)
	}
	if late != "late" {
		t.Errorf("late output %q", late)
	}
}

// TestRunPanics: a process that panics is an error of the command and not the end of the program.
func TestRunPanics(t *testing.T) {
	quiet := func(context.Context, func(sandbox.Chunk, error) bool) {}
	ends := exits(sandbox.Exit{}, nil)
	for _, c := range []struct {
		name string
		s    *faulty
		want string
	}{
		{"wait", &faulty{output: quiet, wait: func(context.Context, <-chan struct{}) (sandbox.Exit, error) { panic("boom") }}, "boom"},
		{"output", &faulty{output: func(context.Context, func(sandbox.Chunk, error) bool) { panic("boom") }, wait: ends}, ""},
		{"close", &faulty{output: quiet, wait: ends, broken: true}, "boom"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := sandbox.Run(t.Context(), c.s, sandbox.Command{Line: "x"}, sandbox.RunOptions{})
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v", err)
			}
		})
	}
}
