package anthropic_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/anthropic"
	"github.com/deepagents-go/deepagents/model/modeltest"
	"github.com/deepagents-go/deepagents/model/modeltest/wire"
	"github.com/deepagents-go/deepagents/model/script"
)

func TestConformance(t *testing.T) {
	modeltest.Run(t, modeltest.Options{New: func(t *testing.T, lines ...script.Line) model.Model {
		return connect(t, wire.New(wire.Options{Model: script.New(lines...)}), anthropic.Options{})
	}})
}

// connect starts a server and returns a model that talks to it.
func connect(t *testing.T, h http.Handler, o anthropic.Options) *anthropic.Model {
	t.Helper()
	srv := httptest.NewServer(h)
	// A connection that was dialled for a cancelled request would stay open.
	transport := &http.Transport{DisableKeepAlives: true}
	t.Cleanup(func() { transport.CloseIdleConnections(); srv.Close() })
	o.BaseURL, o.HTTPClient = srv.URL, &http.Client{Transport: transport}
	if o.Key == "" {
		o.Key = "test-key"
	}
	if o.Retries == 0 {
		o.Retries = -1
	}
	return open(t, o)
}

// checkRequest returns what the service would refuse in a body.
func checkRequest(body []byte) error {
	return checkWith(wire.New(wire.Options{Model: fine{}}), body)
}

// fine answers every request.
type fine struct{}

func (fine) Name() string { return "test:fine" }

func (fine) Stream(context.Context, *model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) { yield(model.Delta{Finish: model.Stop}, nil) }
}

// recorder answers by itself and keeps what came.
type recorder struct {
	t      *testing.T
	answer http.HandlerFunc
	mu     sync.Mutex
	bodies [][]byte
	heads  []http.Header
}

func (s *recorder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	s.bodies, s.heads = append(s.bodies, body), append(s.heads, r.Header)
	s.mu.Unlock()
	if err := checkRequest(body); err != nil || r.URL.Path != "/v1/messages" {
		s.t.Errorf("%s %s: %v\n%.2000s", r.Method, r.URL.Path, err, body)
	}
	s.answer(w, r)
}

// last returns the last body that came.
func (s *recorder) last() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bodies[len(s.bodies)-1]
}

func serve(t *testing.T, answer http.HandlerFunc, o anthropic.Options) (*anthropic.Model, *recorder) {
	t.Helper()
	s := &recorder{t: t, answer: answer}
	return connect(t, s, o), s
}

func refuse(w http.ResponseWriter, status int, code, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"type":"error","error":{"type":%q,"message":%q},"request_id":"req_1"}`, code, text)
}

// TestWireRules: the server that the other tests rely on refuses what the service refuses.
func TestWireRules(t *testing.T) {
	const head, tail = `{"model":"m","max_tokens":9000,"stream":true,`, `}`
	const hi = `{"role":"user","content":[{"type":"text","text":"hi"}]}`
	msgs := func(ms string) string { return head + `"messages":[` + ms + `]` + tail }
	use := func(ids ...string) string {
		s := ""
		for _, id := range ids {
			s += `,{"type":"tool_use","id":"` + id + `","name":"ls","input":{}}`
		}
		return `{"role":"assistant","content":[` + s[1:] + `]}`
	}
	result := func(rest string) string { return `{"type":"tool_result","tool_use_id":"a"` + rest + `}` }
	for name, body := range map[string]string{
		"no message":               msgs(""),
		"unknown field":            head + `"x":1,"messages":[` + hi + `]}`,
		"blank text":               msgs(`{"role":"user","content":[{"type":"text","text":" "}]}`),
		"no content":               msgs(`{"role":"user","content":[]}`),
		"answer first":             msgs(use("a") + `,{"role":"user","content":[` + result("") + `]}`),
		"answer last":              msgs(hi + `,{"role":"assistant","content":[{"type":"text","text":"x"}]}`),
		"two of one role":          msgs(hi + `,` + hi),
		"no result":                msgs(hi + `,` + use("a") + `,` + hi),
		"orphan":                   msgs(`{"role":"user","content":[` + result("") + `]}`),
		"result twice":             msgs(hi + `,` + use("a") + `,{"role":"user","content":[` + result("") + `,` + result("") + `]}`),
		"result after text":        msgs(hi + `,` + use("a") + `,{"role":"user","content":[{"type":"text","text":"x"},` + result("") + `]}`),
		"repeated id":              msgs(hi + `,` + use("a", "a") + `,{"role":"user","content":[` + result("") + `,` + result("") + `]}`),
		"bad id":                   msgs(hi + `,` + use("a.b") + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"a.b"}]}`),
		"empty error":              msgs(hi + `,` + use("a") + `,{"role":"user","content":[` + result(`,"is_error":true`) + `]}`),
		"empty system":             head + `"system":[{"type":"text","text":""}],"messages":[` + hi + `]}`,
		"five marks":               head + `"cache_control":{"type":"ephemeral"},"system":[` + marks(4) + `],"messages":[` + hi + `]}`,
		"choice without tools":     head + `"tool_choice":{"type":"any"},"messages":[` + hi + `]}`,
		"thinking at the end":      msgs(hi + `,{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"y"}]},` + hi),
		"changed thinking":         msgs(hi + `,{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"wire+/y"},{"type":"text","text":"x"}]},` + hi),
		"unsigned thinking":        msgs(hi + `,{"role":"assistant","content":[{"type":"thinking","thinking":"x"},{"type":"text","text":"x"}]},` + hi),
		"thinking with heat":       head + `"temperature":0,"thinking":{"type":"adaptive"},"messages":[` + hi + `]}`,
		"too large a budget":       head + `"thinking":{"type":"enabled","budget_tokens":9000},"messages":[` + hi + `]}`,
		"no schema of the input":   head + `"tools":[{"name":"ls"}],"messages":[` + hi + `]}`,
		"an image that is no type": msgs(`{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/tiff","data":"eA=="}}]}`),
	} {
		if checkRequest([]byte(body)) == nil {
			t.Errorf("%s: not refused", name)
		}
	}
	if err := checkRequest([]byte(msgs(hi))); err != nil {
		t.Error(err)
	}
}

func marks(n int) string {
	s := ""
	for range n {
		s += `,{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}`
	}
	return s[1:]
}

// checkWith asks a server in this process.
func checkWith(s *wire.Server, body []byte) error {
	r := httptest.NewRequest(http.MethodPost, "/v1/messages", bytes.NewReader(body))
	r.Header.Set("Anthropic-Version", "2023-06-01")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if w.Code == http.StatusBadRequest {
		return errors.New(w.Body.String())
	}
	return nil
}
