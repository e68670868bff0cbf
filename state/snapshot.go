package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/deepagents-go/deepagents/internal/jsonenc"
)

// snapshot is the stored form of a state.
type snapshot struct {
	V       int                        `json:"v"`
	Values  map[string]json.RawMessage `json:"values,omitempty"`
	Foreign map[string]foreign         `json:"foreign,omitempty"`
}

// Encode returns the whole state as JSON, keys that nobody owns included.
func (s State) Encode() (json.RawMessage, error) {
	o := jsonenc.Begin(nil)
	o.Int("v", 1)
	o.Append("values", s.appendValues)
	if len(s.foreign) > 0 {
		o.Value("foreign", s.foreign)
	}
	return o.End()
}

// appender is a value that encodes itself without a copy.
type appender interface {
	AppendJSON(b []byte) ([]byte, error)
}

func (s State) appendValues(b []byte) ([]byte, error) {
	b = append(b, '{')
	comma := false
	for i, v := range s.vals {
		if v == nil {
			continue
		}
		if comma {
			b = append(b, ',')
		}
		comma = true
		b = append(jsonenc.String(b, s.schema.fields[i].name), ':')
		var err error
		if b, err = appendValue(b, v); err != nil {
			return nil, fmt.Errorf("state: key %q: %w", s.schema.fields[i].name, err)
		}
	}
	return append(b, '}'), nil
}

func appendValue(b []byte, v any) ([]byte, error) {
	if a, ok := v.(appender); ok {
		return a.AppendJSON(b)
	}
	raw, err := json.Marshal(v)
	return append(b, raw...), err
}

// ErrNewer is the error of a snapshot that a newer version of this program wrote.
var ErrNewer = errors.New("written by a newer version of this program")

// Decode returns the state that [State.Encode] encoded, read with the keys of this schema.
func (s *Schema) Decode(raw json.RawMessage) (State, error) {
	var snap snapshot
	err := json.Unmarshal(raw, &snap)
	if snap.V > 1 { // decoded first, so that it is known also when the rest cannot be read
		return State{}, fmt.Errorf("state: snapshot has version %d, this program reads version 1: %w", snap.V, ErrNewer)
	}
	if err != nil {
		return State{}, fmt.Errorf("state: snapshot: %w", err)
	}
	st := s.New()
	for _, name := range slices.Sorted(maps.Keys(snap.Values)) {
		if st, err = st.Apply(RawUpdate(name, true, snap.Values[name])); err != nil {
			return State{}, err
		}
	}
	return st.adopt(snap.Foreign)
}

// adopt folds what another schema did not own: into values where this one has the key, else as it is.
func (s State) adopt(fs map[string]foreign) (State, error) {
	for _, name := range slices.Sorted(maps.Keys(fs)) {
		us := make([]Update, 0, len(fs[name].Updates)+1)
		if v := fs[name].Value; v != nil {
			us = append(us, RawUpdate(name, true, v))
		}
		for _, u := range fs[name].Updates {
			us = append(us, RawUpdate(name, false, u.raw))
		}
		var err error
		if s, err = s.Apply(us...); err != nil {
			return State{}, err
		}
	}
	return s, nil
}

// Output returns the values that a run's result shows, as JSON by name.
func (s State) Output() (map[string]json.RawMessage, error) {
	out := make(map[string]json.RawMessage)
	for i, v := range s.vals {
		f := s.schema.fields[i]
		if v == nil || f.opts.Private || f.opts.NoOutput {
			continue
		}
		raw, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("state: key %q: %w", f.name, err)
		}
		out[f.name] = raw
	}
	return out, nil
}

// Public drops the values of private keys, and of keys that nobody owns, since nobody says that they are public: what a
// sub-agent inherits.
func (s State) Public() State {
	n := State{schema: s.schema}
	for i, v := range s.vals {
		if v == nil || s.schema.fields[i].opts.Private {
			continue
		}
		if n.vals == nil {
			n.vals = make([]any, len(s.vals))
		}
		n.vals[i] = v
	}
	return n
}

// As returns the state read with another schema: values of shared keys are kept, the others become foreign, and what was foreign
// becomes a value again where the schema owns it.
func (s State) As(schema *Schema) (State, error) {
	if s.schema == schema {
		return s, nil
	}
	n := schema.New()
	n.vals = make([]any, len(schema.fields))
	var moved []Update
	for i, v := range s.vals {
		if v == nil {
			continue
		}
		f := s.schema.fields[i]
		if j, ok := schema.index[f.name]; ok && schema.fields[j] == f {
			n.vals[j] = v
			continue
		}
		raw, err := json.Marshal(v)
		if err != nil {
			return State{}, fmt.Errorf("state: key %q: %w", f.name, err)
		}
		moved = append(moved, RawUpdate(f.name, true, raw)) // raw: a key of the same name may have another type
	}
	n, err := n.Apply(moved...)
	if err != nil {
		return State{}, err
	}
	return n.adopt(s.foreign)
}
