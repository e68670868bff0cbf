package anthropic

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/deepagents-go/deepagents/internal/jsonenc"
)

// signature returns the signature that came in deltas, or with the beginning of the block.
func (b *block) signature() string {
	if s := b.rest["signature"]; s != nil && s.Len() > 0 {
		return s.String()
	}
	var first signature
	if json.Unmarshal(b.raw, &first) != nil {
		return ""
	}
	return first.Signature
}

// merge takes a delta of a block that is not known here: texts are appended, other values replace what was there.
func (b *block) merge(raw json.RawMessage) error {
	var delta, own map[string]json.RawMessage
	if err := json.Unmarshal(raw, &delta); err != nil {
		return err
	}
	if err := json.Unmarshal(b.raw, &own); err != nil {
		return err
	}
	delete(delta, "type")
	for k, v := range delta {
		var was, more string
		if json.Unmarshal(v, &more) == nil && (own[k] == nil || json.Unmarshal(own[k], &was) == nil) {
			v = jsonenc.String(nil, was+more)
		}
		own[k] = v
	}
	b.raw = object(own)
	return nil
}

// whole returns the block with what its deltas added. A block without deltas is returned as it came.
func (b *block) whole() (json.RawMessage, error) {
	input := b.rest["input"]
	if input == nil || input.Len() == 0 {
		return bytes.Clone(b.raw), nil
	}
	var own map[string]json.RawMessage
	if err := json.Unmarshal(b.raw, &own); err != nil {
		return nil, err
	}
	var v json.RawMessage
	if err := json.Unmarshal(input.Bytes(), &v); err != nil {
		return nil, err
	}
	own["input"] = v
	return object(own), nil
}

// object writes the fields, sorted, with the bytes of their values. The type comes first.
func object(fields map[string]json.RawMessage) json.RawMessage {
	keys := slices.SortedFunc(maps.Keys(fields), func(a, b string) int {
		switch {
		case a == b:
			return 0
		case a == "type" || b != "type" && a < b:
			return -1
		}
		return 1
	})
	b := []byte{'{'}
	for i, k := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(jsonenc.String(b, k), ':')
		b = append(b, fields[k]...)
	}
	return append(b, '}')
}
