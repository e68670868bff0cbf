package sqlite

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/deepagents-go/deepagents/internal/lineage"
	"github.com/deepagents-go/deepagents/thread"
)

// The bounds of a page: what a reader holds in memory while its body runs.
const (
	firstPage    = 32
	maxPage      = 512
	maxPageBytes = 1 << 20
)

// reader walks the segments of a branch, a page at a time. Between pages it holds nothing, so that a slow reader stalls nobody.
type reader struct {
	s    *Store
	q    thread.Query
	name string
	id   int64
	gen  int64
	segs []lineage.Segment // what is left, in the order of reading
	by   map[int64]thread.ID
	cond string
	args []any
	size int64
}

// Read implements [thread.Store]. It reads what was there when the range began. A thread that is pruned meanwhile ends the range
// with [thread.ErrConflict], one that is deleted with [thread.ErrNotFound].
func (s *Store) Read(ctx context.Context, id string, q thread.Query) iter.Seq2[thread.Record, error] {
	return func(yield func(thread.Record, error) bool) {
		r := &reader{s: s, q: q, name: id, size: firstPage}
		page, err := r.begin(ctx)
		for {
			for i := range page {
				if err := ctx.Err(); err != nil {
					yield(thread.Record{}, err)
					return
				}
				if !yield(page[i], nil) {
					return
				}
			}
			if err != nil {
				yield(thread.Record{}, err)
				return
			}
			if len(r.segs) == 0 {
				return
			}
			page, err = r.next(ctx)
		}
	}
}

// begin finds the segments and the snapshot, and returns the latter.
func (r *reader) begin(ctx context.Context) (page []thread.Record, err error) {
	if err := check(ctx, r.name); err != nil {
		return nil, err
	}
	if r.q.FromSnapshot && r.q.Reverse {
		return nil, fmt.Errorf("thread %s: a query cannot have both FromSnapshot and Reverse", r.name)
	}
	err = r.s.pool.use(ctx, func(c *conn) error {
		if err := r.locate(c); err != nil {
			return err
		}
		r.after(r.q.After)
		r.filter()
		if r.q.FromSnapshot {
			page, err = r.snapshot(c)
		}
		return err
	})
	if r.q.Reverse {
		slices.Reverse(r.segs)
	}
	return page, err
}

// locate reads the thread's row and the branch with its ancestors in one statement, so that they are of one moment.
func (r *reader) locate(c *conn) error {
	start := "b.id=t.head"
	args := []any{r.name}
	if r.q.Branch != "" {
		start = "b.thread=t.id AND b.name=? AND b.dead=0"
		args = append(args, string(r.q.Branch))
	}
	var chain []lineage.Branch
	q := "WITH RECURSIVE t AS MATERIALIZED (SELECT id, head, tip, seq, gen FROM threads WHERE name=?1 AND head<>0), " +
		"c(depth, id, parent) AS (SELECT 0, b.id, b.parent FROM t JOIN branches b ON " + start +
		" UNION ALL SELECT depth+1, b.id, b.parent FROM c JOIN branches b ON b.id=c.parent) " +
		"SELECT " + branchColumns + ", t.id, t.gen FROM c JOIN branches b ON b.id=c.id, t ORDER BY c.depth"
	err := c.each(context.Background(), q, args, func(v []driver.Value) bool {
		chain = append(chain, branchOf(v))
		r.id, r.gen = integer(v[7]), integer(v[8])
		return true
	})
	if err != nil {
		return err
	}
	if chain == nil {
		switch t, err := load(c, r.name); {
		case err != nil:
			return err
		case t.exists():
			return noBranch(r.name, r.q.Branch)
		}
		return notFound(r.name)
	}
	r.segs = lineage.Segments(chain)
	r.by = make(map[int64]thread.ID, len(chain))
	for _, b := range chain {
		r.by[b.ID] = b.Name
	}
	return nil
}

// after leaves out what is not later.
func (r *reader) after(seq int64) {
	r.segs = slices.DeleteFunc(r.segs, func(s lineage.Segment) bool { return s.Hi <= seq })
	for i := range r.segs {
		r.segs[i].Lo = max(r.segs[i].Lo, seq+1)
	}
}

// filter makes the conditions of the query.
func (r *reader) filter() {
	r.cond, r.args = r.namespace()
	if len(r.q.Kinds) > 0 {
		for _, k := range r.q.Kinds {
			r.args = append(r.args, encodeKind(k))
		}
		r.cond += " AND kind IN (?" + strings.Repeat(",?", len(r.q.Kinds)-1) + ")"
	}
	if r.q.FromSnapshot {
		r.cond += " AND kind<>11"
	}
}

func (r *reader) namespace() (string, []any) {
	switch {
	case r.q.NS == "" && r.q.Prefix:
		return "", nil
	case r.q.NS == "":
		return " AND ns=0", nil
	case r.q.Prefix: // '0' follows '/'
		return " AND ns IN (SELECT id FROM names WHERE thread=? AND (name=? OR name>=? AND name<?))",
			[]any{r.id, r.q.NS, r.q.NS + "/", r.q.NS + "0"}
	}
	return " AND ns IN (SELECT id FROM names WHERE thread=? AND name=?)", []any{r.id, r.q.NS}
}

// snapshot returns the newest snapshot, if there is one, and leaves out what it stands for.
func (r *reader) snapshot(c *conn) ([]thread.Record, error) {
	cond, args := r.namespace()
	for i := len(r.segs) - 1; i >= 0; i-- {
		v, err := newestSnapshot(c, r.id, r.segs[i], cond, args)
		if err != nil {
			return nil, err
		}
		if v == nil {
			continue
		}
		k, base := integer(v[0]), integer(v[1])
		var page []thread.Record
		q := selectRecords + " WHERE key=?"
		if err := r.scan(context.Background(), c, q, []any{k}, r.segs[i].Branch, &page); err != nil {
			return nil, err
		}
		r.after(base)
		return page, r.unchanged(c)
	}
	return nil, nil
}

// The data comes last, so that records which a condition leaves out are skipped without reading it.
const selectRecords = "SELECT key, kind, ns, run, step, event, base, v, time, id, data FROM records"

// next reads a page and moves on.
func (r *reader) next(ctx context.Context) (page []thread.Record, err error) {
	err = r.s.pool.use(ctx, func(c *conn) error {
		for bytes := 0; len(r.segs) > 0 && int64(len(page)) < r.size && bytes < maxPageBytes; {
			n := len(page)
			if err := r.segment(ctx, c, &page, maxPageBytes-bytes); err != nil {
				return err
			}
			for _, rec := range page[n:] {
				bytes += len(rec.Data)
			}
		}
		r.size = min(2*r.size, maxPage)
		return r.unchanged(c)
	})
	if err != nil {
		return nil, err
	}
	return page, nil
}

// segment reads from the first segment that is left.
func (r *reader) segment(ctx context.Context, c *conn, page *[]thread.Record, room int) error {
	seg := &r.segs[0]
	order := ""
	if r.q.Reverse {
		order = " DESC"
	}
	n, limit := len(*page), r.size-int64(len(*page))
	q := selectRecords + " WHERE key>=? AND key<=? AND branch=?" + r.cond + " ORDER BY key" + order + " LIMIT ?"
	args := append([]any{key(r.id, seg.Lo), key(r.id, seg.Hi), seg.Branch}, r.args...)
	full, err := r.scanRoom(ctx, c, q, append(args, limit), seg.Branch, page, room)
	if err != nil {
		return err
	}
	if got := int64(len(*page) - n); got < limit && !full {
		r.segs = r.segs[1:]
		return nil
	}
	if last := (*page)[len(*page)-1].Seq; r.q.Reverse {
		seg.Hi = last - 1
	} else {
		seg.Lo = last + 1
	}
	return nil
}

func (r *reader) scan(ctx context.Context, c *conn, q string, args []any, branch int64, page *[]thread.Record) error {
	_, err := r.scanRoom(ctx, c, q, args, branch, page, maxPageBytes)
	return err
}

// scanRoom adds records to the page until their data fills the room.
func (r *reader) scanRoom(ctx context.Context, c *conn, q string, args []any, branch int64, page *[]thread.Record, room int) (full bool, err error) {
	n := len(*page)
	names := make([][2]int64, 0, 8)
	var fail error
	err = c.each(ctx, q, args, func(v []driver.Value) bool {
		rec := thread.Record{
			Seq: seqOf(integer(v[0])), Branch: r.by[branch], Kind: decodeKind(v[1]), Step: int(integer(v[4])), Event: integer(v[5]),
			Base: integer(v[6]), V: int(integer(v[7])), ID: thread.ID(text(v[9])), Data: bytesOf(v[10]),
		}
		if rec.Time, fail = decodeTime(v[8]); fail != nil {
			fail = fmt.Errorf("thread %s, record %s: %w: %w", r.name, rec.ID, thread.ErrCorrupt, fail)
			return false
		}
		names = append(names, [2]int64{integer(v[2]), integer(v[3])})
		*page = append(*page, rec)
		room -= len(rec.Data)
		full = room <= 0
		return !full
	})
	if err == nil {
		err = fail
	}
	for i := 0; err == nil && i < len(names); i++ {
		rec := &(*page)[n+i]
		if rec.NS, err = r.s.named(c, r.id, names[i][0]); err == nil {
			rec.RunID, err = r.s.named(c, r.id, names[i][1])
		}
	}
	return full, err
}

func bytesOf(v driver.Value) json.RawMessage {
	b, _ := v.([]byte)
	return b
}

// unchanged makes sure that nothing was removed since the range began: else a page could have holes.
func (r *reader) unchanged(c *conn) error {
	v, err := c.one("SELECT gen FROM threads WHERE id=?", r.id)
	switch {
	case err != nil:
		return err
	case v == nil:
		return notFound(r.name)
	case integer(v[0]) != r.gen:
		return fmt.Errorf("thread %s: %w: it was pruned while it was read; read it again", r.name, thread.ErrConflict)
	}
	return nil
}
