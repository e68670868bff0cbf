package script_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/script"
	"github.com/deepagents-go/deepagents/run"
	"github.com/deepagents-go/deepagents/run/runtest"
	"github.com/deepagents-go/deepagents/state"
)

// TestPosition plays conversations: "u:text" is a user text, "a" an assistant message of no named agent, "b" one of another agent, "cut" one that was cut,
// "t" a tool result, "N:text" what attempt N must say now ("!kind" for an error), which a normal answer then adds to the
// conversation.
func TestPosition(t *testing.T) {
	for _, c := range []struct {
		name, agent string
		lines       []string
		steps       string
	}{
		{"one block in order", "", []string{`{"text":"1"}`, `{"text":"2"}`}, "u:x 1:1 t 1:2 1:!exhausted"},
		{"main by name", "main", []string{`{"text":"1"}`, `{"agent":"main","text":"2"}`}, "1:1 1:2"},
		{"agents apart", "sub", []string{`{"text":"1"}`, `{"agent":"sub","text":"s1"}`, `{"text":"2"}`, `{"agent":"sub","text":"s2"}`}, "u:x 1:s1 1:s2 1:!exhausted"},
		{"lines of another agent do not end a block", "", []string{`{"when":"x","text":"1"}`, `{"agent":"sub","when":"y","text":"s"}`, `{"text":"2"}`}, "u:x 1:1 1:2"},
		{"foreign answers count", "", []string{`{"text":"1"}`, `{"text":"2"}`, `{"text":"3"}`}, "u:x a a 1:3"},
		{"answers of another agent do not", "", []string{`{"text":"1"}`, `{"text":"2"}`}, "u:x b 1:1 b b 1:2"},
		{"nor in blocks", "", []string{`{"when":"x","text":"1"}`, `{"text":"2"}`}, "u:x b 1:1 b b 1:2"},
		{"when selects", "", []string{`{"when":"foo","text":"f"}`, `{"when":"bar","text":"b"}`}, "u:a-bar-b 1:b 1:!exhausted u:foo 1:f"},
		{"when, nothing eligible", "", []string{`{"when":"foo","text":"f"}`}, "u:other 1:!exhausted"},
		{"when counts inside the block", "", []string{`{"when":"foo","text":"f1"}`, `{"text":"f2"}`, `{"when":"bar","text":"b1"}`, `{"text":"b2"}`}, "u:foo 1:f1 u:bar 1:b1 u:foo 1:f2 u:bar 1:b2 1:!exhausted"},
		{"leading lines first, always", "", []string{`{"text":"0"}`, `{"when":"foo","text":"f"}`}, "u:foo 1:0 1:f"},
		{"same when twice", "", []string{`{"when":"foo","text":"f1"}`, `{"when":"foo","text":"f2"}`}, "u:foo 1:f1 1:f2 1:!exhausted"},
		{"both eligible: file order", "", []string{`{"when":"a","text":"a"}`, `{"when":"b","text":"b"}`}, "u:b-and-a 1:a 1:b"},
		{"a user message without text is no user text", "", []string{`{"when":"a","text":"1"}`, `{"text":"2"}`}, "u:a 1:1 u: 1:2"},
		{"foreign answers with no eligible line count for nothing", "", []string{`{"when":"foo","text":"f"}`}, "u:hello a a u:foo 1:f"},
		{"errors are met by attempts", "", []string{`{"error":"overloaded"}`, `{"error":"rate_limited"}`, `{"text":"1"}`, `{"text":"2"}`}, "0:!overloaded 1:!overloaded 2:!rate_limited 3:1 1:2"},
		{"errors again after a restart", "", []string{`{"text":"1"}`, `{"error":"auth"}`, `{"text":"2"}`, `{"text":"3"}`}, "1:1 1:!auth 1:!auth 2:2 1:3"},
		{"error at the end", "", []string{`{"text":"1"}`, `{"error":"auth"}`}, "1:1 1:!auth 2:!exhausted"},
		{"error at the end of a block", "", []string{`{"error":"auth"}`, `{"when":"x","text":"x1"}`, `{"text":"x2"}`}, "u:x 1:!auth 2:x1 1:x2"},
		{"a cut answer that was stored is its error line", "", []string{`{"text":"p","error":"overloaded"}`, `{"text":"1"}`}, "cut 1:1"},
		{"a cut answer of a normal line is that line", "", []string{`{"text":"1"}`, `{"error":"auth"}`, `{"text":"2"}`}, "cut 1:!auth 2:2"},
		{"more attempts than errors", "", []string{`{"text":"1"}`, `{"text":"2"}`}, "7:1 7:2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := mustParse(t, c.lines...)
			var talk []*message.Message
			for step := range strings.FieldsSeq(c.steps) {
				kind, text, _ := strings.Cut(step, ":")
				switch kind {
				case "u":
					talk = append(talk, message.NewUser(text))
				case "t":
					talk = append(talk, message.NewTool(message.ToolCall{ID: "x"}, message.Success, "r"))
				case "a", "b", "cut":
					a := message.NewAssistant("foreign")
					if kind != "cut" {
						a.Finish = "stop"
					}
					if kind == "b" {
						a.Name = "another"
					}
					talk = append(talk, a)
				default:
					talk = play(t, m, &model.Request{Agent: c.agent, Messages: talk, Attempt: int(kind[0] - '0')}, text)
				}
			}
		})
	}
}

// play asks once, checks the answer and returns the conversation after it.
func play(t *testing.T, m model.Model, r *model.Request, want string) []*message.Message {
	t.Helper()
	got, err := ask(t.Context(), m, r)
	kind, fails := strings.CutPrefix(want, "!")
	if !fails {
		if err != nil || got.Text() != want {
			t.Fatalf("after %d messages, attempt %d: %q, %v, want %q", len(r.Messages), r.Attempt, got.Text(), err, want)
		}
		got.Name = cmp.Or(r.Agent, "main") // as the loop does
		return append(r.Messages, got)
	}
	var se *script.Error
	var me *model.Error
	failed := ""
	switch {
	case errors.As(err, &se):
		failed = string(se.Kind)
	case errors.As(err, &me):
		failed = string(me.Kind)
	}
	if failed != kind {
		t.Fatalf("after %d messages, attempt %d: %q, %v, want an error %s", len(r.Messages), r.Attempt, got.Text(), err, kind)
	}
	return r.Messages
}

// TestPositionIsOfTheConversation: whatever is asked in between, by whatever model value, a conversation gets the same answer.
func TestPositionIsOfTheConversation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) script.Line {
			return script.Line{
				When:  rapid.SampledFrom([]string{"", "", "a", "b"}).Draw(t, "when"),
				Error: rapid.SampledFrom([]model.Kind{"", "", "", model.Overloaded}).Draw(t, "error"),
			}
		}), 1, 12).Draw(t, "lines")
		for i := range lines {
			lines[i].Text = fmt.Sprint(i)
		}
		users := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ab", "c"}), 1, 12).Draw(t, "users")

		played := make(map[string]bool)
		var talk []*message.Message
		m := script.New(lines...)
		for _, u := range users {
			talk = append(talk, message.NewUser(u))
			for attempt := 1; ; attempt++ {
				got, err := ask(context.Background(), m, &model.Request{Messages: talk, Attempt: attempt})
				again, errAgain := ask(context.Background(), script.New(lines...), &model.Request{Messages: talk, Attempt: attempt})
				if got.Text() != again.Text() || fmt.Sprint(err) != fmt.Sprint(errAgain) {
					t.Fatalf("%q, %v, then %q, %v", got.Text(), err, again.Text(), errAgain)
				}
				var se *script.Error
				if errors.As(err, &se) {
					break
				}
				if played[got.Text()] {
					t.Fatalf("line %s played twice", got.Text())
				}
				if err == nil {
					played[got.Text()] = true
					talk = append(talk, got)
					break
				}
			}
		}
	})
}

// noState is a run without a state.
type noState struct{ runtest.Scope }

func (*noState) State() *state.Tx { return nil }

// scopeOf is a run whose state holds a conversation.
func scopeOf(t testing.TB, agent string, msgs ...*message.Message) run.Scope {
	t.Helper()
	schema, err := state.NewSchema(state.Messages.Field())
	if err != nil {
		t.Fatal(err)
	}
	tx := state.NewTx(schema.New())
	if err := tx.Write(state.Append(msgs...)); err != nil {
		t.Fatal(err)
	}
	return &runtest.Scope{RunInfo: run.Info{Agent: agent}, Tx: tx}
}

// TestCompaction: the thread's conversation counts, not the shortened one of the request.
func TestCompaction(t *testing.T) {
	m := mustParse(t, `{"text":"1"}`, `{"text":"2"}`, `{"when":"task","text":"3"}`, `{"agent":"summary","text":"s"}`)
	whole := []*message.Message{message.NewUser("the task"), message.NewAssistant("1"), message.NewAssistant("2")}
	short := []*message.Message{message.NewUser("summary of what was said")}
	for _, c := range []struct {
		name    string
		scope   run.Scope
		agent   string
		request []*message.Message
		want    string
	}{
		{"the thread", scopeOf(t, "", whole...), "main", short, "3"},
		{"no conversation in the state", scopeOf(t, "main"), "", whole, "3"},
		{"no state", &noState{runtest.Scope{RunInfo: run.Info{Agent: "main"}}}, "", whole, "3"},
		{"another agent asks inside the run", scopeOf(t, "main", whole...), "summary", short, "s"},
	} {
		r := &model.Request{Agent: c.agent, Messages: c.request}
		got, err := ask(run.With(t.Context(), c.scope), m, r)
		if err != nil || got.Text() != c.want {
			t.Errorf("%s: %q, %v, want %q", c.name, got.Text(), err, c.want)
		}
	}
}

// BenchmarkTurn plays turn 1,000 of a conversation with one tool call a turn.
func BenchmarkTurn(b *testing.B) {
	for name, extra := range map[string][]script.Line{
		"one block": nil,
		"blocks":    {{When: "other", Text: "x"}, {When: "task", Text: "y"}},
	} {
		b.Run(name, func(b *testing.B) {
			lines := make([]script.Line, 1000, 1002)
			talk := []*message.Message{message.NewUser("task")}
			for i := range lines {
				call := script.ToolCall{ID: fmt.Sprint(i), Name: "ls", Args: json.RawMessage(`{"path":"/"}`)}
				lines[i] = script.Line{ToolCalls: []script.ToolCall{call}}
				if i > 0 {
					talk = append(talk, message.NewAssistant(""), message.NewTool(message.ToolCall{ID: "x"}, message.Success, "[]"))
				}
			}
			m := script.New(append(lines, extra...)...)
			ctx := run.With(b.Context(), scopeOf(b, "main", talk...))
			r := &model.Request{}
			b.ReportAllocs()
			for b.Loop() {
				for _, err := range m.Stream(ctx, r) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
