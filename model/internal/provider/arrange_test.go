package provider_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model/internal/provider"
)

func answer(ids ...string) *message.Message {
	m := &message.Message{Role: message.Assistant, Parts: message.Parts{message.Text{Text: "say"}}}
	for _, id := range ids {
		m.Parts = append(m.Parts, message.ToolCall{ID: id, Name: "ls"})
	}
	return m
}

func result(id string) *message.Message {
	return message.NewTool(message.ToolCall{ID: id, Name: "ls"}, message.Success, "result "+id)
}

func TestArrange(t *testing.T) {
	user := message.NewUser("hi")
	note := message.NewSystem("note")
	missing := message.NewTool(message.ToolCall{ID: "b", Name: "ls"}, message.Error, provider.NoResult)
	lone := &message.Message{Role: message.User, Parts: message.Parts{
		message.Text{Text: "Result of an earlier call of ls:"}, message.Text{Text: "result z"},
	}}
	for name, c := range map[string]struct{ in, want []*message.Message }{
		"in order":       {[]*message.Message{user, answer("a", "b"), result("a"), result("b"), user}, nil},
		"other order":    {[]*message.Message{answer("a", "b"), result("b"), result("a")}, []*message.Message{answer("a", "b"), result("a"), result("b")}},
		"words between":  {[]*message.Message{answer("a", "b"), result("a"), user, result("b"), note}, []*message.Message{answer("a", "b"), result("a"), result("b"), user, note}},
		"missing":        {[]*message.Message{answer("a", "b"), result("a"), user}, []*message.Message{answer("a", "b"), result("a"), missing, user}},
		"none at end":    {[]*message.Message{answer("b")}, []*message.Message{answer("b"), missing}},
		"twice":          {[]*message.Message{answer("a"), result("a"), result("a")}, []*message.Message{answer("a"), result("a")}},
		"without a call": {[]*message.Message{result("z"), user, answer("a"), result("z"), result("a")}, []*message.Message{lone, user, answer("a"), result("a"), lone}},
		"ids again":      {[]*message.Message{answer("a"), result("a"), answer("a"), result("a")}, nil},
		"empty":          {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			want := c.want
			if want == nil {
				want = c.in
			}
			got := provider.Arrange(c.in)
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
			if c.want == nil && len(got) > 0 && &got[0] != &c.in[0] {
				t.Error("a conversation in order was copied")
			}
		})
	}
}

func TestCache(t *testing.T) {
	var c provider.Cache[string]
	made := 0
	use := func(size int, ms ...*message.Message) string {
		var out []string
		c.Each(ms, func(m *message.Message) (string, int) { made++; return m.Text(), size }, func(m *message.Message, v string) {
			if v != m.Text() {
				t.Errorf("%q was kept for %q", v, m.Text())
			}
			out = append(out, v)
		})
		return strings.Join(out, " ")
	}
	a, b := message.NewUser("a"), message.NewUser("b")
	if got := use(1, a, b, a); got != "a b a" || made != 2 {
		t.Errorf("%q after %d encodings", got, made)
	}
	if use(1, b, a); made != 2 {
		t.Errorf("%d encodings, want 2", made)
	}
	big := []*message.Message{message.NewUser("1"), message.NewUser("2"), message.NewUser("3")}
	for _, m := range big {
		use(40<<20, m)
	}
	made = 0
	if use(1, a); made != 1 {
		t.Error("what was not used for long is still kept")
	}
	if use(40<<20, big[2]); made != 1 {
		t.Error("what was used last is gone")
	}
}

func TestMedia(t *testing.T) {
	for _, c := range []struct {
		m    message.Media
		text string
		ok   bool
	}{
		{message.Media{Kind: message.File, MIME: "text/csv; charset=utf-8", Data: []byte("a,b"), Name: "a.csv"}, "[a.csv]\na,b", true},
		{message.Media{Kind: message.File, MIME: "application/json", Data: []byte("{}")}, "[application/json]\n{}", true},
		{message.Media{Kind: message.File, MIME: "text/plain", Data: []byte{0xff}}, "", false},
		{message.Media{Kind: message.File, MIME: "application/zip", Data: []byte("PK")}, "", false},
		{message.Media{Kind: message.Image, MIME: "image/svg+xml", Data: []byte("<svg/>")}, "", false},
	} {
		if text, ok := provider.Document(c.m); text != c.text || ok != c.ok {
			t.Errorf("%v: %q, %v", c.m, text, ok)
		}
	}
	got := provider.LeftOut(message.Media{Kind: message.Video, MIME: "video/mp4", Name: "a.mp4"})
	if got != `[video "a.mp4" (video/mp4) left out: this model does not take it]` {
		t.Error(got)
	}
}
