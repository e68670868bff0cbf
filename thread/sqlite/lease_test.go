package sqlite_test

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/deepagents-go/deepagents/thread"
	"github.com/deepagents-go/deepagents/thread/sqlite"
)

// TestTakeover has a holder that hangs: it lives, but does not renew. What it still locks says nothing about the next one.
func TestTakeover(t *testing.T) {
	var clock atomic.Int64
	o := sqlite.Options{Now: func() time.Time { return time.Unix(clock.Load(), 0) }}
	path := filepath.Join(t.TempDir(), "threads.db")
	a, b, c := open(t, path, o), open(t, path, o), open(t, path, o)
	first, err := a.Acquire(t.Context(), "t", "first", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	busy := func(owner string) {
		t.Helper()
		var e *thread.BusyError
		if _, err := c.Acquire(t.Context(), "t", "third", time.Minute); !errors.As(err, &e) || e.Owner != owner {
			t.Fatalf("error %v, want busy by %s", err, owner)
		}
	}
	clock.Store(59)
	busy("first")
	clock.Store(60)
	second, err := b.Acquire(t.Context(), "t", "second", time.Minute)
	if err != nil {
		t.Fatalf("after its time: %v", err)
	}
	busy("second")
	if err := first.Renew(t.Context()); !errors.Is(err, thread.ErrFenced) {
		t.Fatalf("the first holder: %v", err)
	}
	if err := errors.Join(first.Release(t.Context()), a.Close()); err != nil {
		t.Fatal(err)
	}
	busy("second")
	clock.Store(0) // the clock jumps back
	busy("second")
	if _, err := b.Append(t.Context(), "t", thread.Append{Fence: second.Fence(), Records: []thread.Record{rec("a", 1)}}); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Acquire(t.Context(), "t", "third", time.Minute); err != nil {
		t.Fatalf("after the second was closed: %v", err)
	}
}

func TestEventBounds(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "threads.db"), sqlite.Options{MaxEvents: 3, MaxEventBytes: 100})
	add := func(seq int64, size int) {
		t.Helper()
		if err := s.AppendEvents(t.Context(), "t", 0, []thread.Event{{Seq: seq, Data: make(json.RawMessage, size)}}); err != nil {
			t.Fatal(err)
		}
	}
	want := func(first int64, n int) {
		t.Helper()
		got, es, err := s.Events(t.Context(), "t", 0)
		if err != nil || got != first || len(es) != n {
			t.Fatalf("first %d, %d events, %v; want %d, %d", got, len(es), err, first, n)
		}
	}
	for i := range 5 {
		add(int64(i+1), 1)
	}
	want(3, 3)
	add(6, 99)
	want(5, 2)
	add(7, 200)
	want(7, 1)
}
