package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/deepagents-go/deepagents/thread"
)

// TestTurn holds the turn as a process in the middle of a long transaction does.
func TestTurn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	a, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := Open(t.Context(), path, Options{BusyTimeout: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	put := func(ctx context.Context, s *Store, id string) error {
		_, err := s.Append(ctx, "t", thread.Append{ExpectSeq: -1, Records: []thread.Record{{ID: thread.ID(id)}}})
		return err
	}
	if err := a.turn(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := put(t.Context(), c, "busy"); !errors.Is(err, thread.ErrBusy) {
		t.Errorf("the turn does not come: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := put(ctx, b, "cancelled"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("an append that waits for its turn does not follow its context: %v", err)
	}
	done := make(chan error)
	go func() { done <- put(t.Context(), b, "waited") }()
	time.Sleep(20 * time.Millisecond)
	a.endTurn()
	if err := <-done; err != nil {
		t.Errorf("after the turn: %v", err)
	}
	var ids []thread.ID
	for r, err := range a.Read(t.Context(), "t", thread.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.ID)
	}
	if len(ids) != 1 || ids[0] != "waited" {
		t.Errorf("stored: %v", ids)
	}
	if err := errors.Join(a.Close(), b.Close(), c.Close()); err != nil {
		t.Error(err)
	}
}
