package pmap

import (
	"iter"
	"strings"
)

// Map is a sorted map from strings to V. The zero value is empty. Maps are values: methods that change something return a new
// one. It is a treap whose priorities are hashes of the keys, so that its shape depends on its content alone.
type Map[V any] struct{ root *node[V] }

type node[V any] struct {
	key         string
	val         V
	prio        uint64
	size        int
	left, right *node[V]
}

// Len returns the number of entries.
func (m Map[V]) Len() int { return m.root.len() }

func (n *node[V]) len() int {
	if n == nil {
		return 0
	}
	return n.size
}

// Get returns the value of a key.
func (m Map[V]) Get(key string) (v V, ok bool) {
	n := m.root
	for n != nil {
		c := strings.Compare(key, n.key)
		switch {
		case c == 0:
			return n.val, true
		case c < 0:
			n = n.left
		default:
			n = n.right
		}
	}
	return v, false
}

// Set returns the map with key set to v.
func (m Map[V]) Set(key string, v V) Map[V] {
	return Map[V]{set(m.root, key, v, hash(key))}
}

func set[V any](n *node[V], key string, v V, prio uint64) *node[V] {
	if n == nil {
		return &node[V]{key: key, val: v, prio: prio, size: 1}
	}
	if key == n.key {
		c := *n
		c.val = v
		return &c
	}
	// A key that is in the tree has the priority its node has, so it is never above an ancestor of that node.
	if above(prio, key, n) {
		l, r := split(n, key)
		return join(&node[V]{key: key, val: v, prio: prio}, l, r)
	}
	if key < n.key {
		return join(n, set(n.left, key, v, prio), n.right)
	}
	return join(n, n.left, set(n.right, key, v, prio))
}

// above orders nodes by priority, and by key where two are equal.
func above[V any](prio uint64, key string, n *node[V]) bool {
	return prio > n.prio || prio == n.prio && key < n.key
}

// join returns a copy of n with these children.
func join[V any](n, l, r *node[V]) *node[V] {
	return &node[V]{key: n.key, val: n.val, prio: n.prio, size: 1 + l.len() + r.len(), left: l, right: r}
}

// split cuts a tree into the keys below and above key, which it does not hold.
func split[V any](n *node[V], key string) (l, r *node[V]) {
	if n == nil {
		return nil, nil
	}
	if n.key < key {
		l, r = split(n.right, key)
		return join(n, n.left, l), r
	}
	l, r = split(n.left, key)
	return l, join(n, r, n.right)
}

// Delete returns the map without key.
func (m Map[V]) Delete(key string) Map[V] {
	if _, ok := m.Get(key); !ok {
		return m
	}
	return Map[V]{del(m.root, key)}
}

func del[V any](n *node[V], key string) *node[V] {
	switch {
	case key < n.key:
		return join(n, del(n.left, key), n.right)
	case key > n.key:
		return join(n, n.left, del(n.right, key))
	}
	return merge(n.left, n.right)
}

func merge[V any](l, r *node[V]) *node[V] {
	switch {
	case l == nil:
		return r
	case r == nil:
		return l
	case above(l.prio, l.key, r):
		return join(l, l.left, merge(l.right, r))
	}
	return join(r, merge(l, r.left), r.right)
}

// All yields the entries in order.
func (m Map[V]) All() iter.Seq2[string, V] { return m.From("") }

// From yields the entries whose keys are not below key, in order.
func (m Map[V]) From(key string) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) { from(m.root, key, yield) }
}

func from[V any](n *node[V], key string, yield func(string, V) bool) bool {
	if n == nil {
		return true
	}
	if n.key >= key {
		return from(n.left, key, yield) && yield(n.key, n.val) && from(n.right, key, yield)
	}
	return from(n.right, key, yield)
}

// Prefix yields the entries whose keys begin with prefix, in order.
func (m Map[V]) Prefix(prefix string) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for k, v := range m.From(prefix) {
			if !strings.HasPrefix(k, prefix) || !yield(k, v) {
				return
			}
		}
	}
}

// hash is FNV-1a with a final mix, so that near keys get far priorities.
func hash(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	return h
}
