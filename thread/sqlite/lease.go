package sqlite

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/deepagents-go/deepagents/thread"
)

// lease implements [thread.Lease]. It is a row of threads and a kernel lock on the byte of its fence.
type lease struct {
	s        *Store
	id       int64
	name     string
	fence    int64
	ttl      time.Duration
	released atomic.Bool
}

// Acquire implements [thread.Store]. A holder is alive as long as it has its kernel lock and its time is not over.
func (s *Store) Acquire(ctx context.Context, id, owner string, ttl time.Duration) (thread.Lease, error) {
	if err := check(ctx, id); err != nil {
		return nil, err
	}
	if ttl <= 0 {
		return nil, fmt.Errorf("thread %s: the time to live of a lease must be positive, got %v", id, ttl)
	}
	l := &lease{s: s, name: id, ttl: ttl}
	err := s.change(ctx, false, 0, func(t *tx) error { return t.acquire(l, owner) })
	if err != nil {
		return nil, err
	}
	return l, nil
}

func (t *tx) acquire(l *lease, owner string) error {
	s := t.s
	r, err := load(t.conn, l.name)
	if err != nil {
		return err
	}
	switch alive, err := s.alive(&r); {
	case err != nil:
		return err
	case alive:
		return &thread.BusyError{Thread: l.name, Owner: r.owner}
	}
	last, err := t.number("SELECT last FROM fences")
	if err != nil {
		return err
	}
	// Fences count for the whole file, so that no two leases share a byte and none is good for a later thread of the same name.
	l.fence = max(last+1, firstFence)
	for {
		ok, err := s.locks.try(l.fence)
		if err != nil {
			return err
		}
		if ok {
			break
		}
		l.fence++ // a lease that a power cut made the file forget
	}
	fence := l.fence
	s.hold(fence) // at once: the next change in this transaction must see a living holder
	t.onRevert(func() { s.drop(fence) })
	if err := t.exec("UPDATE fences SET last=?", fence); err != nil {
		return err
	}
	if r.id == 0 {
		if r.id, err = t.number("INSERT INTO threads(name) VALUES(?) RETURNING id", l.name); err != nil {
			return err
		}
	}
	l.id = r.id
	return t.exec("UPDATE threads SET fence=?, owner=?, expires=? WHERE id=?", fence, owner, s.o.Now().Add(l.ttl).UnixNano(), r.id)
}

func (s *Store) hold(fence int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[fence] = struct{}{}
}

// drop gives the kernel lock of a fence back.
func (s *Store) drop(fence int64) {
	s.mu.Lock()
	delete(s.held, fence)
	s.mu.Unlock()
	// It fails only with the descriptor, and then the lock is gone too.
	_ = s.locks.unlock(fence)
}

// alive reports whether somebody holds the lease of a thread.
func (s *Store) alive(r *row) (bool, error) {
	if r.fence == 0 || s.o.Now().UnixNano() >= r.expires {
		return false, nil
	}
	s.mu.Lock()
	_, own := s.held[r.fence]
	s.mu.Unlock()
	if own {
		return true, nil
	}
	return s.locks.taken(r.fence)
}

// allow returns why a write with the fence is refused. A holder whose time is over keeps the right until somebody takes it.
func (s *Store) allow(r *row, fence int64) error {
	if fence != 0 {
		if fence != r.fence {
			return fenced(r.name)
		}
		return nil
	}
	alive, err := s.alive(r)
	if alive {
		return &thread.BusyError{Thread: r.name, Owner: r.owner}
	}
	return err
}

func fenced(id string) error { return fmt.Errorf("thread %s: %w", id, thread.ErrFenced) }

// Fence implements [thread.Lease].
func (l *lease) Fence() int64 { return l.fence }

// Renew implements [thread.Lease].
func (l *lease) Renew(ctx context.Context) error {
	return l.s.change(ctx, false, 0, func(t *tx) error {
		fence, err := t.number("SELECT fence FROM threads WHERE id=?", l.id)
		if err != nil {
			return err
		}
		if fence != l.fence {
			return fenced(l.name)
		}
		return t.exec("UPDATE threads SET expires=? WHERE id=?", l.s.o.Now().Add(l.ttl).UnixNano(), l.id)
	})
}

// Release implements [thread.Lease].
func (l *lease) Release(ctx context.Context) error {
	if l.released.Load() || l.s.isClosed() {
		return nil
	}
	err := l.s.change(ctx, false, 0, func(t *tx) error {
		t.onCommit(func() { l.s.drop(l.fence) })
		return t.release(l.fence, l.id)
	})
	if err == nil {
		l.released.Store(true)
	}
	return err
}

// release clears the lease of a thread, and forgets a thread that had nothing else.
func (t *tx) release(fence, id int64) error {
	if err := t.exec("DELETE FROM threads WHERE id=? AND fence=? AND head=0", id, fence); err != nil {
		return err
	}
	return t.exec("UPDATE threads SET fence=0, owner='', expires=0 WHERE id=? AND fence=?", id, fence)
}

func (s *Store) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// releaseAll ends the leases of a store that is being closed. The kernel locks go with the lock file; the rows are tidied so
// that listings are right where those are not looked at.
func (s *Store) releaseAll() error {
	if len(s.held) == 0 || s.broken != nil {
		return nil
	}
	o := &op{do: func(t *tx) error {
		for fence := range s.held {
			id, err := t.number("SELECT id FROM threads WHERE fence=?", fence)
			if err == nil {
				err = t.release(fence, id)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}}
	if err := s.turn(context.Background()); err != nil {
		return err
	}
	defer s.endTurn()
	s.run([]*op{o})
	return o.err
}
