package message_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/deepagents-go/deepagents/message"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// plain is a Message whose encoding is left to encoding/json.
type plain struct {
	ID       string                     `json:"id,omitempty"`
	Role     message.Role               `json:"role"`
	Name     string                     `json:"name,omitempty"`
	Parts    []any                      `json:"parts,omitempty"`
	CallID   string                     `json:"call_id,omitempty"`
	Status   message.Status             `json:"status,omitempty"`
	Artifact json.RawMessage            `json:"artifact,omitempty"`
	Usage    *message.Usage             `json:"usage,omitempty"`
	Finish   string                     `json:"finish,omitempty"`
	Meta     map[string]json.RawMessage `json:"meta,omitempty"`
}

func plainPart(p message.Part) any {
	switch p := p.(type) {
	case message.Text:
		return struct {
			Type string `json:"type"`
			message.Text
		}{"text", p}
	case message.Media:
		return struct {
			Type string `json:"type"`
			message.Media
		}{string(p.Kind), p}
	case message.Reasoning:
		return struct {
			Type string `json:"type"`
			message.Reasoning
		}{"reasoning", p}
	case message.ToolCall:
		return struct {
			Type string `json:"type"`
			message.ToolCall
		}{"tool_call", p}
	case message.Opaque:
		return struct {
			Type string `json:"type"`
			message.Opaque
		}{"opaque", p}
	}
	panic("unknown part")
}

func toPlain(m *message.Message) plain {
	p := plain{
		ID: m.ID, Role: m.Role, Name: m.Name, CallID: m.CallID, Status: m.Status, Artifact: m.Artifact, Usage: m.Usage,
		Finish: m.Finish, Meta: m.Meta,
	}
	for _, x := range m.Parts {
		p.Parts = append(p.Parts, plainPart(x))
	}
	return p
}

var (
	genText = rapid.OneOf(rapid.Just(""), rapid.String(), rapid.SampledFrom([]string{"<a> & b", "\u2028\u2029", "\xff\xc3", "\x00\x1f\x7f", `"\`, "\U0001F600"}))
	genRaw  = rapid.SampledFrom([]string{"", "null", "1", `"<&>"`, `{"a":[1, 2.50],"b":{}}`, `[]`, `"\ud800"`})
	genPart = rapid.Custom(func(t *rapid.T) message.Part {
		s, u := genText.Draw(t, "s"), genText.Draw(t, "u")
		raw := json.RawMessage(genRaw.Draw(t, "raw"))
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			return message.Text{Text: s, Cache: rapid.Bool().Draw(t, "cache")}
		case 1:
			kind := rapid.SampledFrom([]message.MediaKind{message.Image, message.Audio, message.Video, message.File}).Draw(t, "media")
			return message.Media{Kind: kind, MIME: s, Data: rapid.SliceOf(rapid.Byte()).Draw(t, "data"), URL: u, ID: s, Name: u}
		case 2:
			return message.Reasoning{Text: s, Provider: u, Opaque: raw}
		case 3:
			return message.ToolCall{ID: s, Name: u, Args: raw, Raw: u, Invalid: s, Provider: u, Opaque: raw}
		}
		if len(raw) == 0 {
			raw = json.RawMessage("{}")
		}
		return message.Opaque{Provider: s, Data: raw}
	})
	genMessage = rapid.Custom(func(t *rapid.T) *message.Message {
		m := &message.Message{
			ID: genText.Draw(t, "id"), Role: message.Role(genText.Draw(t, "role")), Name: genText.Draw(t, "name"),
			Parts: rapid.SliceOfN(genPart, 0, 4).Draw(t, "parts"), CallID: genText.Draw(t, "call"),
			Status: message.Status(genText.Draw(t, "status")), Artifact: json.RawMessage(genRaw.Draw(t, "artifact")),
			Finish: genText.Draw(t, "finish"),
		}
		if rapid.Bool().Draw(t, "usage") {
			m.Usage = &message.Usage{Input: rapid.Int().Draw(t, "input"), Total: 5, Reasoning: rapid.IntRange(0, 1).Draw(t, "reasoning")}
		}
		for range rapid.IntRange(0, 2).Draw(t, "metas") {
			if m.Meta == nil {
				m.Meta = map[string]json.RawMessage{}
			}
			m.Meta[rapid.StringMatching(`[a-z<]{1,3}`).Draw(t, "key")] = json.RawMessage("[1]")
		}
		return m
	})
)

// TestAppendJSON compares the encoding by hand with the one of encoding/json: same meaning, same order of the fields.
func TestAppendJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := genMessage.Draw(t, "message")
		got, err := m.AppendJSON([]byte("x"))
		if err != nil {
			t.Fatal(err)
		}
		got = got[1:]
		want, err := json.Marshal(toPlain(m))
		if err != nil {
			t.Fatal(err)
		}
		var a, b any
		if err := json.Unmarshal(got, &a); err != nil {
			t.Fatalf("%v: %s", err, got)
		}
		if err := json.Unmarshal(want, &b); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
		// encoding/json compacts and escapes what a MarshalJSON returns, so that these two are equal byte by byte
		marshalled, err := json.Marshal(m)
		if err != nil || string(marshalled) != string(want) {
			t.Fatalf("got  %s\nwant %s\n%v", marshalled, want, err)
		}
	})
}

// TestRawParts holds that bytes which a provider wants back are not touched.
func TestRawParts(t *testing.T) {
	const odd = `{ "b":1.50,  "a":"<&\u00e9>" }`
	m := &message.Message{Role: message.Assistant, Parts: message.Parts{message.Opaque{Provider: "p", Data: json.RawMessage(odd)}}}
	raw, err := m.AppendJSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	var back message.Message
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatal(err)
	}
	if got := string(back.Parts[0].(message.Opaque).Data); got != odd {
		t.Errorf("got %s", got)
	}
}

func TestEncodeErrors(t *testing.T) {
	bad := json.RawMessage(`{"a":`)
	for _, m := range []*message.Message{
		{Artifact: bad},
		{Meta: map[string]json.RawMessage{"k": bad}},
		{Parts: message.Parts{message.ToolCall{Args: bad}}},
		{Parts: message.Parts{message.ToolCall{Opaque: bad}}},
		{Parts: message.Parts{message.Reasoning{Opaque: bad}}},
		{Parts: message.Parts{message.Opaque{Data: bad}}},
		{Parts: message.Parts{nil}},
	} {
		if _, err := m.AppendJSON(nil); err == nil {
			t.Errorf("%+v: no error", m)
		}
		if _, err := message.NewList(m).AppendJSON(nil); err == nil {
			t.Errorf("list of %+v: no error", m)
		}
	}
}

func TestNull(t *testing.T) {
	var m *message.Message
	for _, c := range []struct {
		v    any
		want string
	}{{m, "null"}, {message.List{}, "[]"}, {message.Parts(nil), "null"}, {message.Parts{}, "[]"}} {
		if raw, err := json.Marshal(c.v); err != nil || string(raw) != c.want {
			t.Errorf("%T: got %s, %v; want %s", c.v, raw, err, c.want)
		}
	}
	if raw, err := m.AppendJSON(nil); err != nil || string(raw) != "null" {
		t.Errorf("got %s, %v", raw, err)
	}
	var l message.List
	if err := json.Unmarshal([]byte(`[{"role":"user"},null]`), &l); err == nil {
		t.Error("null in a list is accepted")
	}
	if err := json.Unmarshal([]byte(`null`), &l); err != nil || l.Len() != 0 || l.Last() != nil {
		t.Errorf("null list: %v", err)
	}
	var ps message.Parts
	if err := json.Unmarshal([]byte(`[null]`), &ps); err == nil {
		t.Error("null in a list of parts is accepted")
	}
}

// TestListConcurrent has readers of a list while others append to it and branch off, for the race detector.
func TestListConcurrent(t *testing.T) {
	base := message.NewList()
	for i := range 100 {
		base = base.Append(msg(fmt.Sprint("base", i), "x"))
	}
	want := ids(base)
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			l := base
			for i := range 50 {
				id := fmt.Sprint("w", w, ".", i)
				l = l.Append(msg(id, "y"))
				if i%10 == 9 {
					l = l.Append(msg(fmt.Sprint("base", i), "changed"))
				}
				if m, ok := l.Find(id); !ok || m.ID != id {
					t.Errorf("%s is not found", id)
				}
				other := fmt.Sprint("w", (w+1)%8, ".", i)
				if _, ok := l.Find(other); ok {
					t.Errorf("%s is found on another branch", other)
				}
			}
			if l.Len() != 150 {
				t.Errorf("%d messages", l.Len())
			}
			for i := range 50 {
				if got, id := l.At(100+i).ID, fmt.Sprint("w", w, ".", i); got != id {
					t.Errorf("message %d is %s, want %s", i, got, id)
				}
			}
		})
		wg.Go(func() {
			for range 50 {
				if ids(base) != want {
					t.Error("the base changed")
					return
				}
				if _, ok := base.Find("base99"); !ok {
					t.Error("base99 is not found")
				}
			}
		})
	}
	wg.Wait()
	if ids(base) != want || base.Remove("base0").Len() != 99 || base.Len() != 100 {
		t.Error("the base changed")
	}
}

func TestAccessors(t *testing.T) {
	l := message.NewList(msg("a", "1"), msg("b", "2"))
	if l.Last().ID != "b" || len(l.Slice()) != 2 || cap(l.Slice()) != 2 {
		t.Error("last or slice")
	}
	m := &message.Message{
		Parts: message.Parts{message.Text{Text: "1"}, message.ToolCall{ID: "c"}, message.Text{Text: "2"}, message.ParseCall("d", "x", "{")},
		Usage: &message.Usage{Input: 1}, Meta: map[string]json.RawMessage{"k": nil},
	}
	if m.Text() != "1\n2" || len(m.Calls()) != 2 || m.Calls()[1].Invalid == "" {
		t.Errorf("text %q, calls %v", m.Text(), m.Calls())
	}
	c := m.Clone()
	c.Usage.Input, c.Meta["k"], c.Parts[0] = 9, json.RawMessage("1"), message.Text{Text: "9"}
	if m.Usage.Input != 1 || m.Meta["k"] != nil || m.Text() != "1\n2" {
		t.Error("the clone shares something")
	}
	tm := message.NewTool(message.ToolCall{ID: "c", Name: "ls"}, message.Error, "x")
	if tm.CallID != "c" || tm.Name != "ls" || tm.Status != message.Error || tm.Role != message.Tool || tm.Text() != "x" {
		t.Errorf("%+v", tm)
	}
	sum := message.Usage{Input: 1, Output: 2, Total: 3, CacheRead: 4, CacheWrite: 5, Reasoning: 6}.Add(message.Usage{Input: 10, Output: 10, Total: 10, CacheRead: 10, CacheWrite: 10, Reasoning: 10})
	if got := fmt.Sprint(sum); got != "{11 12 13 14 15 16}" {
		t.Errorf("usage %s", got)
	}
	if !strings.HasPrefix(fmt.Sprint(message.NewSystem("s").Role, message.NewAssistant("a").Role), "systemassistant") {
		t.Error("roles")
	}
}

func FuzzDecodeList(f *testing.F) {
	f.Add([]byte(`[{"id":"a","role":"user"},{"id":"a","role":"tool"},{"role":"user","parts":[{"type":"file","data":"AA=="}]}]`))
	f.Add([]byte(`[null]`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var l message.List
		if json.Unmarshal(b, &l) != nil {
			return
		}
		one, err := l.AppendJSON(nil)
		if err != nil {
			t.Fatalf("cannot encode what was decoded: %v", err)
		}
		var m message.List
		if err := json.Unmarshal(one, &m); err != nil {
			t.Fatalf("cannot decode what was encoded: %v\n%s", err, one)
		}
		if two, err := m.AppendJSON(nil); err != nil || string(one) != string(two) {
			t.Fatalf("not stable: %v\n%s\n%s", err, one, two)
		}
	})
}
