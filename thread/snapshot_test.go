package thread_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/state"
	"github.com/deepagents-go/deepagents/thread"
)

// TestSnapshotDue takes a snapshot when the records since the last one are larger than it was, at a root commit, and stores it
// with the next append.
func TestSnapshotDue(t *testing.T) {
	l := newLog(t, keys(t))
	turn := func(ns string, size int) {
		l.Helper()
		l.commit(ns, "x", l.add(ns, updated("h", single.Update(strings.Repeat("x", size))))...)
		l.j.Close()
	}
	count := func() int { return len(l.records(thread.KindSnapshot)) }
	turn("", 60<<10)
	turn("", 100)
	if count() != 0 {
		t.Fatal("a small thread needs no snapshot")
	}
	turn("child", 10<<10)
	l.add("", updated("a"))
	if count() != 0 {
		t.Fatal("a sub-agent's commit is no checkpoint")
	}
	turn("", 100)
	at := l.live().Root.Head
	seq := l.live().Seq
	if count() != 0 {
		t.Fatal("it goes with the next append")
	}
	l.add("", updated("next"))
	rs := l.records(thread.KindSnapshot)
	if len(rs) != 1 {
		t.Fatalf("%d snapshots", len(rs))
	}
	b, err := thread.Decode(rs[0])
	if err != nil {
		t.Fatal(err)
	}
	s := b.(*thread.Snapshot)
	if rs[0].Base != seq || s.At != at || s.Next != "x" || s.Node != "nx" || rs[0].NS != "" || len(s.State) > 200 {
		t.Errorf("%+v of base %d, want %s at %d", s, rs[0].Base, at, seq)
	}
	if a, b := describe(t, l.live()), describe(t, l.load()); a != b {
		t.Errorf("live   %s\nloaded %s", a, b)
	}
	turn("", 60<<10)
	l.add("", updated("next"))
	if count() != 1 {
		t.Error("the second came before it was due")
	}
}

// TestNoSnapshotOfDecisions waits for the tools commit, since a snapshot does not hold what hooks decided.
func TestNoSnapshotOfDecisions(t *testing.T) {
	l := newLog(t, keys(t))
	u := updated("h", single.Update(strings.Repeat("x", 70<<10)))
	u.Answered = []thread.CallEnded{*ended("t", "no")}
	l.commit("", "tools", l.add("", u)...)
	l.j.Close()
	e := l.add("", ended("t", "no"))
	if len(l.records(thread.KindSnapshot)) != 0 {
		t.Error("a snapshot between the hook and its tools")
	}
	l.commit("", "model", e...)
	l.j.Close()
	l.add("", updated("x"))
	if len(l.records(thread.KindSnapshot)) != 1 {
		t.Error("no snapshot after the tools")
	}
}

// TestLastRunBeforeSnapshot finds a run that began, and one that ended, before the snapshot.
func TestLastRunBeforeSnapshot(t *testing.T) {
	l := newLog(t, keys(t))
	l.add("", &thread.RunStarted{Agent: "one"})
	big := func() {
		l.commit("", "x", l.add("", updated("h", single.Update(strings.Repeat("x", 70<<10))))...)
		l.j.Close()
		l.add("", updated("next"))
	}
	big()
	if v := l.load(); v.RunStarted == nil || v.RunStarted.Agent != "one" || !v.Crashed() || v.RunID != "r1" {
		t.Errorf("run %+v", v.RunStarted)
	}
	l.add("", &thread.RunEnded{Status: thread.Stopped, Cause: "limit"})
	l.run = "edit"
	l.open(l.live())
	big()
	if len(l.records(thread.KindSnapshot)) != 2 {
		t.Fatal("no second snapshot")
	}
	if v := l.load(); v.Crashed() || v.RunEnded.Cause != "limit" || v.RunID != "r1" {
		t.Errorf("an edit after the end of a run: crashed %v, run %s", v.Crashed(), v.RunID)
	}
}

// TestBound holds the bytes of a thread at every append: at most 2.2 times its records, however often it is opened again and
// however its state grows.
func TestBound(t *testing.T) {
	for _, c := range []struct {
		name string
		turn func(i int) thread.Body
	}{
		{"growing", func(i int) thread.Body { return answer(fmt.Sprint("m", i), strings.Repeat("g", 60<<10)) }},
		{"steady", func(int) thread.Body { return updated("h", single.Update(strings.Repeat("s", 20<<10))) }},
		{"growing larger than its updates", func(int) thread.Body {
			return updated("h", echo.Update(6<<10), single.Update(strings.Repeat("s", 4<<10)))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, reopen := range []int{3, 1000} {
				l := newLog(t, newSchema(t, trail.Field(), single.Field(), echo.Field()))
				for i := range 60 {
					l.commit("", "x", l.add("", c.turn(i))...)
					l.j.Close()
					if i%reopen == reopen-1 {
						l.add("", updated("last")) // stores a snapshot that is ready
						l.open(l.load())
					}
				}
				var records, snapshots, n int64
				for _, r := range l.records() {
					if r.Kind != thread.KindSnapshot {
						records += int64(len(r.Data))
						continue
					}
					snapshots += int64(len(r.Data))
					n++
					if 10*(records+snapshots) > 22*records {
						t.Fatalf("reopened every %d: at record %d, %d bytes of records and %d of snapshots", reopen, r.Seq, records, snapshots)
					}
				}
				if n == 0 {
					t.Errorf("reopened every %d: no snapshots", reopen)
				}
			}
		})
	}
}

// echo grows by more bytes than its updates take.
var echo = state.NewKey("echo", func(v string, n int) (string, error) {
	if len(v) > 70<<10 {
		v = ""
	}
	return v + strings.Repeat("e", n), nil
}, state.Options{})

// TestLoadProperty folds random logs from their snapshots and from all records, with other keys than those of the writers: the
// result is the same.
func TestLoadProperty(t *testing.T) {
	sets := []*state.Schema{keys(t), newSchema(t), newSchema(t, trail.Field(), single.Field()), newSchema(t, secret.Field())}
	snapshots := 0
	rapid.Check(t, func(t *rapid.T) {
		l := newLog(t, rapid.SampledFrom(sets).Draw(t, "schema"))
		g := &gen{T: t, log: l}
		l.add("", &thread.RunStarted{})
		for range rapid.IntRange(3, 14).Draw(t, "steps") {
			g.step()
		}
		l.j.Close()
		schema := rapid.SampledFrom(sets).Draw(t, "reader")
		l.schema = schema
		a, b := l.load(), l.unsnapped(schema)
		for _, ns := range []string{"c1", "c2"} {
			x, xerr := a.Bind(ns, schema)
			y, yerr := b.Bind(ns, schema)
			if xerr != nil || yerr != nil {
				t.Fatalf("bind %s: %v, %v", ns, xerr, yerr)
			}
			if p, q := fmt.Sprint(space(x), texts(x.State), trail.In(x.State)), fmt.Sprint(space(y), texts(y.State), trail.In(y.State)); p != q {
				t.Fatalf("%s: from the snapshot %s\nfrom all records  %s", ns, p, q)
			}
		}
		for _, v := range []*thread.View{a, b} { // a key that nobody owns may be a value here and its updates there: the owner tells
			var err error
			if v.Root.State, err = v.Root.State.As(sets[0]); err != nil {
				t.Fatal(err)
			}
		}
		if d := cmp.Diff(strings.Split(describe(t, b), "\n"), strings.Split(describe(t, a), "\n")); d != "" {
			t.Fatalf("from all records (-) and from the snapshot (+) %s", d)
		}
		snapshots += len(l.records(thread.KindSnapshot))
	})
	if snapshots < 3 { // how many are ready in time depends on the machine
		t.Errorf("only %d snapshots in all logs: the test shows little", snapshots)
	}
}

// gen makes a log that an agent could have written.
type gen struct {
	*rapid.T
	log *log
	n   int
}

func (g *gen) updates() []state.Update {
	var us []state.Update
	for range rapid.IntRange(0, 3).Draw(g.T, "updates") {
		g.n++
		s := fmt.Sprint(g.n)
		us = append(us, []state.Update{
			trail.Update(s + ","), trail.Overwrite(s), secret.Update(s), single.Update(strings.Repeat("s", 30000+g.n)),
			state.RawUpdate("nobody", false, json.RawMessage(s)), state.RawUpdate("nobody", true, json.RawMessage(s)),
		}[rapid.IntRange(0, 5).Draw(g.T, "update")])
	}
	return us
}

func (g *gen) step() {
	l := g.log
	ns := rapid.SampledFrom([]string{"", "", "", "c1", "c2"}).Draw(g.T, "ns")
	g.n++
	id := fmt.Sprint("m", g.n)
	var body thread.Body
	switch rapid.IntRange(0, 8).Draw(g.T, "what") {
	case 0:
		m := answer(id, strings.Repeat("t", rapid.SampledFrom([]int{1, 30000, 70000}).Draw(g.T, "size")))
		m.Updates = g.updates()
		body = m
	case 1:
		body = ended(id, "r", g.updates()...)
	case 2:
		u := updated("hook", g.updates()...)
		if rapid.Bool().Draw(g.T, "decides") {
			u.Answered = []thread.CallEnded{*ended(id, "no")}
			u.Replaced = []thread.Replaced{{Task: id, Call: message.ToolCall{ID: "c", Name: "n"}}}
		}
		body = u
	case 3:
		l.run = fmt.Sprint("r", g.n)
		l.j.Close()
		l.open(l.live())
		l.add("", &thread.RunStarted{Agent: id})
		return
	case 4:
		l.add("", &thread.RunEnded{Status: rapid.SampledFrom([]thread.Status{thread.Done, thread.Waiting, thread.Stopped}).Draw(g.T, "status")})
		return
	case 5:
		l.j.Close()
		l.open(l.load())
		return
	case 6:
		l.add(ns, &thread.CallStarted{Task: id}, &thread.Interrupt{ID: id, Task: id, Kind: "k", Value: json.RawMessage("1")})
		return
	case 7:
		l.add(ns, &thread.CallStarted{Task: id}, &thread.Once{Task: id, Name: "n", Value: json.RawMessage("1")}, ended(id, "pending"))
		return
	default:
		body = &thread.Input{Updates: g.updates()}
	}
	ids := l.add(ns, body)
	if rapid.IntRange(0, 9).Draw(g.T, "pending") == 0 {
		return
	}
	l.commit(ns, rapid.SampledFrom([]string{"model", "tools", thread.NodeEnd}).Draw(g.T, "next"), ids...)
	if rapid.Bool().Draw(g.T, "wait") {
		l.j.Close() // the snapshot goes with the next append, else with a later one
	}
}

// TestForeignKeysInSnapshots opens a thread with fewer keys for a while: nothing is lost, snapshots or not.
func TestForeignKeysInSnapshots(t *testing.T) {
	l := newLog(t, keys(t))
	turn := func(s string) {
		l.commit("", "x", l.add("", updated("h", trail.Update(s), state.RawUpdate("pad", true, json.RawMessage(`"`+strings.Repeat("p", 70<<10)+`"`))))...)
		l.j.Close()
		l.add("", updated("next")) // a snapshot that is ready goes with it
	}
	turn("a")
	few := newSchema(t)
	for _, s := range []string{"b", "c", "d"} {
		l.schema = few
		l.open(l.load())
		turn(s)
	}
	l.schema = keys(t)
	l.open(l.load())
	turn("e")
	l.add("", updated("last"))
	if got := trail.In(l.load().Root.State); got != "abcde" {
		t.Errorf("got %q", got)
	}
	if len(l.records(thread.KindSnapshot)) < 2 {
		t.Error("there were no snapshots")
	}
	raw, err := l.load().Root.State.Encode()
	if err != nil || bytes.Count(raw, []byte(`"pad"`)) != 1 {
		t.Errorf("%v: %.100s", err, raw)
	}
}
