package state

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// Key is a typed key of the state: values of type V, changed by updates of type U.
type Key[V, U any] struct{ field *Field }

// Options say who may see a key.
type Options struct {
	// Private keeps the key inside the agent that owns it: not in inputs, not in outputs, not shared with sub-agents.
	Private bool
	// NoInput and NoOutput keep the key out of a run's input or result only.
	NoInput, NoOutput bool
}

// Field is a key without its types.
type Field struct {
	name string
	opts Options
	// single: two updates of one step are a [ConcurrentError].
	single bool
	zero   any
	// holds reports whether a value has the key's type.
	holds       func(v any) bool
	apply       func(cur, update any) (any, error)
	decodeValue func(json.RawMessage) (any, error)
	decodeUp    func(json.RawMessage) (any, error)
	conflicts   func(cur, update any) []string
}

// Name returns the name of the key.
func (f *Field) Name() string { return f.name }

// Options returns who may see the key.
func (f *Field) Options() Options { return f.opts }

// Conflicter is an update that knows what it was computed from. Conflicts names the parts of a value that somebody else changed
// since, and that the update is going to replace.
type Conflicter[V any] interface{ Conflicts(v V) []string }

// NewKey declares a key whose updates are folded by reduce. Both types must survive JSON.
func NewKey[V, U any](name string, reduce func(V, U) (V, error), o Options) Key[V, U] {
	var zero V
	var conflicts func(cur, update any) []string
	if _, ok := reflect.Zero(reflect.TypeFor[U]()).Interface().(Conflicter[V]); ok {
		conflicts = func(cur, update any) []string {
			u, uok := update.(Conflicter[V])
			v, vok := cur.(V)
			if !uok || !vok {
				return nil
			}
			return u.Conflicts(v)
		}
	}
	return Key[V, U]{&Field{
		conflicts: conflicts,
		name:      name, opts: o, zero: zero,
		holds: func(v any) bool {
			_, ok := as[V](v)
			return ok
		},
		apply: func(cur, update any) (any, error) {
			v, _ := as[V](cur)
			u, ok := as[U](update)
			if !ok {
				return nil, fmt.Errorf("state: update of key %q has type %T, want %s", name, update, reflect.TypeFor[U]())
			}
			return reduce(v, u)
		},
		decodeValue: decode[V],
		decodeUp:    decode[U],
	}}
}

// Last declares a key that holds the last value written. Two writers in one step are an error.
func Last[V any](name string, o Options) Key[V, V] {
	k := NewKey(name, func(_, v V) (V, error) { return v, nil }, o)
	k.field.single = true
	return k
}

// as returns a value in its type. A nil is the zero value of an interface type, which holds no type of its own.
func as[T any](v any) (T, bool) {
	t, ok := v.(T)
	return t, ok || v == nil && reflect.TypeFor[T]().Kind() == reflect.Interface
}

func decode[T any](raw json.RawMessage) (any, error) {
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, err
	}
	return v, nil
}

// Field returns the key without its types, for [NewSchema].
func (k Key[V, U]) Field() *Field { return k.field }

// Name returns the name of the key.
func (k Key[V, U]) Name() string { return k.field.name }

// Get returns the value in a transaction, the zero value when nobody wrote it.
func (k Key[V, U]) Get(t *Tx) V { return k.In(t.State()) }

// In returns the value in a state.
func (k Key[V, U]) In(s State) V {
	v, ok := s.value(k.field)
	if !ok {
		var zero V
		return zero
	}
	return v.(V)
}

// Update returns an update that the reducer folds in.
func (k Key[V, U]) Update(u U) Update { return Update{Key: k.field.name, value: u} }

// Overwrite returns an update that replaces the value, past the reducer.
func (k Key[V, U]) Overwrite(v V) Update {
	return Update{Key: k.field.name, Overwrites: true, value: v}
}
