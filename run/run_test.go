package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/deepagents-go/deepagents/policy"
	"github.com/deepagents-go/deepagents/run"
	"github.com/deepagents-go/deepagents/run/runtest"
)

func TestFrom(t *testing.T) {
	if s, ok := run.From(t.Context()); ok || s != nil {
		t.Error("a scope in an empty context")
	}
	if _, ok := run.From(run.With(t.Context(), nil)); ok {
		t.Error("nil is a scope")
	}
	outer, inner := &runtest.Scope{}, &runtest.Scope{}
	ctx := run.With(t.Context(), outer)
	if s, _ := run.From(run.With(ctx, inner)); s != inner {
		t.Error("the inner scope does not win")
	}
	if s, _ := run.From(ctx); s != outer {
		t.Error("the outer scope is lost")
	}
}

func TestOutside(t *testing.T) {
	if _, err := run.Interrupt[string](t.Context(), run.Question{Kind: "input"}); !errors.Is(err, run.ErrOutside) || !strings.Contains(err.Error(), `"input"`) {
		t.Errorf("interrupt: %v", err)
	}
	_, err := run.Once(t.Context(), "pay", func(context.Context) (int, error) {
		t.Error("called")
		return 0, nil
	})
	if !errors.Is(err, run.ErrOutside) || !strings.Contains(err.Error(), `"pay"`) {
		t.Errorf("once: %v", err)
	}
}

func TestInterrupt(t *testing.T) {
	s := &runtest.Scope{Answers: []json.RawMessage{json.RawMessage(`{"ok":true}`), json.RawMessage(`"no"`), nil}}
	ctx := run.With(t.Context(), s)
	type answer struct{ OK bool }
	q := run.Question{Kind: "approval", Value: map[string]int{"n": 1}, Answer: json.RawMessage(`{"type":"object"}`)}
	if a, err := run.Interrupt[answer](ctx, q); err != nil || !a.OK {
		t.Errorf("got %v, %v", a, err)
	}
	var te *json.UnmarshalTypeError
	if _, err := run.Interrupt[answer](ctx, q); !errors.As(err, &te) || !strings.Contains(err.Error(), `"approval"`) {
		t.Errorf("an answer of another type: %v", err)
	}
	if _, err := run.Interrupt[answer](ctx, q); err == nil {
		t.Error("an empty answer: no error")
	}
	if _, err := run.Interrupt[answer](ctx, q); !errors.Is(err, run.ErrInterrupted) {
		t.Errorf("no answer: %v", err)
	}
	if got := s.Questions(); len(got) != 4 || fmt.Sprint(got[3].Value) != "map[n:1]" {
		t.Errorf("questions %v", got)
	}
}

func TestOnce(t *testing.T) {
	s := &runtest.Scope{}
	ctx := run.With(t.Context(), s)
	calls := 0
	next := func(context.Context) (int, error) { calls++; return calls, nil }
	for _, c := range []struct {
		name string
		want int
	}{{"a", 1}, {"a", 1}, {"b", 2}, {"a", 1}} {
		if n, err := run.Once(ctx, c.name, next); err != nil || n != c.want {
			t.Errorf("%s: %d, %v; want %d", c.name, n, err, c.want)
		}
	}
	boom := errors.New("boom")
	if n, err := run.Once(ctx, "fails", func(context.Context) (int, error) { return 7, boom }); !errors.Is(err, boom) || n != 0 {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := run.Once(ctx, "fails", next); err != nil || n != 3 {
		t.Errorf("an error was recorded: %d, %v", n, err)
	}
	if _, err := run.Once(ctx, "a", func(context.Context) (string, error) { return "", nil }); err == nil || !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("a result of another type: %v", err)
	}
	if _, err := run.Once(ctx, "c", func(context.Context) (func(), error) { return func() {}, nil }); err == nil {
		t.Error("a result without JSON: no error")
	}
}

// A tool that sends something asks first, and sends once, however often the call runs.
func ExampleOnce() {
	send := func(ctx context.Context) (string, error) {
		ok, err := run.Interrupt[bool](ctx, run.Question{Kind: "approval", Value: "send the mail?"})
		if err != nil || !ok {
			return "", err
		}
		return run.Once(ctx, "send", func(context.Context) (string, error) {
			fmt.Println("sending")
			return "id-1", nil
		})
	}
	s := &runtest.Scope{}
	ctx := run.With(context.Background(), s)
	_, err := send(ctx)
	fmt.Println(err)
	s.Answers = []json.RawMessage{json.RawMessage("true"), json.RawMessage("true")}
	for range 2 {
		fmt.Println(send(ctx))
	}
	// Output:
	// waiting for an answer
	// sending
	// id-1 <nil>
	// id-1 <nil>
}

func TestAllow(t *testing.T) {
	s := &runtest.Scope{Judge: policy.PathRules{{Paths: []string{"/secret/**"}, Decision: policy.Deny}, {Paths: []string{"/ask"}, Decision: policy.Ask}}}
	for path, want := range map[string]error{"/a": nil, "/secret/x": policy.ErrDenied, "/ask": run.ErrInterrupted} {
		if err := s.Allow(t.Context(), policy.Action{Kind: policy.Read, Path: path}); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
	if len(s.Denied()) != 1 || s.Denied()[0].Path != "/secret/x" || len(s.Allowed()) != 1 {
		t.Errorf("denied %v, allowed %v", s.Denied(), s.Allowed())
	}
}
