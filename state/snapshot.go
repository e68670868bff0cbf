package state

import (
	"encoding/json"
	"fmt"

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

// Decode returns the state that [State.Encode] encoded, read with the keys of this schema.
func (s *Schema) Decode(raw json.RawMessage) (State, error) {
	var snap snapshot
	if err := json.Unmarshal(raw, &snap); err != nil {
		return State{}, fmt.Errorf("state: snapshot: %w", err)
	}
	if snap.V > 1 {
		return State{}, fmt.Errorf("state: snapshot has version %d, this program reads version 1: use a newer program", snap.V)
	}
	st := s.New()
	for name, raw := range snap.Values {
		var err error
		if st, err = st.Apply(RawUpdate(name, true, raw)); err != nil {
			return State{}, err
		}
	}
	for name, f := range snap.Foreign {
		us := f.Updates
		if f.Value != nil {
			us = append([]Update{RawUpdate(name, true, f.Value)}, us...)
		}
		for i := range us {
			us[i].Key = name
		}
		var err error
		if st, err = st.Apply(us...); err != nil {
			return State{}, err
		}
	}
	return st, nil
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

// As returns the state read with another schema: values of shared keys are kept, the others become foreign.
func (s State) As(schema *Schema) (State, error) {
	if s.schema == schema {
		return s, nil
	}
	n := schema.New()
	n.foreign = s.foreign
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
		moved = append(moved, Update{Key: f.name, Overwrites: true, value: v})
	}
	return n.Apply(moved...)
}
