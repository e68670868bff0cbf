package sqlite_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/deepagents-go/deepagents/thread"
	"github.com/deepagents-go/deepagents/thread/sqlite"
	"github.com/deepagents-go/deepagents/thread/threadtest"
)

func open(t testing.TB, path string, o sqlite.Options) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(context.Background(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func TestStore(t *testing.T) {
	paths := make(map[thread.Store]string)
	threadtest.Run(t, func(t *testing.T) thread.Store {
		path := filepath.Join(t.TempDir(), "threads.db")
		s := open(t, path, sqlite.Options{})
		paths[s] = path
		return s
	}, threadtest.Options{Second: func(t *testing.T, first thread.Store) thread.Store {
		return open(t, paths[first], sqlite.Options{})
	}})
}
