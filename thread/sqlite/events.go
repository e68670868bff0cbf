package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/deepagents-go/deepagents/thread"
)

// AppendEvents implements [thread.Store].
func (s *Store) AppendEvents(ctx context.Context, id string, fence int64, events []thread.Event) error {
	if err := check(ctx, id); err != nil {
		return err
	}
	size := int64(0)
	for _, e := range events {
		size += int64(len(e.Data))
	}
	return s.change(ctx, false, size, func(t *tx) error { return t.appendEvents(id, fence, events, size) })
}

func (t *tx) appendEvents(id string, fence int64, events []thread.Event, size int64) error {
	r, err := load(t.conn, id)
	if err != nil {
		return err
	}
	if err := t.s.allow(&r, fence); err != nil {
		return err
	}
	if len(events) == 0 {
		return nil
	}
	last := r.eventLast
	for _, e := range events {
		if e.Seq <= last {
			return fmt.Errorf("thread %s: %w: event %d comes after event %d", id, thread.ErrConflict, e.Seq, last)
		}
		last = e.Seq
	}
	if last > maxSeq {
		return fmt.Errorf("thread %s: %w: event %d", id, errors.ErrUnsupported, last)
	}
	r.updated = t.s.o.Now().UnixNano()
	if err := t.start(&r); err != nil {
		return err
	}
	for _, e := range events {
		if err := t.exec("INSERT INTO events(key, data) VALUES(?, ?)", key(r.id, e.Seq), []byte(e.Data)); err != nil {
			return err
		}
	}
	r.eventLast = last
	r.eventHigh = max(r.eventHigh, last)
	r.events += int64(len(events))
	r.eventBytes += size
	if err := t.trim(&r); err != nil {
		return err
	}
	return t.save(&r)
}

// trim drops the oldest events past the bounds, but never the newest one.
func (t *tx) trim(r *row) error {
	var last int64
	over := func() bool {
		return r.events > 1 && (r.events > int64(t.s.o.MaxEvents) || r.eventBytes > t.s.o.MaxEventBytes)
	}
	if !over() {
		return nil
	}
	q := "SELECT key, length(data) FROM events WHERE key>=? AND key<=? ORDER BY key"
	err := t.each(context.Background(), q, []any{key(r.id, 0), key(r.id, maxSeq)}, func(v []driver.Value) bool {
		last = integer(v[0])
		r.events--
		r.eventBytes -= integer(v[1])
		return over()
	})
	if err != nil {
		return err
	}
	return t.exec("DELETE FROM events WHERE key>=? AND key<=?", key(r.id, 0), last)
}

// Events implements [thread.Store].
func (s *Store) Events(ctx context.Context, id string, after int64) (first int64, events []thread.Event, err error) {
	if err := check(ctx, id); err != nil {
		return 0, nil, err
	}
	err = s.pool.use(ctx, func(c *conn) (err error) {
		// One transaction: events may be dropped between two statements.
		if err := c.exec("BEGIN"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.exec("COMMIT")) }()
		first, events, err = readEvents(ctx, c, id, after)
		return err
	})
	return first, events, err
}

func readEvents(ctx context.Context, c *conn, id string, after int64) (int64, []thread.Event, error) {
	r, err := load(c, id)
	if err != nil {
		return 0, nil, err
	}
	if !r.exists() {
		return 0, nil, notFound(id)
	}
	oldest, err := c.number("SELECT key FROM events WHERE key>=? AND key<=? ORDER BY key LIMIT 1", key(r.id, 0), key(r.id, maxSeq))
	if err != nil || oldest == 0 {
		return 0, nil, err
	}
	var events []thread.Event
	q := "SELECT key, data FROM events WHERE key>? AND key<=? ORDER BY key"
	err = c.each(ctx, q, []any{key(r.id, after), key(r.id, maxSeq)}, func(v []driver.Value) bool {
		events = append(events, thread.Event{Seq: seqOf(integer(v[0])), Data: bytesOf(v[1])})
		return true
	})
	return seqOf(oldest), events, err
}
