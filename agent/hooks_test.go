package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/policy"
	"github.com/deepagents-go/deepagents/run"
	"github.com/deepagents-go/deepagents/state"
	"github.com/deepagents-go/deepagents/thread"
	"github.com/deepagents-go/deepagents/thread/memory"
	"github.com/deepagents-go/deepagents/tool"
)

// tracer is a middleware that writes down every hook and wrapper.
func tracer(name string, l *log) *mw {
	return &mw{
		name:        name,
		before:      func(context.Context, *agent.RunState) error { l.add("%s.before", name); return nil },
		after:       func(context.Context, *agent.RunState) error { l.add("%s.after", name); return nil },
		beforeModel: func(context.Context, *agent.Turn) error { l.add("%s.beforeModel", name); return nil },
		afterModel:  func(context.Context, *agent.Turn) error { l.add("%s.afterModel", name); return nil },
		wrapModel: func(next agent.ModelFunc) agent.ModelFunc {
			return func(ctx context.Context, r agent.Request) (agent.Response, error) {
				l.add("%s.model(", name)
				defer l.add("%s.model)", name)
				return next(ctx, r)
			}
		},
		wrapTool: func(next agent.ToolFunc) agent.ToolFunc {
			return func(ctx context.Context, c tool.Call) (tool.Result, error) {
				l.add("%s.tool(", name)
				defer l.add("%s.tool)", name)
				return next(ctx, c)
			}
		},
	}
}

// L03, L04.
func TestHookAndWrapperOrder(t *testing.T) {
	var l log
	r := newRig(t, agent.Config{
		Tools: []tool.Tool{textTool("x")}, Middleware: []agent.Middleware{tracer("A", &l), tracer("B", &l)},
	}, calls(call("c", "x")), say("done"))
	r.run(agent.Input{Text: "go"})
	turn := []string{"A.beforeModel", "B.beforeModel", "A.model(", "B.model(", "B.model)", "A.model)", "B.afterModel", "A.afterModel"}
	want := slices.Concat([]string{"A.before", "B.before"}, turn, []string{"A.tool(", "B.tool(", "B.tool)", "A.tool)"}, turn, []string{"B.after", "A.after"})
	equal(t, "trace", l.all(), want)
	if n := len(records(t, r.store, "t", thread.KindUpdate)); n != 0 {
		t.Errorf("hooks that changed nothing wrote %d updates", n)
	}
}

// TestHooksCommit: a hook that changed the state is a step of its own, in order; what it wrote is seen by the next one.
func TestHooksCommit(t *testing.T) {
	names := state.NewKey("names", func(a []string, b string) ([]string, error) { return append(slices.Clip(a), b), nil }, state.Options{})
	hook := func(name string) func(context.Context, *agent.Turn) error {
		return func(ctx context.Context, t *agent.Turn) error {
			s, ok := run.From(ctx)
			if !ok || s.State() != t.State() {
				return errors.New("the scope of a hook has another transaction")
			}
			return t.State().Write(names.Update(name))
		}
	}
	a := &mw{name: "A", beforeModel: hook("A1"), afterModel: hook("A2"), fields: []*state.Field{names.Field()}}
	b := &mw{name: "B", beforeModel: hook("B1"), afterModel: hook("B2")}
	r := newRig(t, agent.Config{Middleware: []agent.Middleware{a, b}}, say("done"))
	res := r.run(agent.Input{Text: "go"})
	equal(t, "names", names.In(res.State), []string{"A1", "B1", "B2", "A2"})
	var nodes []string
	for _, rec := range records(t, r.store, "t", thread.KindCommit) {
		body, err := thread.Decode(rec)
		if err != nil {
			t.Fatal(err)
		}
		c := body.(*thread.Commit)
		nodes = append(nodes, c.Node+">"+c.Next)
	}
	equal(t, "commits", nodes, []string{
		">A.before_agent", "A.before_model>B.before_model", "B.before_model>model", "model>B.after_model",
		"B.after_model>A.after_model", "A.after_model>B.after_agent",
	})
}

// TestHookFails: the run stops with the error and the hook's name; what it wrote is dropped; going on repeats it.
func TestHookFails(t *testing.T) {
	n := state.NewKey("n", func(a, b int) (int, error) { return a + b, nil }, state.Options{})
	for _, how := range []string{"error", "panic"} {
		t.Run(how, func(t *testing.T) {
			broken := true
			h := &mw{name: "H", fields: []*state.Field{n.Field()}, afterModel: func(_ context.Context, x *agent.Turn) error {
				if err := x.State().Write(n.Update(1)); err != nil {
					return err
				}
				switch {
				case broken && how == "panic":
					panic("boom")
				case broken:
					return errors.New("boom")
				}
				return nil
			}}
			r := newRig(t, agent.Config{Middleware: []agent.Middleware{h}}, say("done"))
			res, err := r.try(agent.Input{Text: "go"})
			if err == nil || !strings.Contains(err.Error(), "H.after_model") || !strings.Contains(err.Error(), "boom") || res.Status != thread.Stopped {
				t.Fatalf("%v %+v", err, res)
			}
			broken = false
			res = r.run(agent.Input{})
			if n.In(res.State) != 1 || len(r.model.requests()) != 1 {
				t.Errorf("n is %d after %d requests", n.In(res.State), len(r.model.requests()))
			}
		})
	}
}

// L05: only what the last call of next brought counts; A's delta attempts are told apart.
func TestRetryDiscardsInnerUpdates(t *testing.T) {
	ups := state.NewKey("ups", func(a []int, b int) ([]int, error) { return append(slices.Clip(a), b), nil }, state.Options{})
	n := 0
	c := &mw{name: "C", fields: []*state.Field{ups.Field()}, wrapModel: func(next agent.ModelFunc) agent.ModelFunc {
		return func(ctx context.Context, r agent.Request) (agent.Response, error) {
			res, err := next(ctx, r)
			n++
			res.Update = append(res.Update, ups.Update(n))
			return res, err
		}
	}}
	b := &mw{name: "B", wrapModel: func(next agent.ModelFunc) agent.ModelFunc {
		return func(ctx context.Context, r agent.Request) (agent.Response, error) {
			if _, err := next(ctx, r); err != nil {
				return agent.Response{}, err
			}
			return next(ctx, r)
		}
	}}
	r := newRig(t, agent.Config{Middleware: []agent.Middleware{b, c}}, say("done"))
	res := r.run(agent.Input{Text: "go"})
	equal(t, "updates", ups.In(res.State), []int{2})
	if res.Turns != 1 {
		t.Errorf("a retry counts as %d turns", res.Turns)
	}
	var attempts []int
	for _, q := range r.model.requests() {
		attempts = append(attempts, q.Attempt)
	}
	equal(t, "attempts", attempts, []int{1, 2})
}

// L06, L07; L08 has no counterpart: a Response cannot say where to go.
func TestModelShortCircuit(t *testing.T) {
	for _, c := range []struct {
		name string
		m    *message.Message
		err  string
	}{
		{"bare message", message.NewAssistant("mine"), ""},
		{"wrong role and name", &message.Message{Role: message.User, Name: "x", Parts: message.Parts{message.Text{Text: "mine"}}}, ""},
		{"no message", nil, "no message"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &mw{name: "m", wrapModel: func(agent.ModelFunc) agent.ModelFunc {
				return func(context.Context, agent.Request) (agent.Response, error) { return agent.Response{Message: c.m}, nil }
			}}
			r := newRig(t, agent.Config{Middleware: []agent.Middleware{m}}, say("never"))
			res, err := r.try(agent.Input{Text: "go"})
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Error(err)
				}
				return
			}
			if err != nil || res.Text != "mine" || res.Message.Role != message.Assistant || res.Message.Name != "main" || len(r.model.requests()) != 0 {
				t.Errorf("%v %+v", err, res.Message)
			}
		})
	}
}

// TestModelPanics: a panic of the model or of a wrapper ends the run, not the process.
func TestModelPanics(t *testing.T) {
	m := &mw{name: "m", wrapModel: func(agent.ModelFunc) agent.ModelFunc {
		return func(context.Context, agent.Request) (agent.Response, error) { panic("ouch") }
	}}
	r := newRig(t, agent.Config{Middleware: []agent.Middleware{m}}, say("never"))
	var p *agent.PanicError
	if res, err := r.try(agent.Input{Text: "go"}); !errors.As(err, &p) || res.Status != thread.Stopped {
		t.Errorf("%v", err)
	}
}

// TestWrapperUpdates: the message first, then the updates inner first; an update that does not fit ends the run before anything
// is stored, with and without hooks after the model.
func TestWrapperUpdates(t *testing.T) {
	k := state.Last[string]("k", state.Options{})
	wrap := func(name string, u state.Update) *mw {
		return &mw{name: name, wrapModel: func(next agent.ModelFunc) agent.ModelFunc {
			return func(ctx context.Context, r agent.Request) (agent.Response, error) {
				res, err := next(ctx, r)
				res.Update = append(res.Update, u)
				return res, err
			}
		}}
	}
	r := newRig(t, agent.Config{
		Fields: []*state.Field{k.Field()}, Middleware: []agent.Middleware{wrap("A", k.Update("outer")), wrap("B", k.Update("inner"))},
	}, say("done"))
	if res := r.run(agent.Input{Text: "go"}); k.In(res.State) != "outer" {
		t.Errorf("k is %q", k.In(res.State))
	}
	for _, bad := range []*mw{
		wrap("A", state.RawUpdate("k", false, json.RawMessage(`7`))),
		{name: "A", afterModel: func(context.Context, *agent.Turn) error { return nil }, wrapModel: wrap("A", state.RawUpdate("k", false, json.RawMessage(`7`))).wrapModel},
	} {
		r = newRig(t, agent.Config{Fields: []*state.Field{k.Field()}, Middleware: []agent.Middleware{bad}}, say("done"))
		if _, err := r.try(agent.Input{Text: "go"}); err == nil {
			t.Error("a bad update is accepted")
		}
		if got := outline(state.Messages.In(r.load()).Slice()); got != "user" {
			t.Errorf("the thread holds %s", got)
		}
	}
}

// L09 to L12; deviates from L10: a jump needs no declaration.
func TestJumps(t *testing.T) {
	jumpOnce := func(l *log, name string, to agent.Jump) func(context.Context, *agent.Turn) error {
		return func(_ context.Context, x *agent.Turn) error {
			l.add("%s", name)
			if l.count(name) == 1 {
				x.Jump(to)
			}
			return nil
		}
	}
	runJump := func(l *log, name string, to agent.Jump) func(context.Context, *agent.RunState) error {
		return func(_ context.Context, x *agent.RunState) error {
			l.add("%s", name)
			if l.count(name) == 1 {
				x.Jump(to)
			}
			return nil
		}
	}
	for _, c := range []struct {
		name  string
		with  func(*mw, *log)
		turns int
		want  []string
	}{
		{"L09 beforeModel end", func(m *mw, l *log) { m.beforeModel = jumpOnce(l, "bm", agent.JumpEnd) }, 0, []string{"before", "bm", "after"}},
		{"beforeModel model", func(m *mw, l *log) { m.beforeModel = jumpOnce(l, "bm", agent.JumpModel) }, 2, []string{"before", "bm", "bm", "am", "bm", "am", "after"}},
		{"afterModel end", func(m *mw, l *log) { m.afterModel = jumpOnce(l, "am", agent.JumpEnd) }, 1, []string{"before", "bm", "am", "after"}},
		{"afterModel model", func(m *mw, l *log) { m.afterModel = jumpOnce(l, "am", agent.JumpModel) }, 2, []string{"before", "bm", "am", "bm", "am", "after"}},
		{"before end", func(m *mw, l *log) { m.before = runJump(l, "before", agent.JumpEnd) }, 0, []string{"before", "after"}},
		{"before model", func(m *mw, l *log) { m.before = runJump(l, "before", agent.JumpModel) }, 2, []string{"before", "bm", "am", "bm", "am", "after"}},
		{"L11 after model", func(m *mw, l *log) { m.after = runJump(l, "after", agent.JumpModel) }, 3, []string{"before", "bm", "am", "bm", "am", "after", "bm", "am", "after"}},
		{"after end", func(m *mw, l *log) { m.after = runJump(l, "after", agent.JumpEnd) }, 2, []string{"before", "bm", "am", "bm", "am", "after"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var l log
			m := &mw{
				name:        "m",
				before:      func(context.Context, *agent.RunState) error { l.add("before"); return nil },
				after:       func(context.Context, *agent.RunState) error { l.add("after"); return nil },
				beforeModel: func(context.Context, *agent.Turn) error { l.add("bm"); return nil },
				afterModel:  func(context.Context, *agent.Turn) error { l.add("am"); return nil },
			}
			c.with(m, &l)
			ran := 0
			x := fn("x", tool.Hints{}, func(context.Context, map[string]any) (tool.Result, error) { ran++; return tool.Text("x"), nil })
			r := newRig(t, agent.Config{Tools: []tool.Tool{x}, Middleware: []agent.Middleware{m}}, calls(call("c", "x")), say("done"), say("more"))
			res := r.run(agent.Input{Text: "go"})
			equal(t, "trace", l.all(), c.want)
			if res.Turns != c.turns || res.Status != thread.Done {
				t.Errorf("%d turns, %s", res.Turns, res.Status)
			}
			if err := validRequest(messages(res)); err != nil {
				t.Error(err)
			}
			if strings.HasPrefix(c.name, "afterModel") {
				m := resultOf(t, res, "c")
				if ran != 0 || m.Status != message.Error || !strings.Contains(m.Text(), "not executed") {
					t.Errorf("the call that was jumped over: %q, ran %d", m.Text(), ran)
				}
			}
			if _, err := r.try(agent.Input{}); !errors.Is(err, agent.ErrNothingToDo) {
				t.Errorf("after the end: %v", err)
			}
		})
	}
}

// TestHookAnswersAndJumps: what a hook decided about calls before it jumps is kept, whichever way it did so; the others are closed.
func TestHookAnswersAndJumps(t *testing.T) {
	m := &mw{name: "m", afterModel: func(_ context.Context, x *agent.Turn) error {
		cs := x.Calls()
		if len(cs) == 0 {
			return nil
		}
		if err := x.Answer(cs[0].ID, tool.Text("answered")); err != nil {
			return err
		}
		by := message.NewTool(message.ToolCall{ID: cs[1].CallID, Name: "x"}, message.Success, "written")
		if err := x.State().Write(state.Append(by)); err != nil {
			return err
		}
		x.Jump(agent.JumpModel)
		return nil
	}}
	r := newRig(t, agent.Config{Tools: []tool.Tool{textTool("x")}, Middleware: []agent.Middleware{m}},
		calls(call("a", "x"), call("b", "x"), call("c", "x")), say("done"))
	res := r.run(agent.Input{Text: "go"})
	if m := resultOf(t, res, "a"); m.Text() != "answered" || m.Status != message.Success {
		t.Errorf("a: %q", m.Text())
	}
	if m := resultOf(t, res, "b"); m.Text() != "written" {
		t.Errorf("b: %q", m.Text())
	}
	if m := resultOf(t, res, "c"); !strings.Contains(m.Text(), "not executed") {
		t.Errorf("c: %q", m.Text())
	}
	if n := len(results(res)); n != 3 {
		t.Errorf("%d results: %v", n, results(res))
	}
}

// TestTurnDecisions: Answer, Replace and Grant, seen by later hooks, journaled, joined in call order.
func TestTurnDecisions(t *testing.T) {
	var l log
	x := acts(fn("x", tool.Hints{}, func(_ context.Context, a map[string]any) (tool.Result, error) {
		l.add("x %v", a["write"])
		return tool.Text("x"), nil
	}))
	y := fn("y", tool.Hints{}, func(_ context.Context, a map[string]any) (tool.Result, error) {
		l.add("y %v", a["q"])
		return tool.Text("y"), nil
	})
	first := &mw{name: "first", afterModel: func(ctx context.Context, x *agent.Turn) error {
		cs := x.Calls()
		if len(cs) == 0 {
			return nil
		}
		for _, bad := range []error{
			x.Answer("nope", tool.Text("")), x.Replace("nope", "y", nil), x.Grant("nope", nil), x.Replace(cs[0].ID, "nope", nil),
		} {
			if bad == nil {
				return errors.New("a decision about nothing is accepted")
			}
		}
		if _, err := x.Actions(ctx, "nope"); err == nil {
			return errors.New("nope has actions")
		}
		if _, ok := x.Tool("y"); !ok {
			return errors.New("there is no y")
		}
		as, err := x.Actions(ctx, cs[3].ID)
		if err != nil || len(as) != 1 || as[0].Path != "/p" || as[0].Tool != "x" {
			return errors.New("wrong actions")
		}
		return errors.Join(
			x.Answer(cs[1].ID, tool.Text("by hook")), x.Replace(cs[2].ID, "y", json.RawMessage(`{"q":1}`)), x.Grant(cs[3].ID, as),
		)
	}}
	var seen []string
	second := &mw{name: "second", afterModel: func(_ context.Context, x *agent.Turn) error {
		for _, c := range x.Calls() {
			seen = append(seen, c.CallID+" "+c.Name)
		}
		return nil
	}}
	ask := policy.JudgeFunc(func(_ context.Context, a policy.Action) policy.Verdict {
		if a.Kind == policy.Write {
			return policy.Verdict{Decision: policy.Ask}
		}
		return policy.Verdict{}
	})
	r := newRig(t, agent.Config{
		Tools: []tool.Tool{x, y}, Middleware: []agent.Middleware{second, first}, Policy: policy.Judges{ask},
	}, calls(call("a", "x"), call("b", "x"), call("c", "x"), call("d", "x", `{"write":"/p"}`)), say("done"))
	res := r.run(agent.Input{Text: "go"}, agent.WithOnAsk(agent.DenyAsks))
	equal(t, "results", results(res), []string{"a: x", "b: by hook", "c: y", "d: x"})
	equal(t, "the other hook sees", seen, []string{"a x", "c y", "d x"})
	if l.count("x <nil>") != 1 || l.count("y 1") != 1 || l.count("x /p") != 1 || len(l.all()) != 3 {
		t.Error(l.all())
	}
}

// TestGrantIsNoPardon: a grant covers exactly its actions, and never what a rule denies.
func TestGrantIsNoPardon(t *testing.T) {
	ran := 0
	x := acts(fn("x", tool.Hints{}, func(context.Context, map[string]any) (tool.Result, error) { ran++; return tool.Text("x"), nil }))
	grant := &mw{name: "grant", afterModel: func(_ context.Context, x *agent.Turn) error {
		for _, c := range x.Calls() {
			if err := x.Grant(c.ID, []policy.Action{{Kind: policy.Write, Tool: "x", Path: "/deny"}, {Kind: policy.Write, Tool: "x", Path: "/other"}}); err != nil {
				return err
			}
		}
		return nil
	}}
	judge := policy.JudgeFunc(func(_ context.Context, a policy.Action) policy.Verdict {
		if a.Path == "/deny" {
			return policy.Verdict{Decision: policy.Deny, Reason: "never", Rule: "r", Fix: "f"}
		}
		return policy.Verdict{Decision: policy.Ask, Reason: "sure?"}
	})
	r := newRig(t, agent.Config{Tools: []tool.Tool{x}, Middleware: []agent.Middleware{grant}, Policy: policy.Judges{judge}},
		calls(call("a", "x", `{"write":"/deny"}`), call("b", "x", `{"write":"/this"}`)), say("done"))
	res := r.run(agent.Input{Text: "go"}, agent.WithOnAsk(agent.DenyAsks))
	if ran != 0 || len(res.Denials) != 2 || res.ExitCode != 4 || res.Cause != "denied" {
		t.Fatalf("ran %d: %+v", ran, res)
	}
	for _, d := range res.Denials {
		if d.Name != "x" || d.Reason == "" {
			t.Errorf("%+v", d)
		}
	}
}

// TestToolWrappers: retry, short circuit and changed arguments; only what comes out of the outermost counts.
func TestToolWrappers(t *testing.T) {
	var l log
	ups := state.NewKey("ups", func(a []string, b string) ([]string, error) { return append(slices.Clip(a), b), nil }, state.Options{})
	n := 0
	x := fn("x", tool.Hints{}, func(ctx context.Context, a map[string]any) (tool.Result, error) {
		n++
		l.add("x %v", a["q"])
		if n == 1 {
			return tool.Result{}, errors.New("flaky")
		}
		res := tool.Text("fine")
		res.Update = []state.Update{ups.Update("result")}
		s, _ := run.From(ctx)
		return res, s.State().Write(ups.Update("tx"))
	})
	retry := &mw{name: "retry", fields: []*state.Field{ups.Field()}, wrapTool: func(next agent.ToolFunc) agent.ToolFunc {
		return func(ctx context.Context, c tool.Call) (tool.Result, error) {
			if c.Name == "y" {
				return tool.Text("instead"), nil
			}
			res, err := next(ctx, c)
			if err != nil {
				c.Args = json.RawMessage(`{"q":"again"}`)
				return next(ctx, c)
			}
			return res, err
		}
	}}
	y := fn("y", tool.Hints{}, func(context.Context, map[string]any) (tool.Result, error) { l.add("y"); return tool.Result{}, nil })
	r := newRig(t, agent.Config{Tools: []tool.Tool{x, y}, Middleware: []agent.Middleware{retry}}, calls(call("a", "x", `{"q":"first"}`), call("b", "y")), say("done"))
	res := r.run(agent.Input{Text: "go"})
	equal(t, "results", results(res), []string{"a: fine", "b: instead"})
	equal(t, "log", l.all(), []string{"x first", "x again"})
	equal(t, "updates: the transaction's first", ups.In(res.State), []string{"tx", "result"})
	if got := len(records(t, r.store, "t", thread.KindCallStarted)); got != 2 {
		t.Errorf("%d start records; each reach of the tool's code is one, a short circuit none", got)
	}
}

// TestWrapperMeetsDenial: a wrapper that makes up for a denial has a call that was not denied.
func TestWrapperMeetsDenial(t *testing.T) {
	x := acts(fn("x", tool.Hints{}, func(context.Context, map[string]any) (tool.Result, error) { return tool.Text("ok"), nil }))
	judge := policy.JudgeFunc(func(_ context.Context, a policy.Action) policy.Verdict {
		if a.Path == "/deny" {
			return policy.Verdict{Decision: policy.Deny, Reason: "never"}
		}
		return policy.Verdict{}
	})
	w := &mw{name: "w", wrapTool: func(next agent.ToolFunc) agent.ToolFunc {
		return func(ctx context.Context, c tool.Call) (tool.Result, error) {
			res, err := next(ctx, c)
			if errors.Is(err, policy.ErrDenied) {
				c.Args = json.RawMessage(`{"write":"/fine"}`)
				return next(ctx, c)
			}
			return res, err
		}
	}}
	r := newRig(t, agent.Config{Tools: []tool.Tool{x}, Middleware: []agent.Middleware{w}, Policy: policy.Judges{judge}},
		calls(call("a", "x", `{"write":"/deny"}`)), say("done"))
	res := r.run(agent.Input{Text: "go"})
	if len(res.Denials) != 0 || res.ExitCode != 0 || resultOf(t, res, "a").Status != message.Success {
		t.Errorf("%+v", res)
	}
}

// TestAllowInsideATool: an action named while the tool runs is judged as well; the denial says why.
func TestAllowInsideATool(t *testing.T) {
	x := fn("x", tool.Hints{}, func(ctx context.Context, _ map[string]any) (tool.Result, error) {
		s, _ := run.From(ctx)
		if err := s.Allow(ctx, policy.Action{Kind: policy.Read, Path: "/fine"}); err != nil {
			return tool.Result{}, err
		}
		return tool.Text("leaked"), s.Allow(ctx, policy.Action{Kind: policy.Network, Host: "evil"})
	})
	judge := policy.JudgeFunc(func(_ context.Context, a policy.Action) policy.Verdict {
		if a.Kind == policy.Network {
			return policy.Verdict{Decision: policy.Deny, Reason: "no network", Rule: "rule 7", Fix: "--net"}
		}
		return policy.Verdict{}
	})
	r := newRig(t, agent.Config{Tools: []tool.Tool{x}, Policy: policy.Judges{judge}}, calls(call("a", "x")), say("done"))
	res := r.run(agent.Input{Text: "go"})
	if len(res.Denials) != 1 || res.Denials[0].Reason != "no network" || res.Denials[0].Fix != "--net" || res.Denials[0].By != "rule 7" {
		t.Fatalf("%+v", res.Denials)
	}
	if m := resultOf(t, res, "a"); m.Status != message.Error || strings.Contains(m.Text(), "leaked") || !strings.Contains(m.Text(), "no network") {
		t.Errorf("%q", m.Text())
	}
}

// TestMissingHook: a thread that goes on at a hook which is gone goes on with the next one of that phase.
func TestMissingHook(t *testing.T) {
	s := memory.New()
	defer s.Close()
	var l log
	stop := tracer("B", &l)
	stop.afterModel = func(context.Context, *agent.Turn) error { return errors.New("stop here") }
	commit := tracer("C", &l)
	k := state.Last[int]("k", state.Options{})
	commit.fields = []*state.Field{k.Field()}
	commit.afterModel = func(_ context.Context, x *agent.Turn) error {
		l.add("C.afterModel")
		return x.State().Write(k.Update(1))
	}
	ms := []agent.Middleware{tracer("A", &l), stop, commit}
	r := newRig(t, agent.Config{Threads: s, Middleware: ms}, say("done"))
	if _, err := r.try(agent.Input{Text: "go"}); err == nil {
		t.Fatal("the run did not stop")
	}
	for _, c := range []struct {
		ms   []agent.Middleware
		want []string
	}{
		{[]agent.Middleware{tracer("A", &l), tracer("C", &l)}, []string{"A.afterModel", "C.after", "A.after"}},
	} {
		l.l = nil
		r = newRig(t, agent.Config{Threads: s, Middleware: c.ms, Fields: []*state.Field{k.Field()}}, say("done"))
		if res := r.run(agent.Input{}); res.Text != "done" {
			t.Error(res.Text)
		}
		equal(t, "hooks", l.all(), c.want)
	}
}

// TestPartialAnswer: a cut returns what arrived together with the error, for wrappers to use.
func TestPartialAnswer(t *testing.T) {
	var partial string
	w := &mw{name: "w", wrapModel: func(next agent.ModelFunc) agent.ModelFunc {
		return func(ctx context.Context, r agent.Request) (agent.Response, error) {
			res, err := next(ctx, r)
			if errors.Is(err, model.ErrOverloaded) {
				partial = res.Message.Text()
				return agent.Response{Message: message.NewAssistant("recovered")}, nil
			}
			return res, err
		}
	}}
	l := say("half an answer")
	l.Error = model.Overloaded
	r := newRig(t, agent.Config{Middleware: []agent.Middleware{w}}, l)
	if res := r.run(agent.Input{Text: "go"}); res.Text != "recovered" || partial != "half an answer" {
		t.Errorf("%q, %q", res.Text, partial)
	}
}
