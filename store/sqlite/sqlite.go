package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/deepagents-go/deepagents/store"
)

// The defaults of [Options].
const (
	DefaultBusyTimeout = 10 * time.Second
	DefaultSweepEvery  = 5 * time.Minute
)

// readers is the number of connections that read at once.
const readers = 4

// Options are the settings of a [Store]. The zero value is ready for use.
type Options struct {
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// BusyTimeout bounds the wait for another process that writes; after it calls fail with [ErrBusy]. 0 means
	// [DefaultBusyTimeout].
	BusyTimeout time.Duration
	// DefaultTTL is how long an item lives that is put without a time to live; 0 means for ever.
	DefaultTTL time.Duration
	// KeepTTL makes reads leave the time to live as it is; without it they start it anew.
	KeepTTL bool
	// SweepEvery is how often a put removes the items whose time is over, which are invisible before; 0 means [DefaultSweepEvery].
	SweepEvery time.Duration
	// Embed makes the vectors that Query.Text is compared by. Without it items rank by their words (FTS5, bm25). Words are
	// always indexed, vectors only of what is put while there is an embedder.
	Embed store.Embedder
	// Index names the parts of values that are indexed when PutOptions.Index does not; empty means the whole value.
	Index []string
}

// The sentinels of this package. Other errors of the file wrap those of the operating system (fs.ErrPermission, syscall.ENOSPC).
var (
	// ErrBusy says that another process held the file for too long.
	ErrBusy = errors.New("the store is busy")
	// ErrCorrupt says that the file is damaged or no store.
	ErrCorrupt = errors.New("the store is damaged")
	// ErrNewer says that a newer program wrote the file.
	ErrNewer = errors.New("the store was written by a newer program")
)

var errClosed = fmt.Errorf("the store is closed: %w", fs.ErrClosed)

// Store is a [store.Store] in a file.
type Store struct {
	o    Options
	file string
	// w has the connection that writes, r those that read. Who takes one gives it back.
	w, r chan *conn

	mu      sync.Mutex
	sweepAt time.Time
	closed  chan struct{}
	once    sync.Once
}

var _ store.Store = (*Store)(nil)

// Open opens the store at path, and creates it, with its directory, when there is none. The file must be on a local disk.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.BusyTimeout <= 0 {
		o.BusyTimeout = DefaultBusyTimeout
	}
	if o.SweepEvery <= 0 {
		o.SweepEvery = DefaultSweepEvery
	}
	s := &Store{o: o, file: path, w: make(chan *conn, 1), r: make(chan *conn, readers), closed: make(chan struct{})}
	if err := s.open(ctx); err != nil {
		return nil, fmt.Errorf("open store %s: %w", path, explain(errors.Join(err, s.shut())))
	}
	return s, nil
}

// Close ends the connections. Calls that have begun end first; later ones fail with [fs.ErrClosed].
func (s *Store) Close() error {
	var err error
	s.once.Do(func() {
		close(s.closed)
		errs := []error{explain((<-s.w).close())}
		for range readers {
			errs = append(errs, explain((<-s.r).close()))
		}
		err = errors.Join(errs...)
	})
	return err
}

// shut closes what an Open that failed has opened.
func (s *Store) shut() error {
	var errs []error
	for _, pool := range []chan *conn{s.r, s.w} {
		for len(pool) > 0 {
			errs = append(errs, explain((<-pool).close()))
		}
	}
	return errors.Join(errs...)
}

// take waits for a connection.
func (s *Store) take(ctx context.Context, pool chan *conn) (*conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case <-s.closed:
		return nil, errClosed
	default:
	}
	select {
	case c := <-pool:
		return c, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.closed:
		return nil, errClosed
	}
}

// read runs f in a transaction that sees one state of the file.
func (s *Store) read(ctx context.Context, f func(*session) error) error {
	return s.do(ctx, s.r, "BEGIN", f)
}

// write runs f in a transaction that nobody else writes in, and keeps what it did unless it fails.
func (s *Store) write(ctx context.Context, f func(*session) error) error {
	return s.do(ctx, s.w, "BEGIN IMMEDIATE", f)
}

// refresh is write without waiting for the disk: a lost refresh makes an item end earlier and nothing else.
func (s *Store) refresh(ctx context.Context, f func(*session) error) error {
	c, err := s.take(ctx, s.w)
	if err != nil {
		return err
	}
	defer func() { s.w <- c }()
	if err := c.script(ctx, "PRAGMA synchronous=NORMAL"); err != nil {
		return explain(err)
	}
	err = s.transaction(ctx, c, "BEGIN IMMEDIATE", f)
	return errors.Join(explain(err), explain(c.script(context.WithoutCancel(ctx), "PRAGMA synchronous=FULL")))
}

func (s *Store) do(ctx context.Context, pool chan *conn, begin string, f func(*session) error) error {
	c, err := s.take(ctx, pool)
	if err != nil {
		return err
	}
	defer func() { pool <- c }()
	return explain(s.transaction(ctx, c, begin, f))
}

func (s *Store) transaction(ctx context.Context, c *conn, begin string, f func(*session) error) error {
	if err := c.exec(ctx, begin); err != nil {
		return ended(ctx, err)
	}
	done := context.WithoutCancel(ctx)
	x := &session{s: s, c: c, ctx: ctx, now: time.Unix(0, s.o.Now().UnixNano()).UTC()}
	err := f(x)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		if err = c.exec(done, "COMMIT"); err == nil {
			return nil
		}
	}
	// The first error is the one to tell; after some of them SQLite has rolled back by itself.
	_ = c.exec(done, "ROLLBACK")
	return ended(ctx, err)
}

// ended prefers the error of a context that has ended to what SQLite made of it.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
