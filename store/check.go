package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// CheckPut returns the error of a put that no store takes: [ErrNamespace], [ErrKey] or [ErrValue].
func CheckPut(ns Namespace, key string, value json.RawMessage) error {
	if err := ns.Check(); err != nil {
		return err
	}
	if key == "" || !utf8.ValidString(key) {
		return fmt.Errorf("%w, got %q", ErrKey, key)
	}
	if b := bytes.TrimLeft(value, " \t\r\n"); len(b) == 0 || b[0] != '{' || !json.Valid(value) {
		return ErrValue
	}
	return nil
}

// Check returns [ErrQuery] for a negative number and for a filter that [NewFilter] refuses.
func (q Query) Check() error {
	if q.Limit < 0 || q.Offset < 0 {
		return fmt.Errorf("%w: limit and offset must not be negative", ErrQuery)
	}
	_, err := NewFilter(q.Filter)
	return err
}

// Max is the limit that counts.
func (q Query) Max() int {
	if q.Limit == 0 {
		return DefaultLimit
	}
	return q.Limit
}

// Check returns [ErrQuery] unless exactly one field is set.
func (o Op) Check() error {
	n := 0
	for _, set := range [...]bool{o.Get != nil, o.Put != nil, o.Delete != nil, o.Search != nil, o.Namespaces != nil} {
		if set {
			n++
		}
	}
	if n != 1 {
		return fmt.Errorf("%w: an operation of a batch has exactly one field, this one has %d", ErrQuery, n)
	}
	return nil
}
