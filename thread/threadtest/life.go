package threadtest

import (
	"fmt"
	"slices"
	"time"

	"github.com/deepagents-go/deepagents/thread"
)

var eventTests = []test{
	{"order", testEvents},
	{"beside records", testEventsBeside},
	{"bound", testEventBound},
}

func events(seqs ...int64) []thread.Event {
	es := make([]thread.Event, len(seqs))
	for i, n := range seqs {
		es[i] = thread.Event{Seq: n, Data: fmt.Appendf(nil, `{"seq":%d}`, n)}
	}
	return es
}

func (f *fixture) eventSeqs(after, first int64, want ...int64) {
	f.Helper()
	got, es, err := f.s.Events(f.Context(), "t", after)
	f.must(err)
	var seqs []int64
	for _, e := range es {
		if string(e.Data) != fmt.Sprintf(`{"seq":%d}`, e.Seq) {
			f.Fatalf("event %d has data %q", e.Seq, e.Data)
		}
		seqs = append(seqs, e.Seq)
	}
	if got != first || !slices.Equal(seqs, want) {
		f.Fatalf("events after %d: first %d, %v; want %d, %v", after, got, seqs, first, want)
	}
}

func testEvents(f *fixture) {
	_, _, err := f.s.Events(f.Context(), "t", 0)
	f.is(err, thread.ErrNotFound)
	f.must(f.s.AppendEvents(f.Context(), "t", 0, events(3, 4)))
	f.must(f.s.AppendEvents(f.Context(), "t", 0, nil))
	f.must(f.s.AppendEvents(f.Context(), "t", 0, events(9)))
	f.eventSeqs(0, 3, 3, 4, 9)
	f.eventSeqs(3, 3, 4, 9)
	f.eventSeqs(9, 3)
	f.eventSeqs(99, 3)
	if h := f.head("t"); h.EventHigh != 9 || h.Seq != 0 {
		f.Fatalf("head %+v", h)
	}
	for _, bad := range [][]thread.Event{events(9), events(2), events(12, 11), events(10, 10)} {
		f.is(f.s.AppendEvents(f.Context(), "t", 0, bad), thread.ErrConflict)
	}
	f.eventSeqs(0, 3, 3, 4, 9)
	f.add("t", 0, "a")
	f.must(f.s.Delete(f.Context(), "t"))
	f.add("t", 0, "b")
	f.eventSeqs(0, 0)
	if h := f.head("t"); h.EventHigh != 0 {
		f.Fatalf("head %+v", h)
	}
}

func testEventsBeside(f *fixture) {
	f.append("t", thread.Append{Records: recs("a"), EventHigh: 20})
	f.must(f.s.AppendEvents(f.Context(), "t", 0, events(5, 6))) // written late
	if h := f.head("t"); h.EventHigh != 20 {
		f.Fatalf("event high %d fell", h.EventHigh)
	}
	f.must(f.s.AppendEvents(f.Context(), "t", 0, events(21)))
	if h := f.head("t"); h.EventHigh != 21 || h.Seq != 1 {
		f.Fatalf("head %+v", h)
	}
	f.ids("t", thread.Query{}, "a")
	if i := f.list()[0]; i.Records != 1 {
		f.Fatalf("events count as records: %+v", i)
	}
	f.must(f.s.Prune(f.Context(), "t", 0))
	f.eventSeqs(0, 5, 5, 6, 21)
}

// testEventBound checks that old events go and that what is left is the newest part without a hole.
func testEventBound(f *fixture) {
	const total, batch = 12000, 500
	seqs := make([]int64, batch)
	for n := int64(0); n < total; n += batch {
		for i := range seqs {
			seqs[i] = n + int64(i) + 1
		}
		f.must(f.s.AppendEvents(f.Context(), "t", 0, events(seqs...)))
	}
	first, es, err := f.s.Events(f.Context(), "t", 0)
	f.must(err)
	if first == 1 || len(es) == 0 || len(es) == total {
		f.Fatalf("first %d, %d events: the log has no bound", first, len(es))
	}
	for i, e := range es {
		if want := first + int64(i); e.Seq != want {
			f.Fatalf("event %d is %d, want %d", i, e.Seq, want)
		}
	}
	if last := es[len(es)-1].Seq; last != total {
		f.Fatalf("last event %d", last)
	}
}

var lifeTests = []test{
	{"list", testList},
	{"delete", testDelete},
	{"close", testClose},
}

func testList(f *fixture) {
	if all := f.list(); len(all) != 0 {
		f.Fatalf("a new store lists %v", all)
	}
	from := time.Now().Add(-time.Minute)
	ids := []string{"b", "a", "C", "10", "9", "a.b", "a-b", "Z", "_"}
	for _, id := range ids {
		f.add(id, 0, "1", "2")
	}
	l := f.acquire("b", "me")
	slices.Sort(ids)
	all := f.list()
	var got []string
	for _, i := range all {
		got = append(got, i.Thread)
		if i.Created.Before(from) || i.Updated.Before(i.Created) || i.Records != 2 || i.Bytes != 20 {
			f.Errorf("%+v", i)
		}
		if want := map[bool]string{true: "me"}[i.Thread == "b"]; i.Owner != want {
			f.Errorf("%s: owner %q, want %q", i.Thread, i.Owner, want)
		}
	}
	if !slices.Equal(got, ids) {
		f.Fatalf("listed %v, want %v", got, ids)
	}
	f.must(l.Release(f.Context()))
	for _, i := range f.list() {
		if i.Owner != "" {
			f.Errorf("%s: owner %q after the release", i.Thread, i.Owner)
		}
	}
	n := 0
	for i, err := range f.s.List(f.Context()) {
		f.must(err)
		f.must(f.s.Delete(f.Context(), i.Thread)) // the body may use the store
		n++
	}
	if n != len(ids) || len(f.list()) != 0 {
		f.Fatalf("%d listed, %d left", n, len(f.list()))
	}
}

func testDelete(f *fixture) {
	f.is(f.s.Delete(f.Context(), "t"), thread.ErrNotFound)
	f.add("t", 0, "a", "b")
	f.add("u", 0, "c")
	b := f.fork("t", 0, "a")
	f.append("t", thread.Append{Branch: b, ExpectSeq: -1, Records: recs("d")})
	f.must(f.s.AppendEvents(f.Context(), "t", 0, events(1)))
	l := f.acquire("t", "me")
	f.busy(f.s.Delete(f.Context(), "t"), "me")
	f.must(l.Release(f.Context()))
	f.must(f.s.Delete(f.Context(), "t"))
	f.is(f.s.Delete(f.Context(), "t"), thread.ErrNotFound)
	_, err := f.collect("t", thread.Query{})
	f.is(err, thread.ErrNotFound)
	f.ids("u", thread.Query{}, "c")
	if seq := f.append("t", thread.Append{Records: recs("e")}); seq != 1 {
		f.Fatalf("a new thread begins at %d", seq)
	}
	f.ids("t", thread.Query{}, "e")
	if h := f.head("t"); h.Branch != b {
		_, err = f.collect("t", thread.Query{Branch: b})
		f.is(err, thread.ErrNotFound)
	}
	_, err = f.s.Fork(f.Context(), "t", 0, "a")
	f.is(err, thread.ErrNotFound)
}

func testClose(f *fixture) {
	l := f.acquire("t", "me")
	f.add("t", l.Fence(), "a")
	f.must(f.s.Close())
	f.must(f.s.Close())
	if _, err := f.s.Append(f.Context(), "t", thread.Append{ExpectSeq: -1, Records: recs("b")}); err == nil {
		f.Error("append after close")
	}
	if _, err := f.collect("t", thread.Query{}); err == nil {
		f.Error("read after close")
	}
	if _, err := f.s.Head(f.Context(), "t"); err == nil {
		f.Error("head after close")
	}
	if _, err := f.s.Acquire(f.Context(), "u", "me", hour); err == nil {
		f.Error("acquire after close")
	}
	if err := l.Renew(f.Context()); err == nil {
		f.Error("renew after close")
	}
	f.must(l.Release(f.Context()))
	n := 0
	for _, err := range f.s.List(f.Context()) {
		if n++; err == nil {
			f.Error("list after close")
		}
	}
	if n != 1 {
		f.Errorf("list after close yields %d times", n)
	}
}
