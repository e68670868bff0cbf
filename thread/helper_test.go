package thread_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/state"
	"github.com/deepagents-go/deepagents/thread"
	"github.com/deepagents-go/deepagents/thread/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	trail  = state.NewKey("trail", func(v, u string) (string, error) { return v + u, nil }, state.Options{})
	secret = state.NewKey("secret", func(v, u string) (string, error) { return v + u, nil }, state.Options{Private: true})
	single = state.Last[string]("single", state.Options{})
)

type tb interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

func newSchema(t tb, fs ...*state.Field) *state.Schema {
	t.Helper()
	s, err := state.NewSchema(append(fs, state.Messages.Field())...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func keys(t tb) *state.Schema {
	t.Helper()
	return newSchema(t, trail.Field(), secret.Field(), single.Field())
}

// log writes one thread of a store.
type log struct {
	tb
	ctx    context.Context
	store  thread.Store
	lease  thread.Lease
	schema *state.Schema
	j      *thread.Journal
	ids    int
	run    string
	step   int
}

func newLog(t tb, schema *state.Schema) *log {
	t.Helper()
	l := &log{tb: t, ctx: context.Background(), store: memory.New(), schema: schema, run: "r1"}
	var err error
	if l.lease, err = l.store.Acquire(l.ctx, "t", "test", time.Hour); err != nil {
		t.Fatal(err)
	}
	l.open(thread.NewView(schema))
	return l
}

func (l *log) open(v *thread.View) {
	l.j = thread.NewJournal(thread.JournalConfig{
		Store: l.store, Thread: "t", Lease: l.lease, RunID: l.run, View: v,
		NewID: func() thread.ID { l.ids++; return thread.ID(fmt.Sprint("i", l.ids)) },
		Now:   func() time.Time { return time.Unix(int64(l.ids), 0).UTC() },
	})
}

func (l *log) entry(ns string, b thread.Body) thread.Entry { return l.j.NewEntry(ns, l.step, b) }

// add appends records to a namespace and returns their ids.
func (l *log) add(ns string, bs ...thread.Body) []thread.ID {
	l.Helper()
	es := make([]thread.Entry, len(bs))
	for i, b := range bs {
		es[i] = l.entry(ns, b)
	}
	return l.append(es...)
}

func (l *log) append(es ...thread.Entry) []thread.ID {
	l.Helper()
	ids := make([]thread.ID, len(es))
	for i, e := range es {
		ids[i] = e.ID
	}
	if err := l.j.Append(l.ctx, true, es...); err != nil {
		l.Fatal(err)
	}
	return ids
}

// commit ends a step and returns the id of the commit.
func (l *log) commit(ns, next string, applied ...thread.ID) thread.ID {
	l.Helper()
	id := l.add(ns, &thread.Commit{Source: thread.SourceLoop, Node: "n" + next, Next: next, Applied: applied})[0]
	l.step++
	return id
}

// live returns the journal's own view.
func (l *log) live() (v *thread.View) {
	l.j.View(func(w *thread.View) { v = w })
	return v
}

func (l *log) load() *thread.View {
	l.Helper()
	v, err := thread.Load(l.ctx, l.store, "t", "", l.schema)
	if err != nil {
		l.Fatal(err)
	}
	return v
}

// unsnapped folds all records, as if there were no snapshots.
func (l *log) unsnapped(schema *state.Schema) *thread.View {
	l.Helper()
	v := thread.NewView(schema)
	for _, r := range l.records() {
		b, err := thread.Decode(r)
		if err != nil {
			l.Fatal(err)
		}
		if r.Kind == thread.KindSnapshot {
			continue
		}
		if err := v.Apply(thread.Entry{Record: r, Body: b}); err != nil {
			l.Fatal(err)
		}
	}
	return v
}

func (l *log) records(kinds ...thread.Kind) []thread.Record {
	l.Helper()
	var out []thread.Record
	for r, err := range l.store.Read(l.ctx, "t", thread.Query{Prefix: true, Kinds: kinds}) {
		if err != nil {
			l.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

func answer(id, text string) *thread.Model {
	m := message.NewAssistant(text)
	m.ID = id
	return &thread.Model{Message: m}
}

func ended(task, text string, us ...state.Update) *thread.CallEnded {
	m := message.NewTool(message.ToolCall{ID: task, Name: "tool"}, message.Success, text)
	m.ID = "m-" + task
	return &thread.CallEnded{Task: task, Message: m, Outcome: thread.OK, Updates: us}
}

func updated(node string, us ...state.Update) *thread.Update {
	return &thread.Update{Node: node, Updates: us}
}

// texts shows a conversation.
func texts(s state.State) string {
	var out []string
	for _, m := range state.Messages.In(s).All() {
		out = append(out, m.ID+":"+m.Text())
	}
	return strings.Join(out, " ")
}

// describe shows everything that a view tells, with the state as JSON.
func describe(t tb, v *thread.View) string {
	t.Helper()
	out := map[string]any{
		"branch": v.Branch, "run": v.RunID, "started": v.RunStarted, "ended": v.RunEnded, "crashed": v.Crashed(), "open": v.Open(),
	}
	st, err := v.Root.State.Encode()
	if err != nil {
		t.Fatal(err)
	}
	out["state"] = st
	out["root"] = space(v.Root)
	raw, err := json.MarshalIndent(out, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func space(s *thread.Space) map[string]any {
	var done []string
	for task, e := range s.Ended {
		done = append(done, task+"="+string(e.ID))
	}
	slices.Sort(done)
	return map[string]any{
		"head": s.Head, "seq": s.HeadSeq, "step": s.Step, "next": s.Next, "node": s.Node, "source": s.Source, "ended": done,
		"started": len(s.Started), "flying": len(s.Flying), "once": len(s.OnceValues), "interrupts": len(s.Interrupts),
		"answers": len(s.Answers), "answered": len(s.Answered), "replaced": len(s.Replaced), "granted": len(s.Granted), "empty": s.Empty(),
	}
}
