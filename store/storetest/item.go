package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/deepagents-go/deepagents/store"
)

var itemTests = []test{
	{"put and get", putGet},
	{"replace", replace},
	{"delete", remove},
	{"compare and set", compareAndSet},
	{"namespaces are refused", badNamespaces},
	{"keys and values are refused", badPuts},
	{"copies", copies},
	{"hostile names", hostile},
	{"ended context", ended},
}

// putGet is case K01.
func putGet(f *fixture) {
	f.holds("a", "k", "")
	const v = `{ "x":1, "s":"é\u0041<&>", "x":2 }`
	put := f.put("a/b", "k", v, store.PutOptions{})
	got := f.holds("a/b", "k", v)
	if !same(put, got) {
		f.Errorf("Put returned %+v, Get %+v", put, got)
	}
	if !got.Namespace.Equal(ns("a/b")) || got.Key != "k" || got.Version == "" || got.Score != 0 {
		f.Errorf("Get returned %+v", got)
	}
	if now := f.clock.now(); !got.CreatedAt.Equal(now) || !got.UpdatedAt.Equal(now) || got.CreatedAt.Location() != time.UTC {
		f.Errorf("created %v, updated %v at %v", got.CreatedAt, got.UpdatedAt, now)
	}
	for _, other := range []string{"a", "a/b/c", "b", "ab", "b/a"} {
		f.holds(other, "k", "")
	}
	f.holds("a/b", "K", "")
}

// replace is case K02.
func replace(f *fixture) {
	first := f.put("a", "k", `{"v":1}`, store.PutOptions{})
	f.clock.move(time.Minute)
	second := f.put("a", "k", `{"v":2}`, store.PutOptions{})
	if !second.CreatedAt.Equal(first.CreatedAt) || !second.UpdatedAt.Equal(f.clock.now()) || second.Version == first.Version {
		f.Errorf("replaced %+v by %+v", first, second)
	}
	if got := f.holds("a", "k", `{"v":2}`); !same(got, second) {
		f.Errorf("Put returned %+v, Get %+v", second, got)
	}
	third := f.put("a", "k", `{"v":2}`, store.PutOptions{})
	if third.Version == second.Version {
		f.Error("putting the same value again leaves the version")
	}
	f.clock.move(-time.Hour)
	if back := f.put("a", "k", `{}`, store.PutOptions{}); back.UpdatedAt.Before(back.CreatedAt) {
		f.Errorf("with a clock that went back: created %v, updated %v", back.CreatedAt, back.UpdatedAt)
	}
}

func remove(f *fixture) {
	f.is("Delete of nothing", f.s.Delete(f.ctx, ns("a"), "k"), nil)
	first := f.put("a", "k", `{"v":1}`, store.PutOptions{})
	f.put("a", "k2", `{}`, store.PutOptions{})
	f.put("a/b", "k", `{}`, store.PutOptions{})
	f.is("Delete", f.s.Delete(f.ctx, ns("a"), "k"), nil)
	f.holds("a", "k", "")
	f.finds("", store.Query{}, "a:k2 a/b:k")
	f.clock.move(time.Minute)
	again := f.put("a", "k", `{"v":1}`, store.PutOptions{})
	if again.Version == first.Version || !again.CreatedAt.Equal(f.clock.now()) {
		f.Errorf("deleted %+v and put it again: %+v", first, again)
	}
}

func compareAndSet(f *fixture) {
	put := func(o store.PutOptions, want error) store.Item {
		f.Helper()
		i, err := f.s.Put(f.ctx, ns("a"), "k", json.RawMessage(`{"n":1}`), o)
		f.is("Put", err, want)
		return i
	}
	put(store.PutOptions{IfVersion: "1"}, store.ErrConflict)
	f.holds("a", "k", "")
	one := put(store.PutOptions{CreateOnly: true}, nil)
	put(store.PutOptions{CreateOnly: true}, store.ErrConflict)
	two := put(store.PutOptions{IfVersion: one.Version}, nil)
	put(store.PutOptions{IfVersion: one.Version}, store.ErrConflict)
	put(store.PutOptions{IfVersion: "nonsense"}, store.ErrConflict)
	put(store.PutOptions{IfVersion: two.Version, CreateOnly: true}, store.ErrConflict)
	if got := f.holds("a", "k", `{"n":1}`); !same(got, two) {
		f.Errorf("after conflicts: %+v, want %+v", got, two)
	}
	f.is("Delete", f.s.Delete(f.ctx, ns("a"), "k"), nil)
	put(store.PutOptions{IfVersion: two.Version}, store.ErrConflict)
	put(store.PutOptions{CreateOnly: true}, nil)
	put(store.PutOptions{IfVersion: two.Version}, store.ErrConflict)
}

// badNamespaces is case K03: four rules, four texts.
func badNamespaces(f *fixture) {
	seen := map[string]bool{}
	for _, c := range []struct {
		ns   store.Namespace
		text string
	}{
		{nil, "Namespace cannot be empty."},
		{store.Namespace{"a", "b.c"}, "Namespace labels cannot contain periods ('.')."},
		{store.Namespace{"a", ""}, "Namespace labels cannot be empty strings."},
		{store.Namespace{"langgraph", "a"}, `Root label for namespace cannot be "langgraph".`},
	} {
		_, err := f.s.Put(f.ctx, c.ns, "k", json.RawMessage(`{}`), store.PutOptions{})
		f.is("Put", err, store.ErrNamespace)
		if err == nil || !strings.Contains(err.Error(), c.text) {
			f.Errorf("Put into %q: %v, want %s", c.ns, err, c.text)
			continue
		}
		seen[err.Error()] = true
	}
	if len(seen) != 4 {
		f.Errorf("%d distinct errors, want 4", len(seen))
	}
	f.put("a/langgraph", "k", `{}`, store.PutOptions{})
	f.finds("", store.Query{}, "a/langgraph:k")
}

func badPuts(f *fixture) {
	for _, v := range []string{"", "null", "1", `"x"`, "[]", "{", "{} {}", `{"a":}`} {
		_, err := f.s.Put(f.ctx, ns("a"), "k", json.RawMessage(v), store.PutOptions{})
		f.is("Put of "+v, err, store.ErrValue)
	}
	for _, k := range []string{"", "\xff"} {
		_, err := f.s.Put(f.ctx, ns("a"), k, json.RawMessage(`{}`), store.PutOptions{})
		f.is("Put at a bad key", err, store.ErrKey)
	}
	f.finds("", store.Query{}, "")
}

// copies changes what went in and what came out.
func copies(f *fixture) {
	at, value := ns("a/b"), json.RawMessage(`{"v":1}`)
	put, err := f.s.Put(f.ctx, at, "k", value, store.PutOptions{})
	f.is("Put", err, nil)
	spoil := func(n store.Namespace, v json.RawMessage) {
		copy(v, "XXXXXXX")
		n[0] = "X"
	}
	spoil(at, value)
	spoil(put.Namespace, put.Value)
	got := f.holds("a/b", "k", `{"v":1}`)
	spoil(got.Namespace, got.Value)
	items, err := f.s.Search(f.ctx, ns("a"), store.Query{})
	if err != nil || len(items) != 1 {
		f.Fatalf("Search: %+v, %v", items, err)
	}
	spoil(items[0].Namespace, items[0].Value)
	all, err := f.s.Namespaces(f.ctx, store.NamespaceQuery{})
	if err != nil || len(all) != 1 {
		f.Fatalf("Namespaces: %v, %v", all, err)
	}
	all[0][0] = "X"
	f.holds("a/b", "k", `{"v":1}`)
	f.lists(store.NamespaceQuery{}, "a/b")
	f.finds("a", store.Query{}, "a/b:k")
}

// hostile uses names that something somewhere takes for more than a name.
func hostile(f *fixture) {
	odd := []string{
		"'; DROP TABLE items; --", `"`, "%", "_", "*", "a\x00b", "a\x00", "\x01", "a-b", "a", "new\nline", " ", "/", "\\", "é", "日本", "\U0010ffff",
		strings.Repeat("n", 3000),
	}
	for i, a := range odd {
		for _, b := range odd[:i+1] {
			if _, err := f.s.Put(f.ctx, store.Namespace{a, b}, b, json.RawMessage(`{"a":1}`), store.PutOptions{}); err != nil {
				f.Fatalf("Put(%q, %q): %v", a, b, err)
			}
		}
	}
	for i, a := range odd {
		items, err := f.s.Search(f.ctx, store.Namespace{a}, store.Query{Limit: 1000})
		if err != nil || len(items) != i+1 {
			f.Errorf("Search(%q) finds %d, %v, want %d", a, len(items), err, i+1)
		}
		for j, x := range items {
			if x.Namespace[0] != a || x.Namespace[1] != x.Key {
				f.Errorf("Search(%q) finds %q in %q", a, x.Key, x.Namespace)
			}
			if j > 0 && items[j-1].Namespace.Compare(x.Namespace) >= 0 {
				f.Errorf("%q comes before %q", items[j-1].Namespace, x.Namespace)
			}
		}
		items, err = f.s.Search(f.ctx, nil, store.Query{Limit: 1000, KeyPrefix: a})
		for _, x := range items {
			if !strings.HasPrefix(x.Key, a) {
				f.Errorf("KeyPrefix %q finds %q", a, x.Key)
			}
		}
		if err != nil || len(items) == 0 {
			f.Errorf("KeyPrefix %q finds %d, %v", a, len(items), err)
		}
		if _, err := f.s.Search(f.ctx, nil, store.Query{Text: a}); err != nil {
			f.Errorf("Search for the text %q: %v", a, err)
		}
	}
}

func ended(f *fixture) {
	f.put("a", "k", `{}`, store.PutOptions{})
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	_, err := f.s.Get(ctx, ns("a"), "k", store.GetOptions{})
	f.is("Get", err, context.Canceled)
	_, err = f.s.Put(ctx, ns("a"), "k", json.RawMessage(`{"v":2}`), store.PutOptions{})
	f.is("Put", err, context.Canceled)
	f.is("Delete", f.s.Delete(ctx, ns("a"), "k"), context.Canceled)
	_, err = f.s.Search(ctx, nil, store.Query{})
	f.is("Search", err, context.Canceled)
	_, err = f.s.Namespaces(ctx, store.NamespaceQuery{})
	f.is("Namespaces", err, context.Canceled)
	out, err := f.s.Batch(ctx, []store.Op{{Delete: &store.GetOp{Namespace: ns("a"), Key: "k"}}})
	for _, o := range out {
		err = errors.Join(err, o.Err)
	}
	f.is("Batch", err, context.Canceled)
	f.holds("a", "k", `{}`)
}
