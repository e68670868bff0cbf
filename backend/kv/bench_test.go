package kv_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/deepagents-go/deepagents/backend"
	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/backend/kv"
	"github.com/deepagents-go/deepagents/store"
	"github.com/deepagents-go/deepagents/store/memory"
)

// stores runs a benchmark with 10,000 files of 1 KiB on each store.
func stores(b *testing.B, run func(b *testing.B, d *kv.FS)) {
	content := `{"content":"` + strings.Repeat("0123456789 abcde\\n", 60) + `"}`
	for _, name := range []string{"memory", "sqlite"} {
		b.Run(name, func(b *testing.B) {
			var s store.Store = memory.New(memory.Options{})
			if name == "sqlite" {
				s = openSQLite(b)
			}
			var ops []store.Op
			for i := range 10_000 {
				ops = append(ops, store.Op{Put: &store.PutOp{
					Namespace: space, Key: fmt.Sprintf("/dir%02d/f%04d.txt", i%100, i), Value: []byte(content), Options: store.PutOptions{NoIndex: true},
				}})
			}
			if _, err := s.Batch(b.Context(), ops); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			run(b, newKV(b, kv.Options{Store: s}))
		})
	}
}

func BenchmarkRead(b *testing.B) {
	stores(b, func(b *testing.B, d *kv.FS) {
		for b.Loop() {
			if s := get(b.Context(), d, "/dir42/f4242.txt", driver.OpenOptions{}); len(s) != 1020 {
				b.Fatal(s)
			}
		}
	})
}

func BenchmarkWrite(b *testing.B) {
	stores(b, func(b *testing.B, d *kv.FS) {
		content := strings.Repeat("x", 1024)
		for b.Loop() {
			write(b.Context(), b, d, "/dir42/f4242.txt", content)
		}
	})
}

func BenchmarkList(b *testing.B) {
	stores(b, func(b *testing.B, d *kv.FS) {
		for b.Loop() {
			if s := ls(b.Context(), b, d, "/dir42"); !strings.HasPrefix(s, "/dir42/f0042.txt ") {
				b.Fatal(s)
			}
		}
	})
}

func BenchmarkGrepAbsent(b *testing.B) {
	stores(b, func(b *testing.B, d *kv.FS) {
		f, err := backend.New(d, backend.Options{})
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if r, err := f.Grep(b.Context(), backend.GrepQuery{Text: "absent word", Path: "/"}); err != nil || len(r.Matches) != 0 {
				b.Fatal(r, err)
			}
		}
	})
}
