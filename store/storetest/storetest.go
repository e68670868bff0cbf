package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deepagents-go/deepagents/store"
)

// Options adds to the suite, or takes from it.
type Options struct {
	// Second opens the data of a store once more, as another process does. Without it the tests with two openers are left out.
	Second func(t *testing.T, first store.Store, now func() time.Time) store.Store
	// Embedded opens an empty store that ranks by an embedder. Without it the tests of embedders are left out.
	Embedded func(t *testing.T, now func() time.Time, embed store.Embedder) store.Store
	// NoTTL says that the store has no time to live: a positive one must be [errors.ErrUnsupported].
	NoTTL bool
}

// Run tests the stores that open makes. Each is empty, has no default time to live and tells the time by now; open cleans up with
// t.Cleanup. At most one Options counts.
func Run(t *testing.T, open func(t *testing.T, now func() time.Time) store.Store, o ...Options) {
	t.Helper()
	var opts Options
	if len(o) > 0 {
		opts = o[0]
	}
	group := func(name string, tests []test) {
		t.Run(name, func(t *testing.T) {
			for _, c := range tests {
				t.Run(c.name, func(t *testing.T) { c.run(newFixture(t, open)) })
			}
		})
	}
	group("item", itemTests)
	group("search", searchTests)
	group("namespaces", namespaceTests)
	group("batch", batchTests)
	group("concurrent", concurrentTests)
	if opts.NoTTL {
		group("ttl", []test{{"unsupported", ttlUnsupported}})
	} else {
		group("ttl", ttlTests)
	}
	t.Run("embedder", func(t *testing.T) {
		if opts.Embedded == nil {
			t.Skip("the store has no embedder")
		}
		for _, c := range embedTests {
			t.Run(c.name, func(t *testing.T) {
				c.run(newFixture(t, func(t *testing.T, now func() time.Time) store.Store { return opts.Embedded(t, now, embed) }))
			})
		}
	})
	t.Run("random", func(t *testing.T) { random(newFixture(t, open), !opts.NoTTL) })
	t.Run("second", func(t *testing.T) {
		if opts.Second == nil {
			t.Skip("the store has no second opener")
		}
		for _, c := range secondTests {
			t.Run(c.name, func(t *testing.T) {
				f := newFixture(t, open)
				c.run(f, f.with(opts.Second(t, f.s, f.clock.now)))
			})
		}
	})
}

type test struct {
	name string
	run  func(*fixture)
}

// clock is a clock that stands still until it is moved.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// fixture is what one test works with.
type fixture struct {
	*testing.T
	s     store.Store
	ctx   context.Context // of the test
	clock *clock
}

func newFixture(t *testing.T, open func(t *testing.T, now func() time.Time) store.Store) *fixture {
	t.Helper()
	c := &clock{t: time.Date(2026, 9, 1, 14, 0, 0, 123456789, time.FixedZone("CEST", 7200))}
	return &fixture{T: t, s: open(t, c.now), ctx: t.Context(), clock: c}
}

// with is the same fixture on another store.
func (f *fixture) with(s store.Store) *fixture { return &fixture{f.T, s, f.ctx, f.clock} }

// ns reads "a/b" as a namespace; "" is the empty one.
func ns(s string) store.Namespace {
	if s == "" {
		return nil
	}
	return strings.Split(s, "/")
}

func (f *fixture) put(in, key, value string, o store.PutOptions) store.Item {
	f.Helper()
	i, err := f.s.Put(f.ctx, ns(in), key, json.RawMessage(value), o)
	if err != nil {
		f.Fatalf("Put(%s, %s): %v", in, key, err)
	}
	return i
}

// holds checks the value of an item, "" for none.
func (f *fixture) holds(in, key, want string) store.Item {
	f.Helper()
	i, err := f.s.Get(f.ctx, ns(in), key, store.GetOptions{KeepTTL: true})
	switch {
	case want == "" && !errors.Is(err, store.ErrNotFound):
		f.Errorf("Get(%s, %s) = %s, %v, want store.ErrNotFound", in, key, i.Value, err)
	case want != "" && (err != nil || string(i.Value) != want):
		f.Errorf("Get(%s, %s) = %s, %v, want %s", in, key, i.Value, err, want)
	}
	return i
}

func (f *fixture) is(what string, err, want error) {
	f.Helper()
	if !errors.Is(err, want) {
		f.Errorf("%s: error %v, want %v", what, err, want)
	}
}

// find returns what a search finds, as "a/b:key a/b:key".
func (f *fixture) find(prefix string, q store.Query) string {
	f.Helper()
	items, err := f.s.Search(f.ctx, ns(prefix), q)
	if err != nil {
		f.Errorf("Search(%s, %+v): %v", prefix, q, err)
	}
	return names(items)
}

func names(items []store.Item) string {
	out := make([]string, len(items))
	for i, x := range items {
		out[i] = strings.Join(x.Namespace, "/") + ":" + x.Key
	}
	return strings.Join(out, " ")
}

func (f *fixture) finds(prefix string, q store.Query, want string) {
	f.Helper()
	if got := f.find(prefix, q); got != want {
		f.Errorf("Search(%q, %+v)\n got %s\nwant %s", prefix, q, got, want)
	}
}

func (f *fixture) lists(q store.NamespaceQuery, want string) {
	f.Helper()
	got, err := f.s.Namespaces(f.ctx, q)
	if err != nil {
		f.Errorf("Namespaces(%+v): %v", q, err)
	}
	out := make([]string, len(got))
	for i, n := range got {
		out[i] = strings.Join(n, "/")
	}
	if s := strings.Join(out, " "); s != want {
		f.Errorf("Namespaces(%+v)\n got %s\nwant %s", q, s, want)
	}
}

// filter makes the filter of a JSON object.
func filter(s string) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(s), &m); err != nil {
		panic(fmt.Sprintf("storetest: the filter %s: %v", s, err))
	}
	return m
}

// same reports whether two items are equal in everything but the score.
func same(a, b store.Item) bool {
	return slices.Equal(a.Namespace, b.Namespace) && a.Key == b.Key && string(a.Value) == string(b.Value) &&
		a.CreatedAt.Equal(b.CreatedAt) && a.UpdatedAt.Equal(b.UpdatedAt) && a.Version == b.Version
}
