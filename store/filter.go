package store

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Filter is the decoded form of Query.Filter. The zero value matches everything.
type Filter struct{ fields map[string]any }

// NewFilter decodes a filter. Every field must match:
//
//   - an object with operators ($eq $ne $gt $gte $lt $lte) matches when all of them hold; numbers are ordered as numbers, texts by
//     their bytes, and what cannot be compared does not match;
//   - another object matches an object whose fields match its fields, which can be operators again;
//   - a list matches a list of the same length whose elements match;
//   - anything else matches what is equal. A field that is missing counts as null.
//
// A filter with an unknown operator, or with operators and fields in one object, is [ErrQuery].
func NewFilter(filter map[string]json.RawMessage) (Filter, error) {
	if len(filter) == 0 {
		return Filter{}, nil
	}
	f := Filter{fields: make(map[string]any, len(filter))}
	for _, name := range slices.Sorted(maps.Keys(filter)) {
		v, err := decode(filter[name])
		if err != nil {
			return Filter{}, fmt.Errorf("%w: filter of %q: %w", ErrQuery, name, err)
		}
		if strings.HasPrefix(name, "$") {
			return Filter{}, fmt.Errorf("%w: %q is an operator; it belongs into the object of a field", ErrQuery, name)
		}
		if err := checkFilter(v); err != nil {
			return Filter{}, fmt.Errorf("%w: filter of %q: %w", ErrQuery, name, err)
		}
		f.fields[name] = v
	}
	return f, nil
}

// Empty reports whether the filter matches everything.
func (f Filter) Empty() bool { return len(f.fields) == 0 }

// Match reports whether a value, a JSON object, matches.
func (f Filter) Match(value json.RawMessage) bool {
	if f.Empty() {
		return true
	}
	v, err := decode(value)
	return err == nil && matchFields(v, f.fields)
}

func decode(raw json.RawMessage) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}

// operators are the names and what they make of a comparison.
func operator(name string) func(order int) bool {
	switch name {
	case "$gt":
		return func(o int) bool { return o > 0 }
	case "$gte":
		return func(o int) bool { return o >= 0 }
	case "$lt":
		return func(o int) bool { return o < 0 }
	case "$lte":
		return func(o int) bool { return o <= 0 }
	}
	return nil
}

// hasOperators reports whether an object has operators instead of fields.
func hasOperators(m map[string]any) bool {
	for name := range m {
		if strings.HasPrefix(name, "$") {
			return true
		}
	}
	return false
}

func checkFilter(v any) error {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if err := checkFilter(e); err != nil {
				return err
			}
		}
	case map[string]any:
		ops := hasOperators(v)
		for _, name := range slices.Sorted(maps.Keys(v)) {
			switch {
			case !ops:
				if err := checkFilter(v[name]); err != nil {
					return err
				}
			case !strings.HasPrefix(name, "$"):
				return fmt.Errorf("the field %q stands beside an operator", name)
			case name != "$eq" && name != "$ne" && operator(name) == nil:
				return fmt.Errorf("unknown operator %q, want $eq, $ne, $gt, $gte, $lt or $lte", name)
			}
		}
	}
	return nil
}

// match compares a part of a value, nil when missing, with what the filter wants.
func match(got, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		if hasOperators(want) {
			return matchOperators(got, want)
		}
		return matchFields(got, want)
	case []any:
		list, ok := got.([]any)
		return ok && slices.EqualFunc(list, want, match)
	}
	return equal(got, want)
}

func matchFields(got any, want map[string]any) bool {
	m, ok := got.(map[string]any)
	if !ok {
		return false
	}
	for name, w := range want {
		if !match(m[name], w) {
			return false
		}
	}
	return true
}

func matchOperators(got any, ops map[string]any) bool {
	for name, want := range ops {
		var ok bool
		switch name {
		case "$eq":
			ok = equal(got, want)
		case "$ne":
			ok = !equal(got, want)
		default:
			order, comparable := compare(got, want)
			ok = comparable && operator(name)(order)
		}
		if !ok {
			return false
		}
	}
	return true
}

// equal compares whole JSON values; objects in any order.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		m, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, m, equal)
	case []any:
		l, ok := b.([]any)
		return ok && slices.EqualFunc(a, l, equal)
	case json.Number:
		order, ok := compare(a, b)
		return ok && order == 0
	}
	switch b.(type) {
	case map[string]any, []any, json.Number:
		return false
	}
	return a == b
}

// compare orders two numbers or two texts.
func compare(a, b any) (order int, ok bool) {
	switch a := a.(type) {
	case string:
		s, ok := b.(string)
		return strings.Compare(a, s), ok
	case json.Number:
		n, ok := b.(json.Number)
		if !ok {
			return 0, false
		}
		if x, err := strconv.ParseInt(a.String(), 10, 64); err == nil {
			if y, err := strconv.ParseInt(n.String(), 10, 64); err == nil {
				return cmp.Compare(x, y), true
			}
		}
		// Numbers that are too large become infinite, which still orders them.
		x, _ := strconv.ParseFloat(a.String(), 64)
		y, _ := strconv.ParseFloat(n.String(), 64)
		return cmp.Compare(x, y), true
	}
	return 0, false
}
