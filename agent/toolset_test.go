package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/policy"
	"github.com/deepagents-go/deepagents/run"
	"github.com/deepagents-go/deepagents/state"
	"github.com/deepagents-go/deepagents/tool"
)

func mustToolset(t testing.TB, c agent.Config, ask agent.AskFunc) *agent.Toolset {
	t.Helper()
	ts, err := agent.NewToolset(c, ask)
	if err != nil {
		t.Fatal(err)
	}
	return ts
}

func textOf(r tool.Result) string { return (&message.Message{Parts: r.Parts}).Text() }

// A10, F16 and harness.md 2.3 without a model: validation, unknown, excluded, absent, errors, panics, fatal.
func TestToolsetErrors(t *testing.T) {
	typed := tool.New(tool.Spec{Name: "typed"}, func(_ context.Context, p person) (string, error) { return fmt.Sprint(p.Age), nil })
	bad := func(name string, err error) tool.Tool {
		return fn(name, tool.Hints{}, func(context.Context, map[string]any) (tool.Result, error) {
			if err == nil {
				panic("ouch")
			}
			return tool.Result{}, err
		})
	}
	ts := mustToolset(t, agent.Config{
		Tools:      []tool.Tool{typed, bad("fails", errors.New("boom")), bad("panics", nil), bad("fatal", tool.Fatal(errors.New("gone"))), textTool("hidden")},
		Exclude:    []string{"hidden"},
		Middleware: []agent.Middleware{absent{}},
	}, nil)
	for _, c := range []struct{ name, args, want string }{
		{"typed", `{"name":"a","age":"7"}`, "7"},
		{"typed", `{"age":null}`, "Error invoking tool 'typed'"},
		{"typed", `[]`, "must be a JSON object"},
		{"typed", ``, "must be a JSON object"},
		{"nope", `{}`, "Error: nope is not a valid tool, try one of [typed, fails, panics, fatal]."},
		{"hidden", `{}`, "Error: hidden is not available."},
		{"execute", `{}`, "Error: execute is not here."},
		{"fails", `{}`, "Error executing tool 'fails': boom"},
		{"panics", `{}`, "Error executing tool 'panics': panic: ouch"},
	} {
		res, err := ts.Call(context.Background(), tool.Call{Name: c.name, Args: json.RawMessage(c.args)})
		if err != nil || !strings.Contains(textOf(res), c.want) || (res.Status == message.Error) == (c.want == "7") {
			t.Errorf("%s %s: %v, %q (%s)", c.name, c.args, err, textOf(res), res.Status)
		}
	}
	if _, err := ts.Call(context.Background(), tool.Call{Name: "fatal", Args: json.RawMessage(`{}`)}); err == nil || !tool.IsFatal(err) {
		t.Errorf("%v", err)
	}
	var names []string
	for _, s := range ts.Specs() {
		names = append(names, s.Name)
	}
	equal(t, "specs", names, []string{"typed", "fails", "panics", "fatal"})
}

// Conflicting concurrent calls run in the order in which they came, each sees what the one before wrote; strangers overlap.
func TestToolsetOrder(t *testing.T) {
	inside, release := make(chan string), make(chan struct{})
	hold := func(id string) { inside <- id; <-release }
	ts := mustToolset(t, agent.Config{Tools: []tool.Tool{editor(nil, hold)}, Fields: []*state.Field{notes.Field()}}, nil)
	out := make(chan string, 10)
	start := func(id, args string) {
		go func() {
			res, err := ts.Call(context.Background(), tool.Call{Name: "edit", CallID: id, Args: json.RawMessage(args)})
			out <- fmt.Sprintf("%s: %s %v", id, textOf(res), err)
		}()
	}
	start("a", `{"write":"/x"}`)
	if id := recv(t, "a", inside); id != "a" {
		t.Fatal(id)
	}
	start("c", `{"write":"/y"}`)
	if id := recv(t, "a stranger", inside); id != "c" {
		t.Fatal(id)
	}
	start("b", `{"write":"/x"}`)
	select {
	case id := <-inside:
		t.Fatalf("%s began while a conflicting call ran", id)
	default:
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	mine := errors.New("mine")
	gone := make(chan error, 1)
	go func() {
		_, err := ts.Call(ctx, tool.Call{Name: "edit", CallID: "d", Args: json.RawMessage(`{"tree":"/"}`)})
		gone <- err
	}()
	cancel(mine)
	if err := recv(t, "the call that gave up", gone); !errors.Is(err, mine) {
		t.Error(err)
	}
	release <- struct{}{}
	release <- struct{}{}
	if id := recv(t, "b", inside); id != "b" {
		t.Fatal(id)
	}
	release <- struct{}{}
	got := map[string]bool{}
	for range 3 {
		got[recv(t, "a result", out)] = true
	}
	if !got["a: saw  <nil>"] || !got["c: saw  <nil>"] || (!got["b: saw a <nil>"] && !got["b: saw ac <nil>"] && !got["b: saw ca <nil>"]) {
		t.Errorf("%v", got)
	}
	if n := len(notes.In(ts.State())); n != 3 {
		t.Errorf("the state holds %v", notes.In(ts.State()))
	}
}

// Many concurrent calls: nothing is lost, nothing hangs.
func TestToolsetCrowd(t *testing.T) {
	ts := mustToolset(t, agent.Config{Tools: []tool.Tool{editor(nil, nil)}, Fields: []*state.Field{notes.Field()}}, nil)
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			args := mustJSON(map[string]string{[]string{"write", "read", "tree", "exec"}[i%4]: fmt.Sprintf("/%d", i%3)})
			if _, err := ts.Call(context.Background(), tool.Call{Name: "edit", CallID: "x", Args: args}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := len(notes.In(ts.State())); n != 200 {
		t.Errorf("%d of 200 updates are there", n)
	}
}

// A9: asks go to the client, are validated, and are denied when there is nobody; denials say what would help.
func TestToolsetPolicy(t *testing.T) {
	var l log
	var answer json.RawMessage
	var asked run.Question
	c := agent.Config{Tools: []tool.Tool{pay(&l)}, Policy: policy.Judges{askAll}}
	ts := mustToolset(t, c, func(_ context.Context, q run.Question) (json.RawMessage, error) {
		asked = q
		if answer == nil {
			return nil, agent.ErrNobody
		}
		return answer, nil
	})
	for _, x := range []struct {
		name, path string
		answer     json.RawMessage
		want       string
		ok         bool
	}{
		{"approve", "/a", agent.Decisions(agent.Decision{Type: "approve"}), "paid /a", true},
		{"edit", "/a", agent.Decisions(edited("pay", `{"write":"/b"}`)), "paid /b", true},
		{"edit to denied", "/a", agent.Decisions(edited("pay", `{"write":"/deny"}`)), "never", false},
		{"reject", "/a", agent.Decisions(agent.Decision{Type: "reject", Message: "no"}), "User rejected", false},
		{"respond", "/a", agent.Decisions(agent.Decision{Type: "respond", Message: "yes and no"}), "yes and no", true},
		{"wrong answer", "/a", json.RawMessage(`{"decisions":[]}`), "does not fit", false},
		{"no JSON", "/a", json.RawMessage(`{`), "does not fit", false},
		{"nobody", "/a", nil, "sure?", false},
		{"rule", "/deny", agent.Decisions(agent.Decision{Type: "approve"}), "never", false},
		{"free", "", nil, "paid", true},
	} {
		answer = x.answer
		args := json.RawMessage(`{}`)
		if x.path != "" {
			args = mustJSON(mustString(x.path))
		}
		res, err := ts.Call(context.Background(), tool.Call{Name: "pay", CallID: "c", Args: args})
		if err != nil || !strings.Contains(textOf(res), x.want) || (res.Status != message.Error) != x.ok {
			t.Errorf("%s: %v %q (%s)", x.name, err, textOf(res), res.Status)
		}
	}
	equal(t, "effects", l.all(), []string{"paid /a", "paid /b", "paid <nil>"})
	if asked.Kind != "approval" || len(asked.Answer) == 0 {
		t.Errorf("%+v", asked)
	}
	silent := mustToolset(t, c, nil)
	if res, err := silent.Call(context.Background(), tool.Call{Name: "pay", Args: mustJSON(mustString("/a"))}); err != nil || res.Status != message.Error || !strings.Contains(textOf(res), "sure?") {
		t.Errorf("without a client: %v %q", err, textOf(res))
	}
}

// Wrappers, state, once and the scope of a call without a run.
func TestToolsetScope(t *testing.T) {
	var l log
	x := fn("x", tool.Hints{}, func(ctx context.Context, _ map[string]any) (tool.Result, error) {
		s, ok := run.From(ctx)
		if !ok || s.Info().Tool != "x" || s.Info().Task == "" || s.Info().CallID != "c" || s.Info().Attempt != 1 {
			return tool.Result{}, fmt.Errorf("wrong scope: %+v", s.Info())
		}
		n, err := run.Once(ctx, "n", func(context.Context) (int, error) { return 7, nil })
		if err != nil {
			return tool.Result{}, err
		}
		if _, err := fmt.Fprint(s.Output(), "live"); err != nil {
			return tool.Result{}, err
		}
		res := tool.Text(fmt.Sprint(n, len(notes.Get(s.State()))))
		res.Update = []state.Update{notes.Update("update")}
		return res, s.State().Write(notes.Update("tx"))
	})
	ts := mustToolset(t, agent.Config{Tools: []tool.Tool{x}, Fields: []*state.Field{notes.Field()}, Middleware: []agent.Middleware{tracer("A", &l), tracer("B", &l)}}, nil)
	for _, want := range []string{"7 0", "7 2"} {
		res, err := ts.Call(context.Background(), tool.Call{Name: "x", CallID: "c", Args: json.RawMessage(`{}`)})
		if err != nil || textOf(res) != want {
			t.Errorf("%v %q, want %q", err, textOf(res), want)
		}
	}
	equal(t, "notes", notes.In(ts.State()), []string{"tx", "update", "tx", "update"})
	equal(t, "wrappers", l.all()[:4], []string{"A.tool(", "B.tool(", "B.tool)", "A.tool)"})
}

// An update that does not fit is an error result and changes nothing.
func TestToolsetBadUpdate(t *testing.T) {
	x := fn("x", tool.Hints{}, func(context.Context, map[string]any) (tool.Result, error) {
		res := tool.Text("ok")
		res.Update = []state.Update{notes.Update("a"), state.RawUpdate("notes", true, json.RawMessage(`7`))}
		return res, nil
	})
	ts := mustToolset(t, agent.Config{Tools: []tool.Tool{x}, Fields: []*state.Field{notes.Field()}}, nil)
	res, err := ts.Call(context.Background(), tool.Call{Name: "x", Args: json.RawMessage(`{}`)})
	if err != nil || res.Status != message.Error || len(notes.In(ts.State())) != 0 {
		t.Errorf("%v %q %v", err, textOf(res), notes.In(ts.State()))
	}
}

// A cancelled call is an error, not a result.
func TestToolsetCancel(t *testing.T) {
	begun := make(chan string, 1)
	ts := mustToolset(t, agent.Config{Tools: hang(begun)}, nil)
	ctx, cancel := context.WithCancelCause(context.Background())
	mine := errors.New("mine")
	done := make(chan error, 1)
	go func() {
		_, err := ts.Call(ctx, tool.Call{Name: "unsafe", Args: json.RawMessage(`{}`)})
		done <- err
	}()
	recv(t, "the call", begun)
	cancel(mine)
	if err := recv(t, "the end", done); !errors.Is(err, mine) {
		t.Error(err)
	}
}
