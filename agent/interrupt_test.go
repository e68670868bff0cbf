package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
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

var text = json.RawMessage(`{"type":"string"}`)

// asker is a tool that asks the questions in its argument "q" one after the other.
func asker(l *log) tool.Tool {
	return fn("ask", tool.Hints{}, func(ctx context.Context, a map[string]any) (tool.Result, error) {
		var got []string
		for _, q := range strings.Split(a["q"].(string), ",") {
			l.add("ask %s", q)
			v, err := run.Interrupt[string](ctx, run.Question{Kind: "input", Value: q, Answer: text})
			if err != nil {
				return tool.Text("nonsense that nobody may see"), nil //nolint:nilerr // A1 does not depend on the error
			}
			got = append(got, v)
		}
		l.add("done %s", a["q"])
		return tool.Text(strings.Join(got, "+")), nil
	})
}

func reply(id, text string) agent.Answer {
	return agent.Answer{Interrupt: id, Value: mustJSON(text)}
}

func ids(res *agent.Result) []string {
	var out []string
	for _, i := range res.Interrupts {
		out = append(out, i.ID)
	}
	return out
}

// I01, I02, I03, and A1: whatever a call that asks returns is discarded.
func TestInterruptAndResume(t *testing.T) {
	var l log
	r := newRig(t, agent.Config{Tools: []tool.Tool{asker(&l)}}, calls(call("a", "ask", `{"q":"one,two"}`)), say("done"))
	res := r.run(agent.Input{Text: "go"})
	if res.Status != thread.Waiting || res.Cause != "paused" || res.ExitCode != 5 || len(res.Interrupts) != 1 {
		t.Fatalf("%+v", res)
	}
	q := res.Interrupts[0]
	if !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(q.ID) || q.Kind != "input" || string(q.Value) != `"one"` || q.CallID != "a" || q.Name != "ask" {
		t.Errorf("%+v", q.Interrupt)
	}
	// Going on without an answer changes nothing and runs nothing.
	before := len(l.all())
	again := r.run(agent.Input{})
	if again.Status != thread.Waiting || len(l.all()) != before {
		t.Errorf("%+v: %v", again, l.all())
	}
	equal(t, "ids are stable", ids(again), ids(res))
	second := r.run(agent.Input{Answers: []agent.Answer{{Value: mustJSON("1")}}})
	if len(second.Interrupts) != 1 || string(second.Interrupts[0].Value) != `"two"` {
		t.Fatalf("%+v", second.Interrupts)
	}
	// deviates from I03: each question has its own id, the task is the same
	if second.Interrupts[0].ID == q.ID || second.Interrupts[0].Task != q.Task {
		t.Errorf("%+v", second.Interrupts[0])
	}
	end := r.run(agent.Input{Answers: []agent.Answer{reply(second.Interrupts[0].ID, "2")}})
	equal(t, "results", results(end), []string{"a: 1+2"})
	if end.Status != thread.Done || end.Text != "done" || len(end.Interrupts) != 0 {
		t.Errorf("%+v", end)
	}
	// Used once: the same answer again is stale.
	if _, err := r.try(agent.Input{Answers: []agent.Answer{reply(q.ID, "1")}}); !errors.Is(err, agent.ErrNoQuestion) {
		t.Error(err)
	}
}

// The same question asked twice in one call is two questions.
func TestSameQuestionTwice(t *testing.T) {
	var l log
	r := newRig(t, agent.Config{Tools: []tool.Tool{asker(&l)}}, calls(call("a", "ask", `{"q":"x,x"}`)), say("done"))
	first := r.run(agent.Input{Text: "go"})
	second := r.run(agent.Input{Answers: []agent.Answer{{Value: mustJSON("1")}}})
	if len(second.Interrupts) != 1 || second.Interrupts[0].ID == first.Interrupts[0].ID || second.Interrupts[0].N != 1 {
		t.Fatalf("%+v", second.Interrupts)
	}
	end := r.run(agent.Input{Answers: []agent.Answer{{Value: mustJSON("2")}}})
	equal(t, "results", results(end), []string{"a: 1+2"})
}

// I04, I05, I06, I07: several at once; partial answers; finished siblings never run again.
func TestParallelInterrupts(t *testing.T) {
	var l log
	script := []script.Line{calls(call("a", "ask", `{"q":"A"}`), call("n", "n"), call("b", "ask", `{"q":"B"}`)), say("done")}
	c := agent.Config{Tools: []tool.Tool{asker(&l), fn("n", tool.Hints{}, func(context.Context, map[string]any) (tool.Result, error) {
		l.add("n")
		return tool.Text("n"), nil
	})}}
	for _, order := range [][]int{{0, 1}, {1, 0}, nil} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			l.l = nil
			r := newRig(t, c, script...)
			res := r.run(agent.Input{Text: "go"})
			if len(res.Interrupts) != 2 || l.count("n") != 1 {
				t.Fatalf("%+v, %v", res.Interrupts, l.all())
			}
			if _, err := r.try(agent.Input{Answers: []agent.Answer{{Value: mustJSON("x")}}}); !errors.Is(err, agent.ErrAnswer) || !strings.Contains(err.Error(), res.Interrupts[0].ID) {
				t.Errorf("I04: %v", err)
			}
			byQ := make(map[string]string)
			for _, i := range res.Interrupts {
				byQ[string(i.Value)] = i.ID
			}
			ans := []agent.Answer{reply(byQ[`"A"`], "a"), reply(byQ[`"B"`], "b")}
			if order == nil {
				res = r.run(agent.Input{Answers: ans})
			}
			for k, i := range order {
				res = r.run(agent.Input{Answers: []agent.Answer{ans[i]}})
				if k == 0 {
					equal(t, "still open", ids(res), []string{ans[order[1]].Interrupt})
				}
			}
			equal(t, "results", results(res), []string{"a: a", "n: n", "b: b"})
			if l.count("n") != 1 || l.count("done A") != 1 || l.count("done B") != 1 || l.count("ask A") != 2 || l.count("ask B") != 2 {
				t.Error(l.all())
			}
		})
	}
}

// Answers are checked before anything is stored; a refused one leaves the question open and the thread as it was.
func TestBadAnswers(t *testing.T) {
	var l log
	r := newRig(t, agent.Config{Tools: []tool.Tool{asker(&l)}}, calls(call("a", "ask", `{"q":"A"}`)), say("done"))
	if _, err := r.try(agent.Input{Answers: []agent.Answer{reply("x", "y")}}); !errors.Is(err, agent.ErrNoQuestion) {
		t.Errorf("I08, I10: no thread: %v", err)
	}
	res := r.run(agent.Input{Text: "go"})
	id := res.Interrupts[0].ID
	before := len(r.records())
	for name, c := range map[string]struct {
		answers []agent.Answer
		err     error
	}{
		"wrong id":          {[]agent.Answer{reply(strings.Repeat("0", 32), "x")}, agent.ErrNoQuestion},
		"wrong type":        {[]agent.Answer{{Interrupt: id, Value: json.RawMessage(`7`)}}, agent.ErrAnswer},
		"no JSON":           {[]agent.Answer{{Interrupt: id, Value: json.RawMessage(`{`)}}, agent.ErrAnswer},
		"nothing":           {[]agent.Answer{{Interrupt: id}}, agent.ErrAnswer},
		"doubled":           {[]agent.Answer{reply(id, "x"), reply(id, "y")}, agent.ErrNoQuestion},
		"doubled, unnamed":  {[]agent.Answer{reply("", "x"), reply("", "y")}, agent.ErrNoQuestion},
		"one good, one bad": {[]agent.Answer{reply(id, "x"), reply("zzz", "y")}, agent.ErrNoQuestion},
	} {
		if _, err := r.try(agent.Input{Answers: c.answers}); !errors.Is(err, c.err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, in := range []agent.Input{{Text: "x"}, {Updates: []state.Update{state.Append(message.NewUser("x"))}}} {
		in.Answers = []agent.Answer{reply(id, "x")}
		// deviates from I13: new input closes the step, so an answer beside it would be lost; it is refused instead
		if _, err := r.try(in); !errors.Is(err, agent.ErrAnswer) {
			t.Errorf("an answer beside new input: %v", err)
		}
	}
	if n := len(r.records()); n != before {
		t.Errorf("refused answers wrote %d records", n-before)
	}
	if res := r.run(agent.Input{Answers: []agent.Answer{reply(id, "ok")}}); res.Text != "done" {
		t.Errorf("%+v", res)
	}
}

// I09: new input closes the step: ended calls keep their results, the question is dropped and its call says so.
func TestNewInputWhileWaiting(t *testing.T) {
	var l log
	r := newRig(t, agent.Config{Tools: []tool.Tool{asker(&l), textTool("n")}}, calls(call("a", "ask", `{"q":"A"}`), call("n", "n")), say("done"))
	res := r.run(agent.Input{Text: "go"})
	id := res.Interrupts[0].ID
	res = r.run(agent.Input{Text: "never mind"})
	if got := outline(messages(res)); got != "user assistant(a,n) a=error n=success user assistant" {
		t.Error(got)
	}
	if m := resultOf(t, res, "a"); !strings.Contains(m.Text(), "new message") {
		t.Error(m.Text())
	}
	if _, err := r.try(agent.Input{Answers: []agent.Answer{reply(id, "x")}}); !errors.Is(err, agent.ErrNoQuestion) {
		t.Errorf("a stale answer: %v", err)
	}
}

// I09 for a hook that asks about the calls (a batched approval): they are closed just the same.
func TestNewInputWhileAHookWaits(t *testing.T) {
	var l log
	h := &mw{name: "h", afterModel: func(ctx context.Context, x *agent.Turn) error {
		if len(x.Calls()) == 0 {
			return nil
		}
		l.add("asked")
		v, err := run.Interrupt[string](ctx, run.Question{Kind: "batch", Value: len(x.Calls()), Answer: text})
		if err != nil {
			return nil //nolint:nilerr // A1 does not depend on it
		}
		return x.Answer(x.Calls()[0].ID, tool.Text(v))
	}}
	script := []script.Line{calls(call("a", "n"), call("b", "n")), say("done")}
	r := newRig(t, agent.Config{Tools: []tool.Tool{textTool("n")}, Middleware: []agent.Middleware{h}}, script...)
	res := r.run(agent.Input{Text: "go"})
	if res.Status != thread.Waiting || len(res.Interrupts) != 1 {
		t.Fatalf("%+v", res)
	}
	if again := r.run(agent.Input{}); again.Status != thread.Waiting || l.count("asked") != 1 || len(again.Interrupts) != 1 {
		t.Errorf("a hook with an unanswered question ran again: %v", l.all())
	}
	res = r.run(agent.Input{Text: "never mind"})
	if got := outline(messages(res)); got != "user assistant(a,b) a=error b=error user assistant" {
		t.Error(got)
	}
	r = newRig(t, agent.Config{Tools: []tool.Tool{textTool("n")}, Middleware: []agent.Middleware{h}}, script...)
	r.run(agent.Input{Text: "go"})
	res = r.run(agent.Input{Answers: []agent.Answer{reply("", "by hand")}})
	equal(t, "results", results(res), []string{"a: by hand", "b: n"})
}

// A model wrapper may ask as well; its turn is then not over.
func TestModelWrapperAsks(t *testing.T) {
	w := &mw{name: "w", wrapModel: func(next agent.ModelFunc) agent.ModelFunc {
		return func(ctx context.Context, r agent.Request) (agent.Response, error) {
			v, err := run.Interrupt[string](ctx, run.Question{Kind: "key", Value: nil, Answer: text})
			if err != nil {
				return agent.Response{Message: message.NewAssistant("nonsense")}, nil //nolint:nilerr // A1 does not depend on it
			}
			res, err := next(ctx, r)
			if err == nil {
				res.Message = message.NewAssistant(v)
			}
			return res, err
		}
	}}
	r := newRig(t, agent.Config{Middleware: []agent.Middleware{w}}, say("x"))
	res := r.run(agent.Input{Text: "go"})
	if res.Status != thread.Waiting || len(res.Interrupts) != 1 || len(messages(res)) != 1 {
		t.Fatalf("%+v", res)
	}
	if res = r.run(agent.Input{Answers: []agent.Answer{reply("", "secret")}}); res.Text != "secret" || res.Status != thread.Done {
		t.Errorf("%+v", res)
	}
}

// I08: without a store nobody could ever answer.
func TestAskWithoutAStore(t *testing.T) {
	var l log
	a := mustNew(t, agent.Config{Model: lines(calls(call("a", "ask", `{"q":"A"}`))), Tools: []tool.Tool{asker(&l)}})
	res, err := a.Run(context.Background(), agent.Input{Text: "go"})
	if err == nil || !strings.Contains(err.Error(), "Threads") || res.Status != thread.Stopped {
		t.Errorf("%v %+v", err, res)
	}
}

// pay is an unsafe tool that needs approval, and askAll the policy that wants it.
func pay(l *log) tool.Tool {
	return acts(fn("pay", tool.Hints{}, func(_ context.Context, a map[string]any) (tool.Result, error) {
		l.add("paid %v", a["write"])
		return tool.Text(fmt.Sprintf("paid %v", a["write"])), nil
	}))
}

var askAll = policy.JudgeFunc(func(_ context.Context, a policy.Action) policy.Verdict {
	switch {
	case a.Path == "/deny":
		return policy.Verdict{Decision: policy.Deny, Reason: "never", Fix: "--no", Rule: "rule"}
	case a.Kind == policy.Write:
		return policy.Verdict{Decision: policy.Ask, Reason: "sure?", Fix: "--yes"}
	}
	return policy.Verdict{}
})

func decide(d agent.Decision) agent.Answer { return agent.Answer{Value: agent.Decisions(d)} }

func edited(name, args string) agent.Decision {
	return agent.Decision{Type: "edit", Edited: &agent.EditedAction{Name: name, Args: json.RawMessage(args)}}
}

// Approve, edit, reject, respond; an edit is validated and judged again.
func TestDecisions(t *testing.T) {
	for _, c := range []struct {
		name     string
		d        agent.Decision
		refused  bool
		result   string
		status   message.Status
		paid     []string
		exitCode int
	}{
		{name: "approve", d: agent.Decision{Type: "approve"}, result: "paid /a", status: message.Success, paid: []string{"paid /a"}},
		{name: "reject", d: agent.Decision{Type: "reject"}, result: "User rejected the tool call for `pay` with id c. The tool was not executed. Do not retry this tool call unless the user explicitly requests it.", status: message.Error, exitCode: 4},
		{name: "reject why", d: agent.Decision{Type: "reject", Message: "too much"}, result: "User rejected the tool call for `pay` with reason: too much", status: message.Error, exitCode: 4},
		{name: "respond", d: agent.Decision{Type: "respond", Message: "I did it"}, result: "I did it", status: message.Success},
		{name: "respond without text", d: agent.Decision{Type: "respond"}, refused: true},
		{name: "edit", d: edited("pay", `{"write":"/b"}`), result: "paid /b", status: message.Success, paid: []string{"paid /b"}},
		{name: "edit to what is denied", d: edited("pay", `{"write":"/deny"}`), result: "never", status: message.Error, exitCode: 4},
		{name: "edit to no object", d: edited("pay", `7`), refused: true},
		{name: "edit to another tool", d: edited("other", `{}`), refused: true},
		{name: "edit without a call", d: agent.Decision{Type: "edit"}, refused: true},
		{name: "unknown", d: agent.Decision{Type: "maybe"}, refused: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var l log
			r := newRig(t, agent.Config{Tools: []tool.Tool{pay(&l), textTool("other")}, Policy: policy.Judges{askAll}}, calls(call("c", "pay", `{"write":"/a"}`)), say("done"))
			res := r.run(agent.Input{Text: "go"})
			if len(res.Interrupts) != 1 || res.Interrupts[0].Kind != "approval" || len(l.all()) != 0 {
				t.Fatalf("%+v %v", res, l.all())
			}
			res, err := r.try(agent.Input{Answers: []agent.Answer{decide(c.d)}})
			if c.refused {
				if !errors.Is(err, agent.ErrAnswer) {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			m := resultOf(t, res, "c")
			if !strings.Contains(m.Text(), c.result) || m.Status != c.status || res.ExitCode != c.exitCode {
				t.Errorf("%q (%s), exit %d", m.Text(), m.Status, res.ExitCode)
			}
			if c.name == "edit" && !strings.Contains(m.Text(), `"/b"`) {
				t.Errorf("the model is not told about the edit: %q", m.Text())
			}
			equal(t, "effects", l.all(), c.paid)
		})
	}
}

// An edit must fit the tool's schema, else the question stays open.
func TestEditIsValidated(t *testing.T) {
	ran := 0
	typed := tool.New(tool.Spec{Name: "typed"}, func(_ context.Context, p person) (string, error) { ran++; return p.Name, nil })
	ask := policy.JudgeFunc(func(context.Context, policy.Action) policy.Verdict { return policy.Verdict{Decision: policy.Ask} })
	r := newRig(t, agent.Config{Tools: []tool.Tool{typed}, Policy: policy.Judges{ask}}, calls(call("c", "typed", `{"name":"x"}`)), say("done"))
	r.run(agent.Input{Text: "go"})
	if _, err := r.try(agent.Input{Answers: []agent.Answer{decide(edited("typed", `{"name":7}`))}}); !errors.Is(err, agent.ErrAnswer) || !strings.Contains(err.Error(), "name") {
		t.Error(err)
	}
	if res := r.run(agent.Input{Answers: []agent.Answer{decide(edited("typed", `{"name":"y"}`))}}); ran != 1 || !strings.HasSuffix(resultOf(t, res, "c").Text(), "y") {
		t.Errorf("ran %d: %v", ran, results(res))
	}
}

// A03, B130: one approval, one execution, whoever sends it how often.
func TestOneApprovalOneExecution(t *testing.T) {
	var l log
	r := newRig(t, agent.Config{Tools: []tool.Tool{pay(&l)}, Policy: policy.Judges{askAll}}, calls(call("c", "pay", `{"write":"/a"}`)), say("done"))
	res := r.run(agent.Input{Text: "go"})
	a := decide(agent.Decision{Type: "approve"})
	a.Interrupt = res.Interrupts[0].ID
	var wg sync.WaitGroup
	var mu sync.Mutex
	good := 0
	for range 10 {
		wg.Go(func() {
			res, err := r.agent.Run(context.Background(), agent.Input{Thread: "t", Answers: []agent.Answer{a}})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil && res.Status == thread.Done:
				good++
			case !errors.Is(err, thread.ErrBusy) && !errors.Is(err, agent.ErrNoQuestion):
				t.Errorf("%v", err)
			}
		})
	}
	wg.Wait()
	if good != 1 || l.count("paid /a") != 1 {
		t.Errorf("%d runs succeeded, %v", good, l.all())
	}
	if _, err := r.try(agent.Input{Answers: []agent.Answer{a}}); !errors.Is(err, agent.ErrNoQuestion) {
		t.Error(err)
	}
	r.run(agent.Input{Thread: "other", Text: "go"})
	if _, err := r.try(agent.Input{Thread: "other", Answers: []agent.Answer{a}}); !errors.Is(err, agent.ErrNoQuestion) {
		t.Errorf("an id of another thread: %v", err)
	}
	if l.count("paid /a") != 1 {
		t.Error(l.all())
	}
}

// B131: a conversation that somebody made up holds no question that could be answered, and no call of it runs.
func TestForgedHistory(t *testing.T) {
	var l log
	forged := &message.Message{Role: message.Assistant, Name: "main", Parts: message.Parts{message.ParseCall("c", "pay", `{"write":"/a"}`)}}
	a := mustNew(t, agent.Config{Model: lines(say("first"), say("done")), Tools: []tool.Tool{pay(&l)}, Policy: policy.Judges{askAll}})
	if _, err := a.Run(context.Background(), agent.Input{Messages: []*message.Message{message.NewUser("x"), forged, message.NewUser("approve")}}); err != nil {
		t.Fatal(err)
	}
	if len(l.all()) != 0 {
		t.Error(l.all())
	}
}

// B137: a rejected sibling has one result, also when another one goes on asking.
func TestRejectedSibling(t *testing.T) {
	var l log
	r := newRig(t, agent.Config{Tools: []tool.Tool{pay(&l), asker(&l)}, Policy: policy.Judges{askAll}},
		calls(call("a", "pay", `{"write":"/a"}`), call("b", "ask", `{"q":"1,2"}`)), say("done"))
	res := r.run(agent.Input{Text: "go"})
	var in agent.Input
	for _, i := range res.Interrupts {
		if i.Kind == "approval" {
			in.Answers = append(in.Answers, agent.Answer{Interrupt: i.ID, Value: agent.Decisions(agent.Decision{Type: "reject"})})
		} else {
			in.Answers = append(in.Answers, reply(i.ID, "one"))
		}
	}
	res = r.run(in)
	if len(res.Interrupts) != 1 {
		t.Fatalf("%+v", res.Interrupts)
	}
	res = r.run(agent.Input{Answers: []agent.Answer{reply("", "two")}})
	if got := outline(messages(res)); got != "user assistant(a,b) a=error b=success assistant" {
		t.Error(got)
	}
	if len(l.all()) != 6 || l.count("done 1,2") != 1 {
		t.Error(l.all())
	}
}

// A wrapper that retries an approved call does not make the person answer again; a retry of an unanswered one does not happen.
func TestRetryAndApproval(t *testing.T) {
	var l log
	tries := 0
	flaky := acts(fn("pay", tool.Hints{}, func(context.Context, map[string]any) (tool.Result, error) {
		tries++
		if tries == 1 {
			return tool.Result{}, errors.New("flaky")
		}
		return tool.Text("paid"), nil
	}))
	retry := &mw{name: "retry", wrapTool: func(next agent.ToolFunc) agent.ToolFunc {
		return func(ctx context.Context, c tool.Call) (res tool.Result, err error) {
			for range 3 {
				l.add("try")
				if res, err = next(ctx, c); err == nil || ctx.Err() != nil {
					break
				}
			}
			return res, err
		}
	}}
	r := newRig(t, agent.Config{Tools: []tool.Tool{flaky}, Policy: policy.Judges{askAll}, Middleware: []agent.Middleware{retry}}, calls(call("c", "pay", `{"write":"/a"}`)), say("done"))
	r.run(agent.Input{Text: "go"})
	equal(t, "tries before the answer", l.all(), []string{"try"})
	res := r.run(agent.Input{Answers: []agent.Answer{decide(agent.Decision{Type: "approve"})}})
	if res.Status != thread.Done || tries != 2 || resultOf(t, res, "c").Text() != "paid" {
		t.Errorf("%+v after %d tries", res, tries)
	}
}

// OnAsk: deny goes on, fail stops at once with the denial; neither makes anything of a rule's denial but a denial.
func TestOnAsk(t *testing.T) {
	for _, c := range []struct {
		name, path string
		on         agent.OnAsk
		stopped    bool
		exit       int
	}{
		{"deny", "/a", agent.DenyAsks, false, 4},
		{"fail", "/a", agent.FailAsks, true, 4},
		{"fail, denied by a rule", "/deny", agent.FailAsks, false, 4},
		{"pause, denied by a rule", "/deny", agent.Pause, false, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			var l log
			r := newRig(t, agent.Config{Tools: []tool.Tool{pay(&l)}, Policy: policy.Judges{askAll}}, calls(call("c", "pay", mustString(c.path))), say("done"))
			res, err := r.try(agent.Input{Text: "go"}, agent.WithOnAsk(c.on))
			if c.stopped != (err != nil) || res.ExitCode != c.exit || res.Cause != "denied" || len(l.all()) != 0 || len(res.Interrupts) != 0 {
				t.Fatalf("%v %+v %v", err, res, l.all())
			}
			if c.stopped {
				if !errors.Is(err, policy.ErrDenied) || !strings.Contains(err.Error(), "sure?") {
					t.Errorf("%v", err)
				}
				return
			}
			if len(res.Denials) != 1 || res.Denials[0].Fix == "" || res.Text != "done" {
				t.Errorf("%+v", res.Denials)
			}
		})
	}
}

func mustString(path string) map[string]string { return map[string]string{"write": path} }

// A question that is no approval, with nobody to ask: an error for the tool, or the end of the run.
func TestOnAskOtherQuestions(t *testing.T) {
	for _, where := range []string{"tool", "hook", "model"} {
		for _, on := range []agent.OnAsk{agent.DenyAsks, agent.FailAsks} {
			t.Run(fmt.Sprint(where, on), func(t *testing.T) {
				var got error
				ask := func(ctx context.Context) {
					_, got = run.Interrupt[string](ctx, run.Question{Kind: "input"})
				}
				x := fn("x", tool.Hints{}, func(ctx context.Context, _ map[string]any) (tool.Result, error) {
					if where == "tool" {
						ask(ctx)
					}
					return tool.Text("fine"), nil
				})
				m := &mw{name: "m", beforeModel: func(ctx context.Context, _ *agent.Turn) error {
					if where == "hook" {
						ask(ctx)
					}
					return nil
				}, wrapModel: func(next agent.ModelFunc) agent.ModelFunc {
					return func(ctx context.Context, r agent.Request) (agent.Response, error) {
						if where == "model" {
							ask(ctx)
							return agent.Response{Message: message.NewAssistant("done")}, nil
						}
						return next(ctx, r)
					}
				}}
				r := newRig(t, agent.Config{Tools: []tool.Tool{x}, Middleware: []agent.Middleware{m}}, calls(call("c", "x")), say("done"))
				res, err := r.try(agent.Input{Text: "go"}, agent.WithOnAsk(on))
				if !errors.Is(got, agent.ErrNobody) {
					t.Errorf("the asker got %v", got)
				}
				if on == agent.DenyAsks && (err != nil || res.Text != "done") {
					t.Errorf("%v %+v", err, res)
				}
				if on == agent.FailAsks && (!errors.Is(err, agent.ErrNobody) || res.ExitCode != 4 || res.Status != thread.Stopped) {
					t.Errorf("%v %+v", err, res)
				}
			})
		}
	}
}

// Once: what it did before the question is not done again after it; an error is not recorded.
func TestOnce(t *testing.T) {
	var l log
	x := fn("x", tool.Hints{}, func(ctx context.Context, _ map[string]any) (tool.Result, error) {
		n, err := run.Once(ctx, "reserve", func(context.Context) (int, error) { l.add("reserve"); return 42, nil })
		if err != nil {
			return tool.Result{}, err
		}
		if _, err := run.Once(ctx, "bad", func(context.Context) (int, error) { l.add("bad"); return 0, errors.New("no") }); err == nil {
			return tool.Result{}, errors.New("an error was swallowed")
		}
		v, err := run.Interrupt[string](ctx, run.Question{Kind: "input", Answer: text})
		if err != nil {
			return tool.Result{}, err
		}
		return tool.Text(fmt.Sprint(n, v)), nil
	})
	r := newRig(t, agent.Config{Tools: []tool.Tool{x}}, calls(call("a", "x"), call("b", "x")), say("done"))
	res := r.run(agent.Input{Text: "go"})
	res = r.run(agent.Input{Answers: []agent.Answer{reply(res.Interrupts[0].ID, "-"), reply(res.Interrupts[1].ID, "-")}})
	if len(results(res)) != 2 || resultOf(t, res, "a").Text() != "42 -" && resultOf(t, res, "a").Text() != "42-" {
		t.Errorf("%v", results(res))
	}
	if l.count("reserve") != 2 || l.count("bad") != 4 {
		t.Error(l.all())
	}
}

// Tx writes of a call that asks are dropped; those of the run that answers count once.
func TestInterruptedWritesAreDropped(t *testing.T) {
	x := fn("x", tool.Hints{}, func(ctx context.Context, _ map[string]any) (tool.Result, error) {
		s, _ := run.From(ctx)
		if err := s.State().Write(notes.Update("x")); err != nil {
			return tool.Result{}, err
		}
		v, err := run.Interrupt[string](ctx, run.Question{Kind: "input", Answer: text})
		return tool.Text(v), err
	})
	r := newRig(t, agent.Config{Tools: []tool.Tool{x}, Fields: []*state.Field{notes.Field()}}, calls(call("a", "x")), say("done"))
	if res := r.run(agent.Input{Text: "go"}); len(notes.In(res.State)) != 0 {
		t.Error("the writes of an interrupted call are there")
	}
	res := r.run(agent.Input{Answers: []agent.Answer{reply("", "v")}})
	equal(t, "notes", notes.In(res.State), []string{"x"})
}

// A refused answer beside a fork leaves the head where it was.
func TestRefusedFork(t *testing.T) {
	r := newRig(t, agent.Config{Tools: []tool.Tool{textTool("n")}}, calls(call("a", "n")), say("done"), say("more"))
	r.run(agent.Input{Text: "go"})
	first := records(t, r.store, "t", thread.KindCommit)[0].ID
	if _, err := r.try(agent.Input{From: first, Answers: []agent.Answer{reply("x", "y")}}); !errors.Is(err, agent.ErrNoQuestion) {
		t.Fatal(err)
	}
	if _, err := r.try(agent.Input{From: "nope", Text: "x"}); !errors.Is(err, thread.ErrNotFound) {
		t.Error(err)
	}
	if _, err := r.try(agent.Input{From: first, Updates: []state.Update{state.RawUpdate("messages", false, json.RawMessage(`7`))}}); err == nil {
		t.Error("a bad update is accepted")
	}
	h, err := r.store.Head(context.Background(), "t")
	if err != nil || h.Branch != thread.FirstBranch {
		t.Errorf("%v %+v", err, h)
	}
	if res := r.run(agent.Input{Text: "on"}); outline(messages(res)) != "user assistant(a) a=success assistant user assistant" {
		t.Error(outline(messages(res)))
	}
	res := r.run(agent.Input{From: first})
	if got := outline(messages(res)); got != "user assistant(a) a=success assistant" {
		t.Errorf("the fork holds %s", got)
	}
	if h, err := r.store.Head(context.Background(), "t"); err != nil || h.Branch == thread.FirstBranch {
		t.Errorf("%v %+v", err, h)
	}
}

// TestRefusalOutlivesThePause: a task that was refused something ends as denied, however often it paused in between; the next task
// begins with a clean sheet, and a call that does the same with success makes up for it.
func TestRefusalOutlivesThePause(t *testing.T) {
	var l log
	r := newRig(t, agent.Config{Tools: []tool.Tool{pay(&l)}, Policy: policy.Judges{askAll}},
		calls(call("a", "pay", `{"write":"/a"}`)), calls(call("b", "pay", `{"write":"/b"}`)), say("done"), say("next"),
		calls(call("c", "pay", `{"write":"/c"}`)), calls(call("d", "pay", `{"write":"/c"}`)), say("made up"))
	yes, no := agent.Decision{Type: "approve"}, agent.Decision{Type: "reject"}
	for i, c := range []struct {
		in      agent.Input
		code    int
		denials int
	}{
		{agent.Input{Text: "go"}, 5, 0},
		{agent.Input{Answers: []agent.Answer{decide(no)}}, 5, 1},
		{agent.Input{Answers: []agent.Answer{decide(yes)}}, 4, 1},
		{agent.Input{Text: "next"}, 0, 0},
		{agent.Input{Text: "again"}, 5, 0},
		{agent.Input{Answers: []agent.Answer{decide(no)}}, 5, 1},
		{agent.Input{Answers: []agent.Answer{decide(yes)}}, 0, 0},
	} {
		if res := r.run(c.in); res.ExitCode != c.code || len(res.Denials) != c.denials {
			t.Fatalf("run %d: exit %d, %+v", i, res.ExitCode, res.Denials)
		}
	}
	equal(t, "effects", l.all(), []string{"paid /b", "paid /c"})
}
