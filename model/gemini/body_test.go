package gemini_test

import (
	"bytes"
	"encoding/json"
	"errors"
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
	"github.com/deepagents-go/deepagents/model/gemini"
)

var update = flag.Bool("update", false, "write the golden files")

var tools = []model.Tool{
	{Name: "ls", Description: "Lists <a> directory.", Input: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)},
	{Name: "now", Input: json.RawMessage(`{"type":"object"}`)},
}

var (
	png = message.Media{Kind: message.Image, MIME: "image/png", Data: []byte("\x89PNG\r\n\x1a\nx")}
	pdf = message.Media{Kind: message.File, MIME: "application/pdf", Data: []byte("%PDF-1.4"), Name: "d.pdf"}
)

func call(id, name, args string) message.ToolCall { return message.ParseCall(id, name, args) }

// conversations are the requests of the golden files.
func conversations() map[string]*model.Request {
	third := 1.0 / 3
	return map[string]*model.Request{
		"plain": {
			System:   message.Parts{message.Text{Text: "Be brief."}, message.Text{}},
			Messages: []*message.Message{message.NewUser("hi \u2028 <b> \"q\" \xff")},
			Settings: model.Settings{Temperature: &third, MaxTokens: 77, Effort: "high"},
		},
		"tools": {
			System: message.Parts{message.Text{}},
			Messages: []*message.Message{
				message.NewUser("go"),
				{Role: message.Assistant, Parts: message.Parts{
					message.Text{Text: "I look."}, call("c1", "ls", `{"path": "/a" }`), call("c2", "ls", `{"path":`), call("c3", "now", ""),
				}},
				message.NewTool(call("c1", "ls", ""), message.Success, "a.txt"),
				message.NewTool(call("c2", "ls", ""), message.Error, "bad arguments"),
				message.NewTool(call("c3", "now", ""), message.Success, ""),
				message.NewUser("and now?"),
			},
			Tools: tools, Choice: "ls",
		},
		"media": {
			Messages: []*message.Message{
				{Role: message.User, Parts: message.Parts{
					message.Text{Text: "see"},
					png, pdf,
					message.Media{Kind: message.Image, MIME: "image/gif", Data: []byte("GIF8"), Name: "g.gif"},
					message.Media{Kind: message.Video, MIME: "video/mp4", URL: "https://example.com/v.mp4"},
					message.Media{Kind: message.Audio, MIME: "audio/wav", Data: []byte("RIFF")},
					message.Media{Kind: message.File, MIME: "text/plain", Data: []byte("body"), Name: "n.txt"},
				}},
				{Role: message.Assistant, Parts: message.Parts{call("c1", "now", "{}"), call("c2", "now", "{}")}},
				{Role: message.Tool, Name: "now", CallID: "c1", Status: message.Success, Parts: message.Parts{message.Text{Text: "shot"}, png}},
				{Role: message.Tool, CallID: "c2", Status: message.Error, Parts: message.Parts{pdf, message.Media{Kind: message.Image, MIME: "image/gif"}}},
				message.NewUser("so?"),
			},
			Tools: tools, Choice: "any",
		},
		"signatures": {
			Messages: append([]*message.Message{message.NewUser("hi"), {Role: message.Assistant, Parts: everythingParts}}, results()...),
			Tools:    tools, Choice: "none", Settings: model.Settings{Effort: "none"},
		},
		"schema": {
			Messages:   []*message.Message{message.NewUser("hi")},
			SchemaName: "answer", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`),
		},
	}
}

// TestBodies compares bodies with files that people have read.
func TestBodies(t *testing.T) {
	for name, r := range conversations() {
		for _, of := range []string{"gemini-2.5-flash", "gemini-3-pro"} {
			t.Run(name+" of "+of, func(t *testing.T) {
				body, err := open(t, gemini.Options{Model: of}).Body(r)
				if err != nil {
					t.Fatal(err)
				}
				if err := checkRequest(of, body); err != nil {
					t.Errorf("the service would refuse it: %v", err)
				}
				var pretty bytes.Buffer
				if err := json.Indent(&pretty, body, "", " "); err != nil {
					t.Fatal(err)
				}
				pretty.WriteByte('\n')
				file := filepath.Join("testdata", name+"."+of+".json")
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
	m, r := open(t, gemini.Options{}), conversations()["tools"]
	var before []byte
	for _, n := range []int{1, 5, 6} {
		next := *r
		next.Messages = r.Messages[:n]
		body, err := m.Body(&next)
		if err != nil {
			t.Fatal(err)
		}
		open, _, _ := bytes.Cut(before, []byte(`]}],"tool`))
		if !bytes.HasPrefix(body, open) {
			t.Errorf("with %d messages the body is\n%s\nand began before as\n%s", n, body, open)
		}
		before = body
	}
}

func TestBadRequests(t *testing.T) {
	m := open(t, gemini.Options{Model: "gemini-2.5-pro"})
	for name, r := range map[string]*model.Request{
		"schema":            {Messages: hello.Messages, Schema: json.RawMessage(`[1]`)},
		"schema with tools": {Messages: hello.Messages, Schema: json.RawMessage(`{}`), Tools: tools},
		"tool":              {Messages: hello.Messages, Tools: []model.Tool{{Name: "x", Input: json.RawMessage(`{"a":`)}}},
	} {
		_, err := ask(t.Context(), m, r)
		var e *model.Error
		if !errors.As(err, &e) || e.Kind != model.Invalid {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestAnyConversation: whatever the loop, its hooks and another provider leave behind, the service takes it.
func TestAnyConversation(t *testing.T) {
	models := map[string]*gemini.Model{}
	for _, n := range []string{"gemini-2.5-flash", "gemini-3-pro", "gemma-3-27b"} {
		models[n] = open(t, gemini.Options{Model: n})
	}
	rapid.Check(t, func(t *rapid.T) {
		r := anyRequest(t)
		for name, m := range models {
			body, err := m.Body(r)
			if err != nil {
				t.Fatal(err)
			}
			if err := checkRequest(name, body); err != nil {
				t.Fatalf("%s: %v\n%s", name, err, body)
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
		Settings: model.Settings{Effort: rapid.SampledFrom([]string{"", "none", "minimal", "low", "high", "max"}).Draw(t, "effort")},
	}
	switch rapid.IntRange(0, 2).Draw(t, "tools") {
	case 0:
		r.Tools = tools
	case 1:
		r.Schema = json.RawMessage(`{"type":"object"}`)
	}
	if rapid.IntRange(0, 9).Draw(t, "begin") == 0 {
		r.Messages = nil
	}
	for range rapid.IntRange(1, 6).Draw(t, "turns") {
		r.Messages = append(r.Messages, anyTurn(t)...)
	}
	if rapid.IntRange(0, 4).Draw(t, "end") != 0 || len(r.Messages) == 0 {
		r.Messages = append(r.Messages, message.NewUser("last"))
	}
	for _, m := range r.Messages {
		if m.Role != message.System && len(m.Text()) > 0 {
			return r
		}
	}
	r.Messages = append(r.Messages, message.NewUser("only"))
	return r
}

func anyTurn(t *rapid.T) []*message.Message {
	a := &message.Message{Role: message.Assistant, Parts: anyParts(t, message.Assistant)}
	var rest []*message.Message
	for _, c := range a.Calls() {
		m := &message.Message{Role: message.Tool, CallID: c.ID, Parts: anyParts(t, message.Tool)}
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
	for i := range rapid.IntRange(0, 4).Draw(t, "parts") {
		switch rapid.IntRange(0, 7).Draw(t, "part") {
		case 0:
			ps = append(ps, message.Text{Text: rapid.SampledFrom([]string{"", " \n", "x", "\xff\u2028\""}).Draw(t, "text")})
		case 1:
			ps = append(ps, rapid.SampledFrom([]message.Part{
				png, pdf,
				message.Media{Kind: message.Video, MIME: "video/mp4", URL: "https://x/v"},
				message.Media{Kind: message.Image, Data: []byte("?")},
				message.Media{Kind: message.File, MIME: "application/zip", Data: []byte("PK")},
				message.Media{Kind: message.Image, MIME: "image/png"},
			}).Draw(t, "media"))
		case 2, 3:
			if role == message.Assistant {
				ps = append(ps, rapid.SampledFrom([]message.Part{
					everythingParts[0], everythingParts[2], everythingParts[3], everythingParts[8],
					message.Reasoning{Text: "cut"},
					message.Reasoning{Text: "other", Provider: "openai", Opaque: json.RawMessage(`{"id":"rs"}`)},
					opaque(`{}`),
					message.Opaque{Provider: "anthropic", Data: json.RawMessage(`{"type":"redacted_thinking"}`)},
				}).Draw(t, "thought"))
			}
		case 4, 5, 6:
			if role == message.Assistant {
				c := call(fmt.Sprint("c", i), rapid.SampledFrom([]string{"ls", "now"}).Draw(t, "name"), rapid.SampledFrom([]string{"", "{}", `{"path":"/"}`, `{"path`, "[1]"}).Draw(t, "args"))
				if rapid.Bool().Draw(t, "signed") {
					c.Provider, c.Opaque = "google_genai", json.RawMessage(rapid.SampledFrom([]string{`{"thoughtSignature":"cw=="}`, `{"id":"x"}`}).Draw(t, "kept"))
				}
				ps = append(ps, c)
			}
		}
	}
	return ps
}

// BenchmarkBody2000 is the next request of a conversation of 2,000 messages, as this package and then the SDK build it.
func BenchmarkBody2000(b *testing.B) {
	r := &model.Request{System: message.Parts{message.Text{Text: strings.Repeat("system ", 1000)}}, Tools: tools}
	text := strings.Repeat("some text with \"quotes\" and\nlines. ", 30)
	r.Messages = append(r.Messages, message.NewUser("task"))
	for i := 0; len(r.Messages) < 2000; i++ {
		id := fmt.Sprint("c", i)
		r.Messages = append(r.Messages,
			&message.Message{Role: message.Assistant, Parts: message.Parts{message.Text{Text: text}, call(id, "ls", `{"path":"/"}`)}},
			message.NewTool(call(id, "ls", ""), message.Success, text))
	}
	m := open(b, gemini.Options{})
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
