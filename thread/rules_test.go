package thread_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/policy"
	"github.com/deepagents-go/deepagents/state"
	"github.com/deepagents-go/deepagents/thread"
)

// TestCommitOrder applies what a commit names, in its order, and nothing else.
func TestCommitOrder(t *testing.T) {
	l := newLog(t, keys(t))
	ids := l.add("", ended("a", "A", trail.Update("a")), ended("b", "B", trail.Update("b")), ended("c", "C", trail.Update("c")))
	l.commit("", "model", ids[2], ids[0])
	for name, v := range map[string]*thread.View{"live": l.live(), "loaded": l.load()} {
		if got := trail.In(v.Root.State); got != "ca" {
			t.Errorf("%s: %q, want ca", name, got)
		}
		if got := texts(v.Root.State); got != "m-c:C m-a:A" {
			t.Errorf("%s: messages %q", name, got)
		}
		if len(v.Root.Ended) != 0 {
			t.Errorf("%s: pending writes outlive their commit: %v", name, v.Root.Ended)
		}
	}
	if err := l.j.Append(t.Context(), true, l.entry("", &thread.Commit{Next: "x", Applied: ids[1:2]})); !errors.Is(err, thread.ErrCorrupt) {
		t.Errorf("a record of an earlier step: %v", err)
	}
}

// TestCommitParts has every record that carries updates: the order inside each is fixed.
func TestCommitParts(t *testing.T) {
	l := newLog(t, keys(t))
	user := message.NewUser("hello")
	user.ID = "u"
	ids := l.add("", &thread.Input{Updates: []state.Update{state.Append(user), trail.Update("i")}})
	l.commit("", "model", ids...)
	replaced := message.NewAssistant("wrapped")
	replaced.ID = "a"
	m := answer("a", "raw")
	m.Updates = []state.Update{state.Append(replaced), trail.Update("m")}
	l.commit("", "tools", l.add("", m)...)
	l.commit("", "model", l.add("", updated("hook", trail.Update("h"), single.Update("s")))...)
	v := l.load()
	if got := texts(v.Root.State) + " " + trail.In(v.Root.State) + " " + single.In(v.Root.State); got != "u:hello a:wrapped imh s" {
		t.Errorf("got %q", got)
	}
	if v.Root.Step != 3 || v.Root.Next != "model" || v.Root.Node != "nmodel" || v.Root.Source != thread.SourceLoop {
		t.Errorf("root %+v", v.Root)
	}
}

func TestCommitMissingRecord(t *testing.T) {
	l := newLog(t, keys(t))
	ids := l.add("sub", updated("x"))
	for _, applied := range [][]thread.ID{{"nobody"}, ids} {
		err := newLog(t, keys(t)).j.Append(t.Context(), true, l.entry("", &thread.Commit{Next: "x", Applied: applied}))
		if !errors.Is(err, thread.ErrCorrupt) || !strings.Contains(err.Error(), string(applied[0])) {
			t.Errorf("%v: %v", applied, err)
		}
	}
}

func TestCommitSingleWriter(t *testing.T) {
	l := newLog(t, keys(t))
	ids := l.add("", ended("a", "A", single.Update("1")), ended("b", "B", single.Update("2")))
	err := l.j.Append(t.Context(), true, l.entry("", &thread.Commit{Next: "x", Applied: ids}))
	var ce *state.ConcurrentError
	if !errors.As(err, &ce) {
		t.Errorf("two writers of a step: %v", err)
	}
}

// TestDropped is the way out of it: Check finds the call whose updates cannot be applied, and its message becomes an error.
func TestDropped(t *testing.T) {
	l := newLog(t, keys(t))
	es := []thread.Entry{
		l.entry("", updated("hook", trail.Update("h"))),
		l.entry("", ended("a", "A", single.Update("1"))),
		l.entry("", ended("b", "B", single.Update("2"), trail.Update("lost"))),
		l.entry("", ended("c", "C")),
	}
	ids := l.append(es...)
	c := &thread.Commit{Source: thread.SourceLoop, Next: "model", Applied: ids}
	l.live().Root.Check(c, es)
	if len(c.Dropped) != 1 || !strings.Contains(c.Dropped[ids[2]], "single") || len(c.Replaced) != 0 {
		t.Fatalf("dropped %v, replaced %v", c.Dropped, c.Replaced)
	}
	l.add("", c)
	for name, v := range map[string]*thread.View{"live": l.live(), "loaded": l.load()} {
		s := v.Root.State
		if single.In(s) != "1" || trail.In(s) != "h" {
			t.Errorf("%s: single %q, trail %q", name, single.In(s), trail.In(s))
		}
		m, _ := state.Messages.In(s).Find("m-b")
		if m.Status != message.Error || !strings.HasPrefix(m.Text(), "Error: ") || m.CallID != "b" {
			t.Errorf("%s: message %+v", name, m)
		}
	}
	if es[2].Body.(*thread.CallEnded).Message.Text() != "B" {
		t.Error("the record's message changed")
	}
}

// TestPending has what came after the last commit, live and after a restart.
func TestPending(t *testing.T) {
	l := newLog(t, keys(t))
	l.commit("", "tools", l.add("", answer("a", "call"))...)
	started := func(task string, attempt int) *thread.CallStarted {
		return &thread.CallStarted{Task: task, CallID: "c", Name: "tool", Attempt: attempt}
	}
	asks := func(task, id string) *thread.Interrupt {
		return &thread.Interrupt{ID: id, Task: task, Kind: "input", Value: json.RawMessage("1")}
	}
	aborted := ended("aborted", "boom")
	aborted.Outcome = thread.Aborted
	l.add("", started("done", 1), ended("done", "D"), started("flying", 1), started("asking", 1), asks("asking", "q1"),
		started("aborted", 1), aborted, started("answered", 1), asks("answered", "q2"),
		&thread.Answer{Interrupt: "q2", Task: "answered", Value: json.RawMessage(`"yes"`)})
	check := func(name string, v *thread.View, flying string) {
		t.Helper()
		s := v.Root
		if len(s.Ended) != 1 || s.Ended["done"].Body.(*thread.CallEnded).Message.Text() != "D" {
			t.Errorf("%s: ended %v", name, s.Ended)
		}
		var up []string
		for _, task := range []string{"done", "flying", "asking", "aborted", "answered"} {
			if s.Flying[task] {
				up = append(up, task)
			}
			if s.Started[task] == nil {
				t.Errorf("%s: the start of %s is lost", name, task)
			}
		}
		if got := strings.Join(up, " "); got != flying {
			t.Errorf("%s: flying %q, want %q", name, got, flying)
		}
		if o := v.Open(); len(o) != 1 || o[0].ID != "q1" || o[0].NS != "" {
			t.Errorf("%s: open %v", name, o)
		}
		if !v.Waiting(s, "asking") || v.Waiting(s, "answered") || v.Waiting(s, "flying") {
			t.Errorf("%s: waiting", name)
		}
		if texts(s.State) != "a:call" {
			t.Errorf("%s: pending results are in the state: %s", name, texts(s.State))
		}
	}
	check("live", l.live(), "flying")
	check("loaded", l.load(), "flying")
	l.add("", started("answered", 2), asks("asking", "q1"))
	check("second attempt", l.live(), "flying answered")
	if v := l.load(); v.Root.Started["answered"].Attempt != 2 || len(v.Root.Interrupts) != 2 {
		t.Errorf("the second attempt is not seen: %+v, %d questions", v.Root.Started["answered"], len(v.Root.Interrupts))
	}
	l.commit("", "model", l.load().Root.Ended["done"].ID)
	for name, v := range map[string]*thread.View{"live": l.live(), "loaded": l.load()} {
		s := v.Root
		if len(s.Ended)+len(s.Started)+len(s.Flying)+len(s.Interrupts)+len(s.Answers)+len(v.Open()) != 0 {
			t.Errorf("%s: something outlives its commit: %+v", name, s)
		}
	}
}

func TestOnceFirstWins(t *testing.T) {
	l := newLog(t, keys(t))
	once := func(task, name, v string) *thread.Once {
		return &thread.Once{Task: task, Name: name, Value: json.RawMessage(v)}
	}
	l.add("", once("a", "n", "1"), once("a", "n", "2"), once("a", "m", "3"), once("b", "n", "4"))
	for name, v := range map[string]*thread.View{"live": l.live(), "loaded": l.load()} {
		o := v.Root.OnceValues
		if got := fmt.Sprintf("%s %s %s", o["a"]["n"], o["a"]["m"], o["b"]["n"]); got != "1 3 4" {
			t.Errorf("%s: %s", name, got)
		}
	}
	l.commit("", "x")
	if l.load().Root.OnceValues != nil {
		t.Error("a value outlives its commit")
	}
}

// TestDecisions has what hooks decided about calls: it lives over the commits of hooks until the tools commit.
func TestDecisions(t *testing.T) {
	l := newLog(t, keys(t))
	l.commit("", "after", l.add("", answer("a", "calls"))...)
	read, write := policy.Action{Kind: policy.Read, Path: "/a"}, policy.Action{Kind: policy.Write, Path: "/b"}
	first := updated("h1")
	first.Answered = []thread.CallEnded{*ended("t1", "no"), *ended("t2", "first")}
	first.Granted = []thread.Granted{{Task: "t3", Actions: []policy.Action{read}}}
	l.commit("", "h2", l.add("", first)...)
	second := updated("h2")
	second.Answered = []thread.CallEnded{*ended("t2", "second")}
	second.Replaced = []thread.Replaced{{Task: "t3", Call: message.ToolCall{ID: "c", Name: "ls", Args: json.RawMessage(`{}`)}}}
	second.Granted = []thread.Granted{{Task: "t3", Actions: []policy.Action{write}}}
	l.commit("", "tools", l.add("", second)...)
	l.commit("", "tools", l.add("", updated("person", trail.Update("x")))...)
	for name, v := range map[string]*thread.View{"live": l.live(), "loaded": l.load()} {
		s := v.Root
		if s.Answered["t1"].Message.Text() != "no" || s.Answered["t2"].Message.Text() != "second" {
			t.Errorf("%s: answered %v", name, s.Answered)
		}
		if s.Replaced["t3"].Name != "ls" || fmt.Sprint(s.Granted["t3"]) != fmt.Sprint([]policy.Action{read, write}) {
			t.Errorf("%s: replaced %v, granted %v", name, s.Replaced, s.Granted)
		}
	}
	l.commit("", "model", l.add("", ended("t1", "no"))...)
	for name, v := range map[string]*thread.View{"live": l.live(), "loaded": l.load()} {
		if s := v.Root; len(s.Answered)+len(s.Replaced)+len(s.Granted) != 0 {
			t.Errorf("%s: decisions outlive the calls", name)
		}
	}
}

// TestRuns tells the newest run, and whether it crashed.
func TestRuns(t *testing.T) {
	l := newLog(t, keys(t))
	if v := l.load(); v.Exists() || v.Crashed() || !v.Root.Empty() || v.Root.Step != -1 || v.Branch != thread.FirstBranch {
		t.Errorf("no thread: %+v", v)
	}
	l.add("", &thread.RunStarted{Agent: "one"})
	if v := l.load(); !v.Exists() || !v.Crashed() || v.RunID != "r1" || v.RunStarted.Agent != "one" {
		t.Error("a run that began has crashed until it ends")
	}
	l.commit("", "model", l.add("", updated("x"))...)
	l.add("", &thread.RunEnded{Status: thread.Stopped, Cause: "limit"})
	if v := l.load(); v.Crashed() || v.RunEnded.Cause != "limit" || v.Root.Next != "model" {
		t.Error("it ended")
	}
	l.run = "r2"
	l.open(l.load())
	l.add("", &thread.RunStarted{Agent: "two", Resumed: true})
	if v := l.load(); !v.Crashed() || v.RunID != "r2" || v.RunEnded != nil || v.RunStarted.Agent != "two" {
		t.Error("the second run")
	}
	l.add("", &thread.RunEnded{Status: thread.Done})
	if v := l.load(); v.Crashed() || v.Root.Next != thread.NodeEnd {
		t.Error("a run that is done has nothing next")
	}
}
