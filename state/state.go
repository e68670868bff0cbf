package state

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Schema is the set of keys that an agent knows. It is built once.
type Schema struct {
	fields []*Field
	index  map[string]int
}

// NewSchema returns the schema of these fields, in the order of their names. Two fields of one name are an error unless they
// are the same key.
func NewSchema(fields ...*Field) (*Schema, error) {
	s := &Schema{index: make(map[string]int, len(fields))}
	byName := make(map[string]*Field, len(fields))
	for _, f := range fields {
		if f == nil {
			return nil, errors.New("state: nil field: declare keys with NewKey or Last")
		}
		if g, ok := byName[f.name]; ok && g != f {
			return nil, fmt.Errorf("state: key %q is declared twice", f.name)
		}
		byName[f.name] = f
	}
	s.fields = slices.SortedFunc(maps.Values(byName), func(a, b *Field) int { return cmp.Compare(a.name, b.name) })
	for i, f := range s.fields {
		s.index[f.name] = i
	}
	return s, nil
}

// Fields returns the fields, sorted by name.
func (s *Schema) Fields() []*Field { return slices.Clone(s.fields) }

// Field returns the field of that name.
func (s *Schema) Field(name string) (*Field, bool) {
	i, ok := s.at(name)
	if !ok {
		return nil, false
	}
	return s.fields[i], true
}

// at returns the place of a key. The schema of the zero state is nil and has no keys.
func (s *Schema) at(name string) (int, bool) {
	if s == nil {
		return 0, false
	}
	i, ok := s.index[name]
	return i, ok
}

// New returns the empty state of this schema.
func (s *Schema) New() State { return State{schema: s} }

// State is an immutable set of values. Keys that nobody owns keep what is known of them: the last raw value and the updates
// since, so that they are whole again when their owner comes back. The zero State is empty and owns no key.
type State struct {
	schema  *Schema
	vals    []any
	foreign map[string]foreign
}

type foreign struct {
	Value   json.RawMessage `json:"value,omitempty"`
	Updates []Update        `json:"updates,omitempty"`
}

// Schema returns the schema of the state.
func (s State) Schema() *Schema { return s.schema }

func (s State) value(f *Field) (any, bool) {
	i, ok := s.schema.at(f.name)
	if !ok || s.vals == nil || s.vals[i] == nil || s.schema.fields[i] != f {
		return nil, false
	}
	return s.vals[i], true
}

// ConcurrentError says that two writers changed a last-value key in one step, or overwrote any key.
type ConcurrentError struct {
	Key string
	// Overwrite says that both writers overwrote the value of a key that has a reducer.
	Overwrite bool
}

// Error names the key.
func (e *ConcurrentError) Error() string {
	if e.Overwrite {
		return fmt.Sprintf("At key '%s': Can receive only one Overwrite value per super-step.", e.Key)
	}
	return fmt.Sprintf("At key '%s': Can receive only one value per step. Use a key with a reducer to handle multiple values.", e.Key)
}

// Apply returns the state after the updates, in order.
func (s State) Apply(us ...Update) (State, error) {
	if len(us) == 0 {
		return s, nil
	}
	n := s
	if s.schema != nil {
		n.vals = make([]any, len(s.schema.fields))
		copy(n.vals, s.vals)
	}
	for _, u := range us {
		var err error
		if n, err = n.applyOne(u); err != nil {
			return s, err
		}
	}
	return n, nil
}

func (s State) applyOne(u Update) (State, error) {
	i, ok := s.schema.at(u.Key)
	if !ok {
		return s.applyForeign(u)
	}
	f := s.schema.fields[i]
	v, err := f.decodeUpdate(u)
	if err != nil {
		return s, err
	}
	if u.Overwrites {
		if !f.holds(v) {
			return s, fmt.Errorf("state: value of key %q has type %T", u.Key, v)
		}
		s.vals[i] = v
		return s, nil
	}
	cur := s.vals[i]
	if cur == nil {
		cur = f.zero
	}
	if s.vals[i], err = f.apply(cur, v); err != nil {
		return s, fmt.Errorf("state: key %q: %w", u.Key, err)
	}
	return s, nil
}

func (f *Field) decodeUpdate(u Update) (any, error) {
	if u.raw == nil {
		return u.value, nil
	}
	dec := f.decodeUp
	if u.Overwrites {
		dec = f.decodeValue
	}
	v, err := dec(u.raw)
	if err != nil {
		return nil, fmt.Errorf("state: key %q: %w", u.Key, err)
	}
	return v, nil
}

func (s State) applyForeign(u Update) (State, error) {
	raw, err := u.Raw()
	if err != nil {
		return s, err
	}
	s.foreign = maps.Clone(s.foreign)
	if s.foreign == nil {
		s.foreign = make(map[string]foreign, 1)
	}
	f := s.foreign[u.Key]
	if u.Overwrites {
		f = foreign{Value: raw}
	} else {
		f.Updates = append(slices.Clip(f.Updates), RawUpdate(u.Key, false, raw))
	}
	s.foreign[u.Key] = f
	return s, nil
}

// Conflicts names what the updates replace although somebody else changed it since they were computed ([Conflicter]).
func (s State) Conflicts(us ...Update) []string {
	var out []string
	for i, u := range us {
		f, ok := s.schema.Field(u.Key)
		if !ok || f.conflicts == nil || u.Overwrites {
			continue
		}
		before, err := s.Apply(us[:i]...)
		if err != nil {
			return out
		}
		cur, ok := before.value(f)
		if !ok {
			cur = f.zero
		}
		if v, err := f.decodeUpdate(u); err == nil {
			out = append(out, f.conflicts(cur, v)...)
		}
	}
	return out
}

// Step collects the updates of the writers of one step, in order, and refuses a second writer of a last-value key, and a
// second overwrite of any key.
type Step struct {
	state   State
	written map[string]bool
}

// NewStep begins a step on a state.
func NewStep(s State) *Step { return &Step{state: s} }

// Apply applies the updates of one writer, all or none.
func (p *Step) Apply(us ...Update) error {
	var mine []string
	for _, u := range us {
		f, ok := p.state.schema.Field(u.Key)
		if !ok || !f.single && !u.Overwrites {
			continue
		}
		if p.written[u.Key] {
			return &ConcurrentError{Key: u.Key, Overwrite: !f.single}
		}
		mine = append(mine, u.Key)
	}
	s, err := p.state.Apply(us...)
	if err != nil {
		return err
	}
	p.state = s
	for _, k := range mine {
		if p.written == nil {
			p.written = make(map[string]bool, 1)
		}
		p.written[k] = true
	}
	return nil
}

// State returns the state with everything applied so far.
func (p *Step) State() State { return p.state }

// Without returns the state without the values of some keys.
func (s State) Without(names ...string) State {
	n := s
	n.vals = slices.Clone(s.vals)
	for _, name := range names {
		if i, ok := s.schema.at(name); ok && n.vals != nil {
			n.vals[i] = nil
		}
		if _, ok := n.foreign[name]; ok {
			n.foreign = maps.Clone(n.foreign)
			delete(n.foreign, name)
		}
	}
	return n
}
