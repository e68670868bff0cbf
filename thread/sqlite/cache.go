package sqlite

import (
	"sync"

	"github.com/deepagents-go/deepagents/thread"
)

// cache remembers what never changes: rows of names, and branches until the thread is pruned. Ids are never used twice.
type cache struct {
	mu       sync.Mutex
	ids      map[nameKey]int64
	names    map[int64]string
	branches map[branchKey]int64
}

type nameKey struct {
	thread int64
	name   string
}

type branchKey struct {
	thread, gen int64
	name        thread.ID
}

// maxCache bounds each map; a full one is emptied.
const maxCache = 1 << 14

func (c *cache) reset() {
	c.ids = make(map[nameKey]int64)
	c.names = make(map[int64]string)
	c.branches = make(map[branchKey]int64)
}

func (c *cache) id(k nameKey) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ids[k]
}

func (c *cache) name(id int64) (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, ok := c.names[id]
	return n, ok
}

func (c *cache) keep(k nameKey, id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.names) >= maxCache {
		c.reset()
	}
	c.ids[k] = id
	c.names[id] = k.name
}

func (c *cache) branch(k branchKey) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.branches[k]
}

func (c *cache) keepBranch(k branchKey, id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.branches) >= maxCache {
		c.reset()
	}
	c.branches[k] = id
}

// intern returns the row of a namespace or run id, 0 for "".
func (t *tx) intern(thread int64, name string) (int64, error) {
	k := nameKey{thread, name}
	if name == "" {
		return 0, nil
	}
	if id := t.s.cache.id(k); id != 0 {
		return id, nil
	}
	id, err := t.number("SELECT id FROM names WHERE thread=? AND name=?", thread, name)
	if err != nil {
		return 0, err
	}
	if id == 0 {
		if id, err = t.number("INSERT INTO names(thread, name) VALUES(?, ?) RETURNING id", thread, name); err != nil {
			return 0, err
		}
	}
	t.onCommit(func() { t.s.cache.keep(k, id) })
	return id, nil
}

// named returns the text of a row of names.
func (s *Store) named(c *conn, thread, id int64) (string, error) {
	if id == 0 {
		return "", nil
	}
	if n, ok := s.cache.name(id); ok {
		return n, nil
	}
	row, err := c.one("SELECT name FROM names WHERE id=?", id)
	if err != nil || row == nil {
		return "", err
	}
	n := text(row[0])
	s.cache.keep(nameKey{thread, n}, id)
	return n, nil
}
