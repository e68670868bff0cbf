package threadtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deepagents-go/deepagents/thread"
	"go.uber.org/goleak"
)

// Options adds to the suite.
type Options struct {
	// Second opens the data of a store once more, as another process does, and closes it when the test ends. Without it the
	// tests with two openers are left out.
	Second func(t *testing.T, first thread.Store) thread.Store
}

// hour is a time to live that does not end during a test.
const hour = time.Hour

// Run tests the stores that open makes. Each is empty, has no other user and is closed by the suite. At most one Options counts.
func Run(t *testing.T, open func(t *testing.T) thread.Store, o ...Options) {
	t.Helper()
	groups := []struct {
		name  string
		tests []test
	}{
		{"append", appendTests},
		{"read", readTests},
		{"lease", leaseTests},
		{"branch", branchTests},
		{"prune", pruneTests},
		{"event", eventTests},
		{"life", lifeTests},
		{"load", loadTests},
	}
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			for _, c := range g.tests {
				t.Run(c.name, func(t *testing.T) { c.run(newFixture(t, open)) })
			}
		})
	}
	t.Run("random", func(t *testing.T) { testRandom(newFixture(t, open)) })
	t.Run("second", func(t *testing.T) {
		if len(o) == 0 || o[0].Second == nil {
			t.Skip("the store has no second opener")
		}
		for _, c := range secondTests {
			t.Run(c.name, func(t *testing.T) {
				f := newFixture(t, open)
				c.run(f, f.with(o[0].Second(t, f.s)))
			})
		}
	})
}

type test struct {
	name string
	run  func(f *fixture)
}

// fixture is a store with short forms of its calls: those that must work end the test when they do not.
type fixture struct {
	*testing.T
	s thread.Store
}

func newFixture(t *testing.T, open func(t *testing.T) thread.Store) *fixture {
	leak := goleak.IgnoreCurrent()
	s := open(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		goleak.VerifyNone(t, leak)
	})
	return &fixture{t, s}
}

func (f *fixture) with(s thread.Store) *fixture { return &fixture{f.T, s} }

// must ends the test when there is an error.
func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// is fails the test when the error is not the sentinel.
func (f *fixture) is(err, want error) {
	f.Helper()
	if !errors.Is(err, want) {
		f.Fatalf("error %v, want %v", err, want)
	}
}

// when is the time of records: whole microseconds, so that every store can keep it.
func when(i int) time.Time { return time.Unix(1700000000, int64(i)*1000).UTC() }

// rec is a record with every field filled in.
func rec(id string) thread.Record {
	return thread.Record{
		V: 1, ID: thread.ID(id), RunID: "run-" + id, Step: len(id), Kind: thread.KindUpdate, Time: when(len(id)),
		Event: 7, Data: json.RawMessage(`{"id":"` + id + `"}`),
	}
}

func (f *fixture) append(id string, a thread.Append) int64 {
	f.Helper()
	seq, err := f.s.Append(f.Context(), id, a)
	f.must(err)
	return seq
}

// add appends records with these ids to the head, durably.
func (f *fixture) add(id string, fence int64, ids ...string) int64 {
	f.Helper()
	return f.append(id, thread.Append{Fence: fence, ExpectSeq: -1, Durable: true, Records: recs(ids...)})
}

func recs(ids ...string) []thread.Record {
	rs := make([]thread.Record, len(ids))
	for i, id := range ids {
		rs[i] = rec(id)
	}
	return rs
}

func (f *fixture) acquire(id, owner string) thread.Lease {
	f.Helper()
	l, err := f.s.Acquire(f.Context(), id, owner, hour)
	f.must(err)
	return l
}

func (f *fixture) head(id string) thread.Head {
	f.Helper()
	h, err := f.s.Head(f.Context(), id)
	f.must(err)
	return h
}

func (f *fixture) fork(id string, fence int64, at string) thread.ID {
	f.Helper()
	b, err := f.s.Fork(f.Context(), id, fence, thread.ID(at))
	f.must(err)
	return b
}

func (f *fixture) collect(id string, q thread.Query) ([]thread.Record, error) {
	return f.collectWith(f.Context(), id, q)
}

func (f *fixture) collectWith(ctx context.Context, id string, q thread.Query) ([]thread.Record, error) {
	var rs []thread.Record
	for r, err := range f.s.Read(ctx, id, q) {
		if err != nil {
			return rs, err
		}
		rs = append(rs, r)
	}
	return rs, nil
}

func (f *fixture) read(id string, q thread.Query) []thread.Record {
	f.Helper()
	rs, err := f.collect(id, q)
	f.must(err)
	return rs
}

// ids fails the test when reading does not give exactly these records.
func (f *fixture) ids(id string, q thread.Query, want ...string) {
	f.Helper()
	if got := idsOf(f.read(id, q)); !slices.Equal(got, want) {
		f.Fatalf("read %+v:\n got  %s\n want %s", q, strings.Join(got, " "), strings.Join(want, " "))
	}
}

func idsOf(rs []thread.Record) []string {
	ids := make([]string, len(rs))
	for i, r := range rs {
		ids[i] = string(r.ID)
	}
	return ids
}

func (f *fixture) list() []thread.Info {
	f.Helper()
	var all []thread.Info
	for i, err := range f.s.List(f.Context()) {
		f.must(err)
		all = append(all, i)
	}
	return all
}

// equal compares records, times by the moment they mean.
func equal(a, b thread.Record) bool {
	return a.V == b.V && a.Seq == b.Seq && a.ID == b.ID && a.Branch == b.Branch && a.NS == b.NS && a.RunID == b.RunID &&
		a.Step == b.Step && a.Kind == b.Kind && a.Time.Equal(b.Time) && a.Event == b.Event && a.Base == b.Base &&
		bytes.Equal(a.Data, b.Data)
}

// diff describes where two logs differ, or returns "".
func diff(got, want []thread.Record) string {
	for i := range min(len(got), len(want)) {
		if !equal(got[i], want[i]) {
			return fmt.Sprintf("record %d:\n got  %s\n want %s", i, show(got[i]), show(want[i]))
		}
	}
	if len(got) != len(want) {
		return fmt.Sprintf("%d records %v, want %d %v", len(got), idsOf(got), len(want), idsOf(want))
	}
	return ""
}

func show(r thread.Record) string {
	if len(r.Data) > 200 {
		r.Data = json.RawMessage(fmt.Sprintf("%d bytes", len(r.Data)))
	}
	return fmt.Sprintf("%d %s %s ns=%q run=%s step=%d %s %v event=%d base=%d v=%d %s", r.Seq, r.ID, r.Branch, r.NS, r.RunID,
		r.Step, r.Kind, r.Time, r.Event, r.Base, r.V, r.Data)
}
