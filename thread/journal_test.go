package thread_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/thread"
	"github.com/deepagents-go/deepagents/thread/memory"
)

// spy is a store that remembers appends and fails when told.
type spy struct {
	thread.Store
	err     error
	appends []thread.Append
}

func (s *spy) Append(ctx context.Context, id string, a thread.Append) (int64, error) {
	s.appends = append(s.appends, a)
	if s.err != nil {
		return 0, s.err
	}
	return s.Store.Append(ctx, id, a)
}

func (l *log) spied() *spy {
	s := &spy{Store: l.store}
	l.store = s
	l.open(l.live())
	return s
}

// TestAppendSays what the store is told: fence, branch, the expected last record, durability.
func TestAppendSays(t *testing.T) {
	l := newLog(t, keys(t))
	s := l.spied()
	l.add("", updated("a"), updated("b"))
	if err := l.j.Append(t.Context(), false, l.entry("", updated("c"))); err != nil {
		t.Fatal(err)
	}
	for i, want := range []thread.Append{
		{Branch: "", ExpectSeq: 0, Durable: true, Records: make([]thread.Record, 2)},
		{Branch: thread.FirstBranch, ExpectSeq: 2, Durable: false, Records: make([]thread.Record, 1)},
	} {
		a := s.appends[i]
		if a.Fence != l.lease.Fence() || a.Branch != want.Branch || a.ExpectSeq != want.ExpectSeq || a.Durable != want.Durable || len(a.Records) != len(want.Records) {
			t.Errorf("append %d: %+v", i, a)
		}
	}
	if v := l.live(); v.Seq != 3 {
		t.Errorf("seq %d", v.Seq)
	}
	if err := l.j.Append(t.Context(), true); err != nil || len(s.appends) != 2 {
		t.Errorf("nothing to append: %v, %d appends", err, len(s.appends))
	}
}

func TestNewEntry(t *testing.T) {
	l := newLog(t, keys(t))
	e := l.j.NewEntry("ns", 4, updated("a"))
	want := thread.Record{V: thread.Version, ID: "i1", NS: "ns", RunID: "r1", Step: 4, Kind: thread.KindUpdate, Time: time.Unix(1, 0).UTC()}
	if fmt.Sprint(e.Record) != fmt.Sprint(want) || e.Body == nil {
		t.Errorf("got %+v, want %+v", e.Record, want)
	}
}

// TestDeadJournal writes nothing more after an append failed, whatever the reason was.
func TestDeadJournal(t *testing.T) {
	boom := errors.New("boom")
	for _, c := range []struct {
		name  string
		spoil func(l *log, s *spy) thread.Body
		want  error
		text  string
	}{
		{"store", func(_ *log, s *spy) thread.Body { s.err = boom; return updated("x") }, boom, "boom"},
		{"conflict", func(l *log, s *spy) thread.Body {
			r := thread.Record{V: 1, ID: "foreign", Kind: thread.KindUpdate, Time: time.Unix(0, 0), Data: json.RawMessage(`{"node":"x"}`)}
			if _, err := s.Store.Append(l.ctx, "t", thread.Append{Fence: l.lease.Fence(), ExpectSeq: -1, Records: []thread.Record{r}}); err != nil {
				l.Fatal(err)
			}
			return updated("x")
		}, thread.ErrConflict, "changed"},
		{"fenced", func(l *log, _ *spy) thread.Body {
			if err := l.lease.Release(l.ctx); err != nil {
				l.Fatal(err)
			}
			if _, err := l.store.Acquire(l.ctx, "t", "other", time.Hour); err != nil {
				l.Fatal(err)
			}
			return updated("x")
		}, thread.ErrFenced, "lease"},
		{"not foldable", func(*log, *spy) thread.Body { return &thread.Commit{Next: "x", Applied: []thread.ID{"zz"}} }, thread.ErrCorrupt, "zz"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLog(t, keys(t))
			s := l.spied()
			l.add("", updated("first"))
			var told []error
			l.j = thread.NewJournal(thread.JournalConfig{
				Store: s, Thread: "t", Lease: l.lease, RunID: "r", View: l.live(), Now: time.Now,
				NewID:  func() thread.ID { l.ids++; return thread.ID(fmt.Sprint("i", l.ids)) },
				Stored: func(_ []thread.Entry, err error) { told = append(told, err) },
			})
			err := l.j.Append(t.Context(), true, l.entry("", c.spoil(l, s)))
			if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) || !strings.Contains(err.Error(), "thread t") {
				t.Fatalf("error %v", err)
			}
			s.err = nil
			n := len(s.appends)
			if again := l.j.Append(t.Context(), true, l.entry("", updated("y"))); !errors.Is(again, err) || len(s.appends) != n {
				t.Errorf("a dead journal: %v, %d appends", again, len(s.appends)-n)
			}
			if len(told) != 1 || !errors.Is(told[0], err) {
				t.Errorf("Stored was told %v", told)
			}
		})
	}
}

// TestNotEncodable stores nothing of an append with an entry that has no JSON, and goes on.
func TestNotEncodable(t *testing.T) {
	bad := message.NewAssistant("x")
	bad.Parts = append(bad.Parts, message.ToolCall{ID: "c", Name: "ls", Args: json.RawMessage(`{"path":`)})
	l := newLog(t, keys(t))
	s := l.spied()
	err := l.j.Append(t.Context(), true, l.entry("", updated("a")), l.entry("", &thread.Model{Message: bad}))
	if err == nil || !strings.Contains(err.Error(), "not valid JSON") || len(s.appends) != 0 {
		t.Fatalf("error %v, %d appends", err, len(s.appends))
	}
	if err := l.j.Append(t.Context(), true, l.entry("", updated("b"))); err != nil {
		t.Errorf("the journal is dead: %v", err)
	}
}

// TestEventNumbers passes the numbers of events on: each record knows its first, the store the highest that may be shown.
func TestEventNumbers(t *testing.T) {
	l := newLog(t, keys(t))
	var stored []string
	next := int64(1)
	l.j = thread.NewJournal(thread.JournalConfig{
		Store: l.store, Thread: "t", Lease: l.lease, RunID: "r", View: l.live(), Now: time.Now,
		NewID: func() thread.ID { l.ids++; return thread.ID(fmt.Sprint("i", l.ids)) },
		Number: func(e *thread.Entry) (first, high int64) {
			if e.Kind == thread.KindCommit {
				return 0, next + 9
			}
			next += 2
			return next - 2, next + 9
		},
		Stored: func(es []thread.Entry, err error) {
			for _, e := range es {
				stored = append(stored, fmt.Sprint(e.Seq, ":", e.Event, ":", e.Branch, ":", len(e.Data) > 0, ":", err))
			}
		},
	})
	l.add("", updated("a"), updated("b"), &thread.Commit{Next: "x"})
	l.add("", updated("c"))
	if got, want := strings.Join(stored, " "), "1:1:main:true:<nil> 2:3:main:true:<nil> 3:0:main:true:<nil> 4:5:main:true:<nil>"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	var events []int64
	for _, r := range l.records() {
		events = append(events, r.Event)
	}
	if fmt.Sprint(events) != "[1 3 0 5]" {
		t.Errorf("events %v", events)
	}
	h, err := l.store.Head(t.Context(), "t")
	if err != nil || h.EventHigh != 16 || h.Seq != 4 {
		t.Errorf("head %+v, %v", h, err)
	}
	if v := l.load(); v.EventHigh != 16 {
		t.Errorf("event high %d", v.EventHigh)
	}
}

// TestAppendLeavesArray does not write a due snapshot into the array of the caller.
func TestAppendLeavesArray(t *testing.T) {
	l := newLog(t, keys(t))
	l.commit("", "x", l.add("", updated("big", trail.Update(strings.Repeat("x", 70<<10))))...)
	l.j.Close()
	es := []thread.Entry{l.entry("", updated("a")), l.entry("", updated("b"))}
	l.append(es[:1]...)
	if b := es[1].Body.(*thread.Update); b.Node != "b" {
		t.Error("the second entry was replaced")
	}
	if len(l.records(thread.KindSnapshot)) != 1 {
		t.Error("no snapshot was due, so that this test shows nothing")
	}
}

// TestConcurrentAppends has the calls of one message end at the same time, while somebody looks.
func TestConcurrentAppends(t *testing.T) {
	l := newLog(t, keys(t))
	var mu sync.Mutex
	entry := func(i int) thread.Entry {
		mu.Lock()
		defer mu.Unlock()
		return l.entry("", ended(fmt.Sprint("t", i), "x"))
	}
	const calls = 40
	var wg sync.WaitGroup
	for i := range calls {
		wg.Go(func() {
			if err := l.j.Append(l.ctx, i%2 == 0, entry(i)); err != nil {
				t.Error(err)
			}
			l.j.View(func(v *thread.View) {
				if len(v.Root.Ended) == 0 {
					t.Error("nothing ended")
				}
			})
		})
	}
	wg.Wait()
	if a, b := describe(t, l.live()), describe(t, l.load()); a != b || len(l.load().Root.Ended) != calls {
		t.Errorf("live %s\nloaded %s", a, b)
	}
}

func TestThreadIDs(t *testing.T) {
	for id, ok := range map[string]bool{
		"a": true, "A-z_0.9": true, "..": true, strings.Repeat("x", 128): true,
		"": false, strings.Repeat("x", 129): false, "a/b": false, "a b": false, "é": false, "a\n": false,
	} {
		if err := thread.ValidThread(id); (err == nil) != ok || err != nil && !errors.Is(err, thread.ErrThreadID) {
			t.Errorf("%q: %v", id, err)
		}
	}
	if err := error(&thread.BusyError{Thread: "t"}); !errors.Is(err, thread.ErrBusy) || !strings.Contains(err.Error(), "another process") {
		t.Errorf("busy: %v", err)
	}
	if _, err := thread.Load(t.Context(), memory.New(), "a/b", "", keys(t)); !errors.Is(err, thread.ErrThreadID) {
		t.Errorf("load: %v", err)
	}
}
