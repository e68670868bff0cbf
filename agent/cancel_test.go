package agent_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/script"
	"github.com/deepagents-go/deepagents/thread"
	"github.com/deepagents-go/deepagents/thread/memory"
	"github.com/deepagents-go/deepagents/tool"
)

// hang is a set of tools that wait for their context: unsafe, idempotent, read-only; and one that has ended.
func hang(begun chan<- string) []tool.Tool {
	wait := func(name string, h tool.Hints) tool.Tool {
		return fn(name, h, func(ctx context.Context, _ map[string]any) (tool.Result, error) {
			begun <- name
			<-ctx.Done()
			return tool.Result{}, ctx.Err()
		})
	}
	late := fn("late", tool.Hints{}, func(ctx context.Context, _ map[string]any) (tool.Result, error) {
		begun <- "late"
		<-ctx.Done()
		return tool.Text("finished all the same"), nil
	})
	return []tool.Tool{
		wait("unsafe", tool.Hints{}), wait("idem", tool.Hints{Idempotent: true}), wait("read", tool.Hints{ReadOnly: true}), late,
		acts(textTool("quick")), acts(textTool("behind")),
	}
}

var hanging = calls(call("u", "unsafe"), call("i", "idem"), call("r", "read"), call("l", "late"), call("q", "quick"), call("b", "behind"))

// Every way to cancel closes the step with truthful results, once, and leaves a thread that goes on.
func TestCancel(t *testing.T) {
	mine := errors.New("I changed my mind")
	for _, c := range []struct {
		name   string
		cancel func(t *testing.T, r *rig, begun <-chan string) (*agent.Result, error)
		is     error
		cause  string
		code   int
	}{
		{"context", func(t *testing.T, r *rig, begun <-chan string) (*agent.Result, error) {
			ctx, cancel := context.WithCancelCause(context.Background())
			run, err := r.agent.Start(ctx, agent.Input{Thread: "t", Text: "go"})
			if err != nil {
				t.Fatal(err)
			}
			drain(t, begun, 4)
			cancel(mine)
			return wait(t, run)
		}, mine, "error", 1},
		{"plain context", func(t *testing.T, r *rig, begun <-chan string) (*agent.Result, error) {
			ctx, cancel := context.WithCancel(context.Background())
			run, err := r.agent.Start(ctx, agent.Input{Thread: "t", Text: "go"})
			if err != nil {
				t.Fatal(err)
			}
			drain(t, begun, 4)
			cancel()
			return wait(t, run)
		}, context.Canceled, "cancelled", 130},
		{"Run.Cancel", func(t *testing.T, r *rig, begun <-chan string) (*agent.Result, error) {
			run, err := r.agent.Start(context.Background(), agent.Input{Thread: "t", Text: "go"})
			if err != nil {
				t.Fatal(err)
			}
			drain(t, begun, 4)
			run.Cancel(nil)
			run.Cancel(mine)
			return wait(t, run)
		}, agent.ErrCancelled, "cancelled", 130},
		{"break", func(t *testing.T, r *rig, begun <-chan string) (*agent.Result, error) {
			n := 0
			for ev, err := range r.agent.Stream(context.Background(), agent.Input{Thread: "t", Text: "go"}) {
				if err != nil {
					t.Fatal(err)
				}
				if _, ok := ev.Data.(agent.ToolStarted); ok {
					if n++; n == 4 {
						drain(t, begun, 4)
						break
					}
				}
			}
			return nil, nil
		}, nil, "", 0},
		{"time limit", func(t *testing.T, r *rig, begun <-chan string) (*agent.Result, error) {
			run, err := r.agent.Start(context.Background(), agent.Input{Thread: "t", Text: "go"}, agent.WithLimits(agent.Limits{Time: 50 * time.Millisecond}))
			if err != nil {
				t.Fatal(err)
			}
			return wait(t, run)
		}, agent.ErrTimeLimit, "timeout", 124},
	} {
		t.Run(c.name, func(t *testing.T) {
			begun := make(chan string, 10)
			r := newRig(t, agent.Config{Tools: hang(begun)}, hanging, say("done"))
			res, err := c.cancel(t, r, begun)
			if c.is != nil && (!errors.Is(err, c.is) || res.Status != thread.Stopped || res.Cause != c.cause || res.ExitCode != c.code) {
				t.Errorf("%v %+v", err, res)
			}
			rec := records(t, r.store, "t", thread.KindRunEnded)
			if len(rec) != 1 {
				t.Fatalf("%d run_ended records", len(rec))
			}
			// The lease is free and the step closed: the thread goes on at the model.
			end := r.run(agent.Input{})
			if got := outline(messages(end)); got != "user assistant(u,i,r,l,q,b) u=error i=error r=error l=success q=success b=success assistant" {
				t.Fatal(got)
			}
			for id, want := range map[string]string{
				"u": "outcome of this call is unknown", "i": "may have taken effect", "r": "not executed", "l": "finished all the same", "q": "quick",
			} {
				if m := resultOf(t, end, id); !strings.Contains(m.Text(), want) {
					t.Errorf("%s: %q", id, m.Text())
				}
			}
		})
	}
}

func drain(t *testing.T, c <-chan string, n int) {
	t.Helper()
	for range n {
		recv(t, "a call", c)
	}
}

// A call that has not begun when the run is cancelled says so, and never begins.
func TestCancelBeforeACallBegan(t *testing.T) {
	begun := make(chan string, 10)
	tools := hang(begun)
	unsafe := acts(tools[0])
	var l log
	behind := acts(fn("behind", tool.Hints{}, func(context.Context, map[string]any) (tool.Result, error) { l.add("ran"); return tool.Text(""), nil }))
	r := newRig(t, agent.Config{Tools: []tool.Tool{unsafe, behind}}, calls(call("u", "unsafe", `{"write":"/x"}`), call("b", "behind", `{"write":"/x"}`)), say("done"))
	run, err := r.agent.Start(context.Background(), agent.Input{Thread: "t", Text: "go"})
	if err != nil {
		t.Fatal(err)
	}
	drain(t, begun, 1)
	run.Cancel(nil)
	if _, err := wait(t, run); !errors.Is(err, agent.ErrCancelled) {
		t.Error(err)
	}
	end := r.run(agent.Input{})
	if m := resultOf(t, end, "b"); !strings.Contains(m.Text(), "not executed") || len(l.all()) != 0 {
		t.Errorf("%q %v", m.Text(), l.all())
	}
}

// blockingModel says a little and then waits; stubborn ones ignore the context and answer in full.
type blockingModel struct {
	begun    chan struct{}
	release  chan struct{}
	stubborn bool
}

func (*blockingModel) Name() string { return "test:blocking" }

func (m *blockingModel) Stream(ctx context.Context, _ *model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		if !yield(model.Delta{Text: "half"}, nil) {
			return
		}
		m.begun <- struct{}{}
		if m.stubborn {
			<-m.release
			yield(model.Delta{Finish: model.Stop}, nil)
			return
		}
		<-ctx.Done()
		yield(model.Delta{}, ctx.Err())
	}
}

// A turn that was cut leaves nothing in the conversation, whether or not the model listens.
func TestCancelInTheModel(t *testing.T) {
	for _, stubborn := range []bool{false, true} {
		m := &blockingModel{begun: make(chan struct{}, 1), release: make(chan struct{}), stubborn: stubborn}
		r := newRig(t, agent.Config{Model: m})
		run, err := r.agent.Start(context.Background(), agent.Input{Thread: "t", Text: "go"})
		if err != nil {
			t.Fatal(err)
		}
		recv(t, "the model", m.begun)
		run.Cancel(nil)
		close(m.release)
		res, err := wait(t, run)
		if !errors.Is(err, agent.ErrCancelled) || outline(messages(res)) != "user" {
			t.Errorf("%v: %s", err, outline(messages(res)))
		}
	}
}

// Start with a context that has ended changes nothing.
func TestStartAfterTheEnd(t *testing.T) {
	r := newRig(t, agent.Config{}, say("x"))
	ctx, cancel := context.WithCancelCause(context.Background())
	mine := errors.New("mine")
	cancel(mine)
	if _, err := r.agent.Start(ctx, agent.Input{Thread: "t", Text: "x"}); !errors.Is(err, mine) {
		t.Error(err)
	}
	if _, err := r.store.Head(context.Background(), "t"); !errors.Is(err, thread.ErrNotFound) {
		t.Error(err)
	}
}

// Wait's context bounds the waiting only; Cancel after the end does nothing.
func TestWaitIsNotTheRun(t *testing.T) {
	begun := make(chan string, 10)
	r := newRig(t, agent.Config{Tools: hang(begun)}, calls(call("u", "unsafe")), say("done"))
	run, err := r.agent.Start(context.Background(), agent.Input{Thread: "t", Text: "x"})
	if err != nil {
		t.Fatal(err)
	}
	drain(t, begun, 1)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := run.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	run.Cancel(nil)
	_, first := wait(t, run)
	run.Cancel(errors.New("late"))
	if _, err := wait(t, run); err == nil || err.Error() != first.Error() {
		t.Error(err)
	}
}

// A8: a second run on a thread is refused and changes nothing; when the first has ended, the next one starts at once.
func TestBusyThread(t *testing.T) {
	begun := make(chan string, 10)
	r := newRig(t, agent.Config{Name: "holder", Tools: hang(begun)}, as("holder", calls(call("u", "unsafe"))), as("holder", say("done")))
	run, err := r.agent.Start(context.Background(), agent.Input{Thread: "t", Text: "x"})
	if err != nil {
		t.Fatal(err)
	}
	drain(t, begun, 1)
	before := len(r.records())
	var busy *thread.BusyError
	for range 3 {
		if _, err := r.agent.Start(context.Background(), agent.Input{Thread: "t", Text: "y"}); !errors.Is(err, thread.ErrBusy) || !errors.As(err, &busy) || busy.Owner != "holder" {
			t.Errorf("%v", err)
		}
	}
	if len(r.records()) != before {
		t.Error("the refused start wrote something")
	}
	run.Cancel(nil)
	if _, err := wait(t, run); err == nil {
		t.Error("no error")
	}
	if res := r.run(agent.Input{}); res.Text != "done" || len(messages(res)) != 4 {
		t.Errorf("%+v", res)
	}
}

// leaky is a store whose lease is lost when it is told so.
type leaky struct {
	thread.Store
	lost *atomic.Bool
}

func (s leaky) Acquire(ctx context.Context, id, owner string, ttl time.Duration) (thread.Lease, error) {
	l, err := s.Store.Acquire(ctx, id, owner, ttl)
	return leakyLease{l, s.lost}, err
}

type leakyLease struct {
	thread.Lease
	lost *atomic.Bool
}

func (l leakyLease) Renew(ctx context.Context) error {
	if l.lost.Load() {
		return thread.ErrFenced
	}
	return l.Lease.Renew(ctx)
}

// Losing the lease cancels the run.
func TestLeaseLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		defer s.Close()
		var lost atomic.Bool
		begun := make(chan string, 10)
		a := mustNew(t, agent.Config{Model: lines(calls(call("u", "unsafe"))), Threads: leaky{s, &lost}, Tools: hang(begun)})
		run, err := a.Start(t.Context(), agent.Input{Thread: "t", Text: "x"})
		if err != nil {
			t.Fatal(err)
		}
		<-begun
		time.Sleep(time.Hour) // the lease is renewed all along
		if err := busy(s); !errors.Is(err, thread.ErrBusy) {
			t.Errorf("the lease ran out: %v", err)
		}
		lost.Store(true)
		res, err := run.Wait(context.Background())
		if !errors.Is(err, thread.ErrFenced) || res.Status != thread.Stopped {
			t.Errorf("%v %+v", err, res)
		}
	})
}

func busy(s thread.Store) error {
	l, err := s.Acquire(context.Background(), "t", "other", time.Second)
	if err == nil {
		err = l.Release(context.Background())
	}
	return err
}

// The text of a message that somebody else wrote into a run's result does not make a cut-off run look finished.
func TestStoppedRunKeepsItsState(t *testing.T) {
	r := newRig(t, agent.Config{Tools: []tool.Tool{textTool("x")}, Limits: agent.Limits{Turns: 1}}, script.Line{Text: "thinking", ToolCalls: []script.ToolCall{call("a", "x")}}, say("done"))
	res, err := r.try(agent.Input{Text: "go"})
	if !errors.Is(err, agent.ErrTurnLimit) || res.Text != "thinking" || len(messages(res)) != 3 {
		t.Errorf("%v %+v", err, res)
	}
	if m := resultOf(t, res, "a"); m.Status != message.Success {
		t.Error(m.Text())
	}
}
