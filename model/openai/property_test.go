package openai_test

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/modeltest/wire"
	"github.com/deepagents-go/deepagents/model/openai"
)

// listener is a model that keeps the request and says ok.
type listener struct{ got *model.Request }

func (*listener) Name() string { return "test:listener" }

func (l *listener) Stream(_ context.Context, r *model.Request) iter.Seq2[model.Delta, error] {
	l.got = r
	return func(yield func(model.Delta, error) bool) {
		_ = yield(model.Delta{Text: "ok"}, nil) && yield(model.Delta{Finish: model.Stop}, nil)
	}
}

// direct sends requests to a handler without a network.
type direct struct{ http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w.Result(), nil
}

// hear returns a model and what its server understood last.
func hear(t testing.TB, o openai.Options) (*openai.Model, *listener) {
	l := &listener{}
	o.HTTPClient = &http.Client{Transport: direct{wire.New(wire.Options{Model: l})}}
	return open(t, o), l
}

var (
	genText = rapid.SampledFrom([]string{"", "a", "Error: no", "line\nline", "\"quoted\" <b>&\u2028 ä 世", "\xff\xfe"})
	genName = rapid.SampledFrom([]string{"ls", "read_file", "functions.ls", "", "mcp server/tool", "größe", strings.Repeat("n", 80)})
	genID   = rapid.SampledFrom([]string{"call_1", "call_2", "call_3", "functions.ls:0", strings.Repeat("x", 70)})
	genArgs = rapid.SampledFrom([]string{"", "{}", `{"path": "/a"}`, `{"path": /}`, "[1]", `{"pa`, "null", "\xff"})
	genPart = rapid.SampledFrom([]message.Part{
		message.Media{Kind: message.Image, MIME: "image/png", Data: []byte("png")},
		message.Media{Kind: message.Image, URL: "https://example.org/a.png"},
		message.Media{Kind: message.Image, ID: "file-1"},
		message.Media{Kind: message.Audio, MIME: "audio/wav", Data: []byte("wav")},
		message.Media{Kind: message.Audio, MIME: "audio/ogg", Data: []byte("ogg")},
		message.Media{Kind: message.Video, MIME: "video/mp4", Data: []byte("mp4")},
		message.Media{Kind: message.File, MIME: "application/pdf", Data: []byte("%PDF")},
		message.Media{Kind: message.File, MIME: "application/pdf", Data: []byte("%PDF"), Name: "a.pdf"},
		message.Media{Kind: message.File, MIME: "text/csv", Data: []byte("a,b"), Name: "a.csv"},
		message.Media{Kind: message.File, MIME: "application/zip", Data: []byte("PK")},
		message.Media{Kind: message.File, ID: "file-2"},
		message.Opaque{Provider: "other", Data: []byte(`{"type":"server_tool"}`)},
	})
	genThought = rapid.SampledFrom([]message.Part{
		message.Reasoning{Text: "nobody's"},
		message.Reasoning{Text: "another's", Provider: "other", Opaque: []byte(`{"signature":"s"}`)},
		message.Reasoning{Text: "chat", Provider: "openai", Opaque: []byte(`{"field":"reasoning_content"}`)},
		message.Reasoning{Text: "details", Provider: "openai", Opaque: []byte(`{"field":"reasoning_details","details":[{"type":"reasoning.text","text":"x"}]}`)},
		message.Reasoning{Text: "sealed", Provider: "openai", Opaque: []byte(`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"sealed:eA=="}`)},
		message.Reasoning{Provider: "openai", Opaque: []byte(`{"type":"reasoning","id":"rs_2","summary":[]}`)},
		message.Opaque{Provider: "openai", Data: []byte(`{"type":"message","id":"msg_1","phase":"commentary"}`)},
	})
)

// genAnswer is what a model may say. Ids are unique in it: the loop sees to that.
func genAnswer(t *rapid.T) *message.Message {
	m := &message.Message{Role: message.Assistant}
	ids := make(map[string]bool)
	for range rapid.IntRange(0, 5).Draw(t, "parts") {
		switch rapid.IntRange(0, 2).Draw(t, "part") {
		case 0:
			m.Parts = append(m.Parts, message.Text{Text: genText.Draw(t, "text")})
		case 1:
			m.Parts = append(m.Parts, genThought.Draw(t, "thought"))
		case 2:
			id := genID.Draw(t, "id")
			if !ids[id] {
				ids[id] = true
				m.Parts = append(m.Parts, message.ParseCall(id, genName.Draw(t, "name"), genArgs.Draw(t, "args")))
			}
		}
	}
	return m
}

func genParts(t *rapid.T) message.Parts {
	var ps message.Parts
	for range rapid.IntRange(0, 3).Draw(t, "n") {
		if rapid.Bool().Draw(t, "media") {
			ps = append(ps, genPart.Draw(t, "media"))
		} else {
			ps = append(ps, message.Text{Text: genText.Draw(t, "text")})
		}
	}
	return ps
}

// genTurn is an answer with the results of its calls, and what may come between them: a person's words, a system message, a
// result that is missing, late or there twice.
func genTurn(t *rapid.T) []*message.Message {
	m := genAnswer(t)
	msgs := []*message.Message{m}
	for _, c := range m.Calls() {
		if rapid.IntRange(0, 9).Draw(t, "lost") == 0 {
			continue
		}
		status := rapid.SampledFrom([]message.Status{message.Success, message.Error}).Draw(t, "status")
		r := &message.Message{Role: message.Tool, Name: c.Name, CallID: c.ID, Status: status, Parts: genParts(t)}
		at := rapid.IntRange(1, len(msgs)).Draw(t, "place")
		msgs = append(msgs[:at], append([]*message.Message{r}, msgs[at:]...)...)
		if rapid.IntRange(0, 4).Draw(t, "between") == 0 {
			role := rapid.SampledFrom([]message.Role{message.User, message.System}).Draw(t, "role")
			msgs = append(msgs, &message.Message{Role: role, Parts: genParts(t)})
		}
	}
	return msgs
}

func genConversation(t *rapid.T) []*message.Message {
	msgs := []*message.Message{message.NewUser("begin")}
	if rapid.IntRange(0, 5).Draw(t, "orphan") == 0 {
		msgs = append(msgs, &message.Message{Role: message.Tool, Name: "ls", CallID: "gone", Parts: genParts(t)})
	}
	for range rapid.IntRange(1, 5).Draw(t, "turns") {
		msgs = append(msgs, genTurn(t)...)
		if rapid.Bool().Draw(t, "user") {
			msgs = append(msgs, &message.Message{Role: message.User, Parts: genParts(t)})
		}
	}
	return msgs
}

func genRequest(t *rapid.T) *model.Request {
	r := &model.Request{Messages: genConversation(t), Attempt: 1, Tools: []model.Tool{
		{Name: "ls", Description: "Lists."}, {Name: "mcp.read", Description: "", Input: []byte(`{"type":"object"}`)},
	}}
	r.Choice = rapid.SampledFrom([]string{"", "any", "none", "ls", "mcp.read"}).Draw(t, "choice")
	if rapid.Bool().Draw(t, "no tools") {
		r.Tools = nil
	}
	r.System = genParts(t)
	r.Schema = rapid.SampledFrom([][]byte{
		nil, []byte(`{"type":"object","properties":{"a":{"type":"string"}}}`),
		[]byte(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`),
	}).Draw(t, "schema")
	return r
}

// TestEveryConversationIsLegal: whatever the loop can produce becomes a request that the rules of the dialect accept, and no
// call, result or text is lost.
func TestEveryConversationIsLegal(t *testing.T) {
	all := &model.Profile{Image: true, Audio: true, Video: true, PDF: true, ToolMedia: true}
	for name, o := range map[string]openai.Options{
		"chat":                  {},
		"chat, all media":       {Profile: all},
		"chat, no media":        {Profile: &model.Profile{}},
		"chat, quirks":          {Quirks: openai.Quirks{MaxTokens: true, ShortCallIDs: true, SystemFirst: true, ReasoningField: "reasoning_content", NoUsage: true}},
		"responses":             {API: openai.Responses, Model: "gpt-5"},
		"responses, media":      {API: openai.Responses, Profile: all},
		"responses, user media": {API: openai.Responses, Profile: &model.Profile{Image: true, PDF: true}},
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				m, heard := hear(t, o)
				r := genRequest(rt)
				if _, err := ask(t.Context(), m, r); err != nil {
					rt.Fatal(err)
				}
				if d := lost(r.Messages, heard.got.Messages); d != "" {
					rt.Fatal(d)
				}
			})
		})
	}
}

// lost says what of a conversation did not arrive.
func lost(sent, got []*message.Message) string {
	var texts []string
	sentCalls, gotCalls := 0, 0
	for _, m := range got {
		gotCalls += len(m.Calls())
		texts = append(texts, m.Text())
	}
	all := strings.Join(texts, "\n\n")
	answered := make(map[string]bool)
	for _, m := range sent {
		calls := m.Calls()
		sentCalls += len(calls)
		if m.Role == message.Assistant {
			answered = make(map[string]bool)
		}
		if m.Role == message.Tool && answered[m.CallID] {
			continue
		}
		answered[m.CallID] = true
		for _, p := range m.Parts {
			if t, ok := p.(message.Text); ok && !strings.Contains(all, strings.ToValidUTF8(t.Text, "\ufffd")) && !strings.Contains(t.Text, "\xff") {
				return fmt.Sprintf("the text %q of a %s message did not arrive", t.Text, m.Role)
			}
		}
	}
	if sentCalls != gotCalls {
		return fmt.Sprintf("%d calls arrived, want %d", gotCalls, sentCalls)
	}
	return ""
}
