package sqlite

import (
	"context"
	"encoding/json"
	"time"

	"github.com/deepagents-go/deepagents/store"
)

// Get implements [store.Store].
func (s *Store) Get(ctx context.Context, ns store.Namespace, key string, o store.GetOptions) (store.Item, error) {
	var r row
	c, err := s.take(ctx, s.r)
	if err != nil {
		return store.Item{}, err
	}
	x := &session{s: s, c: c, ctx: ctx, now: time.Unix(0, s.o.Now().UnixNano())}
	r, err = x.get(ns, key) // one statement is a transaction
	s.r <- c
	if err != nil {
		return store.Item{}, explain(ended(ctx, err))
	}
	return r.Item, s.touch(ctx, o.KeepTTL, r)
}

// touch starts the time to live of what was read anew.
func (s *Store) touch(ctx context.Context, keep bool, items ...row) error {
	if keep || s.o.KeepTTL {
		return nil
	}
	for _, r := range items {
		if r.ttl > 0 {
			return s.refresh(ctx, func(x *session) error { return x.touch(items) })
		}
	}
	return nil
}

// Put implements [store.Store].
func (s *Store) Put(ctx context.Context, ns store.Namespace, key string, value json.RawMessage, o store.PutOptions) (store.Item, error) {
	if err := ctx.Err(); err != nil {
		return store.Item{}, err
	}
	in, err := s.incoming(ctx, store.PutOp{Namespace: ns, Key: key, Value: value, Options: o})
	if err != nil {
		return store.Item{}, err
	}
	var i store.Item
	err = s.write(ctx, func(x *session) (err error) {
		if i, err = x.put(in); err != nil {
			return err
		}
		return x.sweepDue()
	})
	return i, err
}

// Delete implements [store.Store].
func (s *Store) Delete(ctx context.Context, ns store.Namespace, key string) error {
	return s.write(ctx, func(x *session) error { return x.delete(ns, key) })
}

// Search implements [store.Store].
func (s *Store) Search(ctx context.Context, prefix store.Namespace, q store.Query) ([]store.Item, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := s.finder(ctx, prefix, q)
	if err != nil {
		return nil, err
	}
	var rows []row
	err = s.read(ctx, func(x *session) (err error) {
		rows, err = f.find(x)
		return err
	})
	if err != nil {
		return nil, err
	}
	return items(rows), s.touch(ctx, q.KeepTTL, rows...)
}

func items(rows []row) []store.Item {
	out := make([]store.Item, len(rows))
	for i, r := range rows {
		out[i] = r.Item
	}
	return out
}

// Namespaces implements [store.Store].
func (s *Store) Namespaces(ctx context.Context, q store.NamespaceQuery) ([]store.Namespace, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	var out []store.Namespace
	err := s.read(ctx, func(x *session) (err error) {
		out, err = x.namespaces(q)
		return err
	})
	return out, err
}

// Sweep removes the items whose time is over and returns how many there were.
func (s *Store) Sweep(ctx context.Context) (n int, err error) {
	err = s.write(ctx, func(x *session) (err error) {
		n, err = x.sweep()
		return err
	})
	return n, err
}

// sweepDue sweeps when it is time again.
func (x *session) sweepDue() error {
	s := x.s
	s.mu.Lock()
	due := !s.sweepAt.IsZero() && !x.now.Before(s.sweepAt)
	if due || s.sweepAt.IsZero() {
		s.sweepAt = x.now.Add(s.o.SweepEvery)
	}
	s.mu.Unlock()
	if !due {
		return nil
	}
	_, err := x.sweep()
	return err
}

// Batch implements [store.Store]: all operations are one transaction, in which one that fails by a rule of stores leaves the others
// alone. An error of the file undoes them all.
func (s *Store) Batch(ctx context.Context, ops []store.Op) ([]store.Outcome, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	out := make([]store.Outcome, len(ops))
	run := make([]func(*session) error, len(ops))
	writes := false
	for i, op := range ops {
		if out[i].Err = op.Check(); out[i].Err != nil {
			continue
		}
		run[i], out[i].Err = s.operation(ctx, op, &out[i])
		writes = writes || op.Put != nil || op.Delete != nil || op.Get != nil && !op.Get.Options.KeepTTL || op.Search != nil && !op.Search.Query.KeepTTL
	}
	do := s.read
	if writes {
		do = s.write
	}
	err := do(ctx, func(x *session) error {
		for i, f := range run {
			if f == nil {
				continue
			}
			if err := f(x); err != nil && !isRule(err) {
				return err
			} else if err != nil {
				out[i].Err = err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// operation returns what runs an operation in a transaction and fills its outcome.
func (s *Store) operation(ctx context.Context, op store.Op, out *store.Outcome) (func(*session) error, error) {
	touch := func(x *session, keep bool, rows ...row) error {
		out.Items = items(rows)
		if keep || s.o.KeepTTL {
			return nil
		}
		return x.touch(rows)
	}
	switch {
	case op.Get != nil:
		return func(x *session) error {
			r, err := x.get(op.Get.Namespace, op.Get.Key)
			if err != nil {
				return err
			}
			return touch(x, op.Get.Options.KeepTTL, r)
		}, nil
	case op.Put != nil:
		in, err := s.incoming(ctx, *op.Put)
		if err != nil {
			return nil, err
		}
		return func(x *session) error {
			i, err := x.put(in)
			if err == nil {
				out.Items = []store.Item{i}
			}
			return err
		}, nil
	case op.Delete != nil:
		return func(x *session) error { return x.delete(op.Delete.Namespace, op.Delete.Key) }, nil
	case op.Search != nil:
		f, err := s.finder(ctx, op.Search.Prefix, op.Search.Query)
		if err != nil {
			return nil, err
		}
		return func(x *session) error {
			rows, err := f.find(x)
			if err != nil {
				return err
			}
			return touch(x, op.Search.Query.KeepTTL, rows...)
		}, nil
	}
	if err := op.Namespaces.Check(); err != nil {
		return nil, err
	}
	return func(x *session) (err error) {
		out.Namespaces, err = x.namespaces(*op.Namespaces)
		return err
	}, nil
}
