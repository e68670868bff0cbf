package store

import (
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Embedder turns texts into vectors of one length, one for each text, in order.
type Embedder func(ctx context.Context, texts []string) ([][]float32, error)

// Whole is the index path of a whole value.
const Whole = "$"

// Texts returns the parts of a value that paths name, in order, without empty ones. A path is "a.b" for a field of a field, "xs[2]"
// for an element, "xs[-1]" for one from the end, "xs[*].t" for a field of every element, and [Whole] for all texts and numbers of
// the value, joined by LF in the order of their fields' names; no paths mean [Whole]. A part that is an object or a list is read like
// a whole value; what is not there, and null, gives nothing.
func Texts(value json.RawMessage, paths []string) []string {
	v, err := decode(value)
	if err != nil {
		return nil
	}
	if len(paths) == 0 {
		paths = []string{Whole}
	}
	var out []string
	for _, p := range paths {
		for _, part := range walk(v, steps(p)) {
			if s := strings.Join(leaves(part, nil), "\n"); s != "" {
				out = append(out, s)
			}
		}
	}
	return out
}

// steps cuts "a.xs[*].t" into a, xs, [*], t.
func steps(path string) []string {
	if path == Whole {
		return nil
	}
	var out []string
	for part := range strings.SplitSeq(path, ".") {
		name, rest, _ := strings.Cut(part, "[")
		if name != "" {
			out = append(out, name)
		}
		for rest != "" {
			var index string
			index, rest, _ = strings.Cut(rest, "]")
			out = append(out, "["+index)
			rest = strings.TrimPrefix(rest, "[")
		}
	}
	return out
}

func walk(v any, path []string) []any {
	if len(path) == 0 {
		return []any{v}
	}
	index, isIndex := strings.CutPrefix(path[0], "[")
	if !isIndex {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		next, ok := m[path[0]]
		if !ok {
			return nil
		}
		return walk(next, path[1:])
	}
	list, ok := v.([]any)
	if !ok {
		return nil
	}
	if index == Any {
		var out []any
		for _, e := range list {
			out = append(out, walk(e, path[1:])...)
		}
		return out
	}
	i, err := strconv.Atoi(index)
	if err != nil {
		return nil
	}
	if i < 0 {
		i += len(list)
	}
	if i < 0 || i >= len(list) {
		return nil
	}
	return walk(list[i], path[1:])
}

// leaves appends the texts, numbers and booleans of a value.
func leaves(v any, out []string) []string {
	switch v := v.(type) {
	case string:
		return append(out, v)
	case json.Number:
		return append(out, v.String())
	case bool:
		return append(out, strconv.FormatBool(v))
	case []any:
		for _, e := range v {
			out = leaves(e, out)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			out = leaves(v[name], out)
		}
	}
	return out
}

// Words returns the distinct words of a text in lower case, sorted. A word is a run of letters, digits and marks.
func Words(text string) []string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
	slices.Sort(words)
	return slices.Compact(words)
}

// Cosine is the similarity of two vectors, from -1 to 1; 0 when one has no length or they are not of one length.
func Cosine(a, b []float32) float64 {
	if len(a) != len(b) {
		return 0
	}
	var dot, x, y float64
	for i := range a {
		dot += float64(a[i]) * float64(b[i])
		x += float64(a[i]) * float64(a[i])
		y += float64(b[i]) * float64(b[i])
	}
	if x == 0 || y == 0 {
		return 0
	}
	return dot / math.Sqrt(x*y)
}
