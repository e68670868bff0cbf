package state

import (
	"encoding/json"
	"fmt"

	"github.com/deepagents-go/deepagents/internal/jsonenc"
)

// Update is a change of one key. Keys make updates; JSON carries them.
type Update struct {
	Key string
	// Overwrites says that the value replaces the old one instead of being folded in.
	Overwrites bool
	value      any
	raw        json.RawMessage
}

type wireUpdate struct {
	Key       string          `json:"key"`
	Overwrite bool            `json:"overwrite,omitempty"`
	Value     json.RawMessage `json:"value"`
}

// RawUpdate returns an update from JSON, for callers that do not know the key's types.
func RawUpdate(key string, overwrite bool, value json.RawMessage) Update {
	return Update{Key: key, Overwrites: overwrite, raw: value}
}

// Raw returns the update's value as JSON.
func (u Update) Raw() (json.RawMessage, error) {
	if u.raw != nil {
		return u.raw, nil
	}
	raw, err := json.Marshal(u.value)
	if err != nil {
		return nil, fmt.Errorf("state: update of key %q: %w", u.Key, err)
	}
	return raw, nil
}

// MarshalJSON encodes the update.
func (u Update) MarshalJSON() ([]byte, error) {
	raw, err := u.Raw()
	if err != nil {
		return nil, err
	}
	return u.append(nil, raw)
}

// AppendJSON appends the encoding to b.
func (u Update) AppendJSON(b []byte) ([]byte, error) {
	raw, err := u.Raw()
	if err != nil {
		return nil, err
	}
	return u.append(b, raw)
}

func (u Update) append(b []byte, raw json.RawMessage) ([]byte, error) {
	o := jsonenc.Begin(b)
	o.String("key", u.Key)
	o.True("overwrite", u.Overwrites)
	if u.raw != nil {
		o.Raw("value", raw)
	} else {
		o.Trusted("value", raw)
	}
	return o.End()
}

// UnmarshalJSON decodes an update. Its value is decoded by the key that owns it, when it is applied.
func (u *Update) UnmarshalJSON(b []byte) error {
	var w wireUpdate
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	*u = RawUpdate(w.Key, w.Overwrite, w.Value)
	return nil
}
