package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model/script"
	"github.com/deepagents-go/deepagents/policy"
	"github.com/deepagents-go/deepagents/run"
	"github.com/deepagents-go/deepagents/state"
	"github.com/deepagents-go/deepagents/thread"
	"github.com/deepagents-go/deepagents/tool"
)

// task runs a sub-agent for each name in "who".
func task(subs ...*agent.Agent) tool.Tool {
	return fn("task", tool.Hints{Resumable: true}, func(ctx context.Context, a map[string]any) (tool.Result, error) {
		sub := subs[0]
		for _, s := range subs {
			if s.Name() == a["who"] {
				sub = s
			}
		}
		res, err := sub.Nested(ctx, agent.Input{Text: fmt.Sprint(a["do"])})
		if err != nil {
			return tool.Result{}, err
		}
		out := tool.Text(res.Text)
		out.Update = res.Updates
		return out, nil
	})
}

// Namespaces, inherited public state without messages, private keys, and what comes back.
func TestNestedState(t *testing.T) {
	pub := state.NewKey("pub", func(a []string, b string) ([]string, error) { return append(slices.Clip(a), b), nil }, state.Options{})
	priv := state.Last[string]("priv", state.Options{Private: true})
	own := state.Last[string]("own", state.Options{Private: true})
	childPub := state.Last[string]("childPub", state.Options{})
	var seen []string
	peek := fn("peek", tool.Hints{}, func(ctx context.Context, _ map[string]any) (tool.Result, error) {
		s, _ := run.From(ctx)
		seen = append(seen, fmt.Sprintf("%v|%s|%s|%d", pub.Get(s.State()), priv.Get(s.State()), own.Get(s.State()), state.Messages.Get(s.State()).Len()))
		res := tool.Text("peeked")
		res.Update = []state.Update{pub.Update("child"), priv.Update("leak"), own.Update("mine"), childPub.Update("new")}
		return res, nil
	})
	p := newProbe(lines(
		calls(call("t1", "task", `{"do":"first"}`)), calls(call("t2", "task", `{"do":"second"}`)), say("done"),
		as("helper", calls(call("p", "peek"))), as("helper", say("helped")),
	))
	helper := mustNew(t, agent.Config{Name: "helper", Model: p, Tools: []tool.Tool{peek}, Fields: []*state.Field{pub.Field(), priv.Field(), own.Field(), childPub.Field()}})
	r := newRig(t, agent.Config{
		Model: p, Tools: []tool.Tool{task(helper)}, Fields: []*state.Field{pub.Field(), priv.Field()},
		Middleware: []agent.Middleware{&mw{name: "m", before: func(_ context.Context, r *agent.RunState) error {
			return errors.Join(r.State().Write(pub.Update("parent")), r.State().Write(priv.Update("secret")))
		}}},
	})
	res := r.run(agent.Input{Text: "go"})
	p.check(t)
	// B151: the parent's private value does not reach a child, a child's own does not reach the next one.
	equal(t, "what the sub-agents saw", seen, []string{"[parent]|||2", "[parent child]|||2"})
	equal(t, "what came back", pub.In(res.State), []string{"parent", "child", "child"})
	if priv.In(res.State) != "secret" {
		t.Errorf("the parent's private key is %q", priv.In(res.State))
	}
	// B154: the parent gains one result for each task and nothing else.
	if got := outline(messages(res)); got != "user assistant(t1) t1=success assistant(t2) t2=success assistant" {
		t.Error(got)
	}
	var ns []string
	for _, rec := range records(t, r.store, "t") {
		if rec.NS != "" && !slices.Contains(ns, rec.NS) {
			ns = append(ns, rec.NS)
		}
	}
	tasks := []string{messages(res)[1].ID + ".t1", messages(res)[3].ID + ".t2"}
	equal(t, "namespaces", ns, tasks)
	for _, rec := range records(t, r.store, "t", thread.KindInput) {
		b, err := thread.Decode(rec)
		if err != nil {
			t.Fatal(err)
		}
		if in := b.(*thread.Input); rec.NS != "" && (in.Agent != "helper" || in.From == "" || strings.Contains(string(rec.Data), "parent")) {
			t.Errorf("a child's input copies the state, or does not name it: %s", rec.Data)
		}
	}
	for _, q := range p.requests() {
		if q.Agent == "helper" && q.Messages[0].Text() != "first" && q.Messages[0].Text() != "second" {
			t.Errorf("a sub-agent sees %s", outline(q.Messages))
		}
	}
}

// I11, I12, A5: questions of sub-agents are answered by their own ids at the root; finished turns are not repeated; two at once.
func TestNestedInterrupts(t *testing.T) {
	var l log
	p := newProbe(lines(
		calls(call("t1", "task", `{"do":"first"}`), call("t2", "task", `{"do":"second"}`), call("n", "n")), say("done"),
		as("helper", calls(call("w", "work"))), as("helper", calls(call("a", "ask", `{"q":"Q"}`))), as("helper", say("helped")),
	))
	work := fn("work", tool.Hints{}, func(context.Context, map[string]any) (tool.Result, error) { l.add("work"); return tool.Text("w"), nil })
	helper := mustNew(t, agent.Config{Name: "helper", Model: p, Tools: []tool.Tool{asker(&l), work}})
	r := newRig(t, agent.Config{Model: p, Tools: []tool.Tool{task(helper), textTool("n")}})
	res := r.run(agent.Input{Text: "go"})
	if res.Status != thread.Waiting || len(res.Interrupts) != 2 || res.Interrupts[0].ID == res.Interrupts[1].ID {
		t.Fatalf("%+v", res.Interrupts)
	}
	for _, i := range res.Interrupts {
		if i.NS == "" || i.Kind != "input" || i.CallID != "a" {
			t.Errorf("%+v in %q", i.Interrupt, i.NS)
		}
	}
	if again := r.run(agent.Input{}); again.Status != thread.Waiting || l.count("ask Q") != 2 {
		t.Errorf("unanswered questions were asked again: %v", l.all())
	}
	res = r.run(agent.Input{Answers: []agent.Answer{reply(res.Interrupts[1].ID, "x")}})
	if len(res.Interrupts) != 1 || l.count("done Q") != 1 || l.count("ask Q") != 3 {
		t.Fatalf("%+v %v", res.Interrupts, l.all())
	}
	res = r.run(agent.Input{Answers: []agent.Answer{reply("", "y")}})
	p.check(t)
	equal(t, "results", results(res), []string{"t1: helped", "t2: helped", "n: n"})
	if l.count("work") != 2 || l.count("ask Q") != 4 {
		t.Errorf("a sub-agent began again: %v", l.all())
	}
	turns := 0
	for _, q := range p.requests() {
		if q.Agent == "helper" {
			turns++
		}
	}
	if turns != 6 {
		t.Errorf("the sub-agents' models were asked %d times, want 3 each", turns)
	}
}

// B165: one of two branches asks twice in a row, two levels down.
func TestNestedTwoLevels(t *testing.T) {
	var l log
	p := newProbe(lines(
		calls(call("t", "task", `{"do":"x"}`), call("a", "ask", `{"q":"root"}`)), say("done"),
		as("middle", calls(call("t", "task", `{"do":"y"}`))), as("middle", say("middled")),
		as("leaf", calls(call("a", "ask", `{"q":"1,2"}`))), as("leaf", say("leafed")),
	))
	leaf := mustNew(t, agent.Config{Name: "leaf", Model: p, Tools: []tool.Tool{asker(&l)}})
	middle := mustNew(t, agent.Config{Name: "middle", Model: p, Tools: []tool.Tool{task(leaf)}})
	r := newRig(t, agent.Config{Model: p, Tools: []tool.Tool{task(middle), asker(&l)}})
	res := r.run(agent.Input{Text: "go"})
	asked := make(map[string]int)
	for range 5 {
		if res.Status != thread.Waiting {
			break
		}
		var answers []agent.Answer
		for _, i := range res.Interrupts {
			asked[string(i.Value)]++
			if string(i.Value) != `"root"` || len(res.Interrupts) == 1 {
				answers = append(answers, reply(i.ID, "ok"))
			}
		}
		res = r.run(agent.Input{Answers: answers})
	}
	p.check(t)
	if res.Status != thread.Done || asked[`"1"`] != 1 || asked[`"2"`] != 1 {
		t.Errorf("%s %v", res.Status, asked)
	}
	equal(t, "results", results(res), []string{"t: middled", "a: ok"})
	if n := len(p.requests()); n != 6 {
		t.Errorf("%d model calls, want 6", n)
	}
}

// One call may run several sub-agents: a waiting one does not close the other, an answer to either goes on.
func TestSeveralSubagentsInOneCall(t *testing.T) {
	for _, first := range []int{0, 1} {
		var l log
		p := newProbe(lines(
			calls(call("t", "both")), say("done"),
			as("asks", calls(call("a", "ask", `{"q":"Q"}`))), as("asks", say("asked")),
			as("slow", calls(call("a", "ask", `{"q":"R"}`))), as("slow", say("slowed")),
		))
		one := mustNew(t, agent.Config{Name: "asks", Model: p, Tools: []tool.Tool{asker(&l)}})
		two := mustNew(t, agent.Config{Name: "slow", Model: p, Tools: []tool.Tool{asker(&l)}})
		both := fn("both", tool.Hints{Resumable: true}, func(ctx context.Context, _ map[string]any) (tool.Result, error) {
			a, errA := one.Nested(ctx, agent.Input{Text: "1"})
			b, errB := two.Nested(context.WithoutCancel(ctx), agent.Input{Text: "2"})
			if err := errors.Join(errA, errB); err != nil {
				return tool.Result{}, err
			}
			return tool.Text(a.Text + " " + b.Text), nil
		})
		r := newRig(t, agent.Config{Model: p, Tools: []tool.Tool{both}})
		res := r.run(agent.Input{Text: "go"})
		if len(res.Interrupts) != 2 {
			t.Fatalf("%+v", res.Interrupts)
		}
		res = r.run(agent.Input{Answers: []agent.Answer{reply(res.Interrupts[first].ID, "x")}})
		if len(res.Interrupts) != 1 || len(l.all()) != 4 {
			t.Fatalf("%+v %v", res.Interrupts, l.all())
		}
		res = r.run(agent.Input{Answers: []agent.Answer{reply("", "y")}})
		equal(t, "results", results(res), []string{"t: asked slowed"})
		p.check(t)
	}
}

// A sub-agent whose caller waits for something else is left as it is, not closed: its finished calls stay finished.
func TestCallerAsksWhileASubagentRuns(t *testing.T) {
	var l log
	begun := make(chan struct{}, 1)
	p := newProbe(lines(
		calls(call("t", "both")), say("done"),
		as("sub", calls(call("w", "work"))), as("sub", calls(call("h", "hang"))), as("sub", say("subbed")),
	))
	work := fn("work", tool.Hints{}, func(context.Context, map[string]any) (tool.Result, error) { l.add("work"); return tool.Text("w"), nil })
	hang := fn("hang", tool.Hints{ReadOnly: true}, func(ctx context.Context, _ map[string]any) (tool.Result, error) {
		l.add("hang")
		if l.count("hang") > 1 {
			return tool.Text("h"), nil
		}
		begun <- struct{}{}
		<-ctx.Done()
		return tool.Result{}, ctx.Err()
	})
	sub := mustNew(t, agent.Config{Name: "sub", Model: p, Tools: []tool.Tool{work, hang}})
	both := fn("both", tool.Hints{Resumable: true}, func(ctx context.Context, _ map[string]any) (tool.Result, error) {
		var wg sync.WaitGroup
		var res *agent.Result
		var err error
		wg.Go(func() { res, err = sub.Nested(ctx, agent.Input{Text: "1"}) })
		if l.count("hang") == 0 {
			<-begun
		}
		v, askErr := run.Interrupt[string](ctx, run.Question{Kind: "input", Answer: text})
		wg.Wait()
		if err := errors.Join(err, askErr); err != nil {
			return tool.Result{}, err
		}
		return tool.Text(res.Text + v), nil
	})
	r := newRig(t, agent.Config{Model: p, Tools: []tool.Tool{both}})
	res := r.run(agent.Input{Text: "go"})
	if len(res.Interrupts) != 1 {
		t.Fatalf("%+v", res)
	}
	res = r.run(agent.Input{Answers: []agent.Answer{reply("", "!")}})
	p.check(t)
	equal(t, "results", results(res), []string{"t: subbed!"})
	if l.count("work") != 1 || len(p.requests()) != 5 {
		t.Errorf("%v, %d model calls", l.all(), len(p.requests()))
	}
}

// The budget is the whole run's; a sub-agent that hits it ends the run, which can go on inside.
func TestNestedBudget(t *testing.T) {
	p := newProbe(lines(
		calls(call("t", "task", `{"do":"x"}`)), say("done"),
		as("helper", calls(call("a", "n"))), as("helper", calls(call("b", "n"))), as("helper", say("helped")),
	))
	helper := mustNew(t, agent.Config{Name: "helper", Model: p, Tools: []tool.Tool{textTool("n")}, Limits: agent.Limits{Turns: 1}})
	r := newRig(t, agent.Config{Model: p, Tools: []tool.Tool{task(helper)}, Limits: agent.Limits{Turns: 3}})
	res, err := r.try(agent.Input{Text: "go"})
	if !errors.Is(err, agent.ErrTurnLimit) || res.Turns != 3 || res.ExitCode != 6 {
		t.Fatalf("%v %+v", err, res)
	}
	res = r.run(agent.Input{})
	p.check(t)
	if res.Text != "done" || len(p.requests()) != 5 {
		t.Errorf("%q after %d model calls", res.Text, len(p.requests()))
	}
}

// A9: the parent's policy judges a sub-agent's calls as well, whatever its own says.
func TestNestedPolicy(t *testing.T) {
	var l log
	p := newProbe(lines(
		calls(call("t", "task", `{"do":"x"}`)), say("done"),
		as("helper", calls(call("a", "pay", `{"write":"/deny"}`), call("b", "pay", `{"write":"/ask"}`), call("c", "pay", `{"write":"/own"}`))), as("helper", say("helped")),
	))
	denyOwn := policy.JudgeFunc(func(_ context.Context, a policy.Action) policy.Verdict {
		if a.Path == "/own" {
			return policy.Verdict{Decision: policy.Deny, Reason: "own rule"}
		}
		return policy.Verdict{}
	})
	helper := mustNew(t, agent.Config{Name: "helper", Model: p, Tools: []tool.Tool{pay(&l)}, Policy: policy.Judges{denyOwn}})
	r := newRig(t, agent.Config{Model: p, Tools: []tool.Tool{task(helper)}, Policy: policy.Judges{askAll}})
	res := r.run(agent.Input{Text: "go"})
	if len(res.Interrupts) != 1 || len(res.Denials) != 2 {
		t.Fatalf("%+v, %+v", res.Interrupts, res.Denials)
	}
	res = r.run(agent.Input{Answers: []agent.Answer{decide(agent.Decision{Type: "approve"})}})
	p.check(t)
	equal(t, "effects", l.all(), []string{"paid /ask"})
	if res.Text != "done" {
		t.Errorf("%+v", res)
	}
}

// T08, B154 and errors: a sub-agent that fails is an error result for its parent; an empty end is an empty text, no crash.
func TestNestedFailure(t *testing.T) {
	for name, ls := range map[string][]script.Line{
		"model fails": {as("helper", script.Line{Error: "overloaded"})},
		"exhausted":   {as("other", say("x"))},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProbe(lines(append(ls, calls(call("t", "task", `{"do":"x"}`)), say("done"))...))
			helper := mustNew(t, agent.Config{Name: "helper", Model: p})
			r := newRig(t, agent.Config{Model: p, Tools: []tool.Tool{task(helper)}})
			res := r.run(agent.Input{Text: "go"})
			if m := resultOf(t, res, "t"); m.Status != message.Error || res.Text != "done" {
				t.Errorf("%q", m.Text())
			}
		})
	}
	p := newProbe(lines(calls(call("t", "task", `{"do":"x"}`)), say("done"), as("helper", say(""))))
	helper := mustNew(t, agent.Config{Name: "helper", Model: p})
	r := newRig(t, agent.Config{Model: p, Tools: []tool.Tool{task(helper)}})
	if res := r.run(agent.Input{Text: "go"}); resultOf(t, res, "t").Status != message.Success {
		t.Errorf("%v", results(res))
	}
	fatal := fn("boom", tool.Hints{}, func(context.Context, map[string]any) (tool.Result, error) {
		return tool.Result{}, tool.Fatal(errors.New("gone"))
	})
	p = newProbe(lines(calls(call("t", "task", `{"do":"x"}`)), say("done"), as("helper", calls(call("b", "boom")))))
	helper = mustNew(t, agent.Config{Name: "helper", Model: p, Tools: []tool.Tool{fatal}})
	r = newRig(t, agent.Config{Model: p, Tools: []tool.Tool{task(helper)}})
	if res, err := r.try(agent.Input{Text: "go"}); err == nil || !strings.Contains(err.Error(), "gone") || res.Status != thread.Stopped {
		t.Errorf("a fatal error inside: %v", err)
	}
}

// Nested outside of a call is an error, not a run of its own.
func TestNestedOutside(t *testing.T) {
	a := mustNew(t, agent.Config{Model: lines(say("x"))})
	if _, err := a.Nested(context.Background(), agent.Input{Text: "x"}); !errors.Is(err, run.ErrOutside) {
		t.Error(err)
	}
	var got error
	h := &mw{name: "h", beforeModel: func(ctx context.Context, _ *agent.Turn) error {
		_, got = a.Nested(ctx, agent.Input{Text: "x"})
		return nil
	}}
	newRig(t, agent.Config{Middleware: []agent.Middleware{h}}, say("x")).run(agent.Input{Text: "go"})
	if !errors.Is(got, run.ErrOutside) {
		t.Errorf("in a hook: %v", got)
	}
	ts, err := agent.NewToolset(agent.Config{Tools: []tool.Tool{task(a)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if res, err := ts.Call(context.Background(), tool.Call{Name: "task", Args: mustJSON(map[string]string{"do": "x"})}); err != nil || res.Status != message.Error {
		t.Errorf("in a toolset: %v %+v", err, res)
	}
}

// Cancelling the run closes the steps of sub-agents too and leaves nothing behind.
func TestNestedCancel(t *testing.T) {
	begun := make(chan string, 10)
	p := newProbe(lines(
		calls(call("t", "task", `{"do":"x"}`), call("s", "task", `{"do":"y"}`)), say("done"),
		as("helper", calls(call("u", "unsafe"), call("q", "quick"))), as("helper", say("helped")),
	))
	helper := mustNew(t, agent.Config{Name: "helper", Model: p, Tools: hang(begun)})
	r := newRig(t, agent.Config{Model: p, Tools: []tool.Tool{task(helper)}})
	run, err := r.agent.Start(context.Background(), agent.Input{Thread: "t", Text: "go"})
	if err != nil {
		t.Fatal(err)
	}
	drain(t, begun, 2)
	run.Cancel(nil)
	if _, err := wait(t, run); !errors.Is(err, agent.ErrCancelled) {
		t.Error(err)
	}
	res := r.run(agent.Input{})
	p.check(t)
	if got := outline(messages(res)); got != "user assistant(t,s) t=error s=error assistant" {
		t.Error(got)
	}
	if m := resultOf(t, res, "t"); strings.Contains(m.Text(), "not executed") {
		t.Errorf("a sub-agent was at work: %q", m.Text())
	}
}

// New input while a sub-agent waits closes its caller's step; the sub-agent and its question are gone.
func TestNewInputWhileASubagentWaits(t *testing.T) {
	var l log
	p := newProbe(lines(
		calls(call("t", "task", `{"do":"x"}`)), say("done"),
		as("helper", calls(call("a", "ask", `{"q":"Q"}`))), as("helper", say("helped")),
	))
	helper := mustNew(t, agent.Config{Name: "helper", Model: p, Tools: []tool.Tool{asker(&l)}})
	r := newRig(t, agent.Config{Model: p, Tools: []tool.Tool{task(helper)}})
	res := r.run(agent.Input{Text: "go"})
	if len(res.Interrupts) != 1 {
		t.Fatalf("%+v", res)
	}
	id := res.Interrupts[0].ID
	res = r.run(agent.Input{Text: "never mind"})
	p.check(t)
	if got := outline(messages(res)); got != "user assistant(t) t=error user assistant" || len(res.Interrupts) != 0 || res.Status != thread.Done {
		t.Errorf("%s, %+v", got, res.Interrupts)
	}
	if _, err := r.try(agent.Input{Answers: []agent.Answer{reply(id, "x")}}); !errors.Is(err, agent.ErrNoQuestion) {
		t.Error(err)
	}
}
