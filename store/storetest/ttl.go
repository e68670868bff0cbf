package storetest

import (
	"encoding/json"
	"errors"
	"math"
	"time"

	"github.com/deepagents-go/deepagents/store"
)

// ttlUnsupported is case K07.
func ttlUnsupported(f *fixture) {
	_, err := f.s.Put(f.ctx, ns("a"), "k", json.RawMessage(`{}`), store.PutOptions{TTL: time.Minute})
	f.is("Put with a time to live", err, errors.ErrUnsupported)
	f.holds("a", "k", "")
	f.put("a", "k", `{}`, store.PutOptions{TTL: -1})
}

var ttlTests = []test{
	{"expiry", ttlExpiry},
	{"reads refresh", ttlRefresh},
	{"searches refresh", ttlSearch},
	{"keep", ttlKeep},
	{"put", ttlPut},
}

func (f *fixture) get(key string, o store.GetOptions, want error) {
	f.Helper()
	_, err := f.s.Get(f.ctx, ns("a"), key, o)
	f.is("Get "+key, err, want)
}

func ttlExpiry(f *fixture) {
	f.put("a", "k", `{"text":"zebra"}`, store.PutOptions{TTL: time.Minute})
	f.put("b", "for ever", `{}`, store.PutOptions{})
	f.clock.move(time.Minute - 1)
	f.holds("a", "k", `{"text":"zebra"}`)
	f.clock.move(1)
	f.holds("a", "k", "")
	f.finds("", store.Query{KeepTTL: true}, "b:for ever")
	f.finds("", store.Query{Text: "zebra"}, "b:for ever")
	f.lists(store.NamespaceQuery{}, "b")
	f.is("Delete", f.s.Delete(f.ctx, ns("a"), "k"), nil)
	f.clock.move(1000 * time.Hour)
	f.holds("b", "for ever", "{}")
}

// ttlRefresh is case K08.
func ttlRefresh(f *fixture) {
	f.put("a", "k", `{}`, store.PutOptions{TTL: time.Minute})
	f.clock.move(30 * time.Second)
	f.get("k", store.GetOptions{}, nil)
	f.clock.move(50 * time.Second)
	f.get("k", store.GetOptions{KeepTTL: true}, nil)
	f.clock.move(10 * time.Second)
	f.get("k", store.GetOptions{}, store.ErrNotFound)
}

func ttlSearch(f *fixture) {
	f.put("a", "k1", `{}`, store.PutOptions{TTL: time.Minute})
	f.put("a", "k2", `{}`, store.PutOptions{TTL: time.Minute})
	f.clock.move(30 * time.Second)
	f.finds("a", store.Query{Limit: 1}, "a:k1")
	f.finds("a", store.Query{KeepTTL: true}, "a:k1 a:k2")
	f.clock.move(40 * time.Second)
	f.get("k2", store.GetOptions{}, store.ErrNotFound) // it was not among the results that refresh
	f.finds("a", store.Query{Text: "x"}, "a:k1")
	f.clock.move(59 * time.Second)
	f.get("k1", store.GetOptions{KeepTTL: true}, nil)
	out, err := f.s.Batch(f.ctx, []store.Op{{Get: &store.GetOp{Namespace: ns("a"), Key: "k1"}}})
	if err != nil || out[0].Err != nil {
		f.Errorf("Batch: %+v, %v", out, err)
	}
	f.clock.move(59 * time.Second)
	f.get("k1", store.GetOptions{KeepTTL: true}, nil)
}

func ttlKeep(f *fixture) {
	f.put("a", "k", `{}`, store.PutOptions{TTL: time.Minute})
	f.clock.move(30 * time.Second)
	f.get("k", store.GetOptions{KeepTTL: true}, nil)
	f.finds("a", store.Query{KeepTTL: true}, "a:k")
	f.clock.move(30 * time.Second)
	f.get("k", store.GetOptions{}, store.ErrNotFound)
}

func ttlPut(f *fixture) {
	first := f.put("a", "k", `{}`, store.PutOptions{TTL: time.Minute})
	f.clock.move(30 * time.Second)
	second := f.put("a", "k", `{}`, store.PutOptions{TTL: time.Minute})
	f.clock.move(59 * time.Second)
	f.get("k", store.GetOptions{KeepTTL: true}, nil)
	f.clock.move(time.Second)
	_, err := f.s.Put(f.ctx, ns("a"), "k", json.RawMessage(`{}`), store.PutOptions{IfVersion: second.Version})
	f.is("IfVersion of an item whose time is over", err, store.ErrConflict)
	third := f.put("a", "k", `{}`, store.PutOptions{CreateOnly: true})
	if third.CreatedAt.Equal(first.CreatedAt) || third.Version == second.Version {
		f.Errorf("the item whose time was over lives on: %+v", third)
	}
	f.clock.move(100 * time.Hour)
	f.get("k", store.GetOptions{}, nil) // no time to live now
	f.put("a", "k", `{}`, store.PutOptions{TTL: math.MaxInt64})
	f.get("k", store.GetOptions{}, nil)
	f.put("a", "k", `{}`, store.PutOptions{TTL: time.Minute})
	f.put("a", "k", `{}`, store.PutOptions{TTL: -1})
	f.clock.move(100 * time.Hour)
	f.get("k", store.GetOptions{}, nil)
}
