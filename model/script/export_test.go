package script_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/script"
)

func TestFromMessagesReplays(t *testing.T) {
	cut := message.ToolCall{ID: "b", Name: "write_file", Raw: `{"p`, Invalid: model.CutOff}
	assistant := func(finish string, parts ...message.Part) *message.Message {
		return &message.Message{Role: message.Assistant, Finish: finish, Parts: parts}
	}
	want := []*message.Message{
		assistant(
			"tool_calls", message.Reasoning{Text: "<think>"}, message.Text{Text: "a\nb & c"},
			message.ParseCall("a", "ls", `{"path":"/<x>"}`), message.ParseCall("b", "bad", `{"p`),
		),
		assistant("length", message.ParseCall("a", "ls", ""), cut),
		assistant("stop", message.Text{Text: "called"}, message.ParseCall("c", "ls", "{}")),
		assistant("length", message.Text{Text: "too lo"}),
		{Role: message.Assistant, Finish: "stop", Parts: message.Parts{}, Usage: &message.Usage{Input: 3, Output: 4, Total: 7, Reasoning: 1}},
	}
	var talk []*message.Message
	for _, m := range want {
		talk = append(talk, message.NewUser("go on"), m)
		for _, c := range m.Calls() {
			talk = append(talk, message.NewTool(c, message.Success, "r"))
		}
	}
	var b bytes.Buffer
	if err := script.Write(&b, script.FromMessages("sub", talk)); err != nil {
		t.Fatal(err)
	}
	if first, _, _ := strings.Cut(b.String(), "\n"); !strings.HasPrefix(first, `{"v":1,"agent":"sub","text":"a\nb & c","reasoning":"<think>"`) {
		t.Errorf("first line %s", first)
	}
	m, err := script.Parse("export", &b)
	if err != nil {
		t.Fatal(err)
	}
	var got []*message.Message
	for range want {
		next, err := ask(t.Context(), m, &model.Request{Agent: "sub", Messages: got})
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, next)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestFromMessagesIsAlwaysValid: what a broken provider sent becomes lines that Parse takes.
func TestFromMessagesIsAlwaysValid(t *testing.T) {
	m := &message.Message{Role: message.Assistant, Finish: "refusal", Parts: message.Parts{
		message.ToolCall{ID: "a", Args: json.RawMessage(`{"x": 1}`)},
		message.ToolCall{ID: "a", Name: "ls", Args: json.RawMessage("{}")},
		message.Opaque{Provider: "p", Data: json.RawMessage("{}")},
		message.Reasoning{Provider: "p", Opaque: json.RawMessage("{}")},
	}}
	var b bytes.Buffer
	if err := script.Write(&b, script.FromMessages("main", []*message.Message{m})); err != nil {
		t.Fatal(err)
	}
	const want = `{"v":1,"tool_calls":[{"id":"a","name":"unnamed","args":{"x":1}},{"name":"ls"}]}` + "\n"
	if b.String() != want {
		t.Errorf("got %s want %s", b.String(), want)
	}
	if _, err := script.Parse("x", &b); err != nil {
		t.Error(err)
	}
}

func TestWriteErrors(t *testing.T) {
	var e *script.Error
	if err := script.Write(&bytes.Buffer{}, []script.Line{{}, {Finish: "x"}}); !errors.As(err, &e) || e.Line != 2 {
		t.Errorf("bad line: %v", err)
	}
	if err := script.Write(full{}, []script.Line{{}}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("writer: %v", err)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, os.ErrClosed }
