package provider

import (
	"sync"

	"github.com/deepagents-go/deepagents/message"
)

// cacheBytes bounds what one [Cache] keeps.
const cacheBytes = 64 << 20

// Cache keeps what messages were encoded to, by the identity of the message: messages do not change once they are sent. It is
// bounded to 64 MiB; what was not used for long goes first. The zero value is empty and ready.
type Cache[V any] struct {
	mu       sync.Mutex
	cur, old map[*message.Message]entry[V]
	size     int // bytes in cur
}

type entry[V any] struct {
	v    V
	size int
}

// Each calls use with the encoding of each message, in order. What is not there is made by encode, whose second result is its
// length in bytes. The cache is locked meanwhile.
func (c *Cache[V]) Each(msgs []*message.Message, encode func(*message.Message) (V, int), use func(*message.Message, V)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range msgs {
		e, ok := c.cur[m]
		if !ok {
			e = c.fill(m, encode)
		}
		use(m, e.v)
	}
}

// fill makes the entry of m, or takes it from the older half.
func (c *Cache[V]) fill(m *message.Message, encode func(*message.Message) (V, int)) entry[V] {
	const overhead = 128 // of an entry, so that empty messages count too
	e, ok := c.old[m]
	if !ok {
		v, n := encode(m)
		e = entry[V]{v, n + overhead}
	}
	if c.size+e.size > cacheBytes/2 && len(c.cur) > 0 {
		c.old, c.cur, c.size = c.cur, nil, 0
	}
	if c.cur == nil {
		c.cur = make(map[*message.Message]entry[V])
	}
	c.cur[m] = e
	c.size += e.size
	return e
}
