package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/deepagents-go/deepagents/internal/pmap"
	"github.com/deepagents-go/deepagents/store"
	"github.com/deepagents-go/deepagents/store/internal/nskey"
)

// DefaultSweepEvery is the default of Options.SweepEvery.
const DefaultSweepEvery = 5 * time.Minute

// Options are the settings of a [Store]. The zero value is ready for use.
type Options struct {
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// DefaultTTL is how long an item lives that is put without a time to live; 0 means for ever.
	DefaultTTL time.Duration
	// KeepTTL makes reads leave the time to live as it is; without it they start it anew.
	KeepTTL bool
	// SweepEvery is how often a put removes the items whose time is over, which are invisible before; 0 means [DefaultSweepEvery].
	SweepEvery time.Duration
	// Embed makes the vectors that Query.Text is compared by. Without it items rank by the share of the words they hold.
	Embed store.Embedder
	// Index names the parts of values that are indexed when PutOptions.Index does not; empty means the whole value.
	Index []string
}

// Store is a [store.Store] in memory.
type Store struct {
	o Options

	mu      sync.RWMutex
	items   pmap.Map[*entry] // by nskey.Encode(namespace) + keyMark + key
	version int64
	sweepAt time.Time
}

var _ store.Store = (*Store)(nil)

// keyMark stands between a namespace and a key; it sorts before every further label.
const keyMark = "\x00\x00"

// entry is an item. Only its expiry changes.
type entry struct {
	item    store.Item // with own copies
	ttl     time.Duration
	expires atomic.Int64 // Unix nanoseconds, 0 for never
	words   []string     // sorted, without an embedder
	vectors [][]float32
}

// New returns an empty store.
func New(o Options) *Store {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.SweepEvery <= 0 {
		o.SweepEvery = DefaultSweepEvery
	}
	return &Store{o: o}
}

func name(ns store.Namespace, key string) string { return nskey.Encode(ns) + keyMark + key }

// now has no monotonic part, so that times compare as they would after a restart.
func (s *Store) now() time.Time { return time.Unix(0, s.o.Now().UnixNano()).UTC() }

func (e *entry) alive(now time.Time) bool {
	x := e.expires.Load()
	return x == 0 || now.UnixNano() < x
}

func (e *entry) copy() store.Item {
	i := e.item
	i.Namespace, i.Value = slices.Clone(i.Namespace), slices.Clone(i.Value)
	return i
}

func (s *Store) refresh(e *entry, now time.Time, keep bool) {
	if e.ttl > 0 && !keep && !s.o.KeepTTL {
		e.expires.Store(end(now, e.ttl))
	}
}

// end is when a time to live that starts now is over. One too long for the clock never is.
func end(now time.Time, ttl time.Duration) int64 {
	if n := now.UnixNano(); n <= math.MaxInt64-int64(ttl) {
		return n + int64(ttl)
	}
	return math.MaxInt64
}

func (s *Store) snapshot() pmap.Map[*entry] {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.items
}

// Get implements [store.Store].
func (s *Store) Get(ctx context.Context, ns store.Namespace, key string, o store.GetOptions) (store.Item, error) {
	if err := ctx.Err(); err != nil {
		return store.Item{}, err
	}
	now := s.now()
	e, ok := s.snapshot().Get(name(ns, key))
	if !ok || !e.alive(now) {
		return store.Item{}, fmt.Errorf("%w: %q in %q", store.ErrNotFound, key, []string(ns))
	}
	s.refresh(e, now, o.KeepTTL)
	return e.copy(), nil
}

// Put implements [store.Store].
func (s *Store) Put(ctx context.Context, ns store.Namespace, key string, value json.RawMessage, o store.PutOptions) (store.Item, error) {
	if err := ctx.Err(); err != nil {
		return store.Item{}, err
	}
	if err := store.CheckPut(ns, key, value); err != nil {
		return store.Item{}, err
	}
	e := &entry{item: store.Item{Namespace: slices.Clone(ns), Key: key, Value: slices.Clone(value)}, ttl: o.TTL}
	if e.ttl == 0 {
		e.ttl = s.o.DefaultTTL
	}
	if err := s.index(ctx, e, o); err != nil {
		return store.Item{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	e.item.CreatedAt, e.item.UpdatedAt = now, now
	old, exists := s.items.Get(name(ns, key))
	if exists = exists && old.alive(now); exists {
		e.item.CreatedAt = old.item.CreatedAt
		if e.item.UpdatedAt.Before(e.item.CreatedAt) { // the clock went back
			e.item.UpdatedAt = e.item.CreatedAt
		}
	}
	if o.CreateOnly && exists || o.IfVersion != "" && (!exists || old.item.Version != o.IfVersion) {
		return store.Item{}, fmt.Errorf("%w: %q in %q", store.ErrConflict, key, []string(ns))
	}
	if e.ttl > 0 {
		e.expires.Store(end(now, e.ttl))
	}
	s.version++
	e.item.Version = strconv.FormatInt(s.version, 10)
	s.items = s.items.Set(name(ns, key), e)
	s.sweepDue(now)
	return e.copy(), nil
}

// index finds the words or the vectors of an item.
func (s *Store) index(ctx context.Context, e *entry, o store.PutOptions) error {
	if o.NoIndex {
		return nil
	}
	paths := o.Index
	if len(paths) == 0 {
		paths = s.o.Index
	}
	texts := store.Texts(e.item.Value, paths)
	if len(texts) == 0 {
		return nil
	}
	if s.o.Embed == nil {
		for _, t := range texts {
			e.words = append(e.words, store.Words(t)...)
		}
		slices.Sort(e.words)
		e.words = slices.Compact(e.words)
		return nil
	}
	v, err := s.o.Embed(ctx, texts)
	if err != nil {
		return fmt.Errorf("store: embed %q: %w", e.item.Key, err)
	}
	if len(v) != len(texts) {
		return fmt.Errorf("store: embed %q: %d vectors for %d texts", e.item.Key, len(v), len(texts))
	}
	e.vectors = v
	return nil
}

// Delete implements [store.Store].
func (s *Store) Delete(ctx context.Context, ns store.Namespace, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.items = s.items.Delete(name(ns, key))
	return nil
}

// Batch implements [store.Store].
func (s *Store) Batch(ctx context.Context, ops []store.Op) ([]store.Outcome, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return store.Sequence(ctx, s, ops), nil
}

// Namespaces implements [store.Store].
func (s *Store) Namespaces(ctx context.Context, q store.NamespaceQuery) ([]store.Namespace, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := q.Check(); err != nil {
		return nil, err
	}
	now := s.now()
	var all []store.Namespace
	for _, e := range s.snapshot().All() {
		if n := len(all); e.alive(now) && (n == 0 || !all[n-1].Equal(e.item.Namespace)) {
			all = append(all, e.item.Namespace)
		}
	}
	return q.Select(all), ctx.Err()
}

// Sweep removes the items whose time is over and returns how many there were.
func (s *Store) Sweep(ctx context.Context) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sweep(s.now()), nil
}

// sweepDue sweeps when it is time again. The caller holds the lock.
func (s *Store) sweepDue(now time.Time) {
	if s.sweepAt.IsZero() {
		s.sweepAt = now.Add(s.o.SweepEvery)
	}
	if !now.Before(s.sweepAt) {
		s.sweep(now)
	}
}

func (s *Store) sweep(now time.Time) int {
	s.sweepAt = now.Add(s.o.SweepEvery)
	n := 0
	for k, e := range s.items.All() {
		if !e.alive(now) {
			s.items = s.items.Delete(k)
			n++
		}
	}
	return n
}
