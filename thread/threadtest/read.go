package threadtest

import (
	"context"
	"fmt"
	"slices"

	"github.com/deepagents-go/deepagents/thread"
)

var readTests = []test{
	{"selects", testSelects},
	{"from a snapshot", testSnapshot},
	{"breaks", testBreaks},
	{"sees what was there", testStable},
	{"is not stalled and stalls nobody", testSlowReader},
	{"ends with the context", testReadContext},
	{"pages", testPages},
}

// kinded appends records, each given as id:kind or id:kind:namespace.
func (f *fixture) kinded(id string, branch thread.ID, base int64, specs ...[3]string) {
	f.Helper()
	rs := make([]thread.Record, len(specs))
	for i, s := range specs {
		rs[i] = rec(s[0])
		rs[i].Kind, rs[i].NS = thread.Kind(s[1]), s[2]
		if rs[i].Kind == thread.KindSnapshot {
			rs[i].Base = base
		}
	}
	f.append(id, thread.Append{Branch: branch, ExpectSeq: -1, Records: rs})
}

func testSelects(f *fixture) {
	f.kinded("t", "", 0, [][3]string{
		{"1", "input", ""},
		{"2", "model", ""},
		{"3", "input", "a"},
		{"4", "model", "a/b"},
		{"5", "commit", "a"},
		{"6", "model", "ab"},
		{"7", "commit", ""},
		{"8", "model", "a/b/c"},
		{"9", "odd kind", "a%_*"},
		{"10", "commit", "a/é"},
	}...)
	for _, c := range []struct {
		q    thread.Query
		want []string
	}{
		{thread.Query{}, []string{"1", "2", "7"}},
		{thread.Query{Prefix: true}, []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10"}},
		{thread.Query{NS: "a"}, []string{"3", "5"}},
		{thread.Query{NS: "a", Prefix: true}, []string{"3", "4", "5", "8", "10"}},
		{thread.Query{NS: "a/b", Prefix: true}, []string{"4", "8"}},
		{thread.Query{NS: "a%_*", Prefix: true}, []string{"9"}},
		{thread.Query{NS: "nothing"}, nil},
		{thread.Query{NS: "nothing", Prefix: true}, nil},
		{thread.Query{Kinds: []thread.Kind{"model"}}, []string{"2"}},
		{thread.Query{Prefix: true, Kinds: []thread.Kind{"commit", "odd kind", "never seen"}}, []string{"5", "7", "9", "10"}},
		{thread.Query{Prefix: true, Kinds: []thread.Kind{"never seen"}}, nil},
		{thread.Query{Prefix: true, After: 8}, []string{"9", "10"}},
		{thread.Query{Prefix: true, After: 10}, nil},
		{thread.Query{Prefix: true, After: 99}, nil},
		{thread.Query{Prefix: true, Reverse: true}, []string{"10", "9", "8", "7", "6", "5", "4", "3", "2", "1"}},
		{thread.Query{Prefix: true, Reverse: true, After: 4, Kinds: []thread.Kind{"commit"}}, []string{"10", "7", "5"}},
	} {
		f.ids("t", c.q, c.want...)
	}
	for _, q := range []thread.Query{{Branch: "nowhere"}, {Branch: "nowhere", FromSnapshot: true}} {
		_, err := f.collect("t", q)
		f.is(err, thread.ErrNotFound)
	}
	_, err := f.collect("none", thread.Query{})
	f.is(err, thread.ErrNotFound)
	if _, err := f.collect("t", thread.Query{FromSnapshot: true, Reverse: true}); err == nil {
		f.Fatal("Reverse with FromSnapshot was accepted")
	}
}

func testSnapshot(f *fixture) {
	snap := thread.Query{Prefix: true, FromSnapshot: true}
	f.kinded("t", "", 0, [3]string{"1", "input", ""}, [3]string{"2", "commit", ""})
	f.ids("t", snap, "1", "2")
	f.kinded("t", "", 2, [3]string{"3", "input", ""}, [3]string{"s4", "snapshot", ""}, [3]string{"5", "commit", "a"})
	f.ids("t", snap, "s4", "3", "5")
	f.kinded("t", "", 3, [3]string{"6", "commit", ""}, [3]string{"s7", "snapshot", "a"}, [3]string{"8", "model", "a"})
	f.ids("t", snap, "s7", "5", "6", "8")
	f.ids("t", thread.Query{FromSnapshot: true}, "s4", "3", "6")
	f.ids("t", thread.Query{NS: "a", FromSnapshot: true}, "s7", "5", "8")
	f.ids("t", thread.Query{FromSnapshot: true, After: 3}, "s4", "6")
	f.ids("t", thread.Query{FromSnapshot: true, After: 4}, "6")
	f.ids("t", thread.Query{FromSnapshot: true, Kinds: []thread.Kind{"commit"}}, "s4", "6")
	f.ids("t", thread.Query{Prefix: true}, "1", "2", "3", "s4", "5", "6", "s7", "8")
	b := f.fork("t", 0, "3")
	f.ids("t", thread.Query{Branch: b, FromSnapshot: true}, "1", "2", "3")
	c := f.fork("t", 0, "6")
	f.kinded("t", c, 0, [3]string{"9", "model", ""})
	f.ids("t", thread.Query{Branch: c, FromSnapshot: true}, "s4", "3", "6", "9")
	f.kinded("t", c, 9, [3]string{"s10", "snapshot", ""})
	f.ids("t", thread.Query{Branch: c, FromSnapshot: true}, "s10")
	f.ids("t", thread.Query{FromSnapshot: true}, "s4", "3", "6")
}

func testBreaks(f *fixture) {
	f.add("t", 0, "a", "b", "c")
	for n := 1; n <= 3; n++ {
		got := 0
		for _, err := range f.s.Read(f.Context(), "t", thread.Query{}) {
			f.must(err)
			if got++; got == n {
				break
			}
		}
	}
	seq := f.s.Read(f.Context(), "t", thread.Query{})
	for range 2 {
		n := 0
		for _, err := range seq {
			f.must(err)
			n++
		}
		if n != 3 {
			f.Fatalf("ranging again gave %d records", n)
		}
	}
	f.add("t", 0, "d")
}

// testStable appends while it reads: the reader sees the log as it was when it began.
func testStable(f *fixture) {
	f.add("t", 0, "a", "b")
	var got []string
	for r, err := range f.s.Read(f.Context(), "t", thread.Query{}) {
		f.must(err)
		got = append(got, string(r.ID))
		f.add("t", 0, "new")
	}
	if !slices.Equal(got, []string{"a", "b"}) {
		f.Fatalf("got %v", got)
	}
	f.ids("t", thread.Query{}, "a", "b", "new", "new")
}

// testSlowReader holds many readers in the middle of their ranges while everything else goes on.
func testSlowReader(f *fixture) {
	f.add("t", 0, "a", "b", "c")
	hold, held := make(chan struct{}), make(chan error, 64)
	done := make(chan []string, 64)
	for range cap(done) {
		go func() {
			var ids []string
			for r, err := range f.s.Read(f.Context(), "t", thread.Query{}) {
				if len(ids) == 0 {
					held <- err
					<-hold
				}
				ids = append(ids, string(r.ID))
			}
			done <- ids
		}()
	}
	for range cap(held) {
		f.must(<-held)
	}
	for i := range 20 {
		f.add("t", 0, fmt.Sprint("n", i))
	}
	l := f.acquire("t", "o")
	f.must(l.Release(f.Context()))
	if n := len(f.read("t", thread.Query{})); n != 23 {
		f.Fatalf("%d records", n)
	}
	close(hold)
	for range cap(done) {
		if ids := <-done; !slices.Equal(ids, []string{"a", "b", "c"}) {
			f.Fatalf("a slow reader got %v", ids)
		}
	}
}

func testReadContext(f *fixture) {
	f.add("t", 0, "a", "b", "c")
	ctx, cancel := context.WithCancel(f.Context())
	defer cancel()
	var got []string
	var last error
	for r, err := range f.s.Read(ctx, "t", thread.Query{}) {
		if last = err; err == nil {
			got = append(got, string(r.ID))
			cancel()
		}
	}
	f.is(last, context.Canceled)
	if len(got) != 1 {
		f.Fatalf("records after the context ended: %v", got)
	}
}

// testPages reads a log that is longer than any page, with records of many sizes, in both directions and through a filter.
func testPages(f *fixture) {
	const n = 1500
	var rs []thread.Record
	for i := range n {
		r := rec(fmt.Sprint(i))
		r.Data = fmt.Appendf(nil, `"%0*d"`, i*i%5000, i)
		if i%3 == 0 {
			r.Kind = thread.KindCommit
		}
		rs = append(rs, r)
	}
	f.append("t", thread.Append{Records: rs})
	branch := f.head("t").Branch
	for i := range rs {
		rs[i].Seq, rs[i].Branch = int64(i+1), branch
	}
	if d := diff(f.read("t", thread.Query{}), rs); d != "" {
		f.Fatal(d)
	}
	commits := slices.DeleteFunc(slices.Clone(rs), func(r thread.Record) bool { return r.Kind != thread.KindCommit || r.Seq <= 100 })
	slices.Reverse(commits)
	q := thread.Query{Kinds: []thread.Kind{thread.KindCommit}, After: 100, Reverse: true}
	if d := diff(f.read("t", q), commits); d != "" {
		f.Fatal(d)
	}
}
