package state_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/deepagents-go/deepagents/state"
)

var (
	sum   = state.NewKey("sum", func(v, u int) (int, error) { return v + u, nil }, state.Options{})
	words = state.NewKey("words", appendWords, state.Options{})
	last  = state.Last[string]("last", state.Options{})
	mine  = state.NewKey("mine", func(v, u int) (int, error) { return v + u, nil }, state.Options{Private: true})
	quiet = state.NewKey("quiet", func(v, u int) (int, error) { return v + u, nil }, state.Options{NoOutput: true})
	picky = state.NewKey("picky", func(v, u int) (int, error) {
		if u < 0 {
			return 0, errors.New("negative")
		}
		return v + u, nil
	}, state.Options{})
)

func appendWords(v, u []string) ([]string, error) { return append(slices.Clip(v), u...), nil }

func schemaOf(t testing.TB, fs ...*state.Field) *state.Schema {
	t.Helper()
	s, err := state.NewSchema(fs...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func all(t testing.TB) *state.Schema {
	t.Helper()
	return schemaOf(t, sum.Field(), words.Field(), last.Field(), mine.Field(), quiet.Field(), picky.Field())
}

func apply(t testing.TB, s state.State, us ...state.Update) state.State {
	t.Helper()
	n, err := s.Apply(us...)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func encoded(t testing.TB, s state.State) string {
	t.Helper()
	raw, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestSchema(t *testing.T) {
	s := schemaOf(t, words.Field(), sum.Field(), words.Field())
	var names []string
	for _, f := range s.Fields() {
		names = append(names, f.Name())
	}
	if got := strings.Join(names, " "); got != "sum words" {
		t.Errorf("fields %q, want them sorted and once", got)
	}
	if f, ok := s.Field("sum"); !ok || f != sum.Field() || sum.Name() != "sum" {
		t.Error("sum is not found")
	}
	if _, ok := s.Field("last"); ok {
		t.Error("a key that was not declared is found")
	}
	if !mine.Field().Options().Private {
		t.Error("options are lost")
	}
	other := state.Last[int]("sum", state.Options{})
	if _, err := state.NewSchema(sum.Field(), other.Field()); err == nil || !strings.Contains(err.Error(), `"sum"`) {
		t.Errorf("two keys of one name: %v", err)
	}
	if _, err := state.NewSchema(nil); err == nil {
		t.Error("a nil field is accepted")
	}
}

func TestApply(t *testing.T) {
	s := all(t).New()
	if sum.In(s) != 0 || words.In(s) != nil || last.In(s) != "" {
		t.Error("an empty state has values")
	}
	one := apply(t, s, sum.Update(2), words.Update([]string{"a"}), last.Update("x"))
	two := apply(t, one, sum.Update(3), words.Update([]string{"b"}), words.Update([]string{"c"}), last.Update("y"), last.Update("z"))
	three := apply(t, two, sum.Overwrite(-1), sum.Update(4), words.Overwrite(nil))
	for i, c := range []struct {
		s    state.State
		want string
	}{{s, "0 [] "}, {one, "2 [a] x"}, {two, "5 [a b c] z"}, {three, "3 [] z"}} {
		if got := fmt.Sprint(sum.In(c.s), " ", words.In(c.s), " ", last.In(c.s)); got != c.want {
			t.Errorf("state %d is %q, want %q", i, got, c.want)
		}
	}
	if n := apply(t, three); encoded(t, n) != encoded(t, three) {
		t.Error("no updates changed the state")
	}
}

func TestApplyErrors(t *testing.T) {
	sameName := state.Last[string]("sum", state.Options{})
	base := apply(t, all(t).New(), sum.Update(1))
	for _, c := range []struct {
		name string
		u    state.Update
		want string
	}{
		{"reducer", picky.Update(-1), "negative"},
		{"update of another type", sameName.Update("x"), "type string"},
		{"value of another type", sameName.Overwrite("x"), "type string"},
		{"raw update that does not fit", state.RawUpdate("sum", false, json.RawMessage(`"x"`)), `"sum"`},
		{"raw value that does not fit", state.RawUpdate("sum", true, json.RawMessage(`[]`)), `"sum"`},
		{"no value", state.RawUpdate("sum", true, nil), `"sum"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := base.Apply(sum.Update(5), c.u)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want %q in it", err, c.want)
			}
			if sum.In(got) != 1 || sum.In(base) != 1 {
				t.Errorf("some of the updates took effect: %d, %d", sum.In(got), sum.In(base))
			}
		})
	}
}

// TestNil holds keys of interface and pointer types, whose nil is a value.
func TestNil(t *testing.T) {
	anything := state.Last[any]("any", state.Options{})
	pointer := state.NewKey("pointer", func(_, u *int) (*int, error) { return u, nil }, state.Options{})
	folded := state.NewKey("folded", func(v any, u string) (any, error) {
		if v == nil {
			return u, nil
		}
		return v.(string) + u, nil
	}, state.Options{})
	s := schemaOf(t, anything.Field(), pointer.Field(), folded.Field()).New()
	s = apply(t, s, anything.Update(nil), pointer.Update(nil), folded.Update("a"), folded.Update("b"))
	if anything.In(s) != nil || pointer.In(s) != nil || folded.In(s) != "ab" {
		t.Errorf("got %v, %v, %v", anything.In(s), pointer.In(s), folded.In(s))
	}
	s = apply(t, s, anything.Update(3), state.RawUpdate("any", false, json.RawMessage("null")), folded.Overwrite(nil), folded.Update("c"))
	if anything.In(s) != nil || folded.In(s) != "c" {
		t.Errorf("got %v, %v", anything.In(s), folded.In(s))
	}
	back, err := s.Schema().Decode(json.RawMessage(encoded(t, s)))
	if err != nil {
		t.Fatal(err)
	}
	if encoded(t, back) != encoded(t, s) {
		t.Errorf("got %s, want %s", encoded(t, back), encoded(t, s))
	}
}

// TestZeroState has no schema: every key is nobody's.
func TestZeroState(t *testing.T) {
	var s state.State
	if sum.In(s) != 0 || s.Schema() != nil {
		t.Error("the zero state has something")
	}
	s = apply(t, s, sum.Update(1), sum.Update(2))
	step := state.NewStep(s)
	if err := step.Apply(last.Update("x")); err != nil {
		t.Fatal(err)
	}
	s = step.State().Without("unknown")
	if sum.In(s) != 0 {
		t.Error("a key without an owner has a typed value")
	}
	owned, err := s.As(all(t))
	if err != nil {
		t.Fatal(err)
	}
	if sum.In(owned) != 3 || last.In(owned) != "x" {
		t.Errorf("got %d, %q", sum.In(owned), last.In(owned))
	}
	if out, err := s.Output(); err != nil || len(out) != 0 {
		t.Errorf("output %v, %v", out, err)
	}
	if n, err := s.Public().As(all(t)); err != nil || sum.In(n) != 0 {
		t.Errorf("public: %d, %v", sum.In(n), err)
	}
}

// TestSameName has a state of an agent whose key is no longer the same variable.
func TestSameName(t *testing.T) {
	again := state.Last[int]("sum", state.Options{})
	text := state.Last[string]("sum", state.Options{})
	s := apply(t, all(t).New(), sum.Update(7))
	n, err := s.As(schemaOf(t, again.Field()))
	if err != nil || again.In(n) != 7 || sum.In(n) != 0 {
		t.Errorf("got %d, %d, %v", again.In(n), sum.In(n), err)
	}
	if text.In(s) != "" {
		t.Error("a key reads a value that is not its own")
	}
	if _, err := s.As(schemaOf(t, text.Field())); err == nil {
		t.Error("a number became a text")
	}
}

func TestStep(t *testing.T) {
	step := state.NewStep(all(t).New())
	must := func(us ...state.Update) {
		t.Helper()
		if err := step.Apply(us...); err != nil {
			t.Fatal(err)
		}
	}
	must(last.Update("a"), last.Update("b"), sum.Update(1))
	must(sum.Update(2), words.Update([]string{"x"}))
	err := step.Apply(sum.Update(100), last.Update("c"))
	var ce *state.ConcurrentError
	if !errors.As(err, &ce) || ce.Key != "last" {
		t.Fatalf("second writer: %v", err)
	}
	want := "At key 'last': Can receive only one value per step. Use a key with a reducer to handle multiple values."
	if err.Error() != want {
		t.Errorf("text %q", err)
	}
	if err := step.Apply(last.Overwrite("c")); !errors.As(err, &ce) {
		t.Errorf("an overwrite is a second writer too: %v", err)
	}
	if err := step.Apply(picky.Update(1), picky.Update(-1)); err == nil {
		t.Error("the reducer's error is lost")
	}
	s := step.State()
	if sum.In(s) != 3 || last.In(s) != "b" || picky.In(s) != 0 {
		t.Errorf("a refused writer left something: %d %q %d", sum.In(s), last.In(s), picky.In(s))
	}
	next := state.NewStep(s)
	if err := next.Apply(last.Update("d")); err != nil || last.In(next.State()) != "d" {
		t.Errorf("the next step: %v", err)
	}
	failed := state.NewStep(all(t).New())
	if err := failed.Apply(last.Update("a"), picky.Update(-1)); err == nil {
		t.Fatal("no error")
	}
	if err := failed.Apply(last.Update("b")); err != nil {
		t.Errorf("a writer that failed counts as one: %v", err)
	}
}

func TestConcurrentNeedsOwner(t *testing.T) {
	step := state.NewStep(schemaOf(t).New())
	for range 2 {
		if err := step.Apply(last.Update("x")); err != nil {
			t.Errorf("nobody knows that this key is single: %v", err)
		}
	}
}

type based struct{ Base, Add int }

func (b based) Conflicts(v int) []string {
	if b.Base == v {
		return nil
	}
	return []string{fmt.Sprintf("%d is %d", b.Base, v)}
}

func TestConflicts(t *testing.T) {
	k := state.NewKey("based", func(v int, b based) (int, error) { return v + b.Add, nil }, state.Options{})
	s := apply(t, schemaOf(t, k.Field(), sum.Field()).New(), k.Overwrite(5))
	for _, c := range []struct {
		us   []state.Update
		want string
	}{
		{nil, "[]"},
		{[]state.Update{k.Update(based{5, 1})}, "[]"},
		{[]state.Update{k.Update(based{5, 1}), k.Update(based{6, 1})}, "[]"},
		{[]state.Update{k.Update(based{4, 1})}, "[4 is 5]"},
		{[]state.Update{k.Update(based{5, 1}), k.Update(based{5, 1})}, "[5 is 6]"},
		{[]state.Update{k.Overwrite(4), sum.Update(1)}, "[]"},
		{[]state.Update{state.RawUpdate("based", false, json.RawMessage(`{"Base":1}`))}, "[1 is 5]"},
		{[]state.Update{state.RawUpdate("nobody", false, json.RawMessage(`{"Base":1}`))}, "[]"},
	} {
		if got := fmt.Sprint(s.Conflicts(c.us...)); got != c.want {
			t.Errorf("%v: got %s, want %s", c.us, got, c.want)
		}
	}
	if got := schemaOf(t, k.Field()).New().Conflicts(k.Update(based{1, 1})); len(got) != 1 {
		t.Errorf("against nothing: %v", got)
	}
}

func TestVisibility(t *testing.T) {
	s := apply(t, all(t).New(), sum.Update(1), mine.Update(2), quiet.Update(3), state.RawUpdate("nobody", false, json.RawMessage("4")))
	out, err := s.Output()
	if err != nil || len(out) != 1 || string(out["sum"]) != "1" {
		t.Errorf("output %s, %v", out, err)
	}
	p := s.Public()
	if got, want := encoded(t, p), `{"v":1,"values":{"quiet":3,"sum":1}}`; got != want {
		t.Errorf("public %s, want %s", got, want)
	}
	if mine.In(s) != 2 {
		t.Error("the old state changed")
	}
	if got, want := encoded(t, s.Without("sum", "nobody", "zz")), `{"v":1,"values":{"mine":2,"quiet":3}}`; got != want {
		t.Errorf("without %s, want %s", got, want)
	}
	if sum.In(s) != 1 || !strings.Contains(encoded(t, s), "nobody") {
		t.Error("the old state changed")
	}
}

func TestUnencodable(t *testing.T) {
	bad := state.Last[func()]("bad", state.Options{})
	s := apply(t, schemaOf(t, bad.Field()).New(), bad.Update(func() {}))
	if _, err := s.Encode(); err == nil || !strings.Contains(err.Error(), `"bad"`) {
		t.Errorf("encode: %v", err)
	}
	if _, err := s.Output(); err == nil || !strings.Contains(err.Error(), `"bad"`) {
		t.Errorf("output: %v", err)
	}
	if _, err := s.As(schemaOf(t)); err == nil || !strings.Contains(err.Error(), `"bad"`) {
		t.Errorf("as: %v", err)
	}
	if _, err := json.Marshal(bad.Update(func() {})); err == nil {
		t.Error("update: no error")
	}
	if _, err := schemaOf(t).New().Apply(bad.Update(func() {})); err == nil {
		t.Error("foreign update: no error")
	}
}

func TestDecodeErrors(t *testing.T) {
	for _, c := range []struct {
		raw   string
		newer bool
	}{
		{`{"v":2,"values":{}}`, true},
		{`{"v":2,"values":[1]}`, true},
		{`{"v":1,"values":[1]}`, false},
		{`{"v":1,"values":{"sum":"x"}}`, false},
		{`{"v":1,"foreign":{"sum":{"updates":[{"value":"x"}]}}}`, false},
		{`[]`, false},
		{`{`, false},
		{``, false},
	} {
		_, err := all(t).Decode(json.RawMessage(c.raw))
		if err == nil || errors.Is(err, state.ErrNewer) != c.newer {
			t.Errorf("%s: %v", c.raw, err)
		}
	}
}

func TestUpdateJSON(t *testing.T) {
	for _, u := range []state.Update{
		sum.Update(1), sum.Overwrite(2), words.Update([]string{"<a>", "\u2028", `"`}), words.Overwrite(nil),
		state.RawUpdate("k\"\n<", true, json.RawMessage(`{"a": [1, null]}`)),
	} {
		raw, err := json.Marshal(u)
		if err != nil {
			t.Fatal(err)
		}
		appended, err := u.AppendJSON([]byte("x"))
		if err != nil {
			t.Fatal(err)
		}
		if !sameJSON(t, raw, appended[1:]) {
			t.Errorf("marshalled %s, appended %s", raw, appended)
		}
		value, err := u.Raw()
		if err != nil {
			t.Fatal(err)
		}
		type wire struct {
			Key       string          `json:"key"`
			Overwrite bool            `json:"overwrite,omitempty"`
			Value     json.RawMessage `json:"value"`
		}
		want, err := json.Marshal(wire{u.Key, u.Overwrites, value})
		if err != nil {
			t.Fatal(err)
		}
		if !sameJSON(t, raw, want) {
			t.Errorf("got %s, want %s", raw, want)
		}
		var back state.Update
		if err := json.Unmarshal(raw, &back); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(back)
		if err != nil || string(again) != string(raw) {
			t.Errorf("%s came back as %s, %v", raw, again, err)
		}
	}
	var u state.Update
	if err := json.Unmarshal([]byte(`{"key":1}`), &u); err == nil {
		t.Error("no error")
	}
}
