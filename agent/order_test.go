package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model/script"
	"github.com/deepagents-go/deepagents/run"
	"github.com/deepagents-go/deepagents/state"
	"github.com/deepagents-go/deepagents/tool"
)

// notes is a key whose updates add up, so that a lost one is seen.
var notes = state.NewKey("notes", func(a []string, b string) ([]string, error) { return append(slices.Clip(a), b), nil }, state.Options{})

// editor is a tool that reads the notes of the state and adds one: what it saw and what it is.
func editor(l *log, hold func(id string)) tool.Tool {
	return acts(fn("edit", tool.Hints{}, func(ctx context.Context, a map[string]any) (tool.Result, error) {
		s, _ := run.From(ctx)
		id := s.Info().CallID
		if l != nil {
			l.add("begin %s", id)
			defer l.add("end %s", id)
		}
		if hold != nil {
			hold(id)
		}
		seen := strings.Join(notes.Get(s.State()), "")
		return tool.Text("saw " + seen), s.State().Write(notes.Update(id))
	}))
}

// F18: both of two edits of one path take effect, the second sees the first; a chain is transitive; strangers overlap.
func TestConflictingCallsRunInOrder(t *testing.T) {
	w := func(id, path string) script.ToolCall { return call(id, "edit", map[string]string{"write": path}) }
	for _, c := range []struct {
		name  string
		calls []script.ToolCall
		want  []string
		order []string
	}{
		{"two edits of a path", []script.ToolCall{w("a", "/x"), w("b", "/x")}, []string{"a: saw ", "b: saw a"}, []string{"begin a", "end a", "begin b", "end b"}},
		{
			"subtree then below",
			[]script.ToolCall{call("a", "edit", `{"tree":"/d"}`), call("b", "edit", `{"read":"/d/x"}`)},
			[]string{"a: saw ", "b: saw a"},
			[]string{"begin a", "end a", "begin b", "end b"},
		},
		{
			"execute after a write",
			[]script.ToolCall{w("a", "/x"), call("b", "edit", `{"exec":"make"}`), w("c", "/y")},
			[]string{"a: saw ", "b: saw a", "c: saw ab"},
			nil,
		},
		{
			"a chain",
			[]script.ToolCall{w("a", "/x"), call("b", "edit", `{"write":"/x","read":"/y"}`), w("c", "/y")},
			[]string{"a: saw ", "b: saw a", "c: saw ab"},
			nil,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var l log
			r := newRig(t, agent.Config{Tools: []tool.Tool{editor(&l, nil)}, Fields: []*state.Field{notes.Field()}}, calls(c.calls...), say("done"))
			res := r.run(agent.Input{Text: "go"})
			equal(t, "results", results(res), c.want)
			if c.order != nil {
				equal(t, "order", l.all(), c.order)
			}
			var all []string
			for _, x := range c.calls {
				all = append(all, x.ID)
			}
			equal(t, "notes", notes.In(res.State), all)
		})
	}
}

// Reads of a path, commands, and calls without actions overlap, also with a writer elsewhere.
func TestStrangersOverlap(t *testing.T) {
	for name, cs := range map[string][]script.ToolCall{
		"reads":      {call("a", "edit", `{"read":"/x"}`), call("b", "edit", `{"read":"/x"}`), call("c", "edit", `{"read":"/"}`)},
		"commands":   {call("a", "edit", `{"exec":"x"}`), call("b", "edit", `{"exec":"x"}`), call("c", "edit", `{"read":"/x"}`)},
		"no actions": {call("a", "edit"), call("b", "edit", `{"write":"/x"}`), call("c", "edit", `{"write":"/y"}`)},
	} {
		t.Run(name, func(t *testing.T) {
			var all sync.WaitGroup
			all.Add(len(cs))
			hold := func(string) { all.Done(); all.Wait() }
			r := newRig(t, agent.Config{Tools: []tool.Tool{editor(nil, hold)}, Fields: []*state.Field{notes.Field()}}, calls(cs...), say("done"))
			res := r.run(agent.Input{Text: "go"})
			equal(t, "each saw the step's state only", results(res), []string{"a: saw ", "b: saw ", "c: saw "})
			equal(t, "applied in call order", notes.In(res.State), []string{"a", "b", "c"})
		})
	}
}

// More calls than run at a time: all run, in any order, none twice.
func TestManyCalls(t *testing.T) {
	var l log
	cs := make([]script.ToolCall, 200)
	want := make([]string, len(cs))
	for i := range cs {
		id := fmt.Sprintf("c%d", i)
		cs[i] = call(id, "edit", map[string]string{"write": fmt.Sprintf("/%d", i%17)})
		want[i] = id
	}
	r := newRig(t, agent.Config{Tools: []tool.Tool{editor(&l, nil)}, Fields: []*state.Field{notes.Field()}}, calls(cs...), say("done"))
	res := r.run(agent.Input{Text: "go"})
	equal(t, "notes", notes.In(res.State), want)
	if len(l.all()) != 2*len(cs) {
		t.Errorf("%d begins and ends", len(l.all()))
	}
	for i := range cs {
		saw := strings.Count(resultOf(t, res, want[i]).Text(), "c")
		if saw != i/17 {
			t.Fatalf("call %d saw %d notes, want those of the %d before it on its path", i, saw, i/17)
		}
	}
}

// Deleting an ancestor of a path written in the same message is refused, wherever it stands; deleting the path itself is ordered.
func TestDeleteAbove(t *testing.T) {
	const refused = "Error: parallel file mutations to the same path are not allowed."
	for _, c := range []struct {
		name  string
		calls []script.ToolCall
		want  []string
	}{
		{"before", []script.ToolCall{call("a", "edit", `{"tree":"/d"}`), call("b", "edit", `{"write":"/d/x"}`)}, []string{"a: " + refused, "b: saw "}},
		{"after", []script.ToolCall{call("a", "edit", `{"write":"/d/x"}`), call("b", "edit", `{"tree":"/d"}`)}, []string{"a: saw ", "b: " + refused}},
		{"the path itself", []script.ToolCall{call("a", "edit", `{"write":"/d"}`), call("b", "edit", `{"tree":"/d"}`)}, []string{"a: saw ", "b: saw a"}},
		{"two deletes", []script.ToolCall{call("a", "edit", `{"tree":"/d"}`), call("b", "edit", `{"tree":"/d/e"}`)}, []string{"a: " + refused, "b: saw "}},
		{"a name that begins alike", []script.ToolCall{call("a", "edit", `{"tree":"/d"}`), call("b", "edit", `{"write":"/dx"}`)}, []string{"a: saw ", "b: saw "}},
		{"a read below", []script.ToolCall{call("a", "edit", `{"read":"/d/x"}`), call("b", "edit", `{"tree":"/d"}`)}, []string{"a: saw ", "b: saw a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, agent.Config{Tools: []tool.Tool{editor(nil, nil)}, Fields: []*state.Field{notes.Field()}}, calls(c.calls...), say("done"))
			equal(t, "results", results(r.run(agent.Input{Text: "go"})), c.want)
		})
	}
}

// A call behind an unanswered conflicting one stays pending; the others run; the answer lets it go on with what came before.
func TestBehindAnUnansweredCall(t *testing.T) {
	var l log
	ask := acts(fn("ask", tool.Hints{}, func(ctx context.Context, _ map[string]any) (tool.Result, error) {
		v, err := run.Interrupt[string](ctx, run.Question{Kind: "input", Value: "?"})
		if err != nil {
			return tool.Result{}, err
		}
		s, _ := run.From(ctx)
		return tool.Text(v), s.State().Write(notes.Update("asked"))
	}))
	r := newRig(t, agent.Config{Tools: []tool.Tool{ask, editor(&l, nil)}, Fields: []*state.Field{notes.Field()}},
		calls(call("a", "ask", `{"write":"/x"}`), call("b", "edit", `{"write":"/x"}`), call("c", "edit", `{"write":"/y"}`), call("d", "edit", `{"exec":"make"}`)), say("done"))
	res := r.run(agent.Input{Text: "go"})
	if len(res.Interrupts) != 1 || res.Status != "waiting" {
		t.Fatalf("%+v", res)
	}
	equal(t, "what ran", l.all(), []string{"begin c", "end c"})
	res = r.run(agent.Input{Answers: []agent.Answer{{Value: json.RawMessage(`"yes"`)}}})
	// d waits for a, b and c: it sees their updates in call order.
	equal(t, "results", results(res), []string{"a: yes", "b: saw asked", "c: saw ", "d: saw askedbc"})
	equal(t, "notes", notes.In(res.State), []string{"asked", "b", "c", "d"})
	if l.count("begin c") != 1 {
		t.Error("a finished sibling ran again")
	}
}

// Order uses the arguments after Replace, the verdict those that reach the tool.
func TestOrderAfterReplace(t *testing.T) {
	replace := &mw{name: "r", afterModel: func(_ context.Context, x *agent.Turn) error {
		for _, c := range x.Calls() {
			if c.CallID == "b" {
				return x.Replace(c.ID, "edit", json.RawMessage(`{"write":"/x"}`))
			}
		}
		return nil
	}}
	r := newRig(t, agent.Config{Tools: []tool.Tool{editor(nil, nil)}, Fields: []*state.Field{notes.Field()}, Middleware: []agent.Middleware{replace}},
		calls(call("a", "edit", `{"write":"/x"}`), call("b", "edit", `{"write":"/y"}`)), say("done"))
	equal(t, "results", results(r.run(agent.Input{Text: "go"})), []string{"a: saw ", "b: saw a"})
}

// A conflicting call that failed has no updates; the next one goes on.
func TestAfterAFailedCall(t *testing.T) {
	bad := acts(fn("bad", tool.Hints{}, func(ctx context.Context, _ map[string]any) (tool.Result, error) {
		s, _ := run.From(ctx)
		if err := s.State().Write(notes.Update("bad")); err != nil {
			return tool.Result{}, err
		}
		return tool.Result{}, fmt.Errorf("boom")
	}))
	r := newRig(t, agent.Config{Tools: []tool.Tool{bad, editor(nil, nil)}, Fields: []*state.Field{notes.Field()}},
		calls(call("a", "bad", `{"write":"/x"}`), call("b", "edit", `{"write":"/x"}`)), say("done"))
	res := r.run(agent.Input{Text: "go"})
	if m := resultOf(t, res, "a"); m.Status != message.Error {
		t.Error(m.Text())
	}
	equal(t, "notes", notes.In(res.State), []string{"b"})
}
