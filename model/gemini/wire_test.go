package gemini_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/gemini"
	"github.com/deepagents-go/deepagents/model/modeltest"
	"github.com/deepagents-go/deepagents/model/modeltest/wire"
	"github.com/deepagents-go/deepagents/model/script"
)

func TestConformance(t *testing.T) {
	modeltest.Run(t, modeltest.Options{New: func(t *testing.T, lines ...script.Line) model.Model {
		return connect(t, wire.New(wire.Options{Model: script.New(lines...)}), gemini.Options{})
	}})
}

func open(t testing.TB, o gemini.Options) *gemini.Model {
	t.Helper()
	if o.Model == "" {
		o.Model = "gemini-3-pro"
	}
	if o.Key == "" {
		o.Key = "test-key"
	}
	m, err := gemini.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// connect starts a server and returns a model that talks to it.
func connect(t *testing.T, h http.Handler, o gemini.Options) *gemini.Model {
	t.Helper()
	srv := httptest.NewServer(h)
	// A connection that was dialled for a cancelled request would stay open.
	transport := &http.Transport{DisableKeepAlives: true}
	t.Cleanup(func() { transport.CloseIdleConnections(); srv.Close() })
	o.BaseURL, o.HTTPClient = srv.URL, &http.Client{Transport: transport}
	if o.Retries == 0 {
		o.Retries = -1
	}
	return open(t, o)
}

// checkRequest returns what the service would refuse in a body.
func checkRequest(name string, body []byte) error {
	r := httptest.NewRequest(http.MethodPost, "/v1beta/models/"+name+":streamGenerateContent?alt=sse", bytes.NewReader(body))
	r.Header.Set("X-Goog-Api-Key", "k")
	w := httptest.NewRecorder()
	wire.New(wire.Options{Model: fine{}}).ServeHTTP(w, r)
	if w.Code == http.StatusBadRequest {
		return errors.New(w.Body.String())
	}
	return nil
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
	name, method, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1beta/models/"), ":")
	if err := checkRequest(name, body); err != nil || method != "streamGenerateContent" || r.URL.RawQuery != "alt=sse" {
		s.t.Errorf("%s %s: %v\n%.2000s", r.Method, r.URL, err, body)
	}
	s.answer(w, r)
}

// last returns the last body that came.
func (s *recorder) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.bodies[len(s.bodies)-1])
}

func serve(t *testing.T, answer http.HandlerFunc, o gemini.Options) (*gemini.Model, *recorder) {
	t.Helper()
	s := &recorder{t: t, answer: answer}
	return connect(t, s, o), s
}

// chunks answers with these chunks, with the line ends of the service.
func chunks(lines ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, stream(lines...))
	}
}

func stream(lines ...string) string {
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "data: %s\r\n\r\n", l)
	}
	return b.String()
}

// TestWireRules: the server that the other tests rely on refuses what the service refuses.
func TestWireRules(t *testing.T) {
	const hi = `{"role":"user","parts":[{"text":"hi"}]}`
	const use = `{"role":"model","parts":[{"functionCall":{"name":"ls","args":{}},"thoughtSignature":"s"}]}`
	const result = `{"functionResponse":{"name":"ls","response":{"output":"x"}}}`
	all := func(contents string) string { return `{"contents":[` + contents + `]}` }
	for name, body := range map[string]string{
		"nothing":             all(""),
		"unknown field":       `{"x":1,"contents":[` + hi + `]}`,
		"empty text":          all(`{"role":"user","parts":[{"text":""}]}`),
		"no parts":            all(`{"role":"user","parts":[]}`),
		"model first":         all(`{"role":"model","parts":[{"text":"x"}]},` + hi),
		"model last":          all(hi + `,{"role":"model","parts":[{"text":"x"}]}`),
		"two of one role":     all(hi + `,` + hi),
		"no response":         all(hi + `,` + use + `,` + hi),
		"response twice":      all(hi + `,` + use + `,{"role":"user","parts":[` + result + `,` + result + `]}`),
		"orphan":              all(`{"role":"user","parts":[` + result + `]}`),
		"response after text": all(hi + `,` + use + `,{"role":"user","parts":[{"text":"x"},` + result + `]}`),
		"wrong name":          all(hi + `,` + use + `,{"role":"user","parts":[{"functionResponse":{"name":"rm","response":{"output":"x"}}}]}`),
		"unsigned call":       all(hi + `,{"role":"model","parts":[{"functionCall":{"name":"ls"}}]},{"role":"user","parts":[` + result + `]}`),
		"changed call":        all(hi + `,{"role":"model","parts":[{"functionCall":{"name":"ls"},"thoughtSignature":"d2lyZTpsczp7fX=="}]},{"role":"user","parts":[` + result + `]}`),
		"gif":                 all(`{"role":"user","parts":[{"inlineData":{"mimeType":"image/gif","data":"eA=="}}]}`),
		"two kinds in a part": all(`{"role":"user","parts":[{"text":"x","inlineData":{"mimeType":"image/png","data":"eA=="}}]}`),
		"mode without tools":  `{"toolConfig":{"functionCallingConfig":{"mode":"ANY"}},"contents":[` + hi + `]}`,
		"empty system":        `{"systemInstruction":{"parts":[]},"contents":[` + hi + `]}`,
		"no properties":       `{"tools":[{"functionDeclarations":[{"name":"ls","parametersJsonSchema":{"type":"object"}}]}],"contents":[` + hi + `]}`,
	} {
		if checkRequest("gemini-3-pro", []byte(body)) == nil {
			t.Errorf("%s: not refused", name)
		}
	}
	if err := checkRequest("gemini-3-pro", []byte(all(hi+`,`+use+`,{"role":"user","parts":[`+result+`,{"text":"x"}]}`))); err != nil {
		t.Error(err)
	}
}
