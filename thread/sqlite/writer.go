package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/deepagents-go/deepagents/thread"
)

// op is one change that waits for its transaction.
type op struct {
	durable bool
	size    int64
	// do checks first and writes then, so that a refusal leaves nothing behind. It runs again, alone, when the transaction that
	// it was in failed.
	do    func(t *tx) error
	err   error
	done  chan struct{}
	state atomic.Int32
}

// The states of an op.
const (
	queued int32 = iota
	begun
	given // up, by its caller
)

// tx is one transaction.
type tx struct {
	*conn
	s              *Store
	commit, revert []func()
}

// onCommit runs f when the transaction is stored, onRevert when it is not.
func (t *tx) onCommit(f func()) { t.commit = append(t.commit, f) }
func (t *tx) onRevert(f func()) { t.revert = append(t.revert, f) }

// The bounds of one transaction.
const (
	maxBatch     = 256
	maxBatchSize = 8 << 20
)

// change runs do in a transaction and returns when it is stored. When the context ends before the transaction begins, nothing
// was done.
func (s *Store) change(ctx context.Context, durable bool, size int64, do func(t *tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	o := &op{durable: durable, size: size, do: do, done: make(chan struct{})}
	s.mu.Lock()
	if err := s.usable(); err != nil {
		s.mu.Unlock()
		return err
	}
	s.queue = append(s.queue, o)
	start := !s.active
	s.active = true
	s.mu.Unlock()
	if start {
		go s.write()
	}
	select {
	case <-o.done:
	case <-ctx.Done():
		if o.state.CompareAndSwap(queued, given) {
			return ctx.Err()
		}
		<-o.done
	}
	return o.err
}

// usable returns why nothing can be changed. The lock is held.
func (s *Store) usable() error {
	if s.closed {
		return errClosed
	}
	return s.broken
}

// write works until the queue is empty. There is one at a time.
func (s *Store) write() {
	for s.more() {
		err := s.turn(context.Background())
		batch := s.take()
		if err != nil {
			finish(batch, err)
			continue
		}
		s.run(batch)
		s.endTurn()
		finish(batch, nil)
	}
}

// more reports whether something is queued; when not, the writer has ended.
func (s *Store) more() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) > 0 {
		return true
	}
	s.active = false
	s.queue = nil
	s.idle.Broadcast()
	return false
}

// take removes the ops of the next transaction from the queue.
func (s *Store) take() []*op {
	s.mu.Lock()
	defer s.mu.Unlock()
	var batch []*op
	n, size := 0, int64(0)
	for ; n < len(s.queue) && len(batch) < maxBatch && size < maxBatchSize; n++ {
		if o := s.queue[n]; o.state.CompareAndSwap(queued, begun) {
			batch = append(batch, o)
			size += o.size
		}
		s.queue[n] = nil
	}
	s.queue = s.queue[n:]
	return batch
}

// finish wakes the callers, with err for those that have none of their own.
func finish(batch []*op, err error) {
	for _, o := range batch {
		if o.err == nil {
			o.err = err
		}
		close(o.done)
	}
}

// run does a batch in one transaction. When that fails each op has one of its own, so that one that cannot be stored (too large
// for the disk) does not take the others with it.
func (s *Store) run(batch []*op) {
	err := s.transact(batch)
	if err == nil || len(batch) == 1 {
		s.fail(batch, err)
		return
	}
	for i := range batch {
		s.fail(batch[i:i+1], s.transact(batch[i:i+1]))
	}
}

// fail notes why a batch could not be stored.
func (s *Store) fail(batch []*op, err error) {
	if err == nil {
		return
	}
	err = fmt.Errorf("thread database %s: %w", s.path, explain(err))
	for _, o := range batch {
		o.err = err
	}
	if errors.Is(err, thread.ErrCorrupt) {
		s.mu.Lock()
		s.broken = err
		s.mu.Unlock()
	}
}

// transact returns the error of the database. An op that was refused has its own.
func (s *Store) transact(batch []*op) error {
	level, durable := "NORMAL", int64(0)
	for _, o := range batch {
		if o.err = nil; o.durable {
			level, durable = "FULL", 1
		}
	}
	if err := s.w.sync(level); err != nil {
		return err
	}
	t := &tx{conn: s.w, s: s}
	err := t.inside(batch)
	if err != nil {
		// SQLite may have rolled back by itself: then there is nothing to do, and it says so.
		_ = s.w.exec("ROLLBACK")
		for _, f := range t.revert {
			f()
		}
		return err
	}
	for _, f := range t.commit {
		f()
	}
	s.stats.transactions.Add(1)
	s.stats.durable.Add(durable)
	return nil
}

func (t *tx) inside(batch []*op) error {
	if err := t.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	for _, o := range batch {
		if o.err = o.do(t); o.err != nil && isDatabase(o.err) {
			return o.err
		}
	}
	return t.exec("COMMIT")
}
