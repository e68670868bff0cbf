package modeltest

import (
	"encoding/json"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model/script"
)

// talk is a conversation in which everything goes back to the model that it said before: reasoning, calls in parallel, a call
// that is broken, results that failed, that hold an image and that came in another order. The server finds its place in the
// script, and what a line expects, only when all of it arrives.
func talk() []script.Line {
	call := func(id, path string) script.ToolCall {
		return script.ToolCall{ID: id, Name: "ls", Args: json.RawMessage(`{"path":"` + path + `"}`)}
	}
	return []script.Line{
		{
			Reasoning: "Three at once.", Text: "I look.",
			ToolCalls: []script.ToolCall{call("call_a", "/a"), {ID: "call_b", Name: "ls", ArgsRaw: `{"path": /b}`}, call("call_c", "/c")},
		},
		{Expect: []string{"listing of call_a", "Error: call_b", "listing of call_c"}, Reasoning: "Again.", ToolCalls: []script.ToolCall{call("call_a", "/d")}},
		{Expect: []string{"listing of call_a"}, Reasoning: "Enough.", Text: "Two files."},
		{Expect: []string{"thank you"}, Text: "Bye."},
	}
}

func (s suite) conversation(t *testing.T) {
	lines := talk()
	m := s.New(t, lines...)
	r := request()
	r.System = message.Parts{message.Text{Text: "Be brief."}}
	for i, l := range lines {
		if i == len(lines)-1 {
			r.Messages = append(r.Messages, message.NewUser("thank you"))
		}
		got, err := ask(t.Context(), m, r)
		if err != nil {
			t.Fatalf("turn %d: %v", i+1, err)
		}
		if d := gocmp.Diff(want(l), got, answerOptions(l)); d != "" {
			t.Fatalf("turn %d (-want +got):\n%s", i+1, d)
		}
		r.Messages = append(r.Messages, got)
		calls := got.Calls()
		for j := len(calls) - 1; j >= 0; j-- {
			r.Messages = append(r.Messages, outcome(calls[j]))
		}
	}
}

// outcome is what a tool says: an error for a broken call, an image with the text for call_c.
func outcome(c message.ToolCall) *message.Message {
	if c.Invalid != "" {
		return message.NewTool(c, message.Error, "Error: "+c.ID)
	}
	m := message.NewTool(c, message.Success, "listing of "+c.ID)
	if c.ID == "call_c" {
		m.Parts = append(m.Parts, message.Media{Kind: message.Image, MIME: "image/png", Data: []byte("\x89PNG\r\n\x1a\n")})
	}
	return m
}
