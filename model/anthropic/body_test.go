package anthropic_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/anthropic"
)

var update = flag.Bool("update", false, "write the golden files")

func open(t testing.TB, o anthropic.Options) *anthropic.Model {
	t.Helper()
	if o.Model == "" {
		o.Model = "claude-sonnet-4-5"
	}
	m, err := anthropic.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

var tools = []model.Tool{
	{Name: "ls", Description: "Lists <a> directory.", Input: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)},
	{Name: "now"},
}

var png = message.Media{Kind: message.Image, MIME: "image/png", Data: []byte("\x89PNG\r\n\x1a\nx")}

func call(id, name, args string) message.ToolCall { return message.ParseCall(id, name, args) }

// conversations are the requests of the golden files.
func conversations() map[string]*model.Request {
	third := 1.0 / 3
	return map[string]*model.Request{
		"plain": {
			System:   message.Parts{message.Text{Text: "Be brief."}},
			Messages: []*message.Message{message.NewUser("hi \u2028 <b> \"q\" \xff")},
			Settings: model.Settings{Temperature: &third, MaxTokens: 77},
		},
		"empty system": {
			System:   message.Parts{message.Text{}, message.Text{Text: " \n"}},
			Messages: []*message.Message{message.NewUser("hi")},
		},
		"tools": {
			Messages: []*message.Message{
				message.NewUser("go"),
				{Role: message.Assistant, Parts: message.Parts{
					message.Text{Text: "I look."}, call("toolu_1", "ls", `{"path": "/a" }`), call("functions.ls:0", "ls", `{"path":`), call("toolu_2", "now", ""),
				}},
				message.NewTool(call("toolu_1", "ls", ""), message.Success, "a.txt"),
				message.NewTool(call("functions.ls:0", "ls", ""), message.Error, "bad arguments"),
				message.NewTool(call("toolu_2", "now", ""), message.Success, ""),
				message.NewUser("and now?"),
			},
			Tools: tools, Choice: "ls",
		},
		"repeated ids": {
			Messages: []*message.Message{
				message.NewUser("go"),
				{Role: message.Assistant, Parts: message.Parts{call("call_0", "now", "{}")}},
				message.NewTool(call("call_0", "now", ""), message.Success, "1"),
				{Role: message.Assistant, Parts: message.Parts{call("call_0", "now", "{}"), call("call_1", "now", "{}")}},
				message.NewTool(call("call_0", "now", ""), message.Success, "2"),
				message.NewTool(call("call_1", "now", ""), message.Success, "3"),
				{Role: message.Assistant, Parts: message.Parts{call("call_0_2", "now", "{}")}},
				message.NewTool(call("call_0_2", "now", ""), message.Success, "4"),
			},
			Tools: tools, Choice: "none",
		},
		"media": {
			Messages: []*message.Message{
				{Role: message.User, Parts: message.Parts{
					message.Text{Text: "see"},
					png,
					message.Media{Kind: message.Image, MIME: "image/tiff", Data: []byte("x"), Name: "t.tiff"},
					message.Media{Kind: message.Image, URL: "https://example.com/a.png", MIME: "image/png"},
					message.Media{Kind: message.File, MIME: "application/pdf", Data: []byte("%PDF-1.4"), Name: "d.pdf"},
					message.Media{Kind: message.File, MIME: "text/plain", Data: []byte("body"), Name: "n.txt"},
					message.Media{Kind: message.File, ID: "file_1"},
					message.Media{Kind: message.Audio, MIME: "audio/wav", Data: []byte("RIFF")},
				}},
				{Role: message.Assistant, Parts: message.Parts{call("c1", "now", "{}"), call("c2", "now", "{}")}},
				{Role: message.Tool, CallID: "c1", Status: message.Success, Parts: message.Parts{message.Text{Text: "shot"}, png}},
				{Role: message.Tool, CallID: "c2", Status: message.Error, Parts: message.Parts{png}},
			},
			Tools: tools,
		},
		"thinking": {
			Messages: []*message.Message{
				message.NewUser("hi"),
				{Role: message.Assistant, Parts: everythingParts},
				message.NewTool(message.ToolCall{ID: "toolu_1"}, message.Success, "a"),
				message.NewTool(message.ToolCall{ID: "toolu_2"}, message.Success, "b"),
			},
			Tools: tools, Settings: model.Settings{Effort: "medium", Temperature: &third},
		},
		"cache marks": {
			System: message.Parts{message.Text{Text: "one", Cache: true}, message.Text{Text: "two", Cache: true}},
			Messages: []*message.Message{
				{Role: message.User, Parts: message.Parts{message.Text{Text: "a", Cache: true}, message.Text{Text: "b"}}},
				{Role: message.Assistant, Parts: message.Parts{message.Text{Text: "c", Cache: true}, call("t", "now", "{}")}},
				{Role: message.Tool, CallID: "t", Parts: message.Parts{message.Text{Text: "d", Cache: true}}},
			},
			Tools: tools,
		},
		"schema": {
			Messages:   []*message.Message{message.NewUser("hi")},
			SchemaName: "answer", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","minimum":3}},"required":["n"]}`),
			Settings: model.Settings{Effort: "minimal"},
		},
	}
}

// TestBodies compares bodies with files that people have read.
func TestBodies(t *testing.T) {
	for name, r := range conversations() {
		for _, of := range []string{"claude-sonnet-4-5", "claude-opus-4-7"} {
			t.Run(name+" of "+of, func(t *testing.T) {
				body, err := open(t, anthropic.Options{Model: of}).Body(r)
				if err != nil {
					t.Fatal(err)
				}
				if err := checkRequest(body); err != nil {
					t.Errorf("the service would refuse it: %v", err)
				}
				var pretty bytes.Buffer
				if err := json.Indent(&pretty, body, "", " "); err != nil {
					t.Fatal(err)
				}
				pretty.WriteByte('\n')
				file := filepath.Join("testdata", strings.ReplaceAll(name, " ", "-")+"."+of+".json")
				if *update {
					if err := os.WriteFile(file, pretty.Bytes(), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(string(want), pretty.String()); d != "" {
					t.Error(d)
				}
			})
		}
	}
}

// TestPrefix: a longer conversation begins with the bytes of the shorter one.
func TestPrefix(t *testing.T) {
	m := open(t, anthropic.Options{})
	r := conversations()["tools"]
	full := r.Messages
	var before []byte
	for n := 1; n <= len(full); n++ {
		if n > 1 && n < 5 {
			continue // the calls are not all answered yet
		}
		next := *r
		next.Messages = full[:n]
		body, err := m.Body(&next)
		if err != nil {
			t.Fatal(err)
		}
		open, _, _ := bytes.Cut(before, []byte(`]}],"max_tokens"`))
		if !bytes.HasPrefix(body, open) {
			t.Errorf("with %d messages the body is\n%s\nand began before as\n%s", n, body, open)
		}
		before = body
	}
}

// TestMarkBlock: the mark at the end stands on the last block, once, and counts.
func TestMarkBlock(t *testing.T) {
	const mark = `,"cache_control":{"type":"ephemeral"}`
	m := open(t, anthropic.Options{MarkBlock: true})
	for name, want := range map[string]int{"plain": 1, "tools": 1, "cache marks": 4} {
		r := conversations()[name]
		body, err := m.Body(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := checkRequest(body); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if n := strings.Count(string(body), mark); n != want || !strings.Contains(string(body), mark+`}]}],"max_tokens"`) {
			t.Errorf("%s: %d marks, want %d with one at the end:\n%s", name, n, want, body)
		}
	}
}

func TestBadRequests(t *testing.T) {
	m, _ := serve(t, events(begin, end), anthropic.Options{})
	for name, r := range map[string]*model.Request{
		"schema": {Messages: hello.Messages, Schema: json.RawMessage(`[1]`)},
		"tool":   {Messages: hello.Messages, Tools: []model.Tool{{Name: "x", Input: json.RawMessage(`{"a":`)}}},
	} {
		_, err := ask(t.Context(), m, r)
		if e := new(model.Error); !asError(err, &e) || e.Kind != model.Invalid {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestAnyConversation: whatever the loop, its hooks and another provider leave behind, the service takes it.
func TestAnyConversation(t *testing.T) {
	models := []*anthropic.Model{
		open(t, anthropic.Options{}), open(t, anthropic.Options{Model: "claude-opus-4-7"}), open(t, anthropic.Options{NoCache: true, Model: "kimi"}),
		open(t, anthropic.Options{MarkBlock: true, Model: "us.anthropic.claude-opus-4-6-v1:0"}),
	}
	rapid.Check(t, func(t *rapid.T) {
		r := anyRequest(t)
		for _, m := range models {
			body, err := m.Body(r)
			if err != nil {
				t.Fatal(err)
			}
			if err := checkRequest(body); err != nil {
				t.Fatalf("%v\n%s", err, body)
			}
			again, err := m.Body(r)
			if err != nil || !bytes.Equal(body, again) {
				t.Fatalf("the second body differs (error %v):\n%s\n%s", err, body, again)
			}
		}
	})
}

func anyRequest(t *rapid.T) *model.Request {
	r := &model.Request{
		System: anyParts(t, message.System), Messages: []*message.Message{{Role: message.User, Parts: message.Parts{message.Text{Text: "task"}}}},
		Choice:   rapid.SampledFrom([]string{"", "any", "none", "ls"}).Draw(t, "choice"),
		Settings: model.Settings{Effort: rapid.SampledFrom([]string{"", "none", "low", "high", "max"}).Draw(t, "effort")},
	}
	if rapid.Bool().Draw(t, "tools") {
		r.Tools = tools
	}
	if rapid.Bool().Draw(t, "few tokens") {
		r.Settings.MaxTokens = rapid.IntRange(1, 4000).Draw(t, "max tokens")
	}
	if rapid.Bool().Draw(t, "temperature") {
		r.Settings.Temperature = new(float64)
	}
	if rapid.IntRange(0, 9).Draw(t, "begin") == 0 {
		r.Messages = nil
	}
	for range rapid.IntRange(1, 6).Draw(t, "turns") {
		r.Messages = append(r.Messages, anyTurn(t)...)
	}
	r.Messages = append(r.Messages, message.NewUser("last"))
	if rapid.IntRange(0, 4).Draw(t, "end") == 0 {
		r.Messages = r.Messages[:len(r.Messages)-1]
	}
	if len(r.Messages) == 0 {
		r.Messages = []*message.Message{message.NewUser("only")}
	}
	return r
}

func anyTurn(t *rapid.T) []*message.Message {
	a := &message.Message{Role: message.Assistant, Parts: anyParts(t, message.Assistant)}
	var rest []*message.Message
	for _, c := range a.Calls() {
		m := &message.Message{Role: message.Tool, CallID: c.ID, Name: c.Name, Parts: anyParts(t, message.Tool)}
		m.Status = rapid.SampledFrom([]message.Status{message.Success, message.Error}).Draw(t, "status")
		switch rapid.IntRange(0, 9).Draw(t, "result") {
		case 0: // lost
		case 1:
			rest = append(rest, m, message.NewUser("between"))
		case 2:
			rest = append(rest, m, m)
		case 3:
			rest = append([]*message.Message{m}, rest...)
		default:
			rest = append(rest, m)
		}
	}
	switch rapid.IntRange(0, 5).Draw(t, "then") {
	case 0:
		rest = append(rest, &message.Message{Role: message.User, Parts: anyParts(t, message.User)})
	case 1:
		rest = append(rest, &message.Message{Role: message.Tool, CallID: "orphan", Name: "x", Parts: anyParts(t, message.Tool)})
	case 2:
		return rest // the answer was removed, its results were not
	}
	return append([]*message.Message{a}, rest...)
}

func anyParts(t *rapid.T, role message.Role) message.Parts {
	var ps message.Parts
	ids := map[string]bool{}
	for i := range rapid.IntRange(0, 4).Draw(t, "parts") {
		switch rapid.IntRange(0, 7).Draw(t, "part") {
		case 0:
			ps = append(ps, message.Text{Text: rapid.SampledFrom([]string{"", " \n", "x", "\xff\u2028\""}).Draw(t, "text"), Cache: rapid.Bool().Draw(t, "cache")})
		case 1:
			ps = append(ps, rapid.SampledFrom([]message.Part{
				png,
				message.Media{Kind: message.Video, MIME: "video/mp4", URL: "https://x/v"},
				message.Media{Kind: message.File, MIME: "application/pdf", Data: []byte("%PDF")},
				message.Media{Kind: message.Image, Data: []byte("?")},
				message.Media{Kind: message.File, MIME: "application/zip", Data: []byte("PK")},
			}).Draw(t, "media"))
		case 2, 3:
			if role != message.Assistant {
				continue
			}
			ps = append(ps, rapid.SampledFrom([]message.Part{
				everythingParts[0], everythingParts[1],
				message.Reasoning{Text: "cut"},
				message.Reasoning{Text: "other", Provider: "openai", Opaque: json.RawMessage(`{"id":"rs"}`)},
				message.Opaque{Provider: "gemini", Data: json.RawMessage(`{}`)},
			}).Draw(t, "thought"))
		case 4, 5, 6:
			if role != message.Assistant {
				continue
			}
			id := rapid.SampledFrom([]string{"call_0", "call_1", "call_0_2", "a.b:1", "a.b:2", "ä", "", fmt.Sprint("u", i)}).Draw(t, "id")
			if ids[id] {
				continue // the loop gives the calls of one message different ids
			}
			ids[id] = true
			ps = append(ps, call(id, "ls", rapid.SampledFrom([]string{"", "{}", `{"path":"/"}`, `{"path`, "[1]"}).Draw(t, "args")))
		}
	}
	return ps
}

// long is a conversation of n messages of about a kilobyte.
func long(n int) *model.Request {
	r := &model.Request{System: message.Parts{message.Text{Text: strings.Repeat("system ", 1000), Cache: true}}, Tools: tools}
	text := strings.Repeat("some text with \"quotes\" and\nlines. ", 30)
	r.Messages = append(r.Messages, message.NewUser("task"))
	for i := 0; len(r.Messages) < n; i++ {
		id := fmt.Sprint("toolu_", i)
		r.Messages = append(r.Messages,
			&message.Message{Role: message.Assistant, Parts: message.Parts{message.Text{Text: text}, call(id, "ls", `{"path":"/"}`)}},
			message.NewTool(call(id, "ls", ""), message.Success, text))
	}
	return r
}

// BenchmarkBody2000 is the next request of a conversation of 2,000 messages: all but two are known.
func BenchmarkBody2000(b *testing.B) {
	m, r := open(b, anthropic.Options{}), long(2000)
	body, err := m.Body(r)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		n := len(r.Messages)
		next := *r
		next.Messages = append(r.Messages[:n-2:n-2], r.Messages[n-2].Clone(), r.Messages[n-1].Clone())
		if _, err := m.Body(&next); err != nil {
			b.Fatal(err)
		}
	}
}
