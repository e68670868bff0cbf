package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"

	"github.com/deepagents-go/deepagents/internal/lineage"
	"github.com/deepagents-go/deepagents/thread"
)

// Fork implements [thread.Store].
func (s *Store) Fork(ctx context.Context, id string, fence int64, at thread.ID) (b thread.ID, err error) {
	err = s.edit(ctx, id, fence, func(t *tx, r *row) error {
		// There is no index of ids: forks are rare, and it would cost every append.
		v, err := t.one("SELECT key, branch FROM records WHERE key>=? AND key<=? AND id=? ORDER BY key DESC LIMIT 1",
			key(r.id, 0), key(r.id, maxSeq), string(at))
		if err != nil {
			return err
		}
		if v == nil || at == "" {
			return fmt.Errorf("thread %s, record %s: %w", id, at, thread.ErrNotFound)
		}
		if _, err := t.addBranch(r, integer(v[1]), seqOf(integer(v[0]))); err != nil {
			return err
		}
		b = lineage.Name(r.branches)
		return t.save(r)
	})
	return b, err
}

// SetHead implements [thread.Store].
func (s *Store) SetHead(ctx context.Context, id string, fence int64, branch thread.ID) error {
	return s.edit(ctx, id, fence, func(t *tx, r *row) error {
		b, err := t.find(r, branch)
		if err != nil {
			return err
		}
		r.head = b
		return t.save(r)
	})
}

// Delete implements [thread.Store].
func (s *Store) Delete(ctx context.Context, id string) error {
	return s.edit(ctx, id, 0, func(t *tx, r *row) error {
		for _, table := range []string{"records", "events"} {
			if err := t.exec("DELETE FROM "+table+" WHERE key>=? AND key<=?", key(r.id, 0), key(r.id, maxSeq)); err != nil {
				return err
			}
		}
		for _, table := range []string{"branches", "names"} {
			if err := t.exec("DELETE FROM "+table+" WHERE thread=?", r.id); err != nil {
				return err
			}
		}
		return t.exec("DELETE FROM threads WHERE id=?", r.id)
	})
}

const branchColumns = "b.id, b.name, b.parent, b.fork, b.first, CASE WHEN b.id=t.tip THEN t.seq ELSE b.last END, b.dead"

func branchOf(v []driver.Value) lineage.Branch {
	return lineage.Branch{
		ID: integer(v[0]), Name: thread.ID(text(v[1])), Parent: integer(v[2]), Fork: integer(v[3]),
		First: integer(v[4]), Last: integer(v[5]), Dead: integer(v[6]) != 0,
	}
}

// Prune implements [thread.Store]. The space is used again by later records; the file does not shrink.
func (s *Store) Prune(ctx context.Context, id string, fence int64) error {
	return s.edit(ctx, id, fence, func(t *tx, r *row) error {
		var branches []lineage.Branch
		q := "SELECT " + branchColumns + " FROM branches b JOIN threads t ON t.id=b.thread WHERE b.thread=? ORDER BY b.id"
		err := t.each(ctx, q, []any{r.id}, func(v []driver.Value) bool {
			branches = append(branches, branchOf(v))
			return true
		})
		if err != nil {
			return err
		}
		plan, err := lineage.Prune(branches, r.head, pruneLog{t.conn, r.id})
		if err != nil || len(plan.Cut) == 0 {
			return err
		}
		return t.prune(r, &plan)
	})
}

// notStart leaves out run_started records, which pruning keeps.
const notStart = " AND kind<>1"

func (t *tx) prune(r *row, plan *lineage.Plan) error {
	for _, seg := range plan.Cut {
		if err := t.clear(r, seg, notStart); err != nil {
			return err
		}
	}
	for _, seg := range plan.Drop {
		if err := t.clear(r, seg, ""); err != nil {
			return err
		}
	}
	for _, b := range plan.Dead {
		if err := t.exec("UPDATE branches SET dead=1, first=?, last=? WHERE id=?", b.First, b.Last, b.ID); err != nil {
			return err
		}
		if r.tip == b.ID {
			r.tip = 0 // its end is no longer the thread's
		}
	}
	for _, id := range plan.Gone {
		if err := t.exec("DELETE FROM branches WHERE id=?", id); err != nil {
			return err
		}
		if r.tip == id {
			r.tip = 0
		}
	}
	r.gen++
	return t.save(r)
}

// clear removes the records of a segment.
func (t *tx) clear(r *row, seg lineage.Segment, cond string) error {
	where := " FROM records WHERE key>=? AND key<=? AND branch=?" + cond
	args := []any{key(r.id, seg.Lo), key(r.id, seg.Hi), seg.Branch}
	v, err := t.one("SELECT count(*), sum(length(data))"+where, args...)
	if err != nil {
		return err
	}
	r.records -= integer(v[0])
	r.bytes -= integer(v[1])
	return t.exec("DELETE"+where, args...)
}

// pruneLog implements [lineage.Log].
type pruneLog struct {
	c  *conn
	id int64
}

func (p pruneLog) Snapshot(segs []lineage.Segment) (seq, base int64, err error) {
	for i := len(segs) - 1; i >= 0; i-- {
		v, err := newestSnapshot(p.c, p.id, segs[i], " AND ns=0", nil)
		if err != nil || v != nil {
			return seqOf(integer(first(v, 0))), integer(first(v, 1)), err
		}
	}
	return 0, 0, nil
}

func first(v []driver.Value, i int) driver.Value {
	if v == nil {
		return nil
	}
	return v[i]
}

func (p pruneLog) Removable(segs []lineage.Segment) (int64, error) {
	for i := len(segs) - 1; i >= 0; i-- {
		k, err := p.c.number("SELECT key FROM records WHERE key>=? AND key<=? AND branch=?"+notStart+" ORDER BY key DESC LIMIT 1",
			key(p.id, segs[i].Lo), key(p.id, segs[i].Hi), segs[i].Branch)
		if err != nil || k != 0 {
			return seqOf(k), err
		}
	}
	return 0, nil
}

// newestSnapshot returns the key and Base of the newest snapshot of a segment, or nil. The kind is written out, as in the index.
func newestSnapshot(c *conn, id int64, seg lineage.Segment, cond string, args []any) ([]driver.Value, error) {
	return c.one("SELECT key, base FROM records INDEXED BY snapshots WHERE kind=11 AND branch=? AND key>=? AND key<=?"+cond+
		" ORDER BY key DESC LIMIT 1", append([]any{seg.Branch, key(id, seg.Lo), key(id, seg.Hi)}, args...)...)
}
