package state_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/state"
)

func sameJSON(t interface{ Fatal(...any) }, a, b []byte) bool {
	var x, y any
	if err := json.Unmarshal(a, &x); err != nil {
		t.Fatal(err, string(a))
	}
	if err := json.Unmarshal(b, &y); err != nil {
		t.Fatal(err, string(b))
	}
	return reflect.DeepEqual(x, y)
}

func TestForeign(t *testing.T) {
	owner, stranger := schemaOf(t, sum.Field(), words.Field()), schemaOf(t, last.Field())
	s := apply(t, stranger.New(), last.Update("x"), sum.Overwrite(10), sum.Update(1), words.Update([]string{"a"}), words.Update([]string{"b"}))
	want := `{"v":1,"values":{"last":"x"},"foreign":{` +
		`"sum":{"value":10,"updates":[{"key":"sum","value":1}]},` +
		`"words":{"updates":[{"key":"words","value":["a"]},{"key":"words","value":["b"]}]}}}`
	if got := encoded(t, s); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	older := s
	s = apply(t, s, sum.Update(2), words.Overwrite([]string{"only"}))
	if got := encoded(t, older); got != want {
		t.Errorf("the old state changed: %s", got)
	}
	n, err := s.As(owner)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(sum.In(n), words.In(n)); got != "13 [only]" {
		t.Errorf("got %s", got)
	}
	back, err := n.As(stranger)
	if err != nil {
		t.Fatal(err)
	}
	if last.In(back) != "x" || sum.In(back) != 0 {
		t.Error("last did not come back")
	}
}

// TestForeignProperty takes keys away from their owner and gives them back at random moments: at the end the state is as if the
// owner had never been away.
func TestForeignProperty(t *testing.T) {
	bags := [][]*state.Field{
		{sum.Field(), words.Field(), last.Field(), state.Messages.Field()},
		{},
		{sum.Field()},
		{words.Field(), state.Messages.Field()},
		{last.Field(), sum.Field()},
	}
	var schemas []*state.Schema
	for _, b := range bags {
		schemas = append(schemas, schemaOf(t, b...))
	}
	rapid.Check(t, func(t *rapid.T) {
		check := func(s state.State, err error) state.State {
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		home, away := schemas[0].New(), schemas[0].New()
		for range rapid.IntRange(0, 30).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				sc := rapid.SampledFrom(schemas).Draw(t, "schema")
				away = check(away.As(sc))
			case 1:
				sc := rapid.SampledFrom(schemas).Draw(t, "decoder")
				raw, err := away.Encode()
				if err != nil {
					t.Fatal(err)
				}
				away = check(sc.Decode(raw))
			default:
				us := rapid.SliceOfN(genUpdate, 1, 3).Draw(t, "updates")
				before, err := away.Encode()
				if err != nil {
					t.Fatal(err)
				}
				old := away
				home, away = check(home.Apply(us...)), check(away.Apply(us...))
				if after, err := old.Encode(); err != nil || !bytes.Equal(before, after) {
					t.Fatalf("an old state changed: %s, then %s, %v", before, after, err)
				}
			}
		}
		away = check(away.As(schemas[0]))
		a, err := home.Encode()
		if err != nil {
			t.Fatal(err)
		}
		b, err := away.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a, b) {
			t.Fatalf("at home %s\naway    %s", a, b)
		}
	})
}

var genUpdate = rapid.Custom(func(t *rapid.T) state.Update {
	n := rapid.IntRange(0, 9).Draw(t, "n")
	u := []state.Update{
		sum.Update(n), sum.Overwrite(n), words.Update([]string{fmt.Sprint("<&\u2028\"", n)}), words.Overwrite([]string{"w"}),
		last.Update(fmt.Sprint(n)), state.Append(text(fmt.Sprint("m", n%4), fmt.Sprint(n))),
		state.Messages.Update([]message.Change{message.Remove(fmt.Sprint("m", n%4))}),
		state.Messages.Update([]message.Change{message.RemoveAll(), message.Add(text("m0", "first"))}),
	}[rapid.IntRange(0, 7).Draw(t, "kind")]
	if !rapid.Bool().Draw(t, "raw") {
		return u
	}
	raw, err := u.Raw()
	if err != nil {
		t.Fatal(err)
	}
	return state.RawUpdate(u.Key, u.Overwrites, raw)
})

func text(id, s string) *message.Message {
	m := message.NewUser(s)
	m.ID = id
	return m
}

// TestEncodeProperty compares Encode with what encoding/json gives for the same values.
func TestEncodeProperty(t *testing.T) {
	sc := schemaOf(t, sum.Field(), words.Field(), state.Messages.Field())
	rapid.Check(t, func(t *rapid.T) {
		s, err := sc.New().Apply(rapid.SliceOf(genUpdate).Draw(t, "updates")...)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		values, err := s.Output()
		if err != nil {
			t.Fatal(err)
		}
		var whole map[string]json.RawMessage
		if err := json.Unmarshal(got, &whole); err != nil {
			t.Fatal(err)
		}
		want, err := json.Marshal(map[string]any{"v": 1, "values": values})
		if err != nil {
			t.Fatal(err)
		}
		delete(whole, "foreign")
		rest, err := json.Marshal(whole)
		if err != nil {
			t.Fatal(err)
		}
		if !sameJSON(t, rest, want) {
			t.Fatalf("got %s, want %s", rest, want)
		}
	})
}

// TestMessagesAssociative is harness.md 2.5: applying two batches is applying them joined.
func TestMessagesAssociative(t *testing.T) {
	sc := schemaOf(t, state.Messages.Field())
	change := rapid.Custom(func(t *rapid.T) message.Change {
		id := rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "id")
		switch rapid.IntRange(0, 4).Draw(t, "what") {
		case 0:
			return message.RemoveAll()
		case 1:
			return message.Remove(id)
		}
		return message.Add(text(id, fmt.Sprint(rapid.IntRange(0, 99).Draw(t, "n"))))
	})
	rapid.Check(t, func(t *rapid.T) {
		cs := rapid.SliceOf(change).Draw(t, "changes")
		cut := rapid.IntRange(0, len(cs)).Draw(t, "cut")
		joined, err := sc.New().Apply(state.Messages.Update(cs))
		if err != nil {
			t.Fatal(err)
		}
		apart, err := sc.New().Apply(state.Messages.Update(cs[:cut]), state.Messages.Update(cs[cut:]))
		if err != nil {
			t.Fatal(err)
		}
		a, aerr := joined.Encode()
		b, berr := apart.Encode()
		if aerr != nil || berr != nil || !bytes.Equal(a, b) {
			t.Fatalf("joined %s, apart %s", a, b)
		}
	})
}

func TestStamped(t *testing.T) {
	n := 0
	newID := func() string { n++; return fmt.Sprint("id", n) }
	orig := text("", "b")
	raw := json.RawMessage(`[{"add":{"role":"user","parts":[{"type":"text","text":"r"}]}},{"remove":"x"}]`)
	list := json.RawMessage(`[{"id":"k","role":"user"},{"role":"user"}]`)
	for _, c := range []struct {
		name string
		u    state.Update
		want string
	}{
		{"values", state.Append(text("a", "a"), orig), "a id1"},
		{"nothing to do", state.Append(text("a", "a")), "a"},
		{"raw", state.RawUpdate("messages", false, raw), "id2"},
		{"overwrite", state.Messages.Overwrite(message.NewList(text("", "x"), text("y", "y"))), "id3 y"},
		{"raw overwrite", state.RawUpdate("messages", true, list), "k id4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := apply(t, schemaOf(t, state.Messages.Field()).New(), c.u.Stamped(newID))
			var ids []string
			for _, m := range state.Messages.In(s).All() {
				ids = append(ids, m.ID)
			}
			if got := strings.Join(ids, " "); got != c.want {
				t.Errorf("ids %q, want %q", got, c.want)
			}
		})
	}
	if orig.ID != "" {
		t.Error("the message given was changed")
	}
	for _, u := range []state.Update{sum.Update(1), state.RawUpdate("messages", false, json.RawMessage(`5`))} {
		a, err := json.Marshal(u)
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(u.Stamped(newID))
		if err != nil || string(a) != string(b) {
			t.Errorf("%s became %s, %v", a, b, err)
		}
	}
	if n != 4 {
		t.Errorf("%d ids were made", n)
	}
}
