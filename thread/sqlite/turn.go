package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/deepagents-go/deepagents/thread"
)

// The bytes of the lock file. A lease locks the byte of its fence, which counts from firstFence.
const (
	nextTurn   = 0
	thisTurn   = 1
	firstFence = 16
)

// turn waits until this store may write. Waiting for SQLite's own lock starves: its waiters sleep, while a busy process takes
// the lock again at once. Here the one who holds nextTurn comes next, and a writer cannot take its next turn before.
func (s *Store) turn(ctx context.Context) error {
	end := time.Now().Add(s.o.BusyTimeout)
	if err := s.poll(ctx, nextTurn, end); err != nil {
		return err
	}
	err := s.poll(ctx, thisTurn, end)
	return errors.Join(err, s.locks.unlock(nextTurn))
}

func (s *Store) endTurn() {
	// An unlock of a lock that is held fails only with the descriptor, and then the lock is gone too.
	_ = s.locks.unlock(thisTurn)
}

func (s *Store) poll(ctx context.Context, n int64, end time.Time) error {
	for wait := 50 * time.Microsecond; ; wait = min(2*wait, time.Millisecond) {
		ok, err := s.locks.try(n)
		if ok || err != nil {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("%w: another process has been writing to %s for %v; try again, or end that process",
				thread.ErrBusy, s.path, s.o.BusyTimeout)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}
