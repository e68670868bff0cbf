package backend

import (
	"container/list"
	"sync"

	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/internal/textio"
)

// cacheBytes bounds the memory of remembered line positions.
const cacheBytes = 8 << 20

type indexKey struct {
	d             driver.Driver
	path, version string
}

type indexEntry struct {
	key   indexKey
	index *textio.Index
}

// indexCache remembers the line positions of the files that were read last.
type indexCache struct {
	mu    sync.Mutex
	byKey map[indexKey]*list.Element
	order list.List // newest first
	size  int64
}

func newIndexCache() *indexCache { return &indexCache{byKey: map[indexKey]*list.Element{}} }

func (c *indexCache) get(k indexKey) *textio.Index {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byKey[k]
	if !ok {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*indexEntry).index
}

func (c *indexCache) put(k indexKey, x *textio.Index) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byKey[k]; ok {
		c.drop(e)
	}
	c.byKey[k] = c.order.PushFront(&indexEntry{k, x})
	c.size += cost(k, x)
	for c.size > cacheBytes {
		c.drop(c.order.Back())
	}
}

func (c *indexCache) drop(e *list.Element) {
	v := c.order.Remove(e).(*indexEntry)
	delete(c.byKey, v.key)
	c.size -= cost(v.key, v.index)
}

func cost(k indexKey, x *textio.Index) int64 {
	return x.Bytes() + int64(len(k.path)+len(k.version)) + 256
}
