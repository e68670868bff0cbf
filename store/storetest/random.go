package storetest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/deepagents-go/deepagents/store"
)

// model is a store that is too simple to be wrong: a list of items.
type model struct {
	items []*modelItem
	now   func() time.Time
}

type modelItem struct {
	store.Item
	n       int // the field n of the value
	ttl     time.Duration
	expires time.Time
}

func (m *model) alive(i *modelItem) bool { return i.ttl <= 0 || m.now().Before(i.expires) }

func (m *model) at(n store.Namespace, key string) *modelItem {
	for _, i := range m.items {
		if i.Namespace.Equal(n) && i.Key == key && m.alive(i) {
			return i
		}
	}
	return nil
}

func (m *model) remove(n store.Namespace, key string) {
	m.items = slices.DeleteFunc(m.items, func(i *modelItem) bool { return i.Namespace.Equal(n) && i.Key == key })
}

func (m *model) read(i *modelItem, keep bool) {
	if !keep {
		i.expires = m.now().Add(i.ttl)
	}
}

// random does the same with a store and the model and compares every answer.
func random(f *fixture, ttl bool) {
	const seed = 20260901
	r := rand.New(rand.NewPCG(seed, seed))
	m := &model{now: f.clock.now}
	for step := range 1500 {
		if f.Failed() {
			f.Fatalf("step %d", step)
		}
		n := ns([]string{"a", "a/b", "a/b/c", "a-b", "b", "b/b"}[r.IntN(6)])
		key := string(rune('a'+r.IntN(3))) + strings.Repeat("x", r.IntN(3))
		switch r.IntN(8) {
		case 0, 1, 2:
			f.randomPut(m, r, n, key, ttl)
		case 3:
			f.is("Delete", f.s.Delete(f.ctx, n, key), nil)
			m.remove(n, key)
		case 4:
			f.randomGet(m, n, key, r.IntN(2) == 0)
		case 5, 6:
			f.randomSearch(m, r, n)
		default:
			f.randomNamespaces(m, r, n)
		}
		f.clock.move(time.Duration(r.IntN(1000)) * time.Millisecond)
	}
}

func (f *fixture) randomPut(m *model, r *rand.Rand, n store.Namespace, key string, ttl bool) {
	old := m.at(n, key)
	var o store.PutOptions
	fails := false
	switch r.IntN(4) {
	case 0:
		o.CreateOnly, fails = true, old != nil
	case 1:
		o.IfVersion, fails = "nonsense", true
	case 2:
		if old != nil {
			o.IfVersion = old.Version
		}
	}
	if ttl && r.IntN(2) == 0 {
		o.TTL = time.Duration(1+r.IntN(60)) * time.Second
	}
	v := r.IntN(10)
	i, err := f.s.Put(f.ctx, n, key, json.RawMessage(fmt.Sprintf(`{"n":%d,"o":{"n":%d}}`, v, v)), o)
	if fails {
		f.is("Put", err, store.ErrConflict)
		return
	}
	if err != nil {
		f.Fatalf("Put: %v", err)
	}
	if old != nil && !i.CreatedAt.Equal(old.CreatedAt) || old == nil && !i.CreatedAt.Equal(m.now()) || !i.UpdatedAt.Equal(m.now()) {
		f.Errorf("Put over %+v returned %+v at %v", old, i, m.now())
	}
	m.remove(n, key)
	x := &modelItem{Item: i, n: v, ttl: o.TTL}
	m.read(x, false)
	m.items = append(m.items, x)
}

func (f *fixture) randomGet(m *model, n store.Namespace, key string, keep bool) {
	i, err := f.s.Get(f.ctx, n, key, store.GetOptions{KeepTTL: keep})
	x := m.at(n, key)
	if x == nil {
		f.is("Get", err, store.ErrNotFound)
		return
	}
	if err != nil || !same(i, x.Item) {
		f.Errorf("Get = %+v, %v, want %+v", i, err, x.Item)
	}
	m.read(x, keep)
}

func (f *fixture) randomSearch(m *model, r *rand.Rand, n store.Namespace) {
	q := store.Query{Limit: r.IntN(6), Offset: r.IntN(3), KeepTTL: r.IntN(2) == 0}
	if r.IntN(2) == 0 {
		q.KeyPrefix = []string{"a", "ax", "b", "z"}[r.IntN(4)]
	}
	least := 0
	switch r.IntN(3) {
	case 0:
		least = r.IntN(10)
		q.Filter = filter(fmt.Sprintf(`{"n":{"$gte":%d}}`, least))
	case 1:
		least = r.IntN(10)
		q.Filter = filter(fmt.Sprintf(`{"o":{"n":{"$gt":%d}}}`, least-1))
	}
	n = n[:r.IntN(len(n)+1)]
	var want []*modelItem
	for _, i := range m.items {
		if m.alive(i) && i.Namespace.Below(n) && strings.HasPrefix(i.Key, q.KeyPrefix) && i.n >= least {
			want = append(want, i)
		}
	}
	slices.SortFunc(want, func(a, b *modelItem) int {
		return cmp.Or(a.Namespace.Compare(b.Namespace), strings.Compare(a.Key, b.Key))
	})
	limit := q.Limit
	if limit == 0 {
		limit = 10
	}
	want = want[min(q.Offset, len(want)):]
	want = want[:min(limit, len(want))]
	got, err := f.s.Search(f.ctx, n, q)
	ok := slices.EqualFunc(got, want, func(a store.Item, b *modelItem) bool { return same(a, b.Item) })
	if err != nil || !ok {
		f.Errorf("Search(%v, %+v) = %+v, %v", n, q, got, err)
		for _, i := range want {
			f.Logf("want %+v", i.Item)
		}
	}
	for _, i := range want {
		m.read(i, q.KeepTTL)
	}
}

func (f *fixture) randomNamespaces(m *model, r *rand.Rand, n store.Namespace) {
	q := store.NamespaceQuery{MaxDepth: r.IntN(4), Limit: r.IntN(4), Offset: r.IntN(2)}
	var match func(store.Namespace) bool
	switch r.IntN(3) {
	case 0:
		q.Prefix = n[:1]
		match = func(x store.Namespace) bool { return x[0] == n[0] }
	case 1:
		q.Suffix = n[len(n)-1:]
		match = func(x store.Namespace) bool { return x[len(x)-1] == n[len(n)-1] }
	default:
		q.Prefix = store.Namespace{"*", n[len(n)-1]}
		match = func(x store.Namespace) bool { return len(x) > 1 && x[1] == n[len(n)-1] }
	}
	var want []string
	for _, i := range m.items {
		if m.alive(i) && match(i.Namespace) {
			cut := i.Namespace
			if q.MaxDepth > 0 && len(cut) > q.MaxDepth {
				cut = cut[:q.MaxDepth]
			}
			want = append(want, strings.Join(cut, "\x00")) // sorts like the labels
		}
	}
	slices.Sort(want)
	want = slices.Compact(want)
	want = want[min(q.Offset, len(want)):]
	if q.Limit > 0 {
		want = want[:min(q.Limit, len(want))]
	}
	got, err := f.s.Namespaces(f.ctx, q)
	ok := slices.EqualFunc(got, want, func(a store.Namespace, b string) bool { return strings.Join(a, "\x00") == b })
	if err != nil || !ok {
		f.Errorf("Namespaces(%+v) = %q, %v, want %q", q, got, err, want)
	}
}
