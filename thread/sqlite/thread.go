package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"iter"
	"time"

	"github.com/deepagents-go/deepagents/internal/lineage"
	"github.com/deepagents-go/deepagents/thread"
)

// row is a row of threads.
type row struct {
	name                                     string
	id, created, updated, head, tip, seq     int64
	records, bytes, branches, gen            int64
	eventHigh, eventLast, events, eventBytes int64
	fence                                    int64
	owner                                    string
	expires                                  int64
}

const rowColumns = "name, id, created, updated, head, tip, seq, records, bytes, branches, gen, " +
	"event_high, event_last, events, event_bytes, fence, owner, expires"

func rowOf(v []driver.Value) row {
	n := func(i int) int64 { return integer(v[i]) }
	return row{
		text(v[0]), n(1), n(2), n(3), n(4), n(5), n(6), n(7), n(8), n(9), n(10), n(11), n(12), n(13), n(14), n(15), text(v[16]), n(17),
	}
}

// load returns the row of a thread, with id 0 when there is none.
func load(c *conn, id string) (row, error) {
	v, err := c.one("SELECT "+rowColumns+" FROM threads WHERE name=?", id)
	if err != nil || v == nil {
		return row{name: id}, err
	}
	return rowOf(v), nil
}

func (r *row) exists() bool { return r.head != 0 }

// save writes what changes with the thread's content; the lease has statements of its own.
func (t *tx) save(r *row) error {
	return t.exec("UPDATE threads SET updated=?, head=?, tip=?, seq=?, records=?, bytes=?, branches=?, gen=?, event_high=?, "+
		"event_last=?, events=?, event_bytes=? WHERE id=?", r.updated, r.head, r.tip, r.seq, r.records, r.bytes, r.branches, r.gen,
		r.eventHigh, r.eventLast, r.events, r.eventBytes, r.id)
}

// start makes the thread exist.
func (t *tx) start(r *row) error {
	if r.exists() {
		return nil
	}
	var err error
	r.created = r.updated
	if r.id == 0 {
		r.id, err = t.number("INSERT INTO threads(name, created) VALUES(?, ?) RETURNING id", r.name, r.created)
	} else {
		err = t.exec("UPDATE threads SET created=? WHERE id=?", r.created, r.id)
	}
	if err == nil {
		r.head, err = t.addBranch(r, 0, 0)
	}
	return err
}

// addBranch names branches by their number in the thread; numbers are not used again.
func (t *tx) addBranch(r *row, parent, fork int64) (int64, error) {
	r.branches++
	return t.number("INSERT INTO branches(thread, name, parent, fork) VALUES(?, ?, ?, ?) RETURNING id",
		r.id, string(lineage.Name(r.branches)), parent, fork)
}

func notFound(id string) error { return fmt.Errorf("thread %s: %w", id, thread.ErrNotFound) }

func noBranch(id string, b thread.ID) error {
	return fmt.Errorf("thread %s, branch %s: %w", id, b, thread.ErrNotFound)
}

// find returns the id of a live branch; the empty name is the head.
func (t *tx) find(r *row, name thread.ID) (int64, error) {
	if !r.exists() {
		return 0, notFound(r.name)
	}
	if name == "" {
		return r.head, nil
	}
	k := branchKey{r.id, r.gen, name}
	if id := t.s.cache.branch(k); id != 0 {
		return id, nil
	}
	id, err := t.number("SELECT id FROM branches WHERE thread=? AND name=? AND dead=0", r.id, string(name))
	if err != nil {
		return 0, err
	}
	if id == 0 {
		return 0, noBranch(r.name, name)
	}
	t.onCommit(func() { t.s.cache.keepBranch(k, id) })
	return id, nil
}

// end returns the Seq of the last record that a branch sees.
func end(c *conn, r *row, branch int64) (int64, error) {
	if branch == r.tip {
		return r.seq, nil
	}
	return c.number("SELECT CASE WHEN last>0 THEN last ELSE fork END FROM branches WHERE id=?", branch)
}

// check returns why a call on a thread cannot begin.
func check(ctx context.Context, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return thread.ValidThread(id)
}

// edit changes a thread that exists, under a fence, so that it survives a power cut.
func (s *Store) edit(ctx context.Context, id string, fence int64, do func(t *tx, r *row) error) error {
	if err := check(ctx, id); err != nil {
		return err
	}
	return s.change(ctx, true, 0, func(t *tx) error {
		r, err := load(t.conn, id)
		if err != nil {
			return err
		}
		if err := s.allow(&r, fence); err != nil {
			return err
		}
		if !r.exists() {
			return notFound(id)
		}
		r.updated = s.o.Now().UnixNano()
		return do(t, &r)
	})
}

// Head implements [thread.Store].
func (s *Store) Head(ctx context.Context, id string) (h thread.Head, err error) {
	if err := check(ctx, id); err != nil {
		return h, err
	}
	err = s.pool.use(ctx, func(c *conn) error {
		v, err := c.one("SELECT b.name, CASE WHEN b.id=t.tip THEN t.seq WHEN b.last>0 THEN b.last ELSE b.fork END, t.event_high "+
			"FROM threads t JOIN branches b ON b.id=t.head WHERE t.name=?", id)
		if err != nil {
			return err
		}
		if v == nil {
			return notFound(id)
		}
		h = thread.Head{Branch: thread.ID(text(v[0])), Seq: integer(v[1]), EventHigh: integer(v[2])}
		return nil
	})
	return h, err
}

// listPage is the number of threads that a listing reads at once.
const listPage = 256

// List implements [thread.Store]. It reads in pages: threads that come or go meanwhile may be listed or not.
func (s *Store) List(ctx context.Context) iter.Seq2[thread.Info, error] {
	return func(yield func(thread.Info, error) bool) {
		for last := ""; ; {
			page, err := s.listAfter(ctx, last)
			if err != nil {
				yield(thread.Info{}, err)
				return
			}
			for _, i := range page {
				if err := ctx.Err(); err != nil {
					yield(thread.Info{}, err)
					return
				}
				if !yield(i, nil) {
					return
				}
			}
			if len(page) < listPage {
				return
			}
			last = page[len(page)-1].Thread
		}
	}
}

func (s *Store) listAfter(ctx context.Context, last string) ([]thread.Info, error) {
	var page []thread.Info
	var fail error
	err := s.pool.use(ctx, func(c *conn) error {
		q := "SELECT " + rowColumns + " FROM threads WHERE name>? AND head<>0 ORDER BY name LIMIT ?"
		return c.each(ctx, q, []any{last, int64(listPage)}, func(v []driver.Value) bool {
			var i thread.Info
			r := rowOf(v)
			i, fail = s.info(&r)
			page = append(page, i)
			return fail == nil
		})
	})
	if err == nil {
		err = fail
	}
	return page, err
}

func (s *Store) info(r *row) (thread.Info, error) {
	i := thread.Info{
		Thread: r.name, Created: time.Unix(0, r.created), Updated: time.Unix(0, r.updated), Records: r.records, Bytes: r.bytes,
	}
	alive, err := s.alive(r)
	if alive {
		i.Owner = r.owner
	}
	return i, err
}
