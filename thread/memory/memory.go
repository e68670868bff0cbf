package memory

import (
	"context"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/deepagents-go/deepagents/thread"
)

// The default bounds of a thread's event log.
const (
	DefaultMaxEvents     = 4096
	DefaultMaxEventBytes = 1 << 20
)

// Options are the settings of a [Store]. The zero value is ready for use.
type Options struct {
	// Now is the clock for leases and listings; nil means time.Now.
	Now func() time.Time
	// MaxEvents is the number of live events that are kept of each thread; 0 means [DefaultMaxEvents].
	MaxEvents int
	// MaxEventBytes bounds the bytes of their data; 0 means [DefaultMaxEventBytes]. The newest event is always kept.
	MaxEventBytes int64
}

// Store is a [thread.Store] in memory. It copies the data of records and events when they are added; what it yields is shared
// and must not be changed.
type Store struct {
	o       Options
	mu      sync.RWMutex
	threads map[string]*log
	fence   int64
	closed  bool
}

var _ thread.Store = (*Store)(nil)

// New returns an empty store with the default options.
func New() *Store { return NewWith(Options{}) }

// NewWith returns an empty store.
func NewWith(o Options) *Store {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.MaxEvents <= 0 {
		o.MaxEvents = DefaultMaxEvents
	}
	if o.MaxEventBytes <= 0 {
		o.MaxEventBytes = DefaultMaxEventBytes
	}
	return &Store{o: o, threads: make(map[string]*log)}
}

// check returns why a call on a thread cannot begin.
func check(ctx context.Context, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return thread.ValidThread(id)
}

func notFound(id string) error { return fmt.Errorf("thread %s: %w", id, thread.ErrNotFound) }

var errClosed = fmt.Errorf("the thread store is closed: %w", fs.ErrClosed)

// open locks and returns the log of a thread, or nil when there is none and create is false.
func (s *Store) open(id string, create bool) (*log, error) {
	for {
		s.mu.RLock()
		l, closed := s.threads[id], s.closed
		s.mu.RUnlock()
		switch {
		case closed:
			return nil, errClosed
		case l == nil && !create:
			return nil, nil
		case l == nil:
			l = s.create(id)
		}
		l.mu.Lock()
		if !l.gone {
			return l, nil
		}
		l.mu.Unlock() // removed in between
	}
}

func (s *Store) create(id string) *log {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.threads[id]
	if l == nil {
		l = &log{id: id}
		s.threads[id] = l
	}
	return l
}

// forget removes a log, whose lock is held, from the map.
func (s *Store) forget(l *log) {
	l.gone = true
	l.fence = 0
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.threads[l.id] == l {
		delete(s.threads, l.id)
	}
}

// use calls f with the locked log of a thread that exists.
func (s *Store) use(ctx context.Context, id string, f func(l *log) error) error {
	if err := check(ctx, id); err != nil {
		return err
	}
	l, err := s.open(id, false)
	if err != nil {
		return err
	}
	if l == nil {
		return notFound(id)
	}
	defer l.mu.Unlock()
	return f(l)
}

// Append implements [thread.Store].
func (s *Store) Append(ctx context.Context, id string, a thread.Append) (int64, error) {
	if err := check(ctx, id); err != nil {
		return 0, err
	}
	l, err := s.open(id, true)
	if err != nil {
		return 0, err
	}
	defer l.mu.Unlock()
	seq, err := l.append(a, s.o.Now)
	if l.idle() {
		s.forget(l)
	}
	return seq, err
}

// Head implements [thread.Store].
func (s *Store) Head(ctx context.Context, id string) (h thread.Head, err error) {
	err = s.use(ctx, id, func(l *log) error {
		if !l.exists() {
			return notFound(id)
		}
		b := l.branch(l.head)
		h = thread.Head{Branch: b.Name, Seq: b.End(), EventHigh: l.eventHigh}
		return nil
	})
	return h, err
}

// Read implements [thread.Store]. It reads what was there when the range began; no lock is held while the body runs.
func (s *Store) Read(ctx context.Context, id string, q thread.Query) iter.Seq2[thread.Record, error] {
	return func(yield func(thread.Record, error) bool) {
		var v view
		err := s.use(ctx, id, func(l *log) (err error) {
			v, err = l.view(q)
			return err
		})
		if err != nil {
			yield(thread.Record{}, err)
			return
		}
		v.read(ctx, q, yield)
	}
}

// Fork implements [thread.Store].
func (s *Store) Fork(ctx context.Context, id string, fence int64, at thread.ID) (b thread.ID, err error) {
	err = s.write(ctx, id, fence, func(l *log) error {
		b, err = l.fork(at)
		return err
	})
	return b, err
}

// SetHead implements [thread.Store].
func (s *Store) SetHead(ctx context.Context, id string, fence int64, branch thread.ID) error {
	return s.write(ctx, id, fence, func(l *log) error { return l.setHead(branch) })
}

// Prune implements [thread.Store].
func (s *Store) Prune(ctx context.Context, id string, fence int64) error {
	return s.write(ctx, id, fence, func(l *log) error { return l.prune() })
}

// write is use for changes of a thread under a fence.
func (s *Store) write(ctx context.Context, id string, fence int64, f func(l *log) error) error {
	return s.use(ctx, id, func(l *log) error {
		now := s.o.Now()
		if err := l.allow(fence, now); err != nil {
			return err
		}
		if !l.exists() {
			return notFound(id)
		}
		if err := f(l); err != nil {
			return err
		}
		l.updated = now
		return nil
	})
}

// Delete implements [thread.Store].
func (s *Store) Delete(ctx context.Context, id string) error {
	return s.use(ctx, id, func(l *log) error {
		if l.held(s.o.Now()) {
			return &thread.BusyError{Thread: id, Owner: l.owner}
		}
		if !l.exists() {
			return notFound(id)
		}
		s.forget(l)
		return nil
	})
}

// List implements [thread.Store]. It lists the threads that were there when the range began.
func (s *Store) List(ctx context.Context) iter.Seq2[thread.Info, error] {
	return func(yield func(thread.Info, error) bool) {
		s.mu.RLock()
		ids, closed := slices.Sorted(maps.Keys(s.threads)), s.closed
		s.mu.RUnlock()
		if closed {
			yield(thread.Info{}, errClosed)
			return
		}
		for _, id := range ids {
			if err := ctx.Err(); err != nil {
				yield(thread.Info{}, err)
				return
			}
			l, err := s.open(id, false)
			if err != nil {
				yield(thread.Info{}, err)
				return
			}
			if l == nil {
				continue
			}
			info, ok := l.info(s.o.Now())
			l.mu.Unlock()
			if ok && !yield(info, nil) {
				return
			}
		}
	}
}

// AppendEvents implements [thread.Store].
func (s *Store) AppendEvents(ctx context.Context, id string, fence int64, events []thread.Event) error {
	if err := check(ctx, id); err != nil {
		return err
	}
	l, err := s.open(id, true)
	if err != nil {
		return err
	}
	defer l.mu.Unlock()
	err = l.appendEvents(fence, events, &s.o)
	if l.idle() {
		s.forget(l)
	}
	return err
}

// Events implements [thread.Store].
func (s *Store) Events(ctx context.Context, id string, after int64) (first int64, events []thread.Event, err error) {
	err = s.use(ctx, id, func(l *log) error {
		if !l.exists() {
			return notFound(id)
		}
		first, events = l.eventsAfter(after)
		return nil
	})
	return first, events, err
}

// Close implements [thread.Store]. The threads are gone with it.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.threads = nil
	return nil
}
