package agent_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model/script"
	"github.com/deepagents-go/deepagents/policy"
	"github.com/deepagents-go/deepagents/run"
	"github.com/deepagents-go/deepagents/state"
	"github.com/deepagents-go/deepagents/thread"
	"github.com/deepagents-go/deepagents/thread/memory"
	"github.com/deepagents-go/deepagents/thread/sqlite"
	"github.com/deepagents-go/deepagents/tool"
)

// onStores runs a test on every kind of thread store.
func onStores(t *testing.T, f func(t *testing.T, s thread.Store)) {
	t.Run("memory", func(t *testing.T) {
		s := memory.New()
		defer s.Close()
		f(t, s)
	})
	t.Run("sqlite", func(t *testing.T) {
		s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "threads.db"), sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		f(t, s)
	})
}

// counted is a tool that counts its runs.
func counted(name string, n *int, h tool.Hints) tool.Tool {
	return fn(name, h, func(context.Context, map[string]any) (tool.Result, error) {
		*n++
		return tool.Text(name), nil
	})
}

func history(t *testing.T, a *agent.Agent, q agent.HistoryQuery) []agent.Checkpoint {
	t.Helper()
	var out []agent.Checkpoint
	for c, err := range a.History(t.Context(), "t", q) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	return out
}

func head(t *testing.T, a *agent.Agent) agent.Checkpoint {
	t.Helper()
	c, err := a.State(t.Context(), "t", "")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func texts(s state.State) string {
	var out []string
	for _, m := range state.Messages.In(s).All() {
		out = append(out, string(m.Role)+":"+m.Text())
	}
	return strings.Join(out, " ")
}

// TestHistory is C02, C03 and C04: both turns are there, another thread is not, and the steps count from -1, newest first.
func TestHistory(t *testing.T) {
	onStores(t, func(t *testing.T, s thread.Store) {
		n := 0
		r := newRig(t, agent.Config{Threads: s, Tools: []tool.Tool{counted("look", &n, tool.Hints{ReadOnly: true})}},
			calls(call("1", "look")), say("one"), say("two"))
		r.run(agent.Input{Text: "a"})
		r.run(agent.Input{Text: "b"})
		if got, want := texts(head(t, r.agent).State), "user:a assistant: tool:look assistant:one user:b assistant:two"; got != want {
			t.Errorf("state %q, want %q", got, want)
		}
		if _, err := r.agent.State(t.Context(), "other", ""); !errors.Is(err, thread.ErrNotFound) {
			t.Errorf("another thread: %v", err)
		}
		cs := history(t, r.agent, agent.HistoryQuery{})
		var steps []int
		var sources []string
		for i, c := range cs {
			steps = append(steps, c.Step)
			sources = append(sources, string(c.Source))
			if i+1 < len(cs) && c.Parent != cs[i+1].ID {
				t.Errorf("step %d: parent %s, want %s", c.Step, c.Parent, cs[i+1].ID)
			}
		}
		equal(t, "steps", steps, []int{4, 3, 2, 1, 0, -1})
		equal(t, "sources", sources, []string{"loop", "input", "loop", "loop", "loop", "input"})
		equal(t, "next of the first model step", cs[4].Next, []string{"tools"})
		if len(cs[4].Tasks) != 1 || cs[4].Tasks[0].Name != "look" {
			t.Errorf("tasks %+v", cs[4].Tasks)
		}
		if got := texts(cs[5].State); got != "user:a" {
			t.Errorf("state at the input %q", got)
		}
		at, err := r.agent.State(t.Context(), "t", cs[3].ID)
		if err != nil || texts(at.State) != "user:a assistant: tool:look" {
			t.Errorf("state at a checkpoint %q, %v", texts(at.State), err)
		}
		if got := history(t, r.agent, agent.HistoryQuery{Limit: 2, Before: cs[1].ID}); len(got) != 2 || got[0].ID != cs[2].ID {
			t.Errorf("before and limit: %+v", got)
		}
		if got := history(t, r.agent, agent.HistoryQuery{Source: thread.SourceInput}); len(got) != 2 {
			t.Errorf("inputs: %d", len(got))
		}
	})
}

// TestTimeTravel is C08: going on from an earlier checkpoint runs the tools again, on a branch that begins with a fork.
func TestTimeTravel(t *testing.T) {
	onStores(t, func(t *testing.T, s thread.Store) {
		n := 0
		r := newRig(t, agent.Config{Threads: s, Tools: []tool.Tool{counted("look", &n, tool.Hints{})}},
			calls(call("1", "look")), say("done"))
		r.run(agent.Input{Text: "a"})
		before := history(t, r.agent, agent.HistoryQuery{})
		old := head(t, r.agent)
		res := r.run(agent.Input{From: before[2].ID})
		if n != 2 || res.Text != "done" {
			t.Errorf("the tool ran %d times, answer %q", n, res.Text)
		}
		now := head(t, r.agent)
		if now.Branch == old.Branch {
			t.Error("the fork has no branch of its own")
		}
		var sources []string
		for _, c := range history(t, r.agent, agent.HistoryQuery{}) {
			sources = append(sources, string(c.Source))
		}
		equal(t, "sources", sources, []string{"loop", "loop", "fork", "loop", "input"})
		kept := history(t, r.agent, agent.HistoryQuery{Branch: old.Branch})
		if len(kept) != len(before) || kept[0].ID != old.ID {
			t.Error("the old branch changed")
		}
		// The head is no fork.
		if _, err := r.try(agent.Input{From: now.ID}); !errors.Is(err, agent.ErrNothingToDo) {
			t.Errorf("from the head of a finished thread: %v", err)
		}
		if _, err := r.try(agent.Input{From: "nothing"}); !errors.Is(err, thread.ErrNotFound) {
			t.Errorf("unknown checkpoint: %v", err)
		}
	})
}

// TestTimeTravelAsksAgain is C09: on a fork before an answered question, the question is asked again.
func TestTimeTravelAsksAgain(t *testing.T) {
	onStores(t, func(t *testing.T, s thread.Store) {
		ask := fn("ask", tool.Hints{ReadOnly: true}, func(ctx context.Context, _ map[string]any) (tool.Result, error) {
			got, err := run.Interrupt[string](ctx, run.Question{Kind: "input", Value: "name?"})
			return tool.Text(got), err
		})
		r := newRig(t, agent.Config{Threads: s, Tools: []tool.Tool{ask}}, calls(call("1", "ask")), say("done"))
		first := r.run(agent.Input{Text: "a"})
		r.run(agent.Input{Answers: []agent.Answer{{Value: mustJSON("Ada")}}})
		cs := history(t, r.agent, agent.HistoryQuery{})
		again := r.run(agent.Input{From: cs[2].ID})
		if again.Status != thread.Waiting || len(again.Interrupts) != 1 {
			t.Fatalf("status %s, %d questions", again.Status, len(again.Interrupts))
		}
		if again.Interrupts[0].ID == first.Interrupts[0].ID {
			t.Error("the fork's question has the id of the one that was answered")
		}
		res := r.run(agent.Input{Answers: []agent.Answer{{Value: mustJSON("Bob")}}})
		if got := resultOf(t, res, "1").Text(); got != "Bob" {
			t.Errorf("result %q", got)
		}
	})
}

// TestUpdateState is C10: an update goes through the reducer, has the source "update", and decides what comes next.
func TestUpdateState(t *testing.T) {
	onStores(t, func(t *testing.T, s thread.Store) {
		r := newRig(t, agent.Config{Threads: s}, say("one"), say("two"))
		r.run(agent.Input{Text: "a"})
		user := state.Messages.In(head(t, r.agent).State).At(0)
		remove := state.Messages.Update([]message.Change{message.Remove(user.ID), message.Add(message.NewUser("b"))})
		id, err := r.agent.UpdateState(t.Context(), "t", "", "__end__", remove)
		if err != nil {
			t.Fatal(err)
		}
		c := head(t, r.agent)
		if c.ID != id || c.Source != thread.SourceUpdate || texts(c.State) != "assistant:one user:b" {
			t.Errorf("%+v: %s", c, texts(c.State))
		}
		if m := state.Messages.In(c.State).Last(); m.ID == "" {
			t.Error("the new message has no id")
		}
		if _, err := r.try(agent.Input{}); !errors.Is(err, agent.ErrNothingToDo) {
			t.Errorf("after an update as the end: %v", err)
		}
		if _, err := r.agent.UpdateState(t.Context(), "t", "", "", state.Append(message.NewUser("c"))); err != nil {
			t.Fatal(err)
		}
		if _, err := r.agent.UpdateState(t.Context(), "t", "", "nosuch"); err == nil || !strings.Contains(err.Error(), "Node nosuch does not exist") {
			t.Errorf("unknown node: %v", err)
		}
		if _, err := r.agent.UpdateState(t.Context(), "t", "", "tools", state.Append(message.NewUser("d"))); err != nil {
			t.Fatal(err)
		}
		if res := r.run(agent.Input{}); res.Text != "two" {
			t.Errorf("going on after an update as the tools: %q", res.Text)
		}
	})
}

// TestUpdateStateKeepsResults updates a head with pending calls: what has ended stays ended, what was in flight is unknown, and
// the question that waits can still be answered.
func TestUpdateStateKeepsResults(t *testing.T) {
	onStores(t, func(t *testing.T, s thread.Store) {
		n := 0
		ask := fn("ask", tool.Hints{ReadOnly: true}, func(ctx context.Context, _ map[string]any) (tool.Result, error) {
			got, err := run.Interrupt[string](ctx, run.Question{Kind: "input", Value: "name?"})
			return tool.Text(got), err
		})
		r := newRig(t, agent.Config{Threads: s, Tools: []tool.Tool{counted("pay", &n, tool.Hints{}), ask}},
			calls(call("1", "pay"), call("2", "ask")), say("done"))
		r.run(agent.Input{Text: "a"})
		c := head(t, r.agent)
		if len(c.Tasks) != 2 || c.Tasks[0].Result == nil || len(c.Tasks[1].Interrupts) != 1 {
			t.Fatalf("tasks %+v", c.Tasks)
		}
		if _, err := r.agent.UpdateState(t.Context(), "t", "", "model"); err != nil {
			t.Fatal(err)
		}
		c = head(t, r.agent)
		if len(c.Tasks) != 1 || c.Tasks[0].Name != "ask" {
			t.Fatalf("tasks after the update %+v", c.Tasks)
		}
		res := r.run(agent.Input{})
		if res.Status != thread.Waiting || n != 1 {
			t.Fatalf("status %s, pay ran %d times", res.Status, n)
		}
		res = r.run(agent.Input{Answers: []agent.Answer{{Value: mustJSON("Ada")}}})
		if n != 1 || res.Text != "done" {
			t.Errorf("pay ran %d times, answer %q", n, res.Text)
		}
	})
}

// TestPruned is C06: a pruned thread has the same state, and its history begins at the snapshot.
func TestPruned(t *testing.T) {
	onStores(t, func(t *testing.T, s thread.Store) {
		big := strings.Repeat("x", 8<<10)
		// A snapshot is encoded beside the run and stored with a later append, so how many runs it takes depends on the machine.
		const most = 300
		r := newRig(t, agent.Config{Threads: s}, slices.Repeat([]script.Line{say(big)}, most)...)
		for n := 0; n == 0 || len(records(t, s, "t", thread.KindSnapshot)) == 0; n++ {
			if n == most {
				t.Fatal("no snapshot was taken")
			}
			r.run(agent.Input{Text: big})
		}
		r.run(agent.Input{Text: big}) // checkpoints after the snapshot: those are what a pruned history shows
		before := texts(head(t, r.agent).State)
		lease, err := s.Acquire(t.Context(), "t", "test", 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		all := len(history(t, r.agent, agent.HistoryQuery{}))
		if err := s.Prune(t.Context(), "t", lease.Fence()); err != nil {
			t.Fatal(err)
		}
		if err := lease.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := texts(head(t, r.agent).State); got != before {
			t.Error("the state changed")
		}
		cs := history(t, r.agent, agent.HistoryQuery{})
		if len(cs) == 0 || len(cs) >= all || texts(cs[0].State) != before {
			t.Errorf("%d of %d checkpoints are left", len(cs), all)
		}
	})
}

// TestEndlessJump ends a run whose hook jumps to the model every time.
func TestEndlessJump(t *testing.T) {
	r := newRig(t, agent.Config{Middleware: []agent.Middleware{&mw{name: "j", beforeModel: func(_ context.Context, t *agent.Turn) error {
		t.Jump(agent.JumpModel)
		return nil
	}}}}, say("never"))
	if _, err := r.try(agent.Input{Text: "a"}); err == nil || !strings.Contains(err.Error(), "jumps") {
		t.Errorf("error %v", err)
	}
}

// TestQuestionsInCallOrder lists the questions of parallel calls in the order of the calls, whichever asked first.
func TestQuestionsInCallOrder(t *testing.T) {
	second := make(chan struct{})
	ask := fn("ask", tool.Hints{ReadOnly: true}, func(ctx context.Context, args map[string]any) (tool.Result, error) {
		if args["name"] == "first" {
			<-second
		}
		got, err := run.Interrupt[string](ctx, run.Question{Kind: "input", Value: args["name"]})
		if args["name"] == "second" {
			close(second)
		}
		return tool.Text(got), err
	})
	r := newRig(t, agent.Config{Tools: []tool.Tool{ask}}, calls(call("z", "ask", map[string]any{"name": "first"}), call("a", "ask", map[string]any{"name": "second"})))
	res := r.run(agent.Input{Text: "a"})
	var asked []string
	for _, q := range res.Interrupts {
		asked = append(asked, string(q.Value))
	}
	equal(t, "questions", asked, []string{`"first"`, `"second"`})
}

// TestFailAsksNamesTheFix counts the refusal that ended a run among its denials.
func TestFailAsksNamesTheFix(t *testing.T) {
	r := newRig(t, agent.Config{Tools: []tool.Tool{acts(textTool("w"))}, Policy: policy.Judges{policy.AskMode}},
		calls(call("1", "w", map[string]any{"write": "/a"})))
	res, err := r.try(agent.Input{Text: "a"}, agent.WithOnAsk(agent.FailAsks))
	if !errors.Is(err, policy.ErrDenied) || res.ExitCode != 4 {
		t.Fatalf("error %v, exit code %d", err, res.ExitCode)
	}
	if len(res.Denials) != 1 || res.Denials[0].Fix != "--mode edit" {
		t.Errorf("denials %+v", res.Denials)
	}
}
