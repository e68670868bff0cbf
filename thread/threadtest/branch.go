package threadtest

import (
	"github.com/deepagents-go/deepagents/thread"
)

var branchTests = []test{
	{"fork", testFork},
	{"set head", testSetHead},
	{"forks of forks", testForks},
	{"deep chain", testDeep},
}

func testFork(f *fixture) {
	f.add("t", 0, "a", "b", "c")
	main := f.head("t").Branch
	b := f.fork("t", 0, "b")
	if b == main || b == "" {
		f.Fatalf("branch %q", b)
	}
	if c := f.fork("t", 0, "b"); c == b || c == main {
		f.Fatalf("the second fork is branch %q too", c)
	}
	if h := f.head("t"); h.Branch != main || h.Seq != 3 {
		f.Fatalf("forking moved the head: %+v", h)
	}
	f.ids("t", thread.Query{Branch: b}, "a", "b")
	f.append("t", thread.Append{Branch: b, ExpectSeq: 2, Records: recs("d")})
	f.add("t", 0, "e")
	f.ids("t", thread.Query{Branch: b}, "a", "b", "d")
	f.ids("t", thread.Query{Branch: b, Reverse: true}, "d", "b", "a")
	f.ids("t", thread.Query{Branch: b, After: 2}, "d")
	f.ids("t", thread.Query{}, "a", "b", "c", "e")
	f.ids("t", thread.Query{Branch: main, Reverse: true}, "e", "c", "b", "a")
	for _, r := range f.read("t", thread.Query{Branch: b}) {
		if want := map[thread.ID]thread.ID{"a": main, "b": main, "d": b}[r.ID]; r.Branch != want {
			f.Fatalf("record %s is of branch %s, want %s", r.ID, r.Branch, want)
		}
	}
	_, err := f.s.Fork(f.Context(), "t", 0, "nothing")
	f.is(err, thread.ErrNotFound)
	_, err = f.s.Fork(f.Context(), "t", 0, "")
	f.is(err, thread.ErrNotFound)
	_, err = f.s.Fork(f.Context(), "none", 0, "a")
	f.is(err, thread.ErrNotFound)
}

func testSetHead(f *fixture) {
	f.add("t", 0, "a", "b")
	main := f.head("t").Branch
	b := f.fork("t", 0, "a")
	f.must(f.s.SetHead(f.Context(), "t", 0, b))
	if h := f.head("t"); h.Branch != b || h.Seq != 1 {
		f.Fatalf("head %+v", h)
	}
	f.ids("t", thread.Query{}, "a")
	f.append("t", thread.Append{ExpectSeq: 1, Records: recs("c")})
	f.ids("t", thread.Query{}, "a", "c")
	if h := f.head("t"); h.Seq != 3 {
		f.Fatalf("head %+v", h)
	}
	f.must(f.s.SetHead(f.Context(), "t", 0, main))
	f.ids("t", thread.Query{}, "a", "b")
	f.is(f.s.SetHead(f.Context(), "t", 0, "nowhere"), thread.ErrNotFound)
	f.is(f.s.SetHead(f.Context(), "none", 0, main), thread.ErrNotFound)
	if h := f.head("t"); h.Branch != main || h.Seq != 2 {
		f.Fatalf("head %+v", h)
	}
}

func testForks(f *fixture) {
	f.add("t", 0, "1", "2", "3")
	b := f.fork("t", 0, "3")
	f.append("t", thread.Append{Branch: b, ExpectSeq: -1, Records: recs("4", "5")})
	c := f.fork("t", 0, "5")
	d := f.fork("t", 0, "2") // before b began
	f.append("t", thread.Append{Branch: c, ExpectSeq: 5, Records: recs("6")})
	f.append("t", thread.Append{Branch: d, ExpectSeq: 2, Records: recs("7")})
	e := f.fork("t", 0, "4")
	f.append("t", thread.Append{Branch: b, ExpectSeq: 5, Records: recs("8")})
	g := f.fork("t", 0, "6")
	f.ids("t", thread.Query{Branch: b}, "1", "2", "3", "4", "5", "8")
	f.ids("t", thread.Query{Branch: c}, "1", "2", "3", "4", "5", "6")
	f.ids("t", thread.Query{Branch: d}, "1", "2", "7")
	f.ids("t", thread.Query{Branch: e}, "1", "2", "3", "4")
	f.ids("t", thread.Query{Branch: g, Reverse: true}, "6", "5", "4", "3", "2", "1")
	f.ids("t", thread.Query{}, "1", "2", "3")
}

// testDeep forks from fork to fork.
func testDeep(f *fixture) {
	f.add("t", 0, "r")
	want, at := []string{"r"}, "r"
	for i := range 200 {
		b := f.fork("t", 0, at)
		at = "r" + string(rune('a'+i%26)) + string(rune('a'+i/26))
		f.append("t", thread.Append{Branch: b, ExpectSeq: int64(i + 1), Records: recs(at)})
		f.must(f.s.SetHead(f.Context(), "t", 0, b))
		want = append(want, at)
	}
	f.ids("t", thread.Query{}, want...)
}

var pruneTests = []test{
	{"cuts before the snapshot", testPrune},
	{"removes branches that lose their past", testPruneBranches},
	{"of an ancestor", testPruneAncestor},
	{"while it is read", testPruneRead},
}

func testPrune(f *fixture) {
	f.add("t", 0, "a")
	f.must(f.s.Prune(f.Context(), "t", 0))
	f.ids("t", thread.Query{}, "a") // no snapshot, nothing to cut
	f.kinded("t", "", 1, [3]string{"s2", "snapshot", ""}, [3]string{"run3", "run_started", ""}, [3]string{"4", "model", "a"})
	f.kinded("t", "", 4, [3]string{"5", "commit", ""}, [3]string{"s6", "snapshot", ""}, [3]string{"7", "model", ""})
	f.must(f.s.Prune(f.Context(), "t", 0))
	f.ids("t", thread.Query{Prefix: true}, "run3", "5", "s6", "7")
	f.ids("t", thread.Query{FromSnapshot: true}, "s6", "5", "7")
	f.must(f.s.Prune(f.Context(), "t", 0))
	f.ids("t", thread.Query{Prefix: true}, "run3", "5", "s6", "7")
	if h := f.head("t"); h.Seq != 7 {
		f.Fatalf("head %+v", h)
	}
	if seq := f.append("t", thread.Append{ExpectSeq: 7, Records: recs("8")}); seq != 8 {
		f.Fatalf("seq %d", seq)
	}
	var bytes int64
	for _, r := range f.read("t", thread.Query{Prefix: true}) {
		bytes += int64(len(r.Data))
	}
	if all := f.list(); all[0].Records != 5 || all[0].Bytes != bytes {
		f.Fatalf("listed %+v, want 5 records and %d bytes", all[0], bytes)
	}
	f.is(f.s.Prune(f.Context(), "none", 0), thread.ErrNotFound)
}

func testPruneBranches(f *fixture) {
	f.add("t", 0, "1", "2", "3", "4")
	main := f.head("t").Branch
	early := f.fork("t", 0, "2")
	f.append("t", thread.Append{Branch: early, ExpectSeq: -1, Records: recs("5")})
	nested := f.fork("t", 0, "5")
	own := f.fork("t", 0, "2") // has a snapshot of its own
	f.kinded("t", own, 6, [3]string{"6", "commit", ""}, [3]string{"s7", "snapshot", ""}, [3]string{"8", "commit", ""})
	f.kinded("t", "", 4, [3]string{"s9", "snapshot", ""}, [3]string{"10", "commit", ""})
	late := f.fork("t", 0, "10")
	f.append("t", thread.Append{Branch: late, ExpectSeq: -1, Records: recs("11")})
	f.must(f.s.Prune(f.Context(), "t", 0))
	f.ids("t", thread.Query{}, "s9", "10")
	f.ids("t", thread.Query{Branch: late}, "s9", "10", "11")
	f.ids("t", thread.Query{Branch: own}, "6", "s7", "8")
	f.ids("t", thread.Query{Branch: own, FromSnapshot: true}, "s7", "8")
	for _, b := range []thread.ID{early, nested} {
		_, err := f.collect("t", thread.Query{Branch: b})
		f.is(err, thread.ErrNotFound)
		f.is(f.s.SetHead(f.Context(), "t", 0, b), thread.ErrNotFound)
		_, err = f.s.Append(f.Context(), "t", thread.Append{Branch: b, ExpectSeq: -1, Records: recs("x")})
		f.is(err, thread.ErrNotFound)
	}
	_, err := f.s.Fork(f.Context(), "t", 0, "5")
	f.is(err, thread.ErrNotFound)
	if all := f.list(); all[0].Records != 6 {
		f.Fatalf("listed %+v", all[0])
	}
	for range 3 {
		if b := f.fork("t", 0, "10"); b == early || b == nested || b == main || b == own || b == late {
			f.Fatalf("the name %s was used before", b)
		}
	}
}

// testPruneAncestor prunes a head that was forked: the branch it came from loses its past, and with it its name.
func testPruneAncestor(f *fixture) {
	f.kinded("t", "", 0, [3]string{"run1", "run_started", ""}, [3]string{"2", "commit", ""}, [3]string{"3", "commit", ""})
	main := f.head("t").Branch
	b := f.fork("t", 0, "2")
	f.add("t", 0, "4")
	f.must(f.s.SetHead(f.Context(), "t", 0, b))
	f.kinded("t", "", 5, [3]string{"5", "commit", ""}, [3]string{"s6", "snapshot", ""})
	f.must(f.s.Prune(f.Context(), "t", 0))
	f.ids("t", thread.Query{}, "run1", "s6")
	_, err := f.collect("t", thread.Query{Branch: main})
	f.is(err, thread.ErrNotFound)
	_, err = f.s.Append(f.Context(), "t", thread.Append{Branch: main, ExpectSeq: -1, Records: recs("x")})
	f.is(err, thread.ErrNotFound)
	f.add("t", 0, "7")
	f.ids("t", thread.Query{}, "run1", "s6", "7")
	if got := f.list()[0].Records; got != 3 {
		f.Fatalf("%d records", got)
	}
}

// testPruneRead checks that a reader in the middle gets the whole log or an error, never a log with a hole.
func testPruneRead(f *fixture) {
	const n = 2000
	var rs []thread.Record
	for range n {
		r := rec("r")
		r.Data = append(r.Data, make([]byte, 1000)...)
		rs = append(rs, r)
	}
	s := rec("s")
	s.Kind, s.Base = thread.KindSnapshot, n
	f.append("t", thread.Append{Records: append(rs, s)})
	for _, change := range []func() error{
		func() error { return f.s.Prune(f.Context(), "t", 0) },
		func() error { return f.s.Delete(f.Context(), "t") },
	} {
		before := len(f.read("t", thread.Query{}))
		got, last := 0, error(nil)
		for _, err := range f.s.Read(f.Context(), "t", thread.Query{}) {
			if got++; got == 1 {
				f.must(change())
			}
			last = err
		}
		if last == nil && got != before {
			f.Fatalf("%d records of %d and no error", got, before)
		}
	}
}
