package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/policy"
	"github.com/deepagents-go/deepagents/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type inner struct {
	Old string  `json:"old"`
	New *string `json:"new"`
}

type args struct {
	Path   string              `json:"path" jsonschema:"the file to read"`
	Limit  *int                `json:"limit,omitempty" jsonschema:"at most that many lines"`
	Edits  []inner             `json:"edits,omitempty"`
	Env    map[string]string   `json:"env,omitempty"`
	Deep   map[string][]*inner `json:"deep,omitempty"`
	Data   []byte              `json:"data,omitempty"`
	Raw    json.RawMessage     `json:"raw,omitempty"`
	Any    any                 `json:"any,omitempty"`
	Port   uint16              `json:"port,omitempty"`
	Nested *inner              `json:"nested,omitempty"`
}

func nothing[In any](context.Context, In) (string, error) { return "", nil }

// TestInferredSchema compares the whole schema: neither "null" nor "additionalProperties": false is in it.
func TestInferredSchema(t *testing.T) {
	got := tool.New(tool.Spec{Name: "t"}, nothing[args]).Spec().Input
	in := `{"type":"object","required":["old","new"],"properties":{"old":{"type":"string"},"new":{"type":"string"}}}`
	want := `{"type":"object","required":["path"],"properties":{
		"path":{"type":"string","description":"the file to read"},
		"limit":{"type":"integer","description":"at most that many lines"},
		"edits":{"type":"array","items":` + in + `},
		"env":{"type":"object","additionalProperties":{"type":"string"}},
		"deep":{"type":"object","additionalProperties":{"type":"array","items":` + in + `}},
		"data":{"type":"string","contentEncoding":"base64"},
		"raw":true,
		"any":true,
		"port":{"type":"integer","minimum":0,"maximum":65535},
		"nested":` + in + `}}`
	if !same(t, got, []byte(want)) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if strings.Contains(string(got), "null") {
		t.Errorf("null in %s", got)
	}
}

func same(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	if err := errors.Join(json.Unmarshal(a, &x), json.Unmarshal(b, &y)); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(x) == fmt.Sprint(y)
}

type cycle struct {
	Next *cycle `json:"next"`
}

func TestMakeErrors(t *testing.T) {
	named := tool.Spec{Name: "t"}
	for _, c := range []struct {
		name string
		make func() (tool.Tool, error)
		want string
	}{
		{"no name", func() (tool.Tool, error) { return tool.Make(tool.Spec{}, nothing[args]) }, "name"},
		{"no function", func() (tool.Tool, error) { return tool.Make[args, string](named, nil) }, "function"},
		{"channel", func() (tool.Tool, error) { return tool.Make(named, nothing[struct{ C chan int }]) }, "schema"},
		{"cycle", func() (tool.Tool, error) { return tool.Make(named, nothing[cycle]) }, "cycle"},
		{"text", func() (tool.Tool, error) { return tool.Make(named, nothing[string]) }, "object"},
		{"list", func() (tool.Tool, error) { return tool.Make(named, nothing[[]args]) }, "object"},
		{"anything", func() (tool.Tool, error) { return tool.Make(named, nothing[any]) }, "object"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := c.make(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
		})
	}
	defer func() {
		if recover() == nil {
			t.Error("New does not panic")
		}
	}()
	tool.New(tool.Spec{}, nothing[args])
}

// TestMakeSchemaGiven has types that have no schema of their own.
func TestMakeSchemaGiven(t *testing.T) {
	schema := json.RawMessage(`{"type":"object"}`)
	a, err := tool.Make(tool.Spec{Name: "t", Input: schema}, func(_ context.Context, in json.RawMessage) (string, error) { return string(in), nil })
	if err != nil {
		t.Fatal(err)
	}
	r, err := a.Call(t.Context(), tool.Call{Args: json.RawMessage(`{"a":1}`)})
	if err != nil || text(r) != `{"a":1}` || string(a.Spec().Input) != string(schema) {
		t.Errorf("got %q, %v", text(r), err)
	}
	for _, make := range []func(tool.Spec) (tool.Tool, error){
		func(s tool.Spec) (tool.Tool, error) { return tool.Make(s, nothing[struct{}]) },
		func(s tool.Spec) (tool.Tool, error) { return tool.Make(s, nothing[map[string]int]) },
		func(s tool.Spec) (tool.Tool, error) { return tool.Make(s, nothing[*args]) },
	} {
		if _, err := make(tool.Spec{Name: "t"}); err != nil {
			t.Error(err)
		}
	}
}

func text(r tool.Result) string { return (&message.Message{Parts: r.Parts}).Text() }

func TestCall(t *testing.T) {
	ctx := t.Context()
	call := func(tl tool.Tool, args string) (tool.Result, error) {
		return tl.Call(ctx, tool.Call{Name: "t", Args: json.RawMessage(args)})
	}
	spec := tool.Spec{Name: "t"}
	type out struct {
		Text string `json:"text"`
	}
	boom := errors.New("boom")
	for _, c := range []struct {
		name     string
		tool     tool.Tool
		args     string
		want     string
		artifact any
	}{
		{"text", tool.New(spec, func(_ context.Context, a inner) (string, error) { return a.Old, nil }), `{"old":"<x>"}`, "<x>", nil},
		{"result", tool.New(spec, func(context.Context, inner) (tool.Result, error) { return tool.Errorf("no %s", "way"), nil }), `{}`, "no way", nil},
		{"value", tool.New(spec, func(_ context.Context, a inner) (out, error) { return out{a.Old}, nil }), `{"old":"<&>"}`, `{"text":"<&>"}`, out{"<&>"}},
		{"number", tool.New(spec, func(context.Context, inner) (int, error) { return 7, nil }), `{}`, "7", 7},
		{"nothing", tool.New(spec, func(context.Context, inner) (any, error) { return nil, nil }), `{}`, "null", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := call(c.tool, c.args)
			if err != nil || text(r) != c.want || r.Artifact != c.artifact {
				t.Errorf("got %q, artifact %v, %v", text(r), r.Artifact, err)
			}
		})
	}
	fails := tool.New(spec, func(context.Context, inner) (string, error) { return "x", tool.Fatal(boom) })
	if r, err := call(fails, `{}`); !errors.Is(err, boom) || !tool.IsFatal(err) || r.Parts != nil {
		t.Errorf("got %v, %v", r, err)
	}
	if _, err := call(fails, `{"old":5}`); err == nil || !strings.Contains(err.Error(), "arguments of t") {
		t.Errorf("bad arguments: %v", err)
	}
	nan := tool.New(spec, func(context.Context, inner) (float64, error) { return math.NaN(), nil })
	if _, err := call(nan, `{}`); err == nil || !strings.Contains(err.Error(), "result of t") {
		t.Errorf("bad result: %v", err)
	}
}

func TestFatal(t *testing.T) {
	boom := errors.New("boom")
	if tool.Fatal(nil) != nil {
		t.Error("Fatal(nil) is an error")
	}
	f := tool.Fatal(boom)
	for _, c := range []struct {
		err  error
		want bool
	}{
		{f, true},
		{fmt.Errorf("a: %w", fmt.Errorf("b: %w", f)), true},
		{errors.Join(errors.New("other"), f), true},
		{tool.Fatal(f), true},
		{boom, false},
		{errors.New("a: " + f.Error()), false},
		{nil, false},
	} {
		if tool.IsFatal(c.err) != c.want {
			t.Errorf("%v: want %v", c.err, c.want)
		}
	}
	if !errors.Is(f, boom) || f.Error() != "boom" {
		t.Errorf("the error inside is lost: %v", f)
	}
}

func TestResults(t *testing.T) {
	r := tool.Text("100%")
	if text(r) != "100%" || r.Status != "" {
		t.Errorf("%+v", r)
	}
	r = tool.Errorf("Error: %d", 5)
	if text(r) != "Error: 5" || r.Status != message.Error {
		t.Errorf("%+v", r)
	}
}

func TestHints(t *testing.T) {
	for _, c := range []struct {
		h    tool.Hints
		want bool
	}{
		{tool.Hints{}, false},
		{tool.Hints{Destructive: true, OpenWorld: true}, false},
		{tool.Hints{ReadOnly: true}, true},
		{tool.Hints{Idempotent: true}, true},
		{tool.Hints{Resumable: true}, true},
	} {
		if c.h.Repeatable() != c.want {
			t.Errorf("%+v: want %v", c.h, c.want)
		}
	}
}

func TestWithActions(t *testing.T) {
	base := tool.New(tool.Spec{Name: "t"}, func(_ context.Context, a inner) (string, error) { return a.Old, nil })
	if _, ok := base.(tool.Actor); ok {
		t.Error("a tool without actions is an Actor")
	}
	tl := tool.WithActions(base, func(_ context.Context, c tool.Call) ([]policy.Action, error) {
		return []policy.Action{{Kind: policy.Write, Path: string(c.Args)}}, nil
	})
	as, err := tl.(tool.Actor).Actions(t.Context(), tool.Call{Args: json.RawMessage("/x")})
	if err != nil || len(as) != 1 || as[0].Path != "/x" || tl.Spec().Name != "t" {
		t.Errorf("%v, %v", as, err)
	}
	if r, err := tl.Call(t.Context(), tool.Call{Args: json.RawMessage(`{"old":"y"}`)}); err != nil || text(r) != "y" {
		t.Errorf("%v, %v", r, err)
	}
}

// The input schema comes from the type of the function: `json` names the fields, `jsonschema` describes them.
func ExampleNew() {
	type input struct {
		City string `json:"city" jsonschema:"name of the city"`
		Days int    `json:"days,omitempty" jsonschema:"how many days ahead, 1 by default"`
	}
	forecast := tool.New(
		tool.Spec{Name: "forecast", Description: "Weather of a city.", Hints: tool.Hints{ReadOnly: true}},
		func(_ context.Context, in input) (string, error) {
			return fmt.Sprintf("sunny in %s for %d days", in.City, max(in.Days, 1)), nil
		},
	)
	v, err := tool.NewValidator(forecast.Spec())
	if err != nil {
		panic(err)
	}
	// Models send numbers as strings; the validator puts that right.
	args, err := v.Args(json.RawMessage(`{"city":"Oslo","days":"3"}`))
	if err != nil {
		panic(err)
	}
	r, err := forecast.Call(context.Background(), tool.Call{Name: "forecast", Args: args})
	if err != nil {
		panic(err)
	}
	fmt.Println(r.Parts[0].(message.Text).Text)
	_, err = v.Args(json.RawMessage(`{"days":"soon"}`))
	fmt.Println(err)
	// Output:
	// sunny in Oslo for 3 days
	// Error invoking tool 'forecast' with kwargs {"days":"soon"} with error:
	//  city: this argument is required
	//  days: must be a whole number
	//  Please fix the error and try again.
}
