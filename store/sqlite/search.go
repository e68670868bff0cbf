package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/deepagents-go/deepagents/store"
	"github.com/deepagents-go/deepagents/store/internal/nskey"
)

// isRule reports whether an error is one of an operation alone and not of the file.
func isRule(err error) bool {
	return errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrConflict)
}

// last is greater than every stored name: names are valid UTF-8, or end like nskey ends a label.
const last = "\xff\xff"

func after(prefix string) []byte {
	if next := nskey.Next(prefix); next != "" {
		return blob(next)
	}
	return blob(last)
}

// finder is a search with everything that is found out before the transaction.
type finder struct {
	q      store.Query
	filter store.Filter
	ns     string
	match  string    // the words for FTS5
	vector []float32 // of the text, with an embedder
}

func (s *Store) finder(ctx context.Context, prefix store.Namespace, q store.Query) (*finder, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	filter, err := store.NewFilter(q.Filter)
	if err != nil {
		return nil, err
	}
	f := &finder{q: q, filter: filter, ns: nskey.Encode(prefix)}
	switch {
	case q.Text == "":
	case s.o.Embed != nil:
		v, err := s.o.Embed(ctx, []string{q.Text})
		if err == nil && len(v) != 1 {
			err = errors.New("no vector")
		}
		if err != nil {
			return nil, fmt.Errorf("store: embed the query: %w", err)
		}
		f.vector = v[0]
	default:
		words := store.Words(q.Text)
		for i, w := range words {
			words[i] = `"` + w + `"` // a word holds no quote
		}
		f.match = strings.Join(words, " OR ")
	}
	return f, nil
}

// inRange is the condition of items that a search looks at; its arguments are those of bounds.
const inRange = "ns >= ? AND ns < ? AND key >= ? AND key < ? AND " + alive

func (f *finder) bounds(x *session) []any {
	return []any{blob(f.ns), after(f.ns), blob(f.q.KeyPrefix), after(f.q.KeyPrefix), x.now.UnixNano()}
}

// window collects the rows that a search returns.
type window struct {
	f    *finder
	skip int
	left int
	rows []row
}

// take looks at the next row and reports whether more are wanted.
func (w *window) take(r row) bool {
	switch {
	case !w.f.filter.Match(r.Value):
	case w.skip > 0:
		w.skip--
	default:
		w.rows = append(w.rows, r)
		w.left--
	}
	return w.left > 0
}

// find returns what ranks for the text, best first, and then the others in order.
func (f *finder) find(x *session) ([]row, error) {
	w := &window{f: f, skip: f.q.Offset, left: f.q.Max()}
	ranked, err := f.rank(x)
	if err != nil {
		return nil, err
	}
	seen := make(map[int64]bool, len(ranked))
	for _, h := range ranked {
		r, err := x.byID(h.id)
		if err != nil {
			return nil, err
		}
		r.Score = h.score
		seen[h.id] = true
		if !w.take(r) {
			return w.rows, nil
		}
	}
	return w.rows, f.scan(x, w, seen)
}

func (x *session) byID(id int64) (r row, err error) {
	err = x.c.each(x.ctx, "SELECT "+columns+" FROM items WHERE id = ?", []any{id}, func(rows *sql.Rows) (_ bool, err error) {
		r, err = scan(rows.Scan)
		return false, err
	})
	return r, err
}

// scan goes through the namespaces one by one, because the keys of each are a range of the index.
func (f *finder) scan(x *session, w *window, seen map[int64]bool) error {
	const keys = " FROM items WHERE ns = ? AND key >= ? AND key < ? AND " + alive
	for ns, err := range x.spaces(f.ns) {
		if err != nil {
			return err
		}
		args := []any{ns, blob(f.q.KeyPrefix), after(f.q.KeyPrefix), x.now.UnixNano()}
		limit, offset := -1, 0
		if f.filter.Empty() && len(seen) == 0 {
			limit, offset = w.left, w.skip // SQLite skips without reading values
			w.skip = 0
		}
		n := 0
		err := x.c.each(x.ctx, "SELECT "+columns+keys+" ORDER BY key LIMIT ? OFFSET ?", append(args, limit, offset),
			func(rows *sql.Rows) (bool, error) {
				n++
				r, err := scan(rows.Scan)
				if err != nil || seen[r.id] {
					return err == nil, err
				}
				return w.take(r), nil
			})
		if err != nil || w.left <= 0 {
			return err
		}
		if n == 0 && offset > 0 {
			var count int
			if _, err := x.c.one(x.ctx, "SELECT count(*)"+keys, args, []any{&count}); err != nil {
				return err
			}
			w.skip = offset - count
		}
	}
	return nil
}

// hit is an item that ranks.
type hit struct {
	id    int64
	score float64
}

func (f *finder) rank(x *session) ([]hit, error) {
	switch {
	case f.vector != nil:
		return f.rankVectors(x)
	case f.match != "":
		return f.rankWords(x)
	}
	return nil, nil
}

func (f *finder) rankWords(x *session) (hits []hit, err error) {
	const q = "SELECT items.id, -bm25(texts) AS score FROM texts CROSS JOIN items ON items.id = texts.rowid WHERE texts MATCH ? AND " +
		inRange + " ORDER BY score DESC, ns, key"
	err = x.c.each(x.ctx, q, append([]any{f.match}, f.bounds(x)...), func(rows *sql.Rows) (bool, error) {
		var h hit
		err := rows.Scan(&h.id, &h.score)
		hits = append(hits, h)
		return true, err
	})
	return hits, err
}

func (f *finder) rankVectors(x *session) (hits []hit, err error) {
	const q = "SELECT items.id, vector FROM items CROSS JOIN vectors ON vectors.item = items.id WHERE " + inRange + " ORDER BY ns, key, n"
	err = x.c.each(x.ctx, q, f.bounds(x), func(rows *sql.Rows) (bool, error) {
		var h hit
		var vector sql.RawBytes
		if err := rows.Scan(&h.id, &vector); err != nil {
			return false, err
		}
		h.score = store.Cosine(f.vector, decodeVector(vector))
		if n := len(hits); n > 0 && hits[n-1].id == h.id {
			hits[n-1].score = max(hits[n-1].score, h.score)
			return true, nil
		}
		hits = append(hits, h)
		return true, nil
	})
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	return hits, err
}
