package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/deepagents-go/deepagents/store"
	"github.com/deepagents-go/deepagents/store/internal/nskey"
)

// session is one transaction.
type session struct {
	s   *Store
	c   *conn
	ctx context.Context // lives as long as the call
	now time.Time
}

// columns are what row reads.
const columns = "id, ns, key, value, created, updated, version, ttl"

// alive is the condition of items that are still there; its argument is now.
const alive = "(expires = 0 OR expires > ?)"

// row is a stored item.
type row struct {
	store.Item
	id  int64
	ttl int64
}

func scan(scan func(...any) error) (row, error) {
	var r row
	var ns, key, value []byte
	var created, updated, version int64
	if err := scan(&r.id, &ns, &key, &value, &created, &updated, &version, &r.ttl); err != nil {
		return r, err
	}
	labels, err := nskey.Decode(string(ns))
	if err != nil {
		return r, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	r.Item = store.Item{
		Namespace: labels, Key: string(key), Value: value,
		CreatedAt: time.Unix(0, created).UTC(), UpdatedAt: time.Unix(0, updated).UTC(), Version: strconv.FormatInt(version, 10),
	}
	return r, nil
}

func (x *session) exec(q string, args ...any) error { return x.c.exec(x.ctx, q, args...) }

func blob(s string) []byte { return append([]byte{}, s...) }

// get returns an item that is alive.
func (x *session) get(ns store.Namespace, key string) (row, error) {
	var r row
	found := false
	err := x.c.each(x.ctx, "SELECT "+columns+" FROM items WHERE ns = ? AND key = ? AND "+alive,
		[]any{blob(nskey.Encode(ns)), blob(key), x.now.UnixNano()}, func(rows *sql.Rows) (_ bool, err error) {
			found = true
			r, err = scan(rows.Scan)
			return false, err
		})
	if err == nil && !found {
		err = fmt.Errorf("%w: %q in %q", store.ErrNotFound, key, []string(ns))
	}
	return r, err
}

// end is when a time to live that starts now is over. One too long for the clock never is.
func (x *session) end(ttl int64) int64 {
	if n := x.now.UnixNano(); n <= math.MaxInt64-ttl {
		return n + ttl
	}
	return math.MaxInt64
}

// touch starts the time to live of items anew.
func (x *session) touch(items []row) error {
	for _, r := range items {
		if r.ttl == 0 {
			continue
		}
		// An item that was put again meanwhile has its own time.
		err := x.exec("UPDATE items SET expires = ? WHERE id = ? AND version = ?", x.end(r.ttl), r.id, number(r.Version))
		if err != nil {
			return err
		}
	}
	return nil
}

func number(version string) int64 {
	n, _ := strconv.ParseInt(version, 10, 64) // of this package
	return n
}

// incoming is a put with everything that is found out before the transaction.
type incoming struct {
	store.PutOp
	ttl     time.Duration
	text    string
	vectors [][]float32
}

// incoming checks a put and finds what it is indexed by.
func (s *Store) incoming(ctx context.Context, p store.PutOp) (*incoming, error) {
	if err := store.CheckPut(p.Namespace, p.Key, p.Value); err != nil {
		return nil, err
	}
	in := &incoming{PutOp: p, ttl: p.Options.TTL}
	if in.ttl == 0 {
		in.ttl = s.o.DefaultTTL
	}
	in.ttl = max(in.ttl, 0)
	if p.Options.NoIndex {
		return in, nil
	}
	paths := p.Options.Index
	if len(paths) == 0 {
		paths = s.o.Index
	}
	texts := store.Texts(p.Value, paths)
	if len(texts) == 0 {
		return in, nil
	}
	in.text = strings.ReplaceAll(strings.Join(texts, "\n"), "\x00", " ")
	if s.o.Embed == nil {
		return in, nil
	}
	var err error
	if in.vectors, err = s.o.Embed(ctx, texts); err != nil {
		return nil, fmt.Errorf("store: embed %q: %w", p.Key, err)
	}
	if len(in.vectors) != len(texts) {
		return nil, fmt.Errorf("store: embed %q: %d vectors for %d texts", p.Key, len(in.vectors), len(texts))
	}
	return in, nil
}

// place is what is known of the row that a put replaces.
type place struct {
	id, created, version, expires, indexed int64
	exists                                 bool // the row is there and alive
}

func (x *session) place(ns []byte, key string) (place, error) {
	var p place
	found, err := x.c.one(x.ctx, "SELECT id, created, version, expires, indexed FROM items WHERE ns = ? AND key = ?", []any{ns, blob(key)},
		[]any{&p.id, &p.created, &p.version, &p.expires, &p.indexed})
	p.exists = found && (p.expires == 0 || p.expires > x.now.UnixNano())
	return p, err
}

func (x *session) put(in *incoming) (store.Item, error) {
	ns := blob(nskey.Encode(in.Namespace))
	p, err := x.place(ns, in.Key)
	if err != nil {
		return store.Item{}, err
	}
	o := in.Options
	if o.CreateOnly && p.exists || o.IfVersion != "" && (!p.exists || o.IfVersion != strconv.FormatInt(p.version, 10)) {
		return store.Item{}, fmt.Errorf("%w: %q in %q", store.ErrConflict, in.Key, []string(in.Namespace))
	}
	now := x.now.UnixNano()
	created, updated, expires := now, now, int64(0)
	if p.exists {
		created, updated = p.created, max(now, p.created)
	}
	if in.ttl > 0 {
		expires = x.end(int64(in.ttl))
	}
	var version int64
	if _, err := x.c.one(x.ctx, "UPDATE versions SET last = last + 1 RETURNING last", nil, []any{&version}); err != nil {
		return store.Item{}, err
	}
	indexed := int64(0)
	if in.text != "" {
		indexed = 1
	}
	var id int64
	_, err = x.c.one(x.ctx, `INSERT INTO items(ns, key, value, created, updated, version, ttl, expires, indexed) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT(ns, key) DO UPDATE SET value = excluded.value, created = excluded.created, updated = excluded.updated,
		version = excluded.version, ttl = excluded.ttl, expires = excluded.expires, indexed = excluded.indexed RETURNING id`,
		[]any{ns, blob(in.Key), []byte(in.Value), created, updated, version, int64(in.ttl), expires, indexed}, []any{&id})
	if err != nil {
		return store.Item{}, err
	}
	if err := x.index(p, id, in); err != nil {
		return store.Item{}, err
	}
	return store.Item{
		Namespace: slices.Clone(in.Namespace), Key: in.Key, Value: slices.Clone(in.Value), Version: strconv.FormatInt(version, 10),
		CreatedAt: time.Unix(0, created).UTC(), UpdatedAt: time.Unix(0, updated).UTC(),
	}, nil
}

// index replaces what an item is found by.
func (x *session) index(old place, id int64, in *incoming) error {
	if old.indexed != 0 {
		if err := x.unindex(old.id); err != nil {
			return err
		}
	}
	if in.text == "" {
		return nil
	}
	if err := x.exec("INSERT INTO texts(rowid, body) VALUES(?, ?)", id, in.text); err != nil {
		return err
	}
	for n, v := range in.vectors {
		if err := x.exec("INSERT INTO vectors(item, n, vector) VALUES(?, ?, ?)", id, n, encodeVector(v)); err != nil {
			return err
		}
	}
	return nil
}

func (x *session) unindex(id int64) error {
	if err := x.exec("DELETE FROM texts WHERE rowid = ?", id); err != nil {
		return err
	}
	return x.exec("DELETE FROM vectors WHERE item = ?", id)
}

func (x *session) delete(ns store.Namespace, key string) error {
	p, err := x.place(blob(nskey.Encode(ns)), key)
	if err != nil || p.id == 0 {
		return err
	}
	return x.drop(p.id, p.indexed)
}

func (x *session) drop(id, indexed int64) error {
	if indexed != 0 {
		if err := x.unindex(id); err != nil {
			return err
		}
	}
	return x.exec("DELETE FROM items WHERE id = ?", id)
}

// sweep removes the items whose time is over.
func (x *session) sweep() (int, error) {
	var over [][2]int64
	err := x.c.each(x.ctx, "SELECT id, indexed FROM items WHERE expires > 0 AND expires <= ?", []any{x.now.UnixNano()},
		func(rows *sql.Rows) (bool, error) {
			var r [2]int64
			err := rows.Scan(&r[0], &r[1])
			over = append(over, r)
			return true, err
		})
	for _, r := range over {
		err = errors.Join(err, x.drop(r[0], r[1]))
	}
	return len(over), err
}

func encodeVector(v []float32) []byte {
	b := make([]byte, 0, 4*len(v))
	for _, f := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f))
	}
	return b
}

func decodeVector(b []byte) []float32 {
	v := make([]float32, len(b)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return v
}
