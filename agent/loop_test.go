package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/script"
	"github.com/deepagents-go/deepagents/policy"
	"github.com/deepagents-go/deepagents/state"
	"github.com/deepagents-go/deepagents/thread"
	"github.com/deepagents-go/deepagents/thread/memory"
	"github.com/deepagents-go/deepagents/tool"
)

// L01, L02.
func TestLoopShapes(t *testing.T) {
	r := newRig(t, agent.Config{}, say("hello"))
	res := r.run(agent.Input{Text: "hi"})
	if res.Text != "hello" || res.Turns != 1 || res.Status != thread.Done || res.Cause != "success" || res.ExitCode != 0 {
		t.Errorf("text only: %+v", res)
	}
	if got := outline(messages(res)); got != "user assistant" {
		t.Error(got)
	}
	r = newRig(t, agent.Config{Tools: []tool.Tool{textTool("x")}}, calls(call("c", "x")), say("done"))
	res = r.run(agent.Input{Text: "hi"})
	if got := outline(messages(res)); got != "user assistant(c) c=success assistant" || res.Text != "done" {
		t.Error(got, res.Text)
	}
	for i, m := range messages(res) {
		if m.ID == "" {
			t.Errorf("message %d has no id", i)
		}
	}
}

// A20 to A28, as far as Config carries them: one text, parts, or nothing; the parts are passed on as they are.
func TestSystemPrompt(t *testing.T) {
	parts := message.Parts{message.Text{Text: "U", Cache: true}, message.Text{Text: "\n\nB"}}
	for _, c := range []struct {
		name string
		c    agent.Config
		want message.Parts
	}{
		{"A20 nothing", agent.Config{}, nil},
		{"A21 text", agent.Config{Prompt: "U"}, message.Parts{message.Text{Text: "U"}}},
		{"A27 A28 parts", agent.Config{System: parts}, parts},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, c.c, say("x"))
			r.run(agent.Input{Text: "hi"})
			req := r.model.requests()[0]
			if len(req.System) != len(c.want) {
				t.Fatalf("system: %v", req.System)
			}
			for i := range c.want {
				if req.System[i] != c.want[i] {
					t.Errorf("part %d: %v", i, req.System[i])
				}
			}
			if len(req.Messages) != 1 || req.Messages[0].Role != message.User {
				t.Errorf("messages: %s", outline(req.Messages))
			}
		})
	}
	if _, err := agent.New(agent.Config{Model: lines(), Prompt: "a", System: parts}); err == nil {
		t.Error("Prompt and System together are accepted")
	}
}

func TestNewRefuses(t *testing.T) {
	x := textTool("x")
	ok := lines(say("x"))
	single, double := state.Last[int]("k", state.Options{}), state.Last[int]("k", state.Options{})
	for name, c := range map[string]agent.Config{
		"no model":          {},
		"negative turns":    {Model: ok, Limits: agent.Limits{Turns: -1}},
		"negative time":     {Model: ok, Limits: agent.Limits{Time: -1}},
		"nil tool":          {Model: ok, Tools: []tool.Tool{nil}},
		"two tools":         {Model: ok, Tools: []tool.Tool{x, x}},
		"tool and source":   {Model: ok, Tools: []tool.Tool{x}, Middleware: []agent.Middleware{&mw{name: "m", tools: []tool.Tool{x}}}},
		"exclude unknown":   {Model: ok, Tools: []tool.Tool{x}, Exclude: []string{"y"}},
		"nil middleware":    {Model: ok, Middleware: []agent.Middleware{nil}},
		"unnamed":           {Model: ok, Middleware: []agent.Middleware{&mw{}}},
		"bad name":          {Model: ok, Middleware: []agent.Middleware{&mw{name: "a.b"}}},
		"two of one name":   {Model: ok, Middleware: []agent.Middleware{&mw{name: "m"}, &mw{name: "m"}}},
		"does nothing":      {Model: ok, Middleware: []agent.Middleware{idle{}}},
		"nil field":         {Model: ok, Fields: []*state.Field{nil}},
		"two keys one name": {Model: ok, Fields: []*state.Field{single.Field(), double.Field()}},
		"bad schema":        {Model: ok, Tools: []tool.Tool{&rawTool{spec: tool.Spec{Name: "x", Input: json.RawMessage(`{"type":7}`)}}}},
	} {
		if _, err := agent.New(c); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

type idle struct{}

func (idle) Name() string { return "idle" }

// rawTool is a tool written by hand.
type rawTool struct {
	spec tool.Spec
	f    func(context.Context, tool.Call) (tool.Result, error)
}

func (r *rawTool) Spec() tool.Spec { return r.spec }
func (r *rawTool) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	return r.f(ctx, c)
}

// L13, L14: calls overlap, results are in call order whatever the finishing order.
func TestParallelCallsOverlapAndKeepOrder(t *testing.T) {
	const n = 3
	var all sync.WaitGroup
	all.Add(n)
	ended := make([]chan struct{}, n+1)
	for i := range ended {
		ended[i] = make(chan struct{})
	}
	close(ended[n])
	var l log
	x := fn("x", tool.Hints{}, func(_ context.Context, a map[string]any) (tool.Result, error) {
		i := int(a["i"].(float64))
		all.Done()
		all.Wait() // every call is in here at the same time
		<-ended[i+1]
		l.add("%d", i)
		close(ended[i])
		return tool.Text(fmt.Sprint(i)), nil
	})
	r := newRig(t, agent.Config{Tools: []tool.Tool{x}},
		calls(call("a", "x", `{"i":0}`), call("b", "x", `{"i":1}`), call("c", "x", `{"i":2}`)), say("done"))
	res := r.run(agent.Input{Text: "go"})
	equal(t, "finished", l.all(), []string{"2", "1", "0"})
	equal(t, "results", results(res), []string{"a: 0", "b: 1", "c: 2"})
}

type person struct {
	Name string `json:"name"`
	Age  int    `json:"age,omitempty"`
}

// L15, L16, L18, L19, F16 and the rows of harness.md 2.3.
func TestToolErrorsGoToTheModel(t *testing.T) {
	typed := tool.New(tool.Spec{Name: "typed"}, func(_ context.Context, p person) (string, error) { return p.Name, nil })
	fails := fn("fails", tool.Hints{}, func(context.Context, map[string]any) (tool.Result, error) { return tool.Result{}, errors.New("boom") })
	panics := fn("panics", tool.Hints{}, func(context.Context, map[string]any) (tool.Result, error) { panic("ouch") })
	soft := fn("soft", tool.Hints{}, func(context.Context, map[string]any) (tool.Result, error) { return tool.Errorf("no %s", "luck"), nil })
	c := agent.Config{
		Tools: []tool.Tool{typed, fails, panics, soft, textTool("hidden")}, Exclude: []string{"hidden"},
		Middleware: []agent.Middleware{absent{}},
	}
	for _, x := range []struct {
		name string
		call script.ToolCall
		want string
	}{
		{"L15 unknown", call("c", "nope"), "Error: nope is not a valid tool, try one of [typed, fails, panics, soft]."},
		{"F16 excluded", call("c", "hidden"), "Error: hidden is not available."},
		{"F16 absent", call("c", "execute"), "Error: execute is not here."},
		// deviates from L17: decision A1, a tool's error is a result
		{"L18 error", call("c", "fails"), "Error executing tool 'fails': boom"},
		{"L19 panic", call("c", "panics"), "Error executing tool 'panics': panic: ouch"},
		{"soft error", call("c", "soft"), "no luck"},
		{
			"L16 missing", call("c", "typed"),
			"Error invoking tool 'typed' with kwargs {} with error:\n name: this argument is required\n Please fix the error and try again.",
		},
		{
			"L16 type", call("c", "typed", `{"name":7,"age":"x"}`),
			"Error invoking tool 'typed' with kwargs {\"name\":7,\"age\":\"x\"} with error:\n age: must be a whole number\n name: must be a string\n Please fix the error and try again.",
		},
	} {
		t.Run(x.name, func(t *testing.T) {
			r := newRig(t, c, calls(x.call), say("done"))
			res := r.run(agent.Input{Text: "go"})
			m := resultOf(t, res, "c")
			if m.Text() != x.want || m.Status != message.Error || m.Name != x.call.Name {
				t.Errorf("got %q (%s, %s)\nwant %q", m.Text(), m.Status, m.Name, x.want)
			}
			if res.Text != "done" || res.Status != thread.Done || res.ExitCode != 0 {
				t.Errorf("the run did not go on: %+v", res)
			}
		})
	}
}

// absent is a middleware that answers for a tool it does not bring.
type absent struct{ nothing }

func (absent) Name() string { return "absent" }
func (absent) Absent(name string, _ json.RawMessage) (tool.Result, bool) {
	return tool.Text("Error: execute is not here."), name == "execute"
}

type nothing struct{}

func (nothing) Fields() []*state.Field { return nil }

// TestActionsPanic: naming the actions is code of the tool as well (A1).
func TestActionsPanic(t *testing.T) {
	ran := false
	x := tool.WithActions(fn("x", tool.Hints{}, func(context.Context, map[string]any) (tool.Result, error) {
		ran = true
		return tool.Text("ok"), nil
	}), func(context.Context, tool.Call) ([]policy.Action, error) { panic("ouch") })
	r := newRig(t, agent.Config{Tools: []tool.Tool{x}}, calls(call("c", "x")), say("done"))
	m := resultOf(t, r.run(agent.Input{Text: "go"}), "c")
	if m.Status != message.Error || !strings.Contains(m.Text(), "ouch") || ran {
		t.Errorf("%q, ran %v", m.Text(), ran)
	}
	ts, err := agent.NewToolset(agent.Config{Tools: []tool.Tool{x}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := ts.Call(context.Background(), tool.Call{Name: "x", Args: json.RawMessage(`{}`)})
	if err != nil || res.Status != message.Error || ran {
		t.Errorf("toolset: %v %+v", err, res)
	}
}

// broken is a body and an artifact that panic.
type broken struct{}

func (broken) Read([]byte) (int, error)     { panic("ouch") }
func (broken) Close() error                 { return nil }
func (broken) MarshalJSON() ([]byte, error) { panic("ouch") }

var (
	ratio = state.Last[float64]("ratio", state.Options{})
	bomb  = state.Last[broken]("bomb", state.Options{})
)

// TestResultPanic: a result whose parts are code (a body, an artifact) may panic as well, and may be no JSON.
func TestResultPanic(t *testing.T) {
	for name, res := range map[string]tool.Result{
		"body":     {Body: broken{}},
		"artifact": {Artifact: broken{}},
		"no JSON":  {Artifact: func() {}},
		"nil part": {Parts: message.Parts{nil}},
		"bad part": {Parts: message.Parts{message.Opaque{Data: json.RawMessage("{")}}},
		"NaN":      {Update: []state.Update{ratio.Update(math.NaN())}},
		"panics":   {Update: []state.Update{bomb.Update(broken{})}},
		"update":   {Update: []state.Update{state.RawUpdate("messages", false, json.RawMessage(`"x"`))}},
	} {
		t.Run(name, func(t *testing.T) {
			x := fn("x", tool.Hints{}, func(context.Context, map[string]any) (tool.Result, error) { return res, nil })
			r := newRig(t, agent.Config{Tools: []tool.Tool{x, textTool("y")}, Fields: []*state.Field{ratio.Field(), bomb.Field()}},
				calls(call("c", "x"), call("d", "y")), say("done"))
			out := r.run(agent.Input{Text: "go"})
			if m := resultOf(t, out, "c"); m.Status != message.Error {
				t.Errorf("%q", m.Text())
			}
			if m := resultOf(t, out, "d"); m.Text() != "y" {
				t.Errorf("%q", m.Text())
			}
		})
	}
}

// TestFatal: the run ends, siblings keep their results, going on repeats only the failed call (L17 by choice, L27).
func TestFatal(t *testing.T) {
	var l log
	broken := true
	bad := fn("bad", tool.Hints{}, func(context.Context, map[string]any) (tool.Result, error) {
		l.add("bad")
		if broken {
			return tool.Result{}, tool.Fatal(errors.New("disk gone"))
		}
		return tool.Text("better"), nil
	})
	good := fn("good", tool.Hints{}, func(context.Context, map[string]any) (tool.Result, error) {
		l.add("good")
		return tool.Text("good"), nil
	})
	r := newRig(t, agent.Config{Tools: []tool.Tool{bad, good}}, calls(call("a", "bad"), call("b", "good")), say("done"))
	res, err := r.try(agent.Input{Text: "go"})
	if err == nil || err.Error() != "disk gone" || res.Status != thread.Stopped || res.ExitCode != 1 || res.Cause != "error" {
		t.Fatalf("%v %+v", err, res)
	}
	if l.count("good") == 0 {
		// The sibling may not have begun when the other failed; it is then simply still to do.
		t.Log("the sibling had not begun")
	}
	broken = false
	res = r.run(agent.Input{})
	equal(t, "results", results(res), []string{"a: better", "b: good"})
	if l.count("good") != 1 || l.count("bad") != 2 {
		t.Error(l.all())
	}
}

// L25, L26.
func TestReturnDirect(t *testing.T) {
	direct := tool.New(tool.Spec{Name: "direct", ReturnDirect: true}, func(context.Context, none) (string, error) { return "end", nil })
	r := newRig(t, agent.Config{Tools: []tool.Tool{direct, textTool("x")}}, calls(call("a", "direct")), say("never"))
	res := r.run(agent.Input{Text: "go"})
	if res.Turns != 1 || res.Status != thread.Done {
		t.Errorf("%+v", res)
	}
	r = newRig(t, agent.Config{Tools: []tool.Tool{direct, textTool("x")}}, calls(call("a", "direct"), call("b", "x")), say("again"))
	if res := r.run(agent.Input{Text: "go"}); res.Turns != 2 || res.Text != "again" {
		t.Errorf("%+v", res)
	}
}

// L28: the later call becomes an error that names the key; the thread is none the worse.
func TestTwoWritersOfALastValueKey(t *testing.T) {
	k := state.Last[int]("k", state.Options{})
	sum := state.NewKey("sum", func(a, b int) (int, error) { return a + b, nil }, state.Options{})
	x := fn("x", tool.Hints{}, func(_ context.Context, a map[string]any) (tool.Result, error) {
		i := int(a["i"].(float64))
		res := tool.Text("wrote")
		res.Update = []state.Update{sum.Update(i), k.Update(i)}
		return res, nil
	})
	r := newRig(t, agent.Config{Tools: []tool.Tool{x}, Fields: []*state.Field{k.Field(), sum.Field()}},
		calls(call("a", "x", `{"i":1}`), call("b", "x", `{"i":2}`)), calls(call("c", "x", `{"i":4}`)), say("done"))
	res := r.run(agent.Input{Text: "go"})
	if m := resultOf(t, res, "a"); m.Text() != "wrote" || m.Status != message.Success {
		t.Error(m.Text())
	}
	m := resultOf(t, res, "b")
	if m.Status != message.Error || !strings.Contains(m.Text(), "At key 'k': Can receive only one value per step") {
		t.Error(m.Text())
	}
	if k.In(res.State) != 4 || sum.In(res.State) != 5 {
		t.Errorf("k %d, sum %d: the updates of a dropped call must all be dropped", k.In(res.State), sum.In(res.State))
	}
	if again := r.load(); k.In(again) != 4 || sum.In(again) != 5 {
		t.Error("the thread folds to something else")
	}
}

// load folds the thread with the agent's keys.
func (r *rig) load() state.State {
	r.t.Helper()
	v, err := thread.Load(context.Background(), r.store, "t", "", r.agent.Schema())
	if err != nil {
		r.t.Fatal(err)
	}
	return v.Root.State
}

// A4, A08: a call cut off by the output limit never runs, whatever its text happens to look like.
func TestCutOffCalls(t *testing.T) {
	for _, c := range []struct {
		name string
		line script.Line
	}{
		{"in the middle of content", script.Line{Finish: model.Length, ToolCalls: []script.ToolCall{{ID: "a", Name: "w", ArgsRaw: `{"path":"/x","content":"ab`}}}},
		{"looks complete", script.Line{Finish: model.Length, ToolCalls: []script.ToolCall{call("a", "w", `{"path":"/x"}`)}}},
		{"after a complete one", script.Line{Finish: model.Length, ToolCalls: []script.ToolCall{call("b", "w", `{"path":"/b"}`), {ID: "a", Name: "w", ArgsRaw: `{"pa`}}}},
		{"broken but finished", script.Line{ToolCalls: []script.ToolCall{{ID: "a", Name: "w", ArgsRaw: `{"pa`}}}},
		{"no object", script.Line{ToolCalls: []script.ToolCall{{ID: "a", Name: "w", ArgsRaw: `[1]`}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var l log
			w := fn("w", tool.Hints{}, func(_ context.Context, a map[string]any) (tool.Result, error) {
				l.add("%v", a["path"])
				return tool.Text("ok"), nil
			})
			r := newRig(t, agent.Config{Tools: []tool.Tool{w}}, c.line, say("done"))
			res := r.run(agent.Input{Text: "go"})
			m := resultOf(t, res, "a")
			if m.Status != message.Error || !strings.Contains(m.Text(), "was not executed") {
				t.Errorf("%q", m.Text())
			}
			if l.count("/x") > 0 || (c.line.Finish == model.Length && !strings.Contains(m.Text(), "cut off")) {
				t.Errorf("ran %v: %q", l.all(), m.Text())
			}
			if c.name == "after a complete one" && l.count("/b") != 1 {
				t.Errorf("the complete call did not run: %v", l.all())
			}
		})
	}
}

// TestCallIDs: empty and repeated ids become unique within the message; the same id in a later turn is another call.
func TestCallIDs(t *testing.T) {
	var l log
	x := fn("x", tool.Hints{}, func(_ context.Context, a map[string]any) (tool.Result, error) {
		l.add("%v", a["i"])
		return tool.Text(fmt.Sprint(a["i"])), nil
	})
	answer := func(turn int, ids ...string) []message.Part {
		var ps []message.Part
		for i, id := range ids {
			ps = append(ps, message.ParseCall(id, "x", fmt.Sprintf(`{"i":"%d.%d"}`, turn, i)))
		}
		return ps
	}
	turns := [][]message.Part{
		answer(0, "", "", "a", "a", "a_2", "a.b", "a/b", "../../x", strings.Repeat("long", 400)),
		answer(1, "a", ""),
		{message.Text{Text: "done"}},
	}
	n := 0
	w := &mw{name: "m", wrapModel: func(agent.ModelFunc) agent.ModelFunc {
		return func(context.Context, agent.Request) (agent.Response, error) {
			n++
			return agent.Response{Message: &message.Message{Role: message.Assistant, Parts: turns[n-1], ID: "same"}}, nil
		}
	}}
	r := newRig(t, agent.Config{Tools: []tool.Tool{x}, Middleware: []agent.Middleware{w}}, say("never"))
	res := r.run(agent.Input{Text: "go"})
	if len(r.model.requests()) != 0 {
		t.Error("L07: the model was called")
	}
	if err := validRequest(messages(res)); err != nil {
		t.Error(err)
	}
	if got := len(l.all()); got != 11 {
		t.Errorf("%d calls ran: %v", got, l.all())
	}
	var want, got []string
	for turn, k := range []int{9, 2} {
		for i := range k {
			want = append(want, fmt.Sprintf("%d.%d", turn, i))
		}
	}
	tasks := make(map[string]bool)
	for _, m := range messages(res) {
		if m.Role == message.Tool {
			got = append(got, m.Text())
		}
	}
	equal(t, "results", got, want)
	for _, rec := range records(t, r.store, "t", thread.KindCallEnded) {
		b, err := thread.Decode(rec)
		if err != nil {
			t.Fatal(err)
		}
		tasks[b.(*thread.CallEnded).Task] = true
	}
	if len(tasks) != 11 {
		t.Errorf("%d task ids for 11 calls", len(tasks))
	}
	if got := string(messages(res)[1].Meta["provider_id"]); got != `"same"` {
		t.Errorf("the provider's id of the message: %s", got)
	}
}

// L33, L34 and the rest of budgets.
func TestTurnLimit(t *testing.T) {
	ls := make([]script.Line, 0, 10)
	for i := range 10 {
		ls = append(ls, calls(call(fmt.Sprint("c", i), "x")))
	}
	r := newRig(t, agent.Config{Tools: []tool.Tool{textTool("x")}, Limits: agent.Limits{Turns: 4}}, ls...)
	res, err := r.try(agent.Input{Text: "go"})
	if !errors.Is(err, agent.ErrTurnLimit) || !strings.Contains(err.Error(), "4") || res.Status != thread.Stopped || res.ExitCode != 6 || res.Cause != "limit" {
		t.Fatalf("%v %+v", err, res)
	}
	if res.Turns != 4 || len(r.model.requests()) != 4 {
		t.Errorf("%d turns, %d requests", res.Turns, len(r.model.requests()))
	}
	// The limit belongs to a run: going on gives another four.
	if _, err = r.try(agent.Input{}); !errors.Is(err, agent.ErrTurnLimit) || len(r.model.requests()) != 8 {
		t.Errorf("%v, %d requests", err, len(r.model.requests()))
	}
	if _, err = r.try(agent.Input{}, agent.WithLimits(agent.Limits{Turns: 1})); !errors.Is(err, agent.ErrTurnLimit) || len(r.model.requests()) != 9 {
		t.Errorf("%v, %d requests", err, len(r.model.requests()))
	}
	// deviates from L34: zero means no limit; a negative one is refused before anything runs.
	if _, err := r.try(agent.Input{}, agent.WithLimits(agent.Limits{Turns: -1})); err == nil || errors.Is(err, agent.ErrTurnLimit) {
		t.Error(err)
	}
}

// C01, C02, C03, C04, L32.
func TestThreads(t *testing.T) {
	s := memory.New()
	defer s.Close()
	r := newRig(t, agent.Config{Threads: s, Tools: []tool.Tool{textTool("x")}}, calls(call("c", "x")), say("one"), say("two"))
	if _, err := r.agent.Start(context.Background(), agent.Input{Text: "hi"}); !errors.Is(err, agent.ErrNoThread) || !strings.Contains(err.Error(), "thread") {
		t.Errorf("C01: %v", err)
	}
	if _, err := r.agent.Start(context.Background(), agent.Input{Text: "hi", Thread: "a b"}); !errors.Is(err, thread.ErrThreadID) {
		t.Errorf("bad id: %v", err)
	}
	if _, err := r.agent.Start(context.Background(), agent.Input{Thread: "t"}); !errors.Is(err, agent.ErrNothingToDo) {
		t.Errorf("empty thread without input: %v", err)
	}
	first := r.run(agent.Input{Text: "hi"})
	res := r.run(agent.Input{Text: "again"})
	if got := outline(messages(res)); got != "user assistant(c) c=success assistant user assistant" || res.Text != "two" {
		t.Errorf("C02: %s", got)
	}
	for i, m := range messages(first) {
		if messages(res)[i].ID != m.ID || state.Messages.In(r.load()).At(i).ID != m.ID {
			t.Errorf("L32: message %d changed its id", i)
		}
	}
	other := r.run(agent.Input{Thread: "other", Messages: []*message.Message{message.NewUser("x")}})
	if n := len(messages(other)); n != 4 {
		t.Errorf("C03: another thread has %d messages", n)
	}
	var steps []int
	for _, rec := range records(t, s, "t", thread.KindCommit) {
		steps = append(steps, rec.Step)
	}
	equal(t, "C04: steps", steps, []int{-1, 0, 1, 2, 3, 4})
}

// A finished thread without input has nothing to do, also when its last hooks changed nothing.
func TestNothingToDo(t *testing.T) {
	var l log
	h := &mw{
		name:       "h",
		after:      func(context.Context, *agent.RunState) error { l.add("after"); return nil },
		afterModel: func(context.Context, *agent.Turn) error { l.add("afterModel"); return nil },
	}
	r := newRig(t, agent.Config{Middleware: []agent.Middleware{h}}, say("one"), say("two"))
	r.run(agent.Input{Text: "hi"})
	before := len(r.records())
	if res, err := r.try(agent.Input{}); !errors.Is(err, agent.ErrNothingToDo) {
		t.Errorf("%v %+v", err, res)
	}
	if len(r.records()) != before {
		t.Error("the refused start wrote something")
	}
	equal(t, "hooks", l.all(), []string{"afterModel", "after"})
	if res := r.run(agent.Input{Text: "more"}); res.Text != "two" {
		t.Error(res.Text)
	}
}

// A37, A39: private and unknown keys in the input are ignored; bad values are refused and the thread is as before.
func TestInputUpdates(t *testing.T) {
	pub := state.Last[int]("pub", state.Options{})
	priv := state.Last[int]("priv", state.Options{Private: true})
	noin := state.Last[int]("noin", state.Options{NoInput: true})
	r := newRig(t, agent.Config{Fields: []*state.Field{pub.Field(), priv.Field(), noin.Field()}}, say("one"), say("two"))
	res := r.run(agent.Input{Text: "hi", Updates: []state.Update{
		pub.Update(1), priv.Update(2), noin.Update(3), state.RawUpdate("unknown", false, json.RawMessage(`4`)),
	}})
	if pub.In(res.State) != 1 || priv.In(res.State) != 0 || noin.In(res.State) != 0 {
		t.Errorf("pub %d priv %d noin %d", pub.In(res.State), priv.In(res.State), noin.In(res.State))
	}
	before := len(r.records())
	for _, bad := range []state.Update{
		state.RawUpdate("pub", false, json.RawMessage(`"no number"`)),
		state.RawUpdate("pub", false, json.RawMessage(`{`)),
		state.RawUpdate("messages", false, json.RawMessage(`7`)),
	} {
		if _, err := r.try(agent.Input{Text: "hi", Updates: []state.Update{bad}}); err == nil {
			t.Errorf("%s is accepted", bad.Key)
		}
	}
	if len(r.records()) != before {
		t.Error("a refused input wrote something")
	}
	if res := r.run(agent.Input{Text: "again"}); res.Text != "two" || pub.In(res.State) != 1 {
		t.Errorf("the thread is damaged: %+v", res)
	}
}

// untilSnapshot ends the run once a snapshot is stored, which happens beside it.
func untilSnapshot(t *testing.T, s thread.Store) *mw {
	return &mw{name: "until", beforeModel: func(_ context.Context, x *agent.Turn) error {
		if len(records(t, s, "t", thread.KindSnapshot)) > 0 {
			x.Jump(agent.JumpEnd)
		}
		return nil
	}}
}

// Keys that this agent does not know survive it, in snapshots and updates, and are whole again when their owner is back.
func TestForeignKeys(t *testing.T) {
	s := memory.New()
	defer s.Close()
	sum := state.NewKey("sum", func(a, b int) (int, error) { return a + b, nil }, state.Options{})
	add := fn("add", tool.Hints{}, func(context.Context, map[string]any) (tool.Result, error) {
		res := tool.Text("ok")
		res.Update = []state.Update{sum.Update(2)}
		return res, nil
	})
	big := fn("add", tool.Hints{}, func(context.Context, map[string]any) (tool.Result, error) {
		res := tool.Text(strings.Repeat("x", 100<<10)) // so that a snapshot is taken
		res.Update = []state.Update{sum.Update(5)}
		return res, nil
	})
	owner := agent.Config{Threads: s, Fields: []*state.Field{sum.Field()}, Tools: []tool.Tool{add}}
	stranger := agent.Config{Threads: s, Tools: []tool.Tool{big}}
	ls := slices.Repeat([]script.Line{calls(call("a", "add"))}, 300)
	owner.Limits.Turns = 1
	stranger.Middleware = []agent.Middleware{untilSnapshot(t, s)}
	if _, err := newRig(t, owner, ls...).try(agent.Input{Text: "x"}); !errors.Is(err, agent.ErrTurnLimit) {
		t.Fatal(err)
	}
	mid := newRig(t, stranger, ls...).run(agent.Input{Text: "x"})
	res, err := newRig(t, owner, ls...).try(agent.Input{Text: "x"})
	if !errors.Is(err, agent.ErrTurnLimit) {
		t.Fatal(err)
	}
	if got := sum.In(res.State); got != 2+5*mid.Turns+2 {
		t.Errorf("sum is %d after %d additions of the stranger", got, mid.Turns)
	}
}
