package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/deepagents-go/deepagents/store"
)

var concurrentTests = []test{
	{"counter", func(f *fixture) { counter(f, f) }},
	{"create", func(f *fixture) { createOnce(f, f) }},
	{"mixed", mixed},
}

var secondTests = []struct {
	name string
	run  func(a, b *fixture)
}{
	{"sees", sees},
	{"counter", counter},
	{"create", createOnce},
}

// sees checks that what one writes the other reads.
func sees(a, b *fixture) {
	one := a.put("a", "k", `{"v":1,"t":"zebra"}`, store.PutOptions{TTL: -1})
	if got := b.holds("a", "k", `{"v":1,"t":"zebra"}`); !same(one, got) {
		b.Errorf("the other store has %+v, want %+v", got, one)
	}
	b.finds("", store.Query{Text: "zebra"}, "a:k")
	b.lists(store.NamespaceQuery{}, "a")
	two := b.put("a", "k", `{"v":2}`, store.PutOptions{IfVersion: one.Version})
	_, err := a.s.Put(a.ctx, ns("a"), "k", json.RawMessage(`{}`), store.PutOptions{IfVersion: one.Version})
	a.is("Put over the other's version", err, store.ErrConflict)
	if got := a.holds("a", "k", `{"v":2}`); !same(two, got) {
		a.Errorf("the first store has %+v, want %+v", got, two)
	}
	b.is("Delete", b.s.Delete(b.ctx, ns("a"), "k"), nil)
	a.holds("a", "k", "")
}

// counter counts in one item from many goroutines; no step may be lost.
func counter(a, b *fixture) {
	const writers, rounds = 6, 8
	a.put("c", "n", `{"n":0}`, store.PutOptions{})
	var wg sync.WaitGroup
	for w := range writers {
		f := []*fixture{a, b}[w%2]
		wg.Go(func() {
			for range rounds {
				if err := increment(f); err != nil {
					f.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.holds("c", "n", fmt.Sprintf(`{"n":%d}`, writers*rounds))
}

func increment(f *fixture) error {
	for {
		i, err := f.s.Get(f.ctx, ns("c"), "n", store.GetOptions{})
		if err != nil {
			return err
		}
		var v struct{ N int }
		if err := json.Unmarshal(i.Value, &v); err != nil {
			return err
		}
		next := json.RawMessage(fmt.Sprintf(`{"n":%d}`, v.N+1))
		_, err = f.s.Put(f.ctx, ns("c"), "n", next, store.PutOptions{IfVersion: i.Version})
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}

// createOnce lets one of many win.
func createOnce(a, b *fixture) {
	const writers = 8
	won := make([]bool, writers)
	var wg sync.WaitGroup
	for w := range writers {
		f := []*fixture{a, b}[w%2]
		wg.Go(func() {
			value := json.RawMessage(fmt.Sprintf(`{"w":%d}`, w))
			_, err := f.s.Put(f.ctx, ns("c"), "once", value, store.PutOptions{CreateOnly: true})
			if err != nil && !errors.Is(err, store.ErrConflict) {
				f.Error(err)
			}
			won[w] = err == nil
		})
	}
	wg.Wait()
	winners := 0
	for w, ok := range won {
		if ok {
			winners++
			a.holds("c", "once", fmt.Sprintf(`{"w":%d}`, w))
		}
	}
	if winners != 1 {
		a.Errorf("%d writers created the item", winners)
	}
}

// mixed uses everything at once, for the race detector, and checks that readers see whole items.
func mixed(f *fixture) {
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 15 {
				key := fmt.Sprint(i % 5)
				f.put(fmt.Sprintf("m/%d", w%2), key, fmt.Sprintf(`{"a":%d,"b":%d}`, i, i), store.PutOptions{})
				items, err := f.s.Search(f.ctx, ns("m"), store.Query{Text: "1", Limit: 100})
				f.is("Search", err, nil)
				for _, x := range items {
					var v struct{ A, B int }
					if err := json.Unmarshal(x.Value, &v); err != nil || v.A != v.B {
						f.Errorf("a reader saw %s, %v", x.Value, err)
					}
				}
				_, err = f.s.Namespaces(f.ctx, store.NamespaceQuery{})
				f.is("Namespaces", err, nil)
				f.is("Delete", f.s.Delete(f.ctx, ns("m/1"), key), nil)
				f.clock.move(time.Millisecond)
			}
		})
	}
	wg.Wait()
	f.finds("m", store.Query{}, "m/0:0 m/0:1 m/0:2 m/0:3 m/0:4")
}
