package message_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/deepagents-go/deepagents/message"
)

func ids(l message.List) string {
	var out []string
	for _, m := range l.All() {
		out = append(out, m.ID+":"+m.Text())
	}
	return strings.Join(out, " ")
}

func msg(id, text string) *message.Message {
	m := message.NewUser(text)
	m.ID = id
	return m
}

// TestListApply is harness.md 2.5 and its cases L29 and L30.
func TestListApply(t *testing.T) {
	base := message.NewList(msg("a", "1"), msg("b", "2"))
	for _, c := range []struct {
		name    string
		changes []message.Change
		want    string
	}{
		{"append", []message.Change{message.Add(msg("c", "3"))}, "a:1 b:2 c:3"},
		{"replace in place", []message.Change{message.Add(msg("a", "x"))}, "a:x b:2"},
		{"remove", []message.Change{message.Remove("a")}, "b:2"},
		{"remove unknown", []message.Change{message.Remove("zz")}, "a:1 b:2"},
		{"re-add after removal goes to the end", []message.Change{message.Remove("a"), message.Add(msg("a", "9"))}, "b:2 a:9"},
		{"without id is appended", []message.Change{message.Add(msg("", "n")), message.Add(msg("", "n"))}, "a:1 b:2 :n :n"},
		{
			"two remove-all markers keep what follows the last",
			[]message.Change{message.Add(msg("c", "3")), message.RemoveAll(), message.Add(msg("d", "4")), message.RemoveAll(), message.Add(msg("e", "5"))},
			"e:5",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := base.Apply(c.changes)
			if err != nil {
				t.Fatal(err)
			}
			if ids(got) != c.want {
				t.Errorf("got %q, want %q", ids(got), c.want)
			}
			if ids(base) != "a:1 b:2" {
				t.Errorf("the old list changed: %q", ids(base))
			}
		})
	}
	if _, err := base.Apply([]message.Change{{Add: msg("q", "q"), Remove: "a"}}); err == nil {
		t.Error("a change that adds and removes: no error")
	}
}

// TestListAssociative is case L31.
func TestListAssociative(t *testing.T) {
	change := rapid.Custom(func(t *rapid.T) message.Change {
		id := rapid.SampledFrom([]string{"", "a", "b", "c", "d"}).Draw(t, "id")
		switch rapid.IntRange(0, 5).Draw(t, "what") {
		case 0:
			return message.RemoveAll()
		case 1:
			return message.Remove(id)
		}
		return message.Add(msg(id, fmt.Sprint(rapid.IntRange(0, 99).Draw(t, "n"))))
	})
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOf(change).Draw(t, "changes")
		cut := rapid.IntRange(0, len(all)).Draw(t, "cut")
		whole, err := message.List{}.Apply(all)
		if err != nil {
			t.Fatal(err)
		}
		left, _ := message.List{}.Apply(all[:cut])
		both, _ := left.Apply(all[cut:])
		if ids(whole) != ids(both) {
			t.Fatalf("joined %q, in two steps %q", ids(whole), ids(both))
		}
	})
}

func TestListBranchesDoNotMix(t *testing.T) {
	base := message.NewList(msg("a", "1"))
	left, right := base.Append(msg("l", "L")), base.Append(msg("r", "R"))
	if ids(left) != "a:1 l:L" || ids(right) != "a:1 r:R" {
		t.Errorf("left %q, right %q", ids(left), ids(right))
	}
	if _, ok := left.Find("r"); ok {
		t.Error("left finds right's message")
	}
}

func TestMessageRoundTrip(t *testing.T) {
	m := &message.Message{
		ID: "m1", Role: message.Assistant, Finish: "tool_calls",
		Parts: message.Parts{
			message.Reasoning{Text: "hm", Provider: "anthropic", Opaque: json.RawMessage(`{"signature":"s=="}`)},
			message.Text{Text: "a <b> & \u2028"},
			message.Media{Kind: message.Image, MIME: "image/png", Data: []byte{0x89, 0x50}},
			message.ToolCall{ID: "c1", Name: "ls", Args: json.RawMessage(`{"path":"/"}`)},
			message.ParseCall("c2", "ls", `{"path":`),
			message.Opaque{Provider: "openai", Data: json.RawMessage(`{"x":[1,2]}`)},
		},
		Usage: &message.Usage{Input: 1, Output: 2, Total: 3},
		Meta:  map[string]json.RawMessage{"z": json.RawMessage("1"), "a": json.RawMessage("2")},
	}
	first, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var back message.Message
	if err := json.Unmarshal(first, &back); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(m, &back); d != "" {
		t.Error(d)
	}
	second, _ := json.Marshal(&back)
	if string(first) != string(second) {
		t.Errorf("not stable:\n%s\n%s", first, second)
	}
}

func TestUnknownPartIsAnError(t *testing.T) {
	var m message.Message
	if err := json.Unmarshal([]byte(`{"role":"user","parts":[{"type":"hologram"}]}`), &m); err == nil {
		t.Error("no error")
	}
}

func TestParseCall(t *testing.T) {
	for _, c := range []struct {
		args  string
		valid bool
	}{{"", true}, {" {} ", true}, {`{"a":1}`, true}, {`[1]`, false}, {`"x"`, false}, {`{"a":`, false}, {"null", false}} {
		call := message.ParseCall("c", "t", c.args)
		if got := call.Invalid == ""; got != c.valid {
			t.Errorf("%q: valid %v, want %v (%s)", c.args, got, c.valid, call.Invalid)
		}
		if !c.valid && call.Raw != c.args {
			t.Errorf("%q: the text that came is lost: %q", c.args, call.Raw)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"role":"user","parts":[{"type":"text","text":"x"}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var m message.Message
		if json.Unmarshal(b, &m) != nil {
			return
		}
		one, err := json.Marshal(&m)
		if err != nil {
			t.Skip() // raw values that hold invalid UTF-8 cannot be encoded again
		}
		var n message.Message
		if err := json.Unmarshal(one, &n); err != nil {
			t.Fatalf("cannot decode what was encoded: %v\n%s", err, one)
		}
		two, _ := json.Marshal(&n)
		if string(one) != string(two) {
			t.Fatalf("not stable:\n%s\n%s", one, two)
		}
	})
}

// BenchmarkListAppend2000 appends to a conversation of 2,000 messages.
func BenchmarkListAppend2000(b *testing.B) {
	var base message.List
	for i := range 2000 {
		base = base.Append(msg(fmt.Sprintf("%08d", i), "x"))
	}
	more := make([]*message.Message, 1000)
	for i := range more {
		more[i] = msg(fmt.Sprintf("new-%d", i), "y")
	}
	b.ReportAllocs()
	l, n := base, 0
	for b.Loop() {
		if n == len(more) {
			l, n = base, 0
		}
		l = l.Append(more[n])
		n++
	}
}
