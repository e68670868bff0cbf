package threadtest

import (
	"fmt"
	"sync"

	"github.com/deepagents-go/deepagents/thread"
)

var secondTests = []struct {
	name string
	run  func(f, g *fixture)
}{
	{"sees the other's writes", testSees},
	{"leases exclude", testSecondLease},
	{"close releases", testCloseReleases},
	{"fight for a lease", func(f, g *fixture) { fight(f, f.s, g.s) }},
	{"many threads", testSecondThreads},
}

func testSees(f, g *fixture) {
	f.add("t", 0, "a")
	g.ids("t", thread.Query{}, "a")
	g.append("t", thread.Append{ExpectSeq: 1, Records: recs("b")})
	f.append("t", thread.Append{ExpectSeq: 2, Records: recs("c")})
	b := g.fork("t", 0, "b")
	f.append("t", thread.Append{Branch: b, ExpectSeq: 2, Records: recs("d")})
	f.must(f.s.SetHead(f.Context(), "t", 0, b))
	g.append("t", thread.Append{ExpectSeq: 4, Records: recs("e")})
	f.ids("t", thread.Query{}, "a", "b", "d", "e")
	f.must(f.s.AppendEvents(f.Context(), "t", 0, events(1)))
	g.must(g.s.AppendEvents(f.Context(), "t", 0, events(2)))
	f.eventSeqs(0, 1, 1, 2)
	f.must(f.s.Delete(f.Context(), "t"))
	_, err := g.s.Head(g.Context(), "t")
	g.is(err, thread.ErrNotFound)
	rs := recs("f")
	rs[0].NS = "a"
	g.append("t", thread.Append{Records: rs})
	f.append("t", thread.Append{ExpectSeq: 1, Records: rs})
	g.ids("t", thread.Query{NS: "a"}, "f", "f")
}

func testSecondLease(f, g *fixture) {
	a := f.acquire("t", "first")
	f.add("t", a.Fence(), "a")
	_, err := g.s.Acquire(g.Context(), "t", "second", hour)
	g.busy(err, "first")
	g.busy(g.s.Delete(g.Context(), "t"), "first")
	if i := g.list()[0]; i.Owner != "first" {
		g.Fatalf("listed %+v", i)
	}
	g.refused(0, func(err error) { g.Helper(); g.busy(err, "first") })
	f.must(a.Release(f.Context()))
	b := g.acquire("t", "second")
	f.is(a.Renew(f.Context()), thread.ErrFenced)
	f.fenced(a.Fence())
	g.add("t", b.Fence(), "b")
	_, err = f.s.Acquire(f.Context(), "t", "third", hour)
	f.busy(err, "second")
}

func testCloseReleases(f, g *fixture) {
	l := g.acquire("t", "second")
	g.add("t", l.Fence(), "a")
	g.acquire("u", "second")
	g.must(g.s.Close())
	if i := f.list()[0]; i.Owner != "" {
		f.Fatalf("listed %+v", i)
	}
	f.acquire("t", "first")
	f.acquire("u", "first")
	f.fenced(l.Fence())
}

// testSecondThreads has 16 writers over two openers on 8 threads.
func testSecondThreads(f, g *fixture) {
	const writers, threads, each = 16, 8, 10
	var wg sync.WaitGroup
	for w := range writers {
		s, id := []*fixture{f, g}[w/threads], fmt.Sprint("t", w%threads)
		wg.Go(func() {
			for i := range each {
				a := thread.Append{ExpectSeq: -1, Durable: i%2 == 0, Records: recs(fmt.Sprintf("%d-%d", w, i), "second")}
				if _, err := s.s.Append(f.Context(), id, a); err != nil {
					f.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	for id := range threads {
		checkPairs(f, fmt.Sprint("t", id), writers/threads, each)
	}
}
