package message

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
)

// List is a persistent list of messages, found by position and by ID. The zero value is empty. Lists are values: methods that
// change something return a new list and leave the old one as it was. Appending is cheap at any length.
type List struct {
	items []*Message
	b     *backing
}

// backing is the array that the lists of one conversation share, with its index. Only the list that holds all of it can append
// in place; a second one that branches off copies.
type backing struct {
	mu    sync.RWMutex
	n     int
	index map[string]int
}

// NewList returns a list of these messages, as if they had been applied to an empty list.
func NewList(ms ...*Message) List { return List{}.Append(ms...) }

// Len returns the number of messages.
func (l List) Len() int { return len(l.items) }

// At returns the i-th message.
func (l List) At(i int) *Message { return l.items[i] }

// Slice returns the messages. The slice is shared: do not change it.
func (l List) Slice() []*Message { return l.items[:len(l.items):len(l.items)] }

// All yields the messages in order.
func (l List) All() iter.Seq2[int, *Message] { return slices.All(l.items) }

// Last returns the last message, or nil.
func (l List) Last() *Message {
	if len(l.items) == 0 {
		return nil
	}
	return l.items[len(l.items)-1]
}

// Find returns the message with that ID.
func (l List) Find(id string) (*Message, bool) {
	i, ok := l.position(id)
	if !ok {
		return nil, false
	}
	return l.items[i], true
}

// position looks an ID up. The index may know of messages past the end of this list, or on another branch of it.
func (l List) position(id string) (int, bool) {
	if l.b == nil || id == "" {
		return 0, false
	}
	l.b.mu.RLock()
	i, ok := l.b.index[id]
	l.b.mu.RUnlock()
	return i, ok && i < len(l.items)
}

// Append adds messages in order. A message whose ID is in the list replaces that one in place; one without an ID is appended.
func (l List) Append(ms ...*Message) List {
	for _, m := range ms {
		if i, ok := l.position(m.ID); ok {
			items := slices.Clone(l.items)
			items[i] = m
			l = fromSlice(items)
			continue
		}
		l = l.push(m)
	}
	return l
}

// push appends in place when this list is the newest on its array, so that a conversation shares one array and two lists
// branching off one another never see each other's messages.
func (l List) push(m *Message) List {
	n := len(l.items)
	if l.b != nil && n < cap(l.items) && l.b.claim(n, m.ID) {
		l.items = l.items[:n+1]
		l.items[n] = m
		return l
	}
	items := make([]*Message, n+1, max(8, n+n/2))
	copy(items, l.items)
	items[n] = m
	if l.b != nil && l.b.claim(n, m.ID) {
		l.items = items // the index goes on, on a larger array
		return l
	}
	return fromSlice(items)
}

// claim takes the place after the first n messages, unless another list has it.
func (b *backing) claim(n int, id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.n != n {
		return false
	}
	b.n++
	if id != "" {
		b.index[id] = n
	}
	return true
}

// Remove drops the message with that ID; an ID that is not there is ignored.
func (l List) Remove(id string) List {
	if _, ok := l.position(id); !ok {
		return l
	}
	kept := make([]*Message, 0, len(l.items))
	for _, m := range l.items {
		if m.ID != id {
			kept = append(kept, m)
		}
	}
	return fromSlice(kept)
}

func fromSlice(items []*Message) List {
	b := &backing{n: len(items), index: make(map[string]int, len(items))}
	for i, m := range items {
		if m.ID != "" {
			b.index[m.ID] = i
		}
	}
	return List{items, b}
}

// MarshalJSON encodes the messages as an array.
func (l List) MarshalJSON() ([]byte, error) {
	if l.items == nil {
		return []byte("[]"), nil
	}
	return l.AppendJSON(make([]byte, 0, 256*len(l.items)))
}

// AppendJSON appends the encoding to b.
func (l List) AppendJSON(b []byte) ([]byte, error) {
	b = append(b, '[')
	for i, m := range l.items {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = m.AppendJSON(b); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

// UnmarshalJSON decodes an array of messages.
func (l *List) UnmarshalJSON(b []byte) error {
	var items []*Message
	if err := json.Unmarshal(b, &items); err != nil {
		return err
	}
	if slices.Contains(items, nil) {
		return errors.New("message: null in a list of messages")
	}
	*l = fromSlice(items)
	return nil
}

// removeAll is the ID that [RemoveAll] uses on the wire, as LangGraph does.
const removeAll = "__remove_all__"

// Change is one step of an update of a list: add or replace a message, remove one, or remove all.
type Change struct {
	Add    *Message `json:"add,omitempty"`
	Remove string   `json:"remove,omitempty"`
}

// Add returns the change that appends a message, or replaces the one that has its ID.
func Add(m *Message) Change { return Change{Add: m} }

// Remove returns the change that drops the message with that ID.
func Remove(id string) Change { return Change{Remove: id} }

// RemoveAll returns the change that empties the list, and makes every change before it in the same batch void.
func RemoveAll() Change { return Change{Remove: removeAll} }

// Apply returns the list after the changes. It is associative: applying two batches one after the other is applying them
// joined.
func (l List) Apply(cs []Change) (List, error) {
	for i := len(cs) - 1; i >= 0; i-- {
		if cs[i].Remove == removeAll {
			l, cs = List{}, cs[i+1:]
			break
		}
	}
	for _, c := range cs {
		switch {
		case c.Add != nil && c.Remove != "":
			return l, fmt.Errorf("message: a change both adds and removes %q", c.Remove)
		case c.Add != nil:
			l = l.Append(c.Add)
		case c.Remove != "":
			l = l.Remove(c.Remove)
		}
	}
	return l, nil
}
