package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/model/script"
	"github.com/deepagents-go/deepagents/run"
	"github.com/deepagents-go/deepagents/state"
	"github.com/deepagents-go/deepagents/thread"
	"github.com/deepagents-go/deepagents/thread/memory"
	"github.com/deepagents-go/deepagents/tool"
)

// meter counts the bytes of records and of snapshots at every append.
type meter struct {
	thread.Store
	mu                 sync.Mutex
	records, snapshots int64
	worst              float64
	n                  int
}

func (m *meter) Append(ctx context.Context, id string, a thread.Append) (int64, error) {
	m.mu.Lock()
	for _, r := range a.Records {
		if r.Kind == thread.KindSnapshot {
			m.snapshots += int64(len(r.Data))
			m.n++
		} else {
			m.records += int64(len(r.Data))
		}
	}
	m.worst = max(m.worst, float64(m.records+m.snapshots)/float64(m.records))
	m.mu.Unlock()
	return m.Store.Append(ctx, id, a)
}

// blob is a key that holds a text.
var blob = state.Last[string]("blob", state.Options{})

func writer(size func(i int) int) tool.Tool {
	return fn("w", tool.Hints{ReadOnly: true}, func(ctx context.Context, a map[string]any) (tool.Result, error) {
		i := int(a["i"].(float64))
		s, _ := run.From(ctx)
		return tool.Text(strings.Repeat("r", 100)), s.State().Write(blob.Update(strings.Repeat("x", size(i))), notes.Overwrite([]string{fmt.Sprint(i)}))
	})
}

// TestStorageBound is the journal's promise: records and snapshots together are at most 2.2 times the records, at every append
// of 1,000 turns, in one run or in many, whatever the state does; and the snapshot folds to the same state as all records.
func TestStorageBound(t *testing.T) {
	const turns = 1000
	ls := make([]script.Line, 0, turns+1)
	for i := range turns {
		ls = append(ls, calls(call(fmt.Sprint("c", i), "w", fmt.Sprintf(`{"i":%d}`, i))))
	}
	ls = append(ls, say("done"))
	for _, c := range []struct {
		name  string
		size  func(i int) int
		batch int // turns of a run
	}{
		{"small state", func(int) int { return 10 }, turns + 1},
		{"growing state", func(i int) int { return i * 4 }, turns + 1},
		{"shrinking state", func(i int) int { return (turns - i) * 4 }, turns + 1},
		{"one huge value", func(i int) int {
			if i == 3 {
				return 1 << 20
			}
			return 10
		}, turns + 1},
		{"small state, many runs", func(int) int { return 10 }, 29},
		{"growing state, many runs", func(i int) int { return i * 4 }, 29},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &meter{Store: memory.New()}
			defer m.Close()
			a := mustNew(t, agent.Config{
				Model: lines(ls...), Threads: m, Tools: []tool.Tool{writer(c.size)}, Fields: []*state.Field{blob.Field(), notes.Field()},
				Limits: agent.Limits{Turns: c.batch},
			})
			in := agent.Input{Thread: "t", Text: "go"}
			var res *agent.Result
			for range turns + 1 {
				var err error
				if res, err = a.Run(context.Background(), in); err == nil {
					break
				}
				in.Text = ""
			}
			if res.Text != "done" {
				t.Fatalf("%+v", res)
			}
			if m.worst > 2.2 {
				t.Errorf("at the worst append the thread took %.2f times its records (%d snapshots)", m.worst, m.n)
			}
			if m.n == 0 {
				t.Error("no snapshot was taken")
			}
			t.Logf("%s: at most %.2f times the records, %d snapshots, %d bytes", c.name, m.worst, m.n, m.records)
			sameFold(t, m, a.Schema(), res.State)
		})
	}
}

// sameFold loads a thread from its snapshot and from all of its records.
func sameFold(t *testing.T, s thread.Store, schema *state.Schema, want state.State) {
	t.Helper()
	short, err := thread.Load(context.Background(), s, "t", "", schema)
	if err != nil {
		t.Fatal(err)
	}
	whole := thread.NewView(schema)
	n := 0
	for rec, err := range s.Read(context.Background(), "t", thread.Query{Prefix: true}) {
		if err != nil {
			t.Fatal(err)
		}
		b, err := thread.Decode(rec)
		if err != nil {
			t.Fatal(err)
		}
		if err := whole.Apply(thread.Entry{Record: rec, Body: b}); err != nil {
			t.Fatal(err)
		}
		n++
	}
	read := 0
	for _, err := range s.Read(context.Background(), "t", thread.Query{Prefix: true, FromSnapshot: true}) {
		if err != nil {
			t.Fatal(err)
		}
		read++
	}
	if read >= n {
		t.Errorf("the snapshot saves nothing: %d of %d records are read", read, n)
	}
	encode := func(st state.State) string {
		raw, err := st.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	if encode(short.Root.State) != encode(whole.Root.State) || encode(short.Root.State) != encode(want) {
		t.Error("the snapshot and the records fold to different states")
	}
	a, b := short.Root, whole.Root
	if a.Head != b.Head || a.HeadSeq != b.HeadSeq || a.Step != b.Step || a.Next != b.Next || short.Seq != whole.Seq || short.RunID != whole.RunID ||
		(short.RunEnded == nil) != (whole.RunEnded == nil) || (short.RunStarted == nil) != (whole.RunStarted == nil) {
		t.Errorf("the views differ: %+v\n%+v", a, b)
	}
}

// A thread that is pruned goes on as if nothing had been removed; questions, decisions and once values survive a snapshot that
// lies between.
func TestPrunedThreadGoesOn(t *testing.T) {
	s := memory.New()
	defer s.Close()
	var l log
	big := strings.Repeat("y", 90<<10)
	noise := fn("noise", tool.Hints{ReadOnly: true}, func(context.Context, map[string]any) (tool.Result, error) { return tool.Text(big), nil })
	grant := &mw{name: "g", afterModel: func(_ context.Context, x *agent.Turn) error {
		for _, c := range x.Calls() {
			if c.CallID == "h" {
				return x.Answer(c.ID, tool.Text("by hook"))
			}
		}
		return nil
	}}
	ls := append(slices.Repeat([]script.Line{calls(call("n", "noise"))}, 300), calls(call("a", "ask", `{"q":"Q"}`), call("h", "noise")), say("done"))
	ls[0].When, ls[300].When = "make noise", "ask me"
	c := agent.Config{Threads: s, Tools: []tool.Tool{noise, asker(&l)}, Middleware: []agent.Middleware{untilSnapshot(t, s)}}
	newRig(t, c, ls...).run(agent.Input{Text: "make noise"})
	c.Middleware = []agent.Middleware{grant}
	r := newRig(t, c, ls...)
	res := r.run(agent.Input{Text: "ask me"})
	if res.Status != thread.Waiting {
		t.Fatalf("%+v", res)
	}
	before := len(r.records())
	lease, err := s.Acquire(context.Background(), "t", "me", patience)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Prune(context.Background(), "t", lease.Fence()); err != nil {
		t.Fatal(err)
	}
	if err := lease.Release(context.Background()); err != nil {
		t.Fatal(err)
	}
	if after := len(r.records()); after >= before {
		t.Errorf("nothing was pruned: %d of %d records", after, before)
	}
	res = r.run(agent.Input{Answers: []agent.Answer{reply("", "A")}})
	if res.Text != "done" || resultOf(t, res, "a").Text() != "A" || resultOf(t, res, "h").Text() != "by hook" {
		t.Errorf("%d results", len(results(res)))
	}
	if got := outline(messages(res)); !strings.HasPrefix(got, "user assistant(n) n=success") || !strings.HasSuffix(got, "user assistant(a,h) a=success h=success assistant") {
		t.Error(got)
	}
}

// Snapshots hold what the state holds, whatever its keys are called and whoever owns them.
func TestSnapshotOfOddState(t *testing.T) {
	odd := state.NewKey("odd \"key\" <&>\u2028", func(a map[string]int, b string) (map[string]int, error) {
		c := make(map[string]int, len(a)+1)
		for k, v := range a {
			c[k] = v
		}
		c[b]++
		return c, nil
	}, state.Options{Private: true})
	s := memory.New()
	defer s.Close()
	x := fn("x", tool.Hints{}, func(context.Context, map[string]any) (tool.Result, error) {
		res := tool.Text(strings.Repeat("\u0001\u2028<>&\"\\ é", 10<<10))
		res.Update = []state.Update{odd.Update("\x00<&>"), state.RawUpdate("stranger", false, json.RawMessage(`{"a":[1,2]}`)), state.RawUpdate("stranger", true, json.RawMessage(`null`))}
		return res, nil
	})
	ls := slices.Repeat([]script.Line{calls(call("c", "x"))}, 300)
	r := newRig(t, agent.Config{Threads: s, Tools: []tool.Tool{x}, Fields: []*state.Field{odd.Field()}, Middleware: []agent.Middleware{untilSnapshot(t, s)}}, ls...)
	res := r.run(agent.Input{Text: "go"})
	if odd.In(res.State)["\x00<&>"] != res.Turns {
		t.Errorf("%v", odd.In(res.State))
	}
	sameFold(t, s, r.agent.Schema(), res.State)
}
