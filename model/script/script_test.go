package script_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/script"
)

// ask returns the whole answer of one request.
func ask(ctx context.Context, m model.Model, r *model.Request) (*message.Message, error) {
	var a model.Accumulator
	for d, err := range m.Stream(ctx, r) {
		if err != nil {
			return a.Message(), err
		}
		a.Add(d)
	}
	return a.Message(), nil
}

func mustParse(t testing.TB, lines ...string) *script.Model {
	t.Helper()
	m, err := script.Parse("t.jsonl", strings.NewReader(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestAnswer(t *testing.T) {
	m := mustParse(t, "", `  {"v":1,"reasoning":"why","text":"Grüße","tool_calls":[{"id":"c1","name":"ls","args":{"path": "/"}},`+
		`{"name":"ls"},{"id":"c3","name":"rm","args_raw":"{\"p"}],"usage":{"input":10,"output":5,"cache_read":2}}  `+"\r", "")
	if m.Name() != "script:t.jsonl" {
		t.Errorf("name %q", m.Name())
	}
	got, err := ask(t.Context(), m, &model.Request{})
	if err != nil {
		t.Fatal(err)
	}
	want := &message.Message{
		Role: message.Assistant, Finish: "tool_calls", Usage: &message.Usage{Input: 10, Output: 5, CacheRead: 2, Total: 17},
		Parts: message.Parts{
			message.Reasoning{Text: "why"},
			message.Text{Text: "Grüße"},
			message.ToolCall{ID: "c1", Name: "ls", Args: json.RawMessage(`{"path": "/"}`)},
			message.ToolCall{ID: "call_2_2", Name: "ls", Args: json.RawMessage(`{}`)},
			message.ParseCall("c3", "rm", `{"p`),
		},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestFinish(t *testing.T) {
	for line, want := range map[string]model.Finish{
		`{}`:                             model.Stop,
		`{"tool_calls":[{"name":"ls"}]}`: model.ToolCalls,
		`{"text":"x","finish":"length"}`: model.Length,
		`{"tool_calls":[{"name":"ls"}],"finish":"stop"}`: model.Stop,
		`{"when":"","agent":"","error":"","finish":""}`:  model.Stop,
	} {
		got, err := ask(t.Context(), mustParse(t, line), &model.Request{})
		if err != nil || got.Finish != string(want) {
			t.Errorf("%s: finish %q, want %q (%v)", line, got.Finish, want, err)
		}
	}
}

// TestDeltas: a text comes in several pieces of whole characters, arguments too.
func TestDeltas(t *testing.T) {
	m := script.New(script.Line{
		Text: "日本語のテキスト", Reasoning: "ööö",
		ToolCalls: []script.ToolCall{{ID: "a", Name: "ls", Args: json.RawMessage(`{"path":"/日本"}`)}},
	})
	var texts, thoughts, args int
	for d, err := range m.Stream(t.Context(), &model.Request{}) {
		if err != nil {
			t.Fatal(err)
		}
		if !utf8.ValidString(d.Text + d.Reasoning) {
			t.Errorf("a delta ends inside a character: %q", d.Text+d.Reasoning)
		}
		switch {
		case d.Text != "":
			texts++
		case d.Reasoning != "":
			thoughts++
		case d.Call != nil:
			args++
			if !utf8.ValidString(d.Call.Args) {
				t.Errorf("%q", d.Call.Args)
			}
		}
	}
	if texts < 2 || thoughts < 2 || args < 2 {
		t.Errorf("%d text, %d reasoning, %d argument deltas, want several of each", texts, thoughts, args)
	}
}

func TestBadLines(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{`{"text":1}`, `"text" cannot be a JSON number`},
		{`{"txt":"x"}`, `unknown field "txt"`},
		{`{"tool_calls":[{"name":"ls","arg":{}}]}`, `unknown field "arg"`},
		{`{"usage":{"in":1}}`, `unknown field "in"`},
		{`{"text":"x"`, "bad JSON"},
		{`{"text":"x"} {}`, "one object a line"},
		{`{"text":"x"},`, "one object a line"},
		{`// comment`, "want a JSON object"},
		{`# comment`, "want a JSON object"},
		{`[]`, "want a JSON object"},
		{`null`, "want a JSON object"},
		{"\ufeff{}", "want a JSON object"},
		{"{\"text\":\"\xff\"}", "not valid UTF-8"},
		{`{"v":2}`, "newer program"},
		{`{"v":2,"brand_new":[1]}`, "newer program"},
		{`{"v":-1}`, `"v" is -1`},
		{`{"v":"1"}`, `"v" cannot be a JSON string`},
		{`{"finish":"end"}`, `unknown finish "end"`},
		{`{"finish":"refusal"}`, `unknown finish "refusal"`},
		{`{"error":"boom"}`, `unknown error "boom"`},
		{`{"error":"connection"}`, `unknown error "connection"`},
		{`{"delay_ms":-1}`, "delay_ms"},
		{`{"delay_ms":1.5}`, `"delay_ms" cannot be`},
		{`{"delay_ms":9999999999999}`, "delay_ms"},
		{`{"expect":"x"}`, `"expect" cannot be a JSON string`},
		{`{"expect":[""]}`, "found everywhere"},
		{`{"usage":{"input":-1}}`, "negative"},
		{`{"tool_calls":[{"id":"a"}]}`, "no name"},
		{`{"tool_calls":[{"id":"a","name":"x"},{"id":"a","name":"y"}]}`, `have the id "a"`},
		{`{"tool_calls":[{"name":"x","args":{},"args_raw":"{"}]}`, `both "args" and "args_raw"`},
		{`{"tool_calls":[{"name":"x","args":[1]}]}`, "no JSON object"},
		{`{"tool_calls":[{"name":"x","args":"{}"}]}`, "no JSON object"},
	} {
		_, err := script.Parse("dir/t.jsonl", strings.NewReader("{}\n\n"+c.line+"\n{}"))
		var e *script.Error
		if !errors.As(err, &e) || e.File != "dir/t.jsonl" || e.Line != 3 || e.Kind != script.Syntax {
			t.Errorf("%s: error %v", c.line, err)
			continue
		}
		if s := err.Error(); !strings.HasPrefix(s, "dir/t.jsonl:3: ") || !strings.Contains(s, c.want) {
			t.Errorf("%s: error %q, want %q", c.line, s, c.want)
		}
	}
}

func TestNewRefusesLate(t *testing.T) {
	_, err := ask(t.Context(), script.New(script.Line{}, script.Line{Finish: "x"}), &model.Request{})
	var e *script.Error
	if !errors.As(err, &e) || e.Kind != script.Syntax || e.Line != 2 {
		t.Errorf("error %v", err)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	if err := os.WriteFile(path, []byte(`{"text":"hi"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := script.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ask(t.Context(), m, &model.Request{}); err != nil || got.Text() != "hi" || m.Name() != "script:"+path {
		t.Errorf("%s says %q, %v", m.Name(), got.Text(), err)
	}
	if _, err := script.Open(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	if _, err := script.Open(filepath.Dir(path)); err == nil {
		t.Error("a directory: no error")
	}
	if _, err := script.Parse("x", broken{}); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("broken reader: %v", err)
	}
}

func TestBigLine(t *testing.T) {
	text := strings.Repeat("0123456789abcdéf", 10<<16)
	var b bytes.Buffer
	if err := script.Write(&b, []script.Line{{Text: text}, {Text: "next"}}); err != nil {
		t.Fatal(err)
	}
	if b.Len() < 10<<20 {
		t.Fatalf("only %d bytes", b.Len())
	}
	m, err := script.Parse("big", &b)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ask(t.Context(), m, &model.Request{})
	if err != nil || got.Text() != text {
		t.Errorf("%d bytes came back, want %d (%v)", len(got.Text()), len(text), err)
	}
}

func TestErrors(t *testing.T) {
	for kind, sentinel := range map[model.Kind]error{
		model.Overloaded: model.ErrOverloaded, model.RateLimited: model.ErrRateLimited,
		model.ContextOverflow: model.ErrContextOverflow, model.Auth: model.ErrAuth,
	} {
		m := mustParse(t, fmt.Sprintf(`{"text":"part","error":%q}`, kind), `{"text":"fine"}`)
		got, err := ask(t.Context(), m, &model.Request{Attempt: 1})
		var e *model.Error
		if !errors.Is(err, sentinel) || !errors.As(err, &e) || e.Kind != kind || got.Text() != "part" || got.Finish != "" {
			t.Errorf("%s: %v after %q, finish %q", kind, err, got.Text(), got.Finish)
		}
		if got, err := ask(t.Context(), m, &model.Request{Attempt: 2}); err != nil || got.Text() != "fine" {
			t.Errorf("%s: the retry says %q, %v", kind, got.Text(), err)
		}
	}
}

func TestExpect(t *testing.T) {
	call := message.ToolCall{ID: "c1", Name: "execute"}
	talk := []*message.Message{
		message.NewUser("please fix it"),
		message.NewAssistant("ok"), message.NewTool(call, message.Success, "old result"),
		message.NewAssistant("again"),
		message.NewTool(call, message.Success, "--- FAIL: TestX"), message.NewTool(call, message.Success, "second"),
	}
	lines := func(expect string) *script.Model {
		return mustParse(t, `{}`, `{}`, `{"expect":`+expect+`,"text":"go"}`)
	}
	for _, ok := range []string{`["FAIL"]`, `["FAIL","second","fix it"]`} {
		if got, err := ask(t.Context(), lines(ok), &model.Request{Messages: talk}); err != nil || got.Text() != "go" {
			t.Errorf("%s: %v", ok, err)
		}
	}
	for _, bad := range []string{`["old result"]`, `["FAIL","again"]`, `["PASS"]`} {
		_, err := ask(t.Context(), lines(bad), &model.Request{Messages: talk})
		var e *script.Error
		if !errors.As(err, &e) || e.Kind != script.Expect || e.Line != 3 {
			t.Errorf("%s: error %v", bad, err)
			continue
		}
		for _, shown := range []string{"--- FAIL: TestX", "second", "please fix it"} {
			if !strings.Contains(err.Error(), shown) {
				t.Errorf("%s: %q is not shown in %v", bad, shown, err)
			}
		}
		var me *model.Error
		if !errors.As(err, &me) || me.Kind != model.Other || me.Retryable() {
			t.Errorf("%s: as a model error: %v", bad, me)
		}
	}
}

func TestExpectShowsABoundedText(t *testing.T) {
	call := message.ToolCall{ID: "c1", Name: "execute"}
	talk := []*message.Message{message.NewUser(strings.Repeat("é", 100_000)), message.NewAssistant("")}
	for range 500 {
		talk = append(talk, message.NewTool(call, message.Success, strings.Repeat("x", 100_000)))
	}
	_, err := ask(t.Context(), mustParse(t, `{}`, `{"expect":["PASS"]}`), &model.Request{Messages: talk})
	if err == nil || len(err.Error()) > 6000 || !utf8.ValidString(err.Error()) || !strings.Contains(err.Error(), "more results") {
		t.Errorf("error of %d bytes: %.300v", len(err.Error()), err)
	}
}

func TestExhausted(t *testing.T) {
	m := mustParse(t, `{"text":"one"}`, `{"agent":"sub","text":"s"}`)
	_, err := ask(t.Context(), m, &model.Request{Messages: []*message.Message{message.NewUser("hey"), message.NewAssistant("one")}})
	var e *script.Error
	if !errors.As(err, &e) || e.Kind != script.Exhausted || e.File != "t.jsonl" || e.Line != 1 ||
		!strings.Contains(err.Error(), "script exhausted") || !strings.Contains(err.Error(), "hey") {
		t.Errorf("error %v", err)
	}
	_, err = ask(t.Context(), m, &model.Request{Agent: "nobody"})
	if !errors.As(err, &e) || e.Line != 0 || !strings.Contains(err.Error(), `script exhausted: no line is left for agent "nobody"`) {
		t.Errorf("error %v", err)
	}
	if _, err = ask(t.Context(), mustParse(t), &model.Request{}); !errors.As(err, &e) {
		t.Errorf("empty script: %v", err)
	}
}

func TestDelayEndsWithTheContext(t *testing.T) {
	why := errors.New("why")
	ctx, cancel := context.WithCancelCause(t.Context())
	go cancel(why)
	_, err := ask(ctx, mustParse(t, `{"delay_ms":3600000}`), &model.Request{})
	if !errors.Is(err, context.Canceled) || !errors.Is(err, why) {
		t.Errorf("error %v", err)
	}
	if got, err := ask(t.Context(), mustParse(t, `{"delay_ms":1,"text":"x"}`), &model.Request{}); err != nil || got.Text() != "x" {
		t.Errorf("after a delay: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"v":1,"agent":"a","when":"b","expect":["c"],"text":"d","tool_calls":[{"id":"x","name":"ls","args":{"a": 1}}]}`))
	f.Add([]byte("{\"usage\":{\"input\":1},\"delay_ms\":0,\"error\":\"auth\"}\n\r\n{\"finish\":\"length\"}"))
	f.Add([]byte(`{"tool_calls":[{"name":"x","args_raw":"{"}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := script.Parse("f", bytes.NewReader(b))
		var e *script.Error
		switch {
		case err == nil:
			if _, err := ask(canceled(), m, &model.Request{}); err == nil {
				t.Error("an answer after the end of the context")
			}
		case !errors.As(err, &e) || e.Line < 1 || e.Kind != script.Syntax:
			t.Errorf("error without a place: %v", err)
		}
	})
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
