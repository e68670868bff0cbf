package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/deepagents-go/deepagents/thread"
)

// The defaults of [Options].
const (
	DefaultBusyTimeout   = 10 * time.Second
	DefaultMaxEvents     = 4096
	DefaultMaxEventBytes = 1 << 20
)

// Options are the settings of a [Store]. The zero value is ready for use.
type Options struct {
	// Now is the clock for leases and listings; nil means time.Now.
	Now func() time.Time
	// BusyTimeout bounds the wait for another process that writes; after it calls fail with [thread.ErrBusy]. 0 means
	// [DefaultBusyTimeout].
	BusyTimeout time.Duration
	// MaxEvents is the number of live events that are kept of each thread; 0 means [DefaultMaxEvents].
	MaxEvents int
	// MaxEventBytes bounds the bytes of their data; 0 means [DefaultMaxEventBytes]. The newest event is always kept.
	MaxEventBytes int64
}

// Stats counts what a store did since it was opened.
type Stats struct {
	// Transactions counts all, Durable those that ended with an fsync.
	Transactions, Durable int64
	// Appends and DurableAppends count the calls of Append that were stored.
	Appends, DurableAppends int64
}

// Store is a [thread.Store] in a file. Errors of the file wrap [thread.ErrCorrupt], [thread.ErrNewer], [thread.ErrBusy] or the
// sentinel of the operating system (fs.ErrPermission, syscall.ENOSPC, ...).
type Store struct {
	o     Options
	path  string // as the caller gave it, for messages
	file  string // resolved
	locks *locks
	w     *conn // used by the writer only
	pool  pool

	mu     sync.Mutex
	idle   sync.Cond // the writer ended
	queue  []*op
	active bool
	closed bool
	broken error
	held   map[int64]struct{} // fences of leases of this store

	cache cache
	stats struct{ transactions, durable, appends, durableAppends atomic.Int64 }
}

var _ thread.Store = (*Store)(nil)

// Open opens the database at path, and creates it, with its directory, when there is none.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := &Store{o: o.withDefaults(), path: path, held: make(map[int64]struct{})}
	s.idle.L = &s.mu
	s.cache.reset()
	if err := s.open(ctx); err != nil {
		return nil, fmt.Errorf("open thread database %s: %w", path, errors.Join(err, s.shut()))
	}
	return s, nil
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.BusyTimeout <= 0 {
		o.BusyTimeout = DefaultBusyTimeout
	}
	if o.MaxEvents <= 0 {
		o.MaxEvents = DefaultMaxEvents
	}
	if o.MaxEventBytes <= 0 {
		o.MaxEventBytes = DefaultMaxEventBytes
	}
	return o
}

func (s *Store) open(ctx context.Context) error {
	if err := s.resolve(); err != nil {
		return err
	}
	var err error
	if s.locks, err = openLocks(s.file + ".lock"); err != nil {
		return err
	}
	if err := s.prepare(ctx); err != nil {
		return err
	}
	if s.w, err = openConn(s.file, s.o.BusyTimeout, "mode=rw"); err != nil {
		return explain(err)
	}
	s.pool.open = func() (*conn, error) {
		c, err := openConn(s.file, s.o.BusyTimeout, "mode=rw&_pragma=query_only(1)")
		return c, explain(err)
	}
	s.pool.init(maxReaders)
	return explain(s.checkMode())
}

// resolve finds the file behind links, so that all who open it agree on the name of the lock file.
func (s *Store) resolve() error {
	if s.path == "" {
		return errors.New("the path is empty")
	}
	abs, err := filepath.Abs(s.path)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(abs), 0o700); err != nil {
		return err
	}
	s.file, err = filepath.EvalSymlinks(abs)
	if errors.Is(err, os.ErrNotExist) {
		var dir string
		dir, err = filepath.EvalSymlinks(filepath.Dir(abs))
		s.file = filepath.Join(dir, filepath.Base(abs))
	}
	return err
}

// Stats returns the counts since the store was opened.
func (s *Store) Stats() Stats {
	return Stats{
		Transactions: s.stats.transactions.Load(), Durable: s.stats.durable.Load(),
		Appends: s.stats.appends.Load(), DurableAppends: s.stats.durableAppends.Load(),
	}
}

// Close implements [thread.Store]. Calls that have begun end first.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	for s.active {
		s.idle.Wait()
	}
	s.mu.Unlock()
	err := s.releaseAll()
	return errors.Join(err, s.shut())
}

// shut closes whatever is open.
func (s *Store) shut() error {
	var errs []error
	errs = append(errs, s.pool.close())
	if s.w != nil {
		errs = append(errs, explain(s.w.close()))
	}
	if s.locks != nil {
		errs = append(errs, s.locks.close())
	}
	return errors.Join(errs...)
}
