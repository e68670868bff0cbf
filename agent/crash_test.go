package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/script"
	"github.com/deepagents-go/deepagents/run"
	"github.com/deepagents-go/deepagents/state"
	"github.com/deepagents-go/deepagents/thread"
	"github.com/deepagents-go/deepagents/thread/memory"
	"github.com/deepagents-go/deepagents/thread/sqlite"
	"github.com/deepagents-go/deepagents/tool"
)

var errKilled = errors.New("killed")

// mortal is a store whose process is killed at an append: before it is stored, or right after.
type mortal struct {
	thread.Store
	mu      sync.Mutex
	at      int // the append that dies, from 1; 0 is none
	stored  bool
	appends int
	dead    bool
}

func (m *mortal) alive() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return errKilled
	}
	return nil
}

func (m *mortal) Append(ctx context.Context, id string, a thread.Append) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return 0, errKilled
	}
	m.appends++
	m.dead = m.appends == m.at
	if m.dead && !m.stored {
		return 0, errKilled
	}
	seq, err := m.Store.Append(ctx, id, a)
	if m.dead {
		return 0, errKilled
	}
	return seq, err
}

func (m *mortal) AppendEvents(ctx context.Context, id string, fence int64, es []thread.Event) error {
	if err := m.alive(); err != nil {
		return err
	}
	return m.Store.AppendEvents(ctx, id, fence, es)
}

func (m *mortal) Acquire(ctx context.Context, id, owner string, ttl time.Duration) (thread.Lease, error) {
	if err := m.alive(); err != nil {
		return nil, err
	}
	// The lease of a dead process ends with it, so its release goes through.
	return m.Store.Acquire(ctx, id, owner, ttl)
}

// world is a scripted conversation with effects outside of the state, and what is known of them.
type world struct {
	t      testing.TB
	store  thread.Store
	model  model.Model
	mu     sync.Mutex
	effect []string
	probes []*probe
	seen   map[int64]string
	once   map[string]int
	kills  int
}

var count = state.NewKey("count", func(a, b int) (int, error) { return a + b, nil }, state.Options{})

// place names a call by the provider's ids that lead to it: "t1/hu".
func place(ns, callID string) string {
	var at []string
	for _, task := range thread.Path(ns) {
		at = append(at, task[strings.LastIndexByte(task, '.')+1:])
	}
	return strings.Join(append(at, callID), "/")
}

func here(ctx context.Context) string {
	s, _ := run.From(ctx)
	return place(s.Info().Namespace, s.Info().CallID)
}

func (w *world) did(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.effect = append(w.effect, here(ctx))
}

// tools are: an unsafe one, a safe one, one that asks, and one that runs a sub-agent.
func (w *world) tools(helper *agent.Agent) []tool.Tool {
	wrote := func(ctx context.Context) (tool.Result, error) {
		s, _ := run.From(ctx)
		res := tool.Text("did " + s.Info().CallID)
		res.Update = []state.Update{notes.Update(here(ctx))}
		return res, nil
	}
	unsafe := acts(fn("unsafe", tool.Hints{}, func(ctx context.Context, _ map[string]any) (tool.Result, error) {
		w.did(ctx)
		return wrote(ctx)
	}))
	safe := acts(fn("safe", tool.Hints{Idempotent: true}, func(ctx context.Context, _ map[string]any) (tool.Result, error) { return wrote(ctx) }))
	ask := acts(fn("ask", tool.Hints{}, func(ctx context.Context, _ map[string]any) (tool.Result, error) {
		s, _ := run.From(ctx)
		one, err := run.Interrupt[string](ctx, run.Question{Kind: "input", Value: "one " + s.Info().CallID, Answer: text})
		if err != nil {
			return tool.Result{}, err
		}
		two, err := run.Interrupt[string](ctx, run.Question{Kind: "input", Value: "two " + s.Info().CallID, Answer: text})
		if err != nil {
			return tool.Result{}, err
		}
		// What is recorded once is the same ever after, and happens again only if the process died before it was recorded.
		n, err := run.Once(ctx, "n", func(context.Context) (string, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.once[here(ctx)]++
			return "n", nil
		})
		if err != nil {
			return tool.Result{}, err
		}
		w.did(ctx)
		return tool.Text(one + ", " + two + n), nil
	}))
	ts := []tool.Tool{unsafe, safe, ask}
	if helper != nil {
		ts = append(ts, fn("task", tool.Hints{Resumable: true}, func(ctx context.Context, a map[string]any) (tool.Result, error) {
			sub, err := helper.Nested(ctx, agent.Input{Text: fmt.Sprint(a["do"])})
			if err != nil {
				return tool.Result{}, err
			}
			res := tool.Text(sub.Text)
			res.Update = sub.Updates
			return res, nil
		}))
	}
	return ts
}

// fresh is what a new process builds on the store.
func (w *world) fresh(s thread.Store) *agent.Agent {
	hooks := &mw{
		name: "h", fields: []*state.Field{notes.Field(), count.Field()},
		before:      func(_ context.Context, r *agent.RunState) error { return r.State().Write(count.Update(1)) },
		beforeModel: func(_ context.Context, x *agent.Turn) error { return x.State().Write(count.Update(10)) },
		afterModel:  func(_ context.Context, x *agent.Turn) error { return x.State().Write(count.Update(100)) },
		after:       func(_ context.Context, r *agent.RunState) error { return r.State().Write(count.Update(1000)) },
	}
	p := newProbe(w.model)
	w.probes = append(w.probes, p)
	helper := mustNew(w.t, agent.Config{Name: "helper", Model: p, Tools: w.tools(nil), Fields: []*state.Field{notes.Field()}})
	return mustNew(w.t, agent.Config{Model: p, Tools: w.tools(helper), Middleware: []agent.Middleware{hooks}, Threads: s})
}

// live runs one process until it ends or is killed, and reports whether there is nothing more to do. choose picks the questions
// that are answered now; nil means all.
func (w *world) live(s *mortal, choose func(n int) []int) (done bool) {
	w.t.Helper()
	if s.at > 0 {
		w.kills++
	}
	a := w.fresh(s)
	v, err := thread.Load(context.Background(), s.Store, "t", "", a.Schema())
	if err != nil {
		w.t.Fatalf("the thread cannot be loaded: %v", err)
	}
	in := agent.Input{Thread: "t"}
	open := v.Open()
	switch {
	case v.Root.Head == "":
		in.Text = "go"
	case len(open) > 0:
		pick := make([]int, len(open))
		for i := range pick {
			pick[i] = i
		}
		if choose != nil {
			pick = choose(len(open))
		}
		for _, i := range pick {
			var q string
			if err := json.Unmarshal(open[i].Value, &q); err != nil {
				w.t.Fatal(err)
			}
			in.Answers = append(in.Answers, reply(open[i].ID, "re "+q))
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := a.Start(ctx, in)
	switch {
	case errors.Is(err, agent.ErrNothingToDo):
		return true
	case errors.Is(err, errKilled):
		return false
	case err != nil:
		w.t.Fatal(err)
	}
	w.watch(ctx, r, s)
	res, err := r.Wait(ctx)
	if err != nil && !errors.Is(err, errKilled) {
		w.t.Fatalf("%v", err)
	}
	return err == nil && res.Status == thread.Done
}

// watch reads a run's events: their numbers go on without a gap, and no number ever stands for two events.
func (w *world) watch(ctx context.Context, r *agent.Run, s *mortal) {
	next := r.Before() + 1
	ended := false
	for ev, err := range r.Events(ctx, r.Before()) {
		if err != nil {
			w.t.Errorf("events: %v", err)
			return
		}
		// While a process dies, the numbers of what it could not store are missing.
		if ev.Seq != next && s.alive() == nil {
			w.t.Errorf("event %d (%s) follows %d", ev.Seq, ev.Data.Type(), next-1)
		}
		next = ev.Seq + 1
		w.same(ev)
		if ended {
			w.t.Errorf("event %d (%s) follows the last one", ev.Seq, ev.Data.Type())
		}
		_, ended = ev.Data.(agent.RunCompleted)
	}
	if !ended {
		w.t.Error("the events of a run do not end with run.completed")
	}
}

// lastWord is the end of a run that could not be stored: its number is free again.
func lastWord(ev agent.Event) bool {
	c, ok := ev.Data.(agent.RunCompleted)
	return ok && strings.Contains(c.Error, errKilled.Error())
}

func (w *world) same(ev agent.Event) {
	if g, ok := ev.Data.(agent.Gap); ok {
		w.t.Errorf("a gap from %d to %d in a live run", g.From, g.To)
	}
	if lastWord(ev) {
		return
	}
	got := fmt.Sprintf("%s %s", ev.Data.Type(), mustJSON(ev))
	if w.seen == nil {
		w.seen = make(map[int64]string)
	}
	if old, ok := w.seen[ev.Seq]; ok && old != got {
		w.t.Errorf("event %d was\n%s and is now\n%s", ev.Seq, old, got)
	}
	w.seen[ev.Seq] = got
}

// outcome is what is left at the end, without ids.
func (w *world) outcome() (msgs []string, noted []string, counted int) {
	w.t.Helper()
	a := w.fresh(w.store)
	v, err := thread.Load(context.Background(), w.store, "t", "", a.Schema())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, m := range state.Messages.In(v.Root.State).Slice() {
		msgs = append(msgs, fmt.Sprintf("%s %s %s %s", m.Role, m.CallID, m.Status, m.Text()))
	}
	return msgs, notes.In(v.Root.State), count.In(v.Root.State)
}

func isUnknown(s string) bool { return strings.Contains(s, "outcome of this call is unknown") }

// verify compares with the world in which nobody was killed.
func (w *world) verify(calm *world) {
	t := w.t
	t.Helper()
	for _, p := range w.probes {
		p.check(t)
	}
	got, noted, counted := w.outcome()
	want, wantNoted, wantCounted := calm.outcome()
	if len(got) != len(want) {
		t.Fatalf("the conversation is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	lost := w.unknown()
	for i := range got {
		f := strings.Fields(want[i])
		switch {
		case got[i] == want[i]:
		case f[0] == string(message.Tool) && isUnknown(got[i]) && lost[f[1]]:
		default:
			t.Errorf("message %d is %q, want %q", i, got[i], want[i])
		}
	}
	if counted != wantCounted {
		t.Errorf("the hooks counted %d, want %d", counted, wantCounted)
	}
	var kept []string
	for _, n := range wantNoted {
		if !lost[n] {
			kept = append(kept, n)
		}
	}
	equal(t, "notes", noted, kept)
	times := make(map[string]int)
	for _, e := range w.effect {
		times[e]++
	}
	for _, e := range calm.effect {
		if n := times[e]; n > 1 || n == 0 && !lost[e] {
			t.Errorf("effect %s happened %d times", e, n)
		}
		delete(times, e)
	}
	if len(times) > 0 {
		t.Errorf("effects of nobody: %v", times)
	}
	w.oneResultEach()
	for id, n := range w.once {
		if n > 1+w.kills {
			t.Errorf("%s: what happens once happened %d times", id, n)
		}
	}
}

// unknown are the calls that the log says nobody saw the end of.
func (w *world) unknown() map[string]bool {
	out := make(map[string]bool)
	for _, rec := range records(w.t, w.store, "t", thread.KindCallEnded) {
		b, err := thread.Decode(rec)
		if err != nil {
			w.t.Fatal(err)
		}
		if e := b.(*thread.CallEnded); e.Outcome == thread.Unknown {
			out[place(rec.NS, e.Message.CallID)] = true
		}
	}
	return out
}

// oneResultEach checks that no task has two results in the log.
func (w *world) oneResultEach() {
	seen := make(map[string]bool)
	for _, rec := range records(w.t, w.store, "t", thread.KindCallEnded) {
		b, err := thread.Decode(rec)
		if err != nil {
			w.t.Fatal(err)
		}
		task := rec.NS + " " + b.(*thread.CallEnded).Task
		if seen[task] {
			w.t.Errorf("task %s has two results", task)
		}
		seen[task] = true
	}
}

func newWorld(t testing.TB, m model.Model) *world {
	return &world{t: t, store: memory.New(), model: m, once: make(map[string]int)}
}

// calm runs without a kill and returns the number of appends.
func (w *world) calm() int {
	w.t.Helper()
	n := 0
	for range 50 {
		s := &mortal{Store: w.store}
		done := w.live(s, nil)
		n = max(n, s.appends)
		if done {
			return n
		}
	}
	w.t.Fatal("the run does not come to its end")
	return 0
}

func crashScript() *script.Model {
	return lines(
		calls(call("u1", "unsafe", `{"write":"/a"}`), call("s1", "safe", `{"write":"/a"}`), call("u2", "unsafe", `{"write":"/b"}`), call("n1", "nope")),
		calls(call("k", "ask"), call("t1", "task", `{"do":"this"}`), call("u3", "unsafe"), call("t2", "task", `{"do":"that"}`)),
		say("done"),
		as("helper", calls(call("hu", "unsafe"), call("hs", "safe"))),
		as("helper", calls(call("hk", "ask"), call("hv", "unsafe"))),
		as("helper", say("helped")),
	)
}

// TestKilledAtEveryAppend stops the process at each append of each of its runs, before and after it is stored, and goes on with
// new processes: the end is the same, no unsafe effect happens twice, and what is not known is said to be unknown.
func TestKilledAtEveryAppend(t *testing.T) {
	calm := newWorld(t, crashScript())
	most := calm.calm()
	if most < 10 {
		t.Fatalf("%d appends: the test proves little", most)
	}
	for _, stored := range []bool{false, true} {
		for k := 1; k <= most; k++ {
			for process := range 3 { // the process that is killed
				if process > 0 && k%3 != 0 && os.Getenv("DEEPAGENTS_LONG") == "" {
					continue
				}
				t.Run(fmt.Sprintf("append %d of process %d, stored %t", k, process, stored), func(t *testing.T) {
					w := newWorld(t, crashScript())
					for i := range 50 {
						s := &mortal{Store: w.store}
						if i == process {
							s.at, s.stored = k, stored
						}
						if w.live(s, nil) {
							w.verify(calm)
							return
						}
					}
					t.Fatal("the run does not come to its end")
				})
			}
		}
	}
}

// TestKilledOnDisk is the same on a database, with a new opener for every process.
func TestKilledOnDisk(t *testing.T) {
	calm := newWorld(t, crashScript())
	most := calm.calm()
	step := 9
	if os.Getenv("DEEPAGENTS_LONG") != "" {
		step = 1
	}
	for k := 1; k <= most; k += step {
		for _, stored := range []bool{false, true} {
			t.Run(fmt.Sprintf("append %d, stored %t", k, stored), func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "threads.db")
				w := newWorld(t, crashScript())
				process := func(i int) (done bool) {
					db, err := sqlite.Open(context.Background(), path, sqlite.Options{})
					if err != nil {
						t.Fatal(err)
					}
					w.store = db
					s := &mortal{Store: db}
					if i == 0 {
						s.at, s.stored = k, stored
					}
					if done = w.live(s, nil); done {
						w.verify(calm)
					}
					if err := db.Close(); err != nil {
						t.Error(err)
					}
					return done
				}
				for i := range 50 {
					if process(i) {
						return
					}
				}
				t.Fatal("the run does not come to its end")
			})
		}
	}
}

// TestKilledEveryTime kills every process soon after it began; there is progress all the same.
func TestKilledEveryTime(t *testing.T) {
	calm := newWorld(t, crashScript())
	calm.calm()
	for _, stored := range []bool{false, true} {
		w := newWorld(t, crashScript())
		done := false
		for i := 0; i < 300 && !done; i++ {
			done = w.live(&mortal{Store: w.store, at: 4 + i%3, stored: stored}, nil)
		}
		if !done {
			t.Fatal("no end")
		}
		w.verify(calm)
	}
}
