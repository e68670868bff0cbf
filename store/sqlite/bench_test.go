package sqlite_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/deepagents-go/deepagents/store"
	"github.com/deepagents-go/deepagents/store/sqlite"
)

func benchStore(b *testing.B) *sqlite.Store {
	b.Helper()
	s := open(b, filepath.Join(b.TempDir(), "store.db"), sqlite.Options{})
	var ops []store.Op
	for i := range 10_000 {
		ops = append(ops, store.Op{Put: &store.PutOp{
			Namespace: store.Namespace{"a"}, Key: fmt.Sprintf("/dir%02d/f%04d", i%100, i),
			Value: []byte(`{"content":"some words of no interest","n":1}`), Options: store.PutOptions{NoIndex: i%100 != 0},
		}})
	}
	out, err := s.Batch(b.Context(), ops)
	if err != nil || out[len(out)-1].Err != nil {
		b.Fatal(err)
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

func BenchmarkSearchText(b *testing.B) {
	s := benchStore(b)
	b.ReportAllocs()
	for b.Loop() {
		items, err := s.Search(b.Context(), store.Namespace{"a"}, store.Query{Text: "interest"})
		if err != nil || len(items) != 10 {
			b.Fatal(len(items), err)
		}
	}
}
