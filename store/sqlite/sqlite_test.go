package sqlite_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/deepagents-go/deepagents/store"
	"github.com/deepagents-go/deepagents/store/sqlite"
	"github.com/deepagents-go/deepagents/store/storetest"
)

func open(t testing.TB, path string, o sqlite.Options) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, o)
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

func TestSuite(t *testing.T) {
	paths := map[store.Store]string{}
	mk := func(t *testing.T, o sqlite.Options) store.Store {
		path := filepath.Join(t.TempDir(), "store.db")
		s := open(t, path, o)
		paths[s] = path
		return s
	}
	storetest.Run(t, func(t *testing.T, now func() time.Time) store.Store { return mk(t, sqlite.Options{Now: now}) }, storetest.Options{
		Second: func(t *testing.T, first store.Store, now func() time.Time) store.Store {
			return open(t, paths[first], sqlite.Options{Now: now})
		},
		Embedded: func(t *testing.T, now func() time.Time, embed store.Embedder) store.Store {
			return mk(t, sqlite.Options{Now: now, Embed: embed})
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
	s := open(t, filepath.Join(t.TempDir(), "store.db"), sqlite.Options{
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
	if _, err := s.Get(t.Context(), store.Namespace{"a"}, "k", store.GetOptions{}); !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
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

// TestReopen closes a store and opens it again: everything is there, versions go on, and an embedder that comes later ranks what it
// has seen.
func TestReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new dir", "100% sure?#x&mode=ro", "é.db")
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, "k", `{"t":"zebra"}`, store.PutOptions{})
	one, err := s.Get(t.Context(), store.Namespace{"a"}, "k", store.GetOptions{})
	if err := errors.Join(err, s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context(), store.Namespace{"a"}, "k", store.GetOptions{}); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Get after Close: %v", err)
	}
	embed := func(_ context.Context, texts []string) ([][]float32, error) {
		out := make([][]float32, len(texts))
		for i := range out {
			out[i] = []float32{1}
		}
		return out, nil
	}
	s = open(t, path, sqlite.Options{Embed: embed})
	two, err := s.Get(t.Context(), store.Namespace{"a"}, "k", store.GetOptions{})
	if err != nil || two.Version != one.Version || string(two.Value) != string(one.Value) || !two.CreatedAt.Equal(one.CreatedAt) {
		t.Errorf("%+v, %v, want %+v", two, err, one)
	}
	put(t, s, "k2", `{"t":"zebra"}`, store.PutOptions{})
	items, err := s.Search(t.Context(), nil, store.Query{Text: "zebra"})
	if err != nil || len(items) != 2 || items[0].Key != "k2" || items[0].Version == one.Version {
		t.Errorf("%+v, %v", items, err)
	}
	for name, mode := range map[string]fs.FileMode{path: 0o600, path + "-wal": 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

// TestRefused opens what is no store: a typed error with advice, and the file stays as it is.
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(b []byte) []byte
		want error
		text string
	}{
		"text":           {func([]byte) []byte { return []byte(strings.Repeat("hello\n", 1000)) }, sqlite.ErrCorrupt, "no store"},
		"few bytes":      {func(b []byte) []byte { return b[:50] }, sqlite.ErrCorrupt, "restore a copy"},
		"cut in half":    {func(b []byte) []byte { return b[:len(b)/2] }, sqlite.ErrCorrupt, "restore a copy"},
		"other program":  {func(b []byte) []byte { b[71] ^= 1; return b }, sqlite.ErrCorrupt, "another program"},
		"newer":          {func(b []byte) []byte { b[63] = 99; return b }, sqlite.ErrNewer, "use a newer program"},
		"no version":     {func(b []byte) []byte { b[63] = 0; return b }, sqlite.ErrCorrupt, "tables are missing"},
		"garbage inside": {func(b []byte) []byte { copy(b[100:4096], strings.Repeat("\xa5", 3996)); return b }, sqlite.ErrCorrupt, ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "store.db")
			s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for i := range 50 {
				put(t, s, fmt.Sprint(i), `{"t":"`+strings.Repeat("x", 1000)+`"}`, store.PutOptions{})
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			bad := c.edit(b)
			if err := os.WriteFile(path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			s, err = sqlite.Open(t.Context(), path, sqlite.Options{})
			if err == nil {
				t.Fatal("it was opened", s.Close())
			}
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) || !strings.Contains(err.Error(), path) {
				t.Errorf("error %q, want %v with %q", err, c.want, c.text)
			}
			if after, err := os.ReadFile(path); err != nil || string(after) != string(bad) {
				t.Errorf("the file was changed, %v", err)
			}
		})
	}
	for path, want := range map[string]error{t.TempDir(): syscall.EISDIR, "/dev/null/x": syscall.ENOTDIR} {
		if s, err := sqlite.Open(t.Context(), path, sqlite.Options{}); !errors.Is(err, want) {
			t.Errorf("%s: %v, %v", path, s, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "x.db"), sqlite.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", s, err)
	}
}

// TestBusy lets another connection hold the file.
func TestBusy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s := open(t, path, sqlite.Options{BusyTimeout: 50 * time.Millisecond})
	put(t, s, "k", `{}`, store.PutOptions{})
	release := hold(t, path)
	_, err := s.Put(t.Context(), store.Namespace{"a"}, "k", json.RawMessage(`{"v":2}`), store.PutOptions{})
	if !errors.Is(err, sqlite.ErrBusy) {
		t.Errorf("Put: %v", err)
	}
	if i, err := s.Get(t.Context(), store.Namespace{"a"}, "k", store.GetOptions{}); err != nil || string(i.Value) != "{}" {
		t.Errorf("Get while another writes: %s, %v", i.Value, err)
	}
	release()
	put(t, s, "k", `{"v":2}`, store.PutOptions{})
}

// TestCloseWhileBusy closes a store that many use: calls end well or say that it is closed.
func TestCloseWhileBusy(t *testing.T) {
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, "k", `{}`, store.PutOptions{})
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			for err := error(nil); !errors.Is(err, fs.ErrClosed); {
				if i%2 == 0 {
					_, err = s.Get(t.Context(), store.Namespace{"a"}, "k", store.GetOptions{})
				} else {
					_, err = s.Put(t.Context(), store.Namespace{"a"}, "k", json.RawMessage(`{}`), store.PutOptions{})
				}
				if err != nil && !errors.Is(err, fs.ErrClosed) {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 3 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
}
