package thread_test

import (
	"strings"
	"testing"
	"time"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/state"
	"github.com/deepagents-go/deepagents/thread"
	"github.com/deepagents-go/deepagents/thread/memory"
)

// note is an update of a text that knows which text it was written for.
type note struct {
	Base string `json:"base"`
	Text string `json:"text"`
}

func (n note) Conflicts(v string) []string {
	if n.Base == v {
		return nil
	}
	return []string{"/report.md"}
}

var report = state.NewKey("report", func(_ string, n note) (string, error) { return n.Text, nil }, state.Options{})

// TestReplaced is the end of design decision F18: of two calls that changed one thing without knowing of each other, the later
// one wins and says so.
func TestReplaced(t *testing.T) {
	schema, err := state.NewSchema(state.Messages.Field(), report.Field())
	if err != nil {
		t.Fatal(err)
	}
	store := memory.New()
	lease, err := store.Acquire(t.Context(), "t", "test", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	j := thread.NewJournal(thread.JournalConfig{
		Store: store, Thread: "t", Lease: lease, RunID: "r", View: thread.NewView(schema), Now: time.Now,
		NewID: func() thread.ID { n++; return thread.ID(rune('a' + n)) },
	})
	defer j.Close()
	call := func(id, text string) thread.Entry {
		m := message.NewTool(message.ToolCall{ID: id, Name: "task"}, message.Success, "done")
		m.ID = "m" + id
		return j.NewEntry("", 0, &thread.CallEnded{Task: id, Message: m, Outcome: thread.OK, Updates: []state.Update{report.Update(note{Text: text})}})
	}
	es := []thread.Entry{call("1", "first"), call("2", "second")}
	c := &thread.Commit{Source: thread.SourceLoop, Next: thread.NodeEnd, Applied: []thread.ID{es[0].ID, es[1].ID}}
	j.View(func(v *thread.View) { v.Root.Check(c, es) })
	if err := j.Append(t.Context(), true, append(es, j.NewEntry("", 0, c))...); err != nil {
		t.Fatal(err)
	}
	v, err := thread.Load(t.Context(), store, "t", "", schema)
	if err != nil {
		t.Fatal(err)
	}
	if got := report.In(v.Root.State); got != "second" {
		t.Errorf("report is %q, want the later call's", got)
	}
	msgs := state.Messages.In(v.Root.State)
	if text := msgs.At(0).Text(); text != "done" {
		t.Errorf("the first result changed: %q", text)
	}
	if text := msgs.At(1).Text(); !strings.Contains(text, "/report.md") || !strings.HasPrefix(text, "done") {
		t.Errorf("the second result does not tell: %q", text)
	}
}
