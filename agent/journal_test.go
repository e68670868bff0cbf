package agent_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/run"
	"github.com/deepagents-go/deepagents/state"
	"github.com/deepagents-go/deepagents/thread"
	"github.com/deepagents-go/deepagents/thread/memory"
	"github.com/deepagents-go/deepagents/tool"
)

// ledger remembers the appends of a store: "kind kind (durable)".
type ledger struct {
	thread.Store
	mu      sync.Mutex
	appends []string
}

func (l *ledger) Append(ctx context.Context, id string, a thread.Append) (int64, error) {
	s := strings.Join(kindsOf(a.Records), " ")
	if a.Durable {
		s += " (durable)"
	}
	l.mu.Lock()
	l.appends = append(l.appends, s)
	l.mu.Unlock()
	return l.Store.Append(ctx, id, a)
}

// What is stored together, and what must survive a power cut before it goes on: the start of a call, only when it cannot be
// repeated; and every commit.
func TestWhatIsStoredTogether(t *testing.T) {
	x := func(name string, h tool.Hints) tool.Tool {
		return fn(name, h, func(context.Context, map[string]any) (tool.Result, error) { return tool.Text(name), nil })
	}
	l := &ledger{Store: memory.New()}
	defer l.Close()
	r := newRig(t, agent.Config{Threads: l, Tools: []tool.Tool{
		x("unsafe", tool.Hints{Destructive: true}), x("read", tool.Hints{ReadOnly: true}), x("idem", tool.Hints{Idempotent: true}), x("resume", tool.Hints{Resumable: true}),
	}}, calls(call("a", "unsafe")), calls(call("b", "read")), calls(call("c", "idem")), calls(call("d", "resume")), calls(call("e", "nope")), say("done"))
	r.run(agent.Input{Text: "go"})
	turn := []string{"model commit (durable)", "call_ended commit (durable)"}
	want := []string{"run_started input commit (durable)", "model commit (durable)", "call_started (durable)", "call_ended commit (durable)"}
	for range 4 {
		want = append(want, turn...)
	}
	want = append(want, "model commit (durable)", "run_ended")
	equal(t, "appends", l.appends, want)
}

// The start record comes after the wrappers, right before the code, once for each time the code is reached; its attempt counts
// on when the call runs again.
func TestStartRecord(t *testing.T) {
	l := &ledger{Store: memory.New()}
	defer l.Close()
	var seen []string
	note := func(ctx context.Context, what string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		seen = append(seen, fmt.Sprintf("%s after %d appends", what, len(l.appends)))
	}
	x := fn("x", tool.Hints{}, func(ctx context.Context, _ map[string]any) (tool.Result, error) {
		note(ctx, "code")
		_, err := run.Interrupt[string](ctx, run.Question{Kind: "input"})
		return tool.Text("x"), err
	})
	w := &mw{name: "w", wrapTool: func(next agent.ToolFunc) agent.ToolFunc {
		return func(ctx context.Context, c tool.Call) (tool.Result, error) {
			note(ctx, "wrapper")
			return next(ctx, c)
		}
	}}
	r := newRig(t, agent.Config{Threads: l, Tools: []tool.Tool{x}, Middleware: []agent.Middleware{&justWrap{w}}}, calls(call("a", "x")), say("done"))
	r.run(agent.Input{Text: "go"})
	equal(t, "seen", seen, []string{"wrapper after 2 appends", "code after 3 appends"})
	r.run(agent.Input{Answers: []agent.Answer{reply("", "ok")}})
	var attempts []int
	for _, rec := range records(t, l, "t", thread.KindCallStarted) {
		b, err := thread.Decode(rec)
		if err != nil {
			t.Fatal(err)
		}
		attempts = append(attempts, b.(*thread.CallStarted).Attempt)
	}
	equal(t, "attempts", attempts, []int{1, 2})
}

// justWrap has no hooks.
type justWrap struct{ m *mw }

func (j *justWrap) Name() string                                { return j.m.name }
func (j *justWrap) WrapTool(next agent.ToolFunc) agent.ToolFunc { return j.m.wrapTool(next) }

// The commit applies the updates in call order, whatever the order of their records.
func TestAppliedInCallOrder(t *testing.T) {
	stored := make(chan struct{})
	x := fn("x", tool.Hints{}, func(ctx context.Context, _ map[string]any) (tool.Result, error) {
		s, _ := run.From(ctx)
		if s.Info().CallID == "a" {
			<-stored
		}
		res := tool.Text("x")
		res.Update = []state.Update{notes.Update(s.Info().CallID)}
		return res, nil
	})
	r := newRig(t, agent.Config{Tools: []tool.Tool{x}, Fields: []*state.Field{notes.Field()}}, calls(call("a", "x"), call("b", "x")), say("done"))
	run, err := r.agent.Start(context.Background(), agent.Input{Thread: "t", Text: "go"})
	if err != nil {
		t.Fatal(err)
	}
	for ev := range run.Events(context.Background(), 0) {
		if c, ok := ev.Data.(agent.ToolCompleted); ok && c.ToolCallID == "b" {
			close(stored)
		}
	}
	res, err := wait(t, run)
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, rec := range records(t, r.store, "t", thread.KindCallEnded) {
		b, err := thread.Decode(rec)
		if err != nil {
			t.Fatal(err)
		}
		order = append(order, b.(*thread.CallEnded).Message.CallID)
	}
	equal(t, "records", order, []string{"b", "a"})
	equal(t, "notes", notes.In(res.State), []string{"a", "b"})
	equal(t, "folded again", notes.In(r.load()), []string{"a", "b"})
}
