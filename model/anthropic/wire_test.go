package anthropic_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/anthropic"
	"github.com/deepagents-go/deepagents/model/script"
)

// server speaks the Messages API. It refuses what the service would refuse, and fails the test that sent it.
type server struct {
	t      *testing.T
	answer func(w http.ResponseWriter, r *http.Request, req *wireRequest)
	mu     sync.Mutex
	bodies [][]byte
	heads  []http.Header
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	s.bodies = append(s.bodies, body)
	s.heads = append(s.heads, r.Header)
	s.mu.Unlock()
	req, err := checkRequest(body)
	if err != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/messages" || r.Header.Get("Anthropic-Version") == "" {
		s.t.Errorf("%s %s: %v\n%.2000s", r.Method, r.URL.Path, err, body)
		refuse(w, http.StatusBadRequest, "invalid_request_error", fmt.Sprint(err))
		return
	}
	s.answer(w, r, req)
}

// last returns the last body that came.
func (s *server) last() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bodies[len(s.bodies)-1]
}

// serve starts a server and returns a model that talks to it.
func serve(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, req *wireRequest), o anthropic.Options) (*anthropic.Model, *server) {
	t.Helper()
	s := &server{t: t, answer: answer}
	srv := httptest.NewServer(s)
	transport := &http.Transport{}
	t.Cleanup(func() { transport.CloseIdleConnections(); srv.Close() })
	if o.Model == "" {
		o.Model = "claude-sonnet-4-5"
	}
	o.BaseURL, o.HTTPClient = srv.URL, &http.Client{Transport: transport}
	if o.Key == "" {
		o.Key = "test-key"
	}
	if o.Retries == 0 {
		o.Retries = -1
	}
	m, err := anthropic.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return m, s
}

func refuse(w http.ResponseWriter, status int, code, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"type":"error","error":{"type":%q,"message":%q},"request_id":"req_1"}`, code, text)
}

// scripted answers as a script says.
func scripted(lines ...script.Line) func(http.ResponseWriter, *http.Request, *wireRequest) {
	m := script.New(lines...)
	return func(w http.ResponseWriter, r *http.Request, req *wireRequest) {
		e := emitter{w: w}
		for d, err := range m.Stream(r.Context(), conversation(req)) {
			if err != nil {
				e.fail(err)
				return
			}
			e.delta(d)
		}
	}
}

func conversation(req *wireRequest) *model.Request {
	r := &model.Request{Attempt: 1}
	for _, m := range req.Messages {
		out := &message.Message{Role: message.Role(m.Role)}
		for _, b := range m.Content {
			if b.Text != nil {
				out.Parts = append(out.Parts, message.Text{Text: *b.Text})
			}
		}
		r.Messages = append(r.Messages, out)
	}
	return r
}

// emitter writes deltas as events.
type emitter struct {
	w     http.ResponseWriter
	began bool
	index int
	kind  string
	usage message.Usage
}

func (e *emitter) event(name, format string, args ...any) {
	fmt.Fprintf(e.w, "event: %s\ndata: %s\n\n", name, fmt.Sprintf(format, args...))
	e.w.(http.Flusher).Flush()
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func (e *emitter) begin() {
	if e.began {
		return
	}
	e.began, e.index = true, -1
	e.w.Header().Set("Content-Type", "text/event-stream")
	e.event("message_start", `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude","content":[],`+
		`"stop_reason":null,"usage":{"input_tokens":1,"output_tokens":1,"cache_read_input_tokens":0}}}`)
	e.event("ping", `{"type":"ping"}`)
}

// open begins a block unless it is open.
func (e *emitter) open(kind, block string) {
	if e.kind == kind {
		return
	}
	e.close()
	e.kind = kind
	e.index++
	e.event("content_block_start", `{"type":"content_block_start","index":%d,"content_block":%s}`, e.index, block)
}

func (e *emitter) close() {
	if e.kind == "thinking" {
		e.event("content_block_delta", `{"type":"content_block_delta","index":%d,"delta":{"type":"signature_delta","signature":"sig=="}}`, e.index)
	}
	if e.kind != "" {
		e.event("content_block_stop", `{"type":"content_block_stop","index":%d}`, e.index)
	}
	e.kind = ""
}

func (e *emitter) delta(d model.Delta) {
	e.begin()
	piece := func(kind, field, text string) {
		e.event("content_block_delta", `{"type":"content_block_delta","index":%d,"delta":{"type":"%s_delta","%s":%s}}`, e.index, kind, field, quote(text))
	}
	switch {
	case d.Text != "":
		e.open("text", `{"type":"text","text":""}`)
		piece("text", "text", d.Text)
	case d.Reasoning != "":
		e.open("thinking", `{"type":"thinking","thinking":"","signature":""}`)
		piece("thinking", "thinking", d.Reasoning)
	case d.Call != nil:
		e.open(fmt.Sprint("call", d.Call.Index), fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q,"input":{}}`, d.Call.ID, d.Call.Name))
		piece("input_json", "partial_json", d.Call.Args)
	case d.Usage != nil:
		e.usage = *d.Usage
	case d.Finish != "":
		e.close()
		reason := map[model.Finish]string{model.Stop: "end_turn", model.ToolCalls: "tool_use", model.Length: "max_tokens"}[d.Finish]
		e.event("message_delta", `{"type":"message_delta","delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"input_tokens":%d,"output_tokens":%d,`+
			`"cache_read_input_tokens":%d,"cache_creation_input_tokens":%d}}`, reason, e.usage.Input, e.usage.Output, e.usage.CacheRead, e.usage.CacheWrite)
		e.event("message_stop", `{"type":"message_stop"}`)
	}
}

func (e *emitter) fail(err error) {
	var me *model.Error
	if !errors.As(err, &me) || errors.Is(err, http.ErrAbortHandler) {
		return
	}
	type told struct {
		status     int
		code, text string
	}
	says := map[model.Kind]told{
		model.Overloaded:      {529, "overloaded_error", "Overloaded"},
		model.RateLimited:     {429, "rate_limit_error", "This request would exceed your organization's rate limit"},
		model.ContextOverflow: {400, "invalid_request_error", "prompt is too long: 213000 tokens > 200000 maximum"},
		model.Auth:            {401, "authentication_error", "invalid x-api-key"},
	}[me.Kind]
	switch {
	case says.status == 0:
		return // the reader is gone
	case e.began:
		e.event("error", `{"type":"error","error":{"type":%q,"message":%q}}`, says.code, says.text)
	default:
		e.w.Header().Set("Retry-After", "7")
		refuse(e.w, says.status, says.code, says.text)
	}
}
