package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/deepagents-go/deepagents/store"
)

var namespaceTests = []test{{"list", listNamespaces}, {"window", windowNamespaces}}

// listNamespaces has case K06.
func listNamespaces(f *fixture) {
	f.lists(store.NamespaceQuery{}, "")
	for _, n := range []string{"a/b/c", "a/b/d", "a/b", "a/c/c", "a-b/x", "z", "b/b/c/d"} {
		f.put(n, "k1", `{}`, store.PutOptions{})
		f.put(n, "k2", `{}`, store.PutOptions{})
	}
	f.lists(store.NamespaceQuery{}, "a/b a/b/c a/b/d a/c/c a-b/x b/b/c/d z")
	f.lists(store.NamespaceQuery{MaxDepth: 2}, "a/b a/c a-b/x b/b z")
	f.lists(store.NamespaceQuery{MaxDepth: 1}, "a a-b b z")
	f.lists(store.NamespaceQuery{Prefix: ns("a")}, "a/b a/b/c a/b/d a/c/c")
	f.lists(store.NamespaceQuery{Prefix: ns("a/b"), MaxDepth: 2}, "a/b")
	f.lists(store.NamespaceQuery{Prefix: ns("*/b")}, "a/b a/b/c a/b/d b/b/c/d")
	f.lists(store.NamespaceQuery{Prefix: ns("a/*/c")}, "a/b/c a/c/c")
	f.lists(store.NamespaceQuery{Suffix: ns("c")}, "a/b/c a/c/c")
	f.lists(store.NamespaceQuery{Suffix: ns("c"), MaxDepth: 1}, "a")
	f.lists(store.NamespaceQuery{Suffix: ns("b/*")}, "a/b/c a/b/d")
	f.lists(store.NamespaceQuery{Prefix: ns("a"), Suffix: ns("*/*/*")}, "a/b/c a/b/d a/c/c")
	f.lists(store.NamespaceQuery{Prefix: ns("a/b"), Suffix: ns("b/c")}, "a/b/c")
	f.lists(store.NamespaceQuery{Prefix: ns("nope")}, "")
	for _, k := range []string{"k1", "k2"} {
		f.is("Delete", f.s.Delete(f.ctx, ns("a/b"), k), nil)
	}
	f.lists(store.NamespaceQuery{Prefix: ns("a/b")}, "a/b/c a/b/d")
}

func windowNamespaces(f *fixture) {
	for i := range 105 {
		f.put(fmt.Sprintf("n%03d/x", i), "k", `{}`, store.PutOptions{})
	}
	all, err := f.s.Namespaces(f.ctx, store.NamespaceQuery{})
	if err != nil || len(all) != 100 || all[99][0] != "n099" {
		f.Errorf("%d namespaces, %v, want the first 100", len(all), err)
	}
	f.lists(store.NamespaceQuery{Limit: 2, Offset: 3}, "n003/x n004/x")
	f.lists(store.NamespaceQuery{Offset: 103, MaxDepth: 1}, "n103 n104")
	f.lists(store.NamespaceQuery{Offset: 999}, "")
}

var batchTests = []test{{"order and errors", batch}, {"empty", batchEmpty}}

func batch(f *fixture) {
	at := func(key string) *store.GetOp { return &store.GetOp{Namespace: ns("a"), Key: key} }
	put := func(key, value string, o store.PutOptions) store.Op {
		return store.Op{Put: &store.PutOp{Namespace: ns("a"), Key: key, Value: json.RawMessage(value), Options: o}}
	}
	f.put("a", "old", `{"v":0}`, store.PutOptions{})
	out, err := f.s.Batch(f.ctx, []store.Op{
		{Get: at("new")},
		put("new", `{"v":1}`, store.PutOptions{}),
		{Get: at("new")},
		put("new", `{"v":2}`, store.PutOptions{CreateOnly: true}),
		put("bad", `[]`, store.PutOptions{}),
		{Search: &store.SearchOp{Prefix: ns("a")}},
		{Delete: at("old")},
		{Get: at("old")},
		{Namespaces: &store.NamespaceQuery{}},
		{},
		{Get: at("x"), Delete: at("new")},
		put("last", `{"v":3}`, store.PutOptions{}),
	})
	if err != nil || len(out) != 12 {
		f.Fatalf("%d outcomes, %v", len(out), err)
	}
	for i, want := range []error{
		store.ErrNotFound, nil, nil, store.ErrConflict, store.ErrValue, nil, nil, store.ErrNotFound, nil, store.ErrQuery, store.ErrQuery, nil,
	} {
		f.is(fmt.Sprintf("operation %d", i), out[i].Err, want)
	}
	for i, want := range map[int]string{1: "a:new", 2: "a:new", 5: "a:new a:old", 11: "a:last"} {
		if got := names(out[i].Items); got != want {
			f.Errorf("operation %d: %s, want %s", i, got, want)
		}
	}
	if n := out[8].Namespaces; len(n) != 1 || !n[0].Equal(ns("a")) {
		f.Errorf("namespaces %v", n)
	}
	f.holds("a", "new", `{"v":1}`)
	f.holds("a", "old", "")
	f.holds("a", "last", `{"v":3}`)
}

func batchEmpty(f *fixture) {
	out, err := f.s.Batch(f.ctx, nil)
	if err != nil || len(out) != 0 {
		f.Errorf("%v, %v", out, err)
	}
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	if _, err := f.s.Batch(ctx, nil); err != nil && !errors.Is(err, context.Canceled) {
		f.Error(err)
	}
}
