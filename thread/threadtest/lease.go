package threadtest

import (
	"errors"
	"time"

	"github.com/deepagents-go/deepagents/thread"
)

var leaseTests = []test{
	{"one holder", testOneHolder},
	{"fences writes", testFences},
	{"expires", testExpires},
	{"without a thread", testLeaseOnly},
	{"of a deleted thread", testLeaseDeleted},
	{"needs a time to live", func(f *fixture) {
		for _, ttl := range []time.Duration{0, -1} {
			if _, err := f.s.Acquire(f.Context(), "t", "a", ttl); err == nil {
				f.Fatalf("a time to live of %v was accepted", ttl)
			}
		}
	}},
}

func (f *fixture) busy(err error, owner string) {
	f.Helper()
	var b *thread.BusyError
	if !errors.As(err, &b) || !errors.Is(err, thread.ErrBusy) || b.Owner != owner || b.Thread != "t" {
		f.Fatalf("error %v, want busy by %s", err, owner)
	}
}

func testOneHolder(f *fixture) {
	a := f.acquire("t", "first")
	if a.Fence() <= 0 {
		f.Fatalf("fence %d", a.Fence())
	}
	for range 2 {
		_, err := f.s.Acquire(f.Context(), "t", "second", hour)
		f.busy(err, "first")
	}
	f.acquire("u", "second")
	f.must(a.Renew(f.Context()))
	f.must(a.Release(f.Context()))
	f.must(a.Release(f.Context()))
	f.is(a.Renew(f.Context()), thread.ErrFenced)
	b := f.acquire("t", "second")
	if b.Fence() <= a.Fence() {
		f.Fatalf("fence %d after %d", b.Fence(), a.Fence())
	}
	f.must(a.Release(f.Context())) // must not take away the second holder's
	_, err := f.s.Acquire(f.Context(), "t", "third", hour)
	f.busy(err, "second")
	f.must(b.Renew(f.Context()))
}

// fenced fails the test unless every write with the fence is refused with ErrFenced.
func (f *fixture) fenced(fence int64) {
	f.Helper()
	f.refused(fence, func(err error) { f.Helper(); f.is(err, thread.ErrFenced) })
}

func (f *fixture) refused(fence int64, check func(error)) {
	f.Helper()
	branch := f.head("t").Branch
	_, err := f.s.Append(f.Context(), "t", thread.Append{Fence: fence, ExpectSeq: -1, Records: recs("x")})
	check(err)
	check(f.s.AppendEvents(f.Context(), "t", fence, []thread.Event{{Seq: 1 << 40}}))
	_, err = f.s.Fork(f.Context(), "t", fence, "a")
	check(err)
	check(f.s.SetHead(f.Context(), "t", fence, branch))
	check(f.s.Prune(f.Context(), "t", fence))
}

func testFences(f *fixture) {
	a := f.acquire("t", "first")
	f.add("t", a.Fence(), "a")
	f.fenced(a.Fence() + 1)
	f.refused(0, func(err error) { f.Helper(); f.busy(err, "first") })
	f.busy(f.s.Delete(f.Context(), "t"), "first")
	f.must(a.Release(f.Context()))
	f.fenced(a.Fence())
	b := f.acquire("t", "second")
	f.fenced(a.Fence())
	f.add("t", b.Fence(), "b")
	f.ids("t", thread.Query{}, "a", "b")
	f.must(b.Release(f.Context()))
	f.add("t", 0, "c")
}

// testExpires waits for the end of a short time to live.
func testExpires(f *fixture) {
	a, err := f.s.Acquire(f.Context(), "t", "first", 20*time.Millisecond)
	f.must(err)
	f.add("t", a.Fence(), "a")
	var b thread.Lease
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		b, err = f.s.Acquire(f.Context(), "t", "second", hour)
		if err == nil {
			break
		}
		f.busy(err, "first")
		if time.Now().After(end) {
			f.Fatal("the lease did not expire")
		}
	}
	f.is(a.Renew(f.Context()), thread.ErrFenced)
	f.fenced(a.Fence())
	f.must(a.Release(f.Context()))
	f.add("t", b.Fence(), "b")
	f.must(b.Release(f.Context()))

	// Nobody takes this one: the holder keeps it.
	c, err := f.s.Acquire(f.Context(), "t", "third", time.Millisecond)
	f.must(err)
	time.Sleep(10 * time.Millisecond)
	f.add("t", c.Fence(), "c")
	f.must(c.Renew(f.Context()))
	f.add("t", c.Fence(), "d")
}

// testLeaseOnly checks that a lease alone makes no thread.
func testLeaseOnly(f *fixture) {
	l := f.acquire("t", "a")
	_, err := f.s.Head(f.Context(), "t")
	f.is(err, thread.ErrNotFound)
	_, err = f.collect("t", thread.Query{})
	f.is(err, thread.ErrNotFound)
	_, _, err = f.s.Events(f.Context(), "t", 0)
	f.is(err, thread.ErrNotFound)
	_, err = f.s.Fork(f.Context(), "t", l.Fence(), "a")
	f.is(err, thread.ErrNotFound)
	f.is(f.s.SetHead(f.Context(), "t", l.Fence(), "a"), thread.ErrNotFound)
	f.is(f.s.Prune(f.Context(), "t", l.Fence()), thread.ErrNotFound)
	f.busy(f.s.Delete(f.Context(), "t"), "a")
	if all := f.list(); len(all) != 0 {
		f.Fatalf("listed %v", all)
	}
	f.must(l.Release(f.Context()))
	f.is(f.s.Delete(f.Context(), "t"), thread.ErrNotFound)
	_, err = f.s.Append(f.Context(), "t", thread.Append{Fence: l.Fence(), Records: recs("a")})
	f.is(err, thread.ErrFenced)
	_, err = f.s.Head(f.Context(), "t")
	f.is(err, thread.ErrNotFound)
}

// testLeaseDeleted checks that a lease is no good for the next thread of the same name.
func testLeaseDeleted(f *fixture) {
	a := f.acquire("t", "first")
	f.add("t", a.Fence(), "a")
	f.must(a.Release(f.Context()))
	f.must(f.s.Delete(f.Context(), "t"))
	b := f.acquire("t", "second")
	f.add("t", b.Fence(), "b")
	if b.Fence() <= a.Fence() {
		f.Fatalf("fence %d after %d", b.Fence(), a.Fence())
	}
	f.fenced(a.Fence())
	f.must(a.Release(f.Context()))
	f.must(b.Renew(f.Context()))
	f.ids("t", thread.Query{}, "b")
}
