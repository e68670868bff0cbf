package kv_test

import (
	"context"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/backend/kv"
	"github.com/deepagents-go/deepagents/store"
	"github.com/deepagents-go/deepagents/store/memory"
	"github.com/deepagents-go/deepagents/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// space is the namespace of the tests.
var space = store.Namespace{"files", "tester"}

func newKV(t testing.TB, o kv.Options) *kv.FS {
	t.Helper()
	if o.Namespace == nil {
		o.Namespace = kv.Fixed(space...)
	}
	d, err := kv.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// day is a clock that starts at noon and moves on by an hour with each look.
func day() func() time.Time {
	now := time.Date(2026, 9, 1, 11, 0, 0, 0, time.FixedZone("CEST", 7200))
	return func() time.Time {
		now = now.Add(time.Hour)
		return now
	}
}

// with returns a driver on a store in memory that holds these items.
func with(t testing.TB, items map[string]string) (*kv.FS, *memory.Store) {
	t.Helper()
	s := memory.New(memory.Options{})
	for key, value := range items {
		item(t, s, space, key, value)
	}
	return newKV(t, kv.Options{Store: s, Now: day()}), s
}

func item(t testing.TB, s store.Store, ns store.Namespace, key, value string) {
	t.Helper()
	if _, err := s.Put(t.Context(), ns, key, json.RawMessage(value), store.PutOptions{}); err != nil {
		t.Fatal(err)
	}
}

func value(t testing.TB, s store.Store, key string) string {
	t.Helper()
	i, err := s.Get(t.Context(), space, key, store.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return string(i.Value)
}

func openSQLite(t testing.TB) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func write(ctx context.Context, t testing.TB, d driver.Driver, path, content string) driver.Info {
	t.Helper()
	i, err := d.Write(ctx, path, strings.NewReader(content), driver.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// get returns the content of a file, or the error as text.
func get(ctx context.Context, d driver.Driver, path string, o driver.OpenOptions) string {
	r, _, err := d.Open(ctx, path, o)
	if err != nil {
		return err.Error()
	}
	b, err := io.ReadAll(r)
	if err != nil {
		return err.Error()
	}
	if err := r.Close(); err != nil {
		return err.Error()
	}
	return string(b)
}

// ls returns the listing of a directory, directories with a slash.
func ls(ctx context.Context, t testing.TB, d driver.Driver, dir string) string {
	t.Helper()
	var out []string
	for i, err := range d.List(ctx, dir, driver.ListOptions{Stat: true}) {
		if err != nil {
			t.Fatal(err)
		}
		p := i.Path
		if i.Kind == driver.Dir {
			p += "/"
		}
		out = append(out, p)
	}
	return strings.Join(out, " ")
}

func walk(ctx context.Context, t testing.TB, d driver.Walker, dir string) string {
	t.Helper()
	var out []string
	for i, err := range d.Walk(ctx, dir) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, i.Path)
	}
	return strings.Join(out, " ")
}
