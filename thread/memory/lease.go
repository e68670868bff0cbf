package memory

import (
	"context"
	"fmt"
	"time"

	"github.com/deepagents-go/deepagents/thread"
)

// lease implements [thread.Lease].
type lease struct {
	s     *Store
	l     *log
	fence int64
	ttl   time.Duration
}

// Acquire implements [thread.Store].
func (s *Store) Acquire(ctx context.Context, id, owner string, ttl time.Duration) (thread.Lease, error) {
	if err := check(ctx, id); err != nil {
		return nil, err
	}
	if ttl <= 0 {
		return nil, fmt.Errorf("thread %s: the time to live of a lease must be positive, got %v", id, ttl)
	}
	l, err := s.open(id, true)
	if err != nil {
		return nil, err
	}
	defer l.mu.Unlock()
	now := s.o.Now()
	if l.held(now) {
		return nil, &thread.BusyError{Thread: id, Owner: l.owner}
	}
	l.fence, l.owner, l.expires = s.nextFence(), owner, now.Add(ttl)
	return &lease{s, l, l.fence, ttl}, nil
}

// nextFence counts for the whole store, so that a lease on a thread that was deleted is never good for its successor.
func (s *Store) nextFence() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fence++
	return s.fence
}

// Fence implements [thread.Lease].
func (e *lease) Fence() int64 { return e.fence }

// Renew implements [thread.Lease].
func (e *lease) Renew(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if e.s.isClosed() {
		return errClosed
	}
	e.l.mu.Lock()
	defer e.l.mu.Unlock()
	if e.l.fence != e.fence {
		return fenced(e.l.id)
	}
	e.l.expires = e.s.o.Now().Add(e.ttl)
	return nil
}

// Release implements [thread.Lease].
func (e *lease) Release(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if e.s.isClosed() {
		return nil
	}
	e.l.mu.Lock()
	defer e.l.mu.Unlock()
	if e.l.fence != e.fence {
		return nil
	}
	e.l.fence, e.l.owner = 0, ""
	if e.l.idle() {
		e.s.forget(e.l)
	}
	return nil
}

func (s *Store) isClosed() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.closed
}

func fenced(id string) error { return fmt.Errorf("thread %s: %w", id, thread.ErrFenced) }

// held reports whether somebody holds the lease.
func (l *log) held(now time.Time) bool { return l.fence != 0 && now.Before(l.expires) }

// allow returns why a write with the fence is refused. A holder whose time is over keeps the right until somebody takes it.
func (l *log) allow(fence int64, now time.Time) error {
	switch {
	case fence != 0 && fence != l.fence:
		return fenced(l.id)
	case fence == 0 && l.fence != 0 && l.held(now):
		return &thread.BusyError{Thread: l.id, Owner: l.owner}
	}
	return nil
}
