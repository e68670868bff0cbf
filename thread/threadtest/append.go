package threadtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/deepagents-go/deepagents/thread"
)

var appendTests = []test{
	{"keeps records as they are", testKeeps},
	{"numbers without gaps", testNumbers},
	{"expects a seq", testExpect},
	{"is all or none", testAtomic},
	{"of nothing", testAppendNothing},
	{"copies data", testCopies},
	{"large records", testLarge},
	{"event high", testEventHigh},
	{"ended context", testAppendContext},
	{"thread ids", testThreadIDs},
}

func testKeeps(f *fixture) {
	want := []thread.Record{
		rec("a"),
		{V: 9, ID: "newer", Kind: "of a later version", Data: json.RawMessage(`[1, 2 ]`)},
		{
			V: 1, ID: "x'; DROP TABLE records; --", NS: "a.b/\"c\"", RunID: "é", Step: -1, Kind: thread.KindCommit,
			Time: time.Date(2026, 1, 2, 3, 4, 5, 600, time.FixedZone("x", 3600)), Event: 1 << 40, Base: 1 << 33,
			Data: json.RawMessage("{\"text\":\"nul \\u0000, \xff not UTF-8\"}\n"),
		},
		{V: 1, ID: "ancient", Kind: thread.KindInput, Time: time.Date(1, 2, 3, 4, 5, 6, 0, time.UTC), Data: json.RawMessage(`null`)},
		{V: 1, ID: "empty", Kind: thread.KindInput},
	}
	for _, k := range kinds {
		want = append(want, thread.Record{V: 1, ID: thread.ID("kind " + k), Kind: k, Data: json.RawMessage(`{}`)})
	}
	in := make([]thread.Record, len(want))
	copy(in, want)
	in[0].Seq, in[0].Branch = 99, "ignored"
	f.append("t", thread.Append{Records: in})
	if in[0].Seq != 99 || in[0].Branch != "ignored" {
		f.Error("the caller's records were changed")
	}
	h := f.head("t")
	for i := range want {
		want[i].Seq, want[i].Branch = int64(i+1), h.Branch
	}
	got := f.read("t", thread.Query{Prefix: true})
	if d := diff(got, want); d != "" {
		f.Fatal(d)
	}
	if !got[4].Time.IsZero() {
		f.Errorf("a zero time came back as %v", got[4].Time)
	}
}

var kinds = []thread.Kind{
	thread.KindRunStarted, thread.KindInput, thread.KindModel, thread.KindCallStarted, thread.KindCallEnded, thread.KindOnce,
	thread.KindInterrupt, thread.KindAnswer, thread.KindUpdate, thread.KindCommit, thread.KindSnapshot, thread.KindRunEnded,
}

func testNumbers(f *fixture) {
	if seq := f.add("t", 0, "a"); seq != 1 {
		f.Fatalf("first seq %d", seq)
	}
	if seq := f.add("t", 0, "b", "c", "d"); seq != 4 {
		f.Fatalf("seq %d, want 4", seq)
	}
	b := f.fork("t", 0, "b")
	if seq := f.append("t", thread.Append{Branch: b, ExpectSeq: 2, Records: recs("e", "f")}); seq != 6 {
		f.Fatalf("seq on another branch %d, want 6", seq)
	}
	if seq := f.add("t", 0, "g"); seq != 7 {
		f.Fatalf("seq %d, want 7", seq)
	}
	if h := f.head("t"); h.Seq != 7 {
		f.Fatalf("head %+v", h)
	}
	if seq := f.add("u", 0, "a"); seq != 1 {
		f.Fatalf("first seq of another thread %d", seq)
	}
}

func testExpect(f *fixture) {
	put := func(branch thread.ID, expect int64, want error) {
		f.Helper()
		_, err := f.s.Append(f.Context(), "t", thread.Append{Branch: branch, ExpectSeq: expect, Records: recs("r")})
		f.is(err, want)
	}
	put("", 1, thread.ErrConflict)
	_, err := f.s.Head(f.Context(), "t")
	f.is(err, thread.ErrNotFound)
	put("", 0, nil)
	put("", 0, thread.ErrConflict)
	put("", 1, nil)
	put("", 3, thread.ErrConflict)
	put("", -1, nil)
	put("nowhere", -1, thread.ErrNotFound)
	b := f.fork("t", 0, "r")
	put(b, 0, thread.ErrConflict)
	put(b, 3, nil)
	put(b, 3, thread.ErrConflict)
	put("", 4, thread.ErrConflict)
	put("", 3, nil)
	if n := len(f.read("t", thread.Query{})); n != 4 {
		f.Fatalf("%d records", n)
	}
}

// testAtomic checks that a refused append leaves nothing, not even a number.
func testAtomic(f *fixture) {
	l := f.acquire("t", "a")
	f.add("t", l.Fence(), "a")
	for _, a := range []thread.Append{
		{Fence: l.Fence(), ExpectSeq: 5},
		{Fence: l.Fence() + 1, ExpectSeq: -1},
		{Fence: l.Fence(), ExpectSeq: -1, Branch: "nowhere"},
	} {
		a.Records, a.EventHigh = recs("x", "y"), 100
		if _, err := f.s.Append(f.Context(), "t", a); err == nil {
			f.Fatalf("%+v was accepted", a)
		}
	}
	f.ids("t", thread.Query{}, "a")
	if h := f.head("t"); h.Seq != 1 || h.EventHigh != 0 {
		f.Fatalf("head %+v", h)
	}
	if seq := f.add("t", l.Fence(), "b"); seq != 2 {
		f.Fatalf("seq %d, want 2", seq)
	}
}

func testAppendNothing(f *fixture) {
	seq := f.append("t", thread.Append{EventHigh: 5})
	if h := f.head("t"); seq != 0 || h.Seq != 0 || h.Branch == "" || h.EventHigh != 5 {
		f.Fatalf("seq %d, head %+v", seq, h)
	}
	f.ids("t", thread.Query{})
	f.add("t", 0, "a", "b")
	if seq := f.append("t", thread.Append{ExpectSeq: 2}); seq != 2 {
		f.Fatalf("seq %d", seq)
	}
}

func testCopies(f *fixture) {
	r, ev := rec("a"), json.RawMessage(`{"n":1}`)
	f.append("t", thread.Append{Records: []thread.Record{r}})
	f.must(f.s.AppendEvents(f.Context(), "t", 0, []thread.Event{{Seq: 1, Data: ev}}))
	clear(r.Data)
	clear(ev)
	if got := f.read("t", thread.Query{}); string(got[0].Data) != `{"id":"a"}` {
		f.Fatalf("the stored data changed to %q", got[0].Data)
	}
	if _, es, err := f.s.Events(f.Context(), "t", 0); err != nil || string(es[0].Data) != `{"n":1}` {
		f.Fatalf("the stored event changed to %v, %v", es, err)
	}
	got := f.read("t", thread.Query{})
	got[0].Data = append(got[0].Data, 'x')
	f.add("t", 0, "b")
	if got := f.read("t", thread.Query{}); string(got[1].Data) != `{"id":"b"}` {
		f.Fatalf("appending to what was read changed the next record to %q", got[1].Data)
	}
}

func testLarge(f *fixture) {
	big := json.RawMessage(`"` + strings.Repeat("0123456789abcdef", 5<<16) + `"`)
	rs := recs("a", "big", "c", "big2", "e")
	rs[1].Data, rs[3].Data = big, big
	f.append("t", thread.Append{Durable: true, Records: rs})
	for _, q := range []thread.Query{{}, {Reverse: true}} {
		for _, r := range f.read("t", q) {
			if strings.HasPrefix(string(r.ID), "big") && !bytes.Equal(r.Data, big) {
				f.Fatalf("%s: %d bytes came back, want %d", r.ID, len(r.Data), len(big))
			}
		}
	}
	f.ids("t", thread.Query{}, "a", "big", "c", "big2", "e")
	f.ids("t", thread.Query{Reverse: true}, "e", "big2", "c", "big", "a")
}

func testEventHigh(f *fixture) {
	high := func(set, want int64) {
		f.Helper()
		f.append("t", thread.Append{ExpectSeq: -1, Records: recs("r"), EventHigh: set})
		if h := f.head("t"); h.EventHigh != want {
			f.Fatalf("event high %d, want %d", h.EventHigh, want)
		}
	}
	high(0, 0)
	high(10, 10)
	high(0, 10)
	high(7, 7)
	high(20, 20)
}

func testAppendContext(f *fixture) {
	ctx, cancel := context.WithCancel(f.Context())
	cancel()
	f.add("t", 0, "a")
	b := f.head("t").Branch
	_, err := f.s.Append(ctx, "t", thread.Append{ExpectSeq: -1, Records: recs("b")})
	f.is(err, context.Canceled)
	_, err = f.s.Fork(ctx, "t", 0, "a")
	f.is(err, context.Canceled)
	f.is(f.s.SetHead(ctx, "t", 0, b), context.Canceled)
	f.is(f.s.Prune(ctx, "t", 0), context.Canceled)
	f.is(f.s.AppendEvents(ctx, "t", 0, []thread.Event{{Seq: 1}}), context.Canceled)
	f.is(f.s.Delete(ctx, "t"), context.Canceled)
	_, err = f.s.Head(ctx, "t")
	f.is(err, context.Canceled)
	_, err = f.s.Acquire(ctx, "t", "a", hour)
	f.is(err, context.Canceled)
	_, err = f.collectWith(ctx, "t", thread.Query{})
	f.is(err, context.Canceled)
	for _, err := range f.s.List(ctx) {
		f.is(err, context.Canceled)
	}
	f.ids("t", thread.Query{}, "a")
}

// testThreadIDs checks that ids are names, not paths, and that no two of them share anything.
func testThreadIDs(f *fixture) {
	for _, id := range []string{"", "../../x", "a/b", "a\\b", "a b", "é", "a\x00", "%41", strings.Repeat("x", thread.MaxThreadID+1)} {
		_, err := f.s.Append(f.Context(), id, thread.Append{Records: recs("r")})
		f.is(err, thread.ErrThreadID)
		_, err = f.s.Acquire(f.Context(), id, "o", hour)
		f.is(err, thread.ErrThreadID)
		_, err = f.s.Head(f.Context(), id)
		f.is(err, thread.ErrThreadID)
		_, err = f.collect(id, thread.Query{})
		f.is(err, thread.ErrThreadID)
		f.is(f.s.Delete(f.Context(), id), thread.ErrThreadID)
		f.is(f.s.AppendEvents(f.Context(), id, 0, []thread.Event{{Seq: 1}}), thread.ErrThreadID)
		_, _, err = f.s.Events(f.Context(), id, 0)
		f.is(err, thread.ErrThreadID)
	}
	if all := f.list(); len(all) != 0 {
		f.Fatalf("invalid ids made threads: %v", all)
	}
	ids := []string{"A", "a", ".", "..", "...", "-", "--", "_", "0", "00", "con", "CON", "a.", "a.b", strings.Repeat("x", thread.MaxThreadID)}
	for i, id := range ids {
		f.add(id, 0, fmt.Sprint("r", i))
		f.must(f.s.AppendEvents(f.Context(), id, 0, []thread.Event{{Seq: int64(i + 1)}}))
	}
	for i, id := range ids {
		f.ids(id, thread.Query{}, fmt.Sprint("r", i))
		if first, es, err := f.s.Events(f.Context(), id, 0); err != nil || first != int64(i+1) || len(es) != 1 {
			f.Fatalf("%s: events %d %v %v", id, first, es, err)
		}
	}
	f.must(f.s.Delete(f.Context(), "A"))
	f.ids("a", thread.Query{}, "r1")
	if _, err := f.s.Head(f.Context(), "A"); !errors.Is(err, thread.ErrNotFound) {
		f.Fatal(err)
	}
}
