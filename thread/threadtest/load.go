package threadtest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/deepagents-go/deepagents/thread"
)

var loadTests = []test{
	{"one branch from many goroutines", testContended},
	{"many threads at once", testManyThreads},
	{"fight for a lease", func(f *fixture) { fight(f, f.s, f.s) }},
	{"100,000 records", test100k},
}

// testContended has writers that expect the last Seq and try again after a conflict: no update is lost.
func testContended(f *fixture) {
	const workers, each = 8, 25
	var wg sync.WaitGroup
	errs := make(chan error, workers)
	for w := range workers {
		wg.Go(func() {
			for i := range each {
				if err := f.appendNext("t", fmt.Sprintf("%d-%d", w, i)); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		f.Fatal(err)
	}
	rs := f.read("t", thread.Query{})
	seen := make(map[thread.ID]bool)
	for i, r := range rs {
		if r.Seq != int64(i+1) || seen[r.ID] {
			f.Fatalf("record %d is %d %s", i, r.Seq, r.ID)
		}
		seen[r.ID] = true
	}
	if len(rs) != workers*each {
		f.Fatalf("%d records", len(rs))
	}
}

// appendNext appends after the last record, whatever it is.
func (f *fixture) appendNext(id, r string) error {
	for {
		h, err := f.s.Head(f.Context(), id)
		if err != nil && !errors.Is(err, thread.ErrNotFound) {
			return err
		}
		if _, err = f.s.Append(f.Context(), id, thread.Append{ExpectSeq: h.Seq, Records: recs(r)}); !errors.Is(err, thread.ErrConflict) {
			return err
		}
	}
}

// testManyThreads has 16 writers on 8 threads, with readers and listings between them.
func testManyThreads(f *fixture) {
	const writers, threads, each = 16, 8, 20
	var wg sync.WaitGroup
	errs := make(chan error, 2*writers)
	for w := range writers {
		id := fmt.Sprint("t", w%threads)
		wg.Go(func() {
			for i := range each {
				a := thread.Append{ExpectSeq: -1, Durable: i%5 == 0, Records: recs(fmt.Sprintf("%d-%d", w, i), "second")}
				if _, err := f.s.Append(f.Context(), id, a); err != nil {
					errs <- err
					return
				}
				if _, err := f.collect(id, thread.Query{}); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		f.Fatal(err)
	}
	for id := range threads {
		checkPairs(f, fmt.Sprint("t", id), writers/threads, each)
	}
}

// checkPairs fails unless each append of two records is whole and the appends of each writer are in order.
func checkPairs(f *fixture, id string, writers, each int) {
	f.Helper()
	rs := f.read(id, thread.Query{})
	if len(rs) != 2*writers*each {
		f.Fatalf("%s: %d records, want %d", id, len(rs), 2*writers*each)
	}
	next := make(map[int]int)
	for i := 0; i < len(rs); i += 2 {
		var w, n int
		if _, err := fmt.Sscanf(string(rs[i].ID), "%d-%d", &w, &n); err != nil || rs[i+1].ID != "second" {
			f.Fatalf("%s: records %s and %s are no pair", id, rs[i].ID, rs[i+1].ID)
		}
		if n != next[w] {
			f.Fatalf("%s: writer %d: append %d where %d was due", id, w, n, next[w])
		}
		next[w]++
	}
}

// fight has two openers take the lease in turns; what is written under it is never interleaved.
func fight(f *fixture, stores ...thread.Store) {
	const rounds = 10
	var holders atomic.Int32
	var wg sync.WaitGroup
	for i, s := range stores {
		wg.Go(func() {
			for n := 0; n < rounds; {
				l, err := s.Acquire(f.Context(), "t", fmt.Sprint("store ", i), hour)
				if errors.Is(err, thread.ErrBusy) {
					continue
				}
				if err == nil {
					if holders.Add(1) != 1 {
						err = errors.New("two holders")
					}
					for range 2 {
						_, e := s.Append(f.Context(), "t", thread.Append{Fence: l.Fence(), ExpectSeq: -1, Records: recs(fmt.Sprint(i, n))})
						err = errors.Join(err, e)
					}
					holders.Add(-1)
					err = errors.Join(err, l.Release(f.Context()))
				}
				if err != nil {
					f.Error(err)
					return
				}
				n++
			}
		})
	}
	wg.Wait()
	rs := f.read("t", thread.Query{})
	if len(rs) != 2*rounds*len(stores) {
		f.Fatalf("%d records", len(rs))
	}
	for i := 0; i < len(rs); i += 2 {
		if rs[i].ID != rs[i+1].ID {
			f.Fatalf("records %s and %s were written under one lease", rs[i].ID, rs[i+1].ID)
		}
	}
}

// test100k reads a long log back, from both ends and from the middle.
func test100k(f *fixture) {
	total, batch := 100000, 1000
	if testing.Short() {
		total = 10000
	}
	rs := make([]thread.Record, batch)
	for n := 0; n < total; n += batch {
		for i := range rs {
			rs[i] = rec("r")
		}
		f.append("t", thread.Append{ExpectSeq: int64(n), Records: rs})
	}
	next := int64(1)
	for r, err := range f.s.Read(f.Context(), "t", thread.Query{}) {
		if err != nil || r.Seq != next {
			f.Fatalf("record %d, want %d: %v", r.Seq, next, err)
		}
		next++
	}
	if next != int64(total)+1 {
		f.Fatalf("%d records", next-1)
	}
	for r, err := range f.s.Read(f.Context(), "t", thread.Query{Reverse: true}) {
		if next--; err != nil || r.Seq != next {
			f.Fatalf("record %d, want %d: %v", r.Seq, next, err)
		}
	}
	if got := f.read("t", thread.Query{After: int64(total) - 5}); len(got) != 5 {
		f.Fatalf("%d records at the end", len(got))
	}
}
