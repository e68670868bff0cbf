package memory_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/deepagents-go/deepagents/store"
	"github.com/deepagents-go/deepagents/store/memory"
	"github.com/deepagents-go/deepagents/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSuite(t *testing.T) {
	storetest.Run(t, func(_ *testing.T, now func() time.Time) store.Store { return memory.New(memory.Options{Now: now}) }, storetest.Options{
		Second: func(_ *testing.T, first store.Store, _ func() time.Time) store.Store { return first },
		Embedded: func(_ *testing.T, now func() time.Time, embed store.Embedder) store.Store {
			return memory.New(memory.Options{Now: now, Embed: embed})
		},
	})
}

func put(t testing.TB, s store.Store, key, value string, o store.PutOptions) {
	t.Helper()
	if _, err := s.Put(t.Context(), store.Namespace{"a"}, key, json.RawMessage(value), o); err != nil {
		t.Fatal(err)
	}
}

func TestOptions(t *testing.T) {
	now := time.Unix(1000, 0)
	s := memory.New(memory.Options{
		Now: func() time.Time { return now }, DefaultTTL: time.Minute, KeepTTL: true, SweepEvery: time.Hour, Index: []string{"t"},
	})
	put(t, s, "k", `{"t":"zebra","u":"lion"}`, store.PutOptions{})
	put(t, s, "ever", `{"u":"zebra"}`, store.PutOptions{TTL: -1})
	for text, want := range map[string]string{"zebra": "k", "lion": "ever"} {
		items, err := s.Search(t.Context(), nil, store.Query{Text: text})
		if err != nil || items[0].Key != want {
			t.Errorf("%s: %+v, %v", text, items, err)
		}
	}
	now = now.Add(30 * time.Second)
	if _, err := s.Get(t.Context(), store.Namespace{"a"}, "k", store.GetOptions{}); err != nil {
		t.Error(err)
	}
	now = now.Add(30 * time.Second) // the read did not refresh
	if _, err := s.Get(t.Context(), store.Namespace{"a"}, "k", store.GetOptions{}); err == nil {
		t.Error("the time to live was refreshed")
	}
	if n, err := s.Sweep(t.Context()); n != 1 || err != nil {
		t.Errorf("swept %d, %v", n, err)
	}
	put(t, s, "k2", `{}`, store.PutOptions{})
	now = now.Add(2 * time.Hour)
	put(t, s, "k3", `{}`, store.PutOptions{}) // sweeps
	if n, err := s.Sweep(t.Context()); n != 0 || err != nil {
		t.Errorf("swept %d after a put that swept, %v", n, err)
	}
}

func benchStore(b *testing.B) *memory.Store {
	b.Helper()
	s := memory.New(memory.Options{})
	for i := range 10_000 {
		put(b, s, fmt.Sprintf("/dir%02d/f%04d", i%100, i), `{"content":"some words of no interest","n":1}`, store.PutOptions{NoIndex: true})
	}
	return s
}

func BenchmarkGet(b *testing.B) {
	s := benchStore(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Get(b.Context(), store.Namespace{"a"}, "/dir42/f4242", store.GetOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPut(b *testing.B) {
	s := benchStore(b)
	b.ReportAllocs()
	for b.Loop() {
		put(b, s, "/dir42/f4242", `{"content":"some words of no interest","n":1}`, store.PutOptions{NoIndex: true})
	}
}

func BenchmarkSearchPrefix(b *testing.B) {
	s := benchStore(b)
	b.ReportAllocs()
	for b.Loop() {
		items, err := s.Search(b.Context(), store.Namespace{"a"}, store.Query{KeyPrefix: "/dir42/", Limit: 1000})
		if err != nil || len(items) != 100 {
			b.Fatal(len(items), err)
		}
	}
}
