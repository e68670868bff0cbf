package store_test

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/deepagents-go/deepagents/store"
)

func TestNamespaceCheck(t *testing.T) {
	for text, ns := range map[string]store.Namespace{
		"Namespace cannot be empty.":                               nil,
		"Namespace labels cannot be empty strings.":                {"a", ""},
		"Namespace labels cannot contain periods ('.').":           {"a.b"},
		"Namespace labels must be valid UTF-8.":                    {"a", "\xff"},
		`Root label for namespace cannot be "langgraph".`:          {"langgraph"},
		`Root label for namespace cannot be "langgraph". Got ["la`: {"langgraph", "x"},
	} {
		err := ns.Check()
		var ne *store.NamespaceError
		if !errors.Is(err, store.ErrNamespace) || !errors.As(err, &ne) || !strings.Contains(err.Error(), text) || !ne.Namespace.Equal(ns) {
			t.Errorf("%q: %v, want %s", ns, err, text)
		}
	}
	for _, ns := range []store.Namespace{{"a"}, {"a", "langgraph"}, {" ", "*", "\x00"}} {
		if err := ns.Check(); err != nil {
			t.Errorf("%q: %v", ns, err)
		}
	}
}

func TestNamespaceOrder(t *testing.T) {
	ns := []store.Namespace{{}, {"a"}, {"a", "b"}, {"a", "b", "c"}, {"a", "c"}, {"a-b"}, {"b"}}
	for i, a := range ns {
		for j, b := range ns {
			if got := a.Compare(b); got < 0 != (i < j) || got == 0 != (i == j) {
				t.Errorf("%q against %q: %d", a, b, got)
			}
			if got, want := a.Below(b), len(a) >= len(b) && slices.Equal(a[:len(b)], b); got != want {
				t.Errorf("%q below %q: %v", a, b, got)
			}
		}
	}
}

func TestTexts(t *testing.T) {
	const value = `{"t":"one","n":1.50,"b":true,"z":null,"o":{"y":"two","x":"three"},"xs":[{"t":"a","u":"b"},{"t":"c"},"plain",["in"]],"e":""}`
	for _, c := range []struct{ paths, want string }{
		{"", "true,,1.50,three,two,one,a,b,c,plain,in"},
		{"$", "true,,1.50,three,two,one,a,b,c,plain,in"},
		{"t", "one"},
		{"o", "three,two"},
		{"o.y", "two"},
		{"o.y t", "two|one"},
		{"xs[*].t", "a|c"},
		{"xs[0]", "a,b"},
		{"xs[0].u", "b"},
		{"xs[-1][0]", "in"},
		{"xs[9]", ""},
		{"xs[-9]", ""},
		{"xs[x]", ""},
		{"xs.t", ""},
		{"t[0]", ""},
		{"t.x", ""},
		{"nope z e", ""},
		{"n b", "1.50|true"},
	} {
		got := strings.ReplaceAll(strings.Join(store.Texts(json.RawMessage(value), strings.Fields(c.paths)), "|"), "\n", ",")
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.paths, got, c.want)
		}
	}
	if got := store.Texts(json.RawMessage("{"), nil); got != nil {
		t.Errorf("no JSON: %q", got)
	}
}

func TestWords(t *testing.T) {
	got := store.Words("The cat, the CAT's naïve 日本 x2 --- _a\x00b")
	if want := []string{"a", "b", "cat", "naïve", "s", "the", "x2", "日本"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestCosine(t *testing.T) {
	for _, c := range []struct {
		a, b []float32
		want float64
	}{
		{[]float32{1, 0}, []float32{2, 0}, 1},
		{[]float32{1, 0}, []float32{0, 3}, 0},
		{[]float32{1, 0}, []float32{-1, 0}, -1},
		{[]float32{1, 1}, []float32{1, 0}, math.Sqrt2 / 2},
		{[]float32{0, 0}, []float32{1, 0}, 0},
		{[]float32{1}, []float32{1, 0}, 0},
		{nil, nil, 0},
	} {
		if got := store.Cosine(c.a, c.b); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%v and %v: %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

// FuzzFilter compares any filter with any value: no panic, and a value that is its own filter matches, unless it looks like operators.
func FuzzFilter(f *testing.F) {
	f.Add(`{"a":{"$gte":1}}`, `{"a":1}`)
	f.Add(`{"a":[1,{"b":null}]}`, `{"a":[1,{}]}`)
	f.Add(`{"a":{"$ne":{"x":[]}}}`, `{"a":1e999}`)
	f.Fuzz(func(t *testing.T, filter, value string) {
		var m map[string]json.RawMessage
		if json.Unmarshal([]byte(filter), &m) != nil {
			t.Skip()
		}
		c, err := store.NewFilter(m)
		if err != nil {
			if !errors.Is(err, store.ErrQuery) {
				t.Fatal(err)
			}
			return
		}
		c.Match(json.RawMessage(value))
		if !strings.Contains(filter, `$`) && !strings.Contains(filter, `\u`) && !c.Match(json.RawMessage(filter)) {
			t.Errorf("%s does not match itself", filter)
		}
	})
}
