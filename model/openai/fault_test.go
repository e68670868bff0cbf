package openai_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/modeltest/wire"
	"github.com/deepagents-go/deepagents/model/openai"
	"github.com/deepagents-go/deepagents/model/script"
)

// ask ranges over a whole answer.
func ask(ctx context.Context, m model.Model, r *model.Request) (*message.Message, error) {
	var a model.Accumulator
	for d, err := range m.Stream(ctx, r) {
		if err != nil {
			return a.Message(), err
		}
		a.Add(d)
	}
	return a.Message(), nil
}

func hello() *model.Request {
	return &model.Request{Messages: []*message.Message{message.NewUser("hello")}, Attempt: 1}
}

// faulty serves a script whose n-th request meets the n-th fault; none is left means no fault.
func faulty(t testing.TB, lines []script.Line, faults ...wire.Fault) string {
	return serve(t, wire.New(wire.Options{Model: script.New(lines...), Faults: func(n int) *wire.Fault {
		if n < len(faults) {
			return &faults[n]
		}
		return nil
	}}))
}

var long = []script.Line{{
	Reasoning: "I think.", Text: "The beginning of an answer.",
	ToolCalls: []script.ToolCall{{ID: "call_a", Name: "ls", Args: []byte(`{"path":"/a"}`)}, {ID: "call_b", Name: "ls", Args: []byte(`{"path":"/b"}`)}},
	Usage:     &message.Usage{Input: 3, Output: 4, Total: 7},
}}

func kindOf(t *testing.T, err error) *model.Error {
	t.Helper()
	var e *model.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v is no *model.Error", err)
	}
	return e
}

// size returns the length of the whole stream.
func size(t *testing.T, api openai.API) int {
	t.Helper()
	n := 1
	for {
		m := open(t, openai.Options{API: api, BaseURL: faulty(t, long, wire.Fault{CutAfter: n})})
		if _, err := ask(t.Context(), m, hello()); err == nil {
			return n
		}
		n *= 2
	}
}

// TestCutAnywhere: a connection that is cut at any byte before the answer is complete is a connection error, which keeps what
// arrived and leaves no goroutine.
func TestCutAnywhere(t *testing.T) {
	for _, api := range apis {
		t.Run(string(api), func(t *testing.T) {
			most := size(t, api)
			whole, err := ask(t.Context(), open(t, openai.Options{API: api, BaseURL: faulty(t, long)}), hello())
			if err != nil {
				t.Fatal(err)
			}
			step := 61
			if testing.Short() {
				step = 331
			}
			kept := 0
			for n := 1; n < most; n += step {
				m := open(t, openai.Options{API: api, BaseURL: faulty(t, long, wire.Fault{CutAfter: n})})
				before := goleak.IgnoreCurrent()
				got, err := ask(t.Context(), m, hello())
				goleak.VerifyNone(t, before)
				if err == nil {
					if d := cmp.Diff(whole.Parts, got.Parts); d != "" {
						t.Fatalf("cut at %d: finished with less: %s", n, d)
					}
					continue
				}
				if e := kindOf(t, err); e.Kind != model.Connection || !e.Retryable() {
					t.Fatalf("cut at %d: %v, want a connection error", n, err)
				}
				if got.Finish != "" || !strings.HasPrefix(whole.Text(), got.Text()) {
					t.Fatalf("cut at %d: kept %q with finish %q", n, got.Text(), got.Finish)
				}
				for i, c := range got.Calls() {
					if i == len(got.Calls())-1 && c.Invalid != model.CutOff {
						t.Fatalf("cut at %d: the last call is valid: %+v", n, c)
					}
				}
				kept = max(kept, len(got.Text()))
			}
			if kept != len(whole.Text()) {
				t.Errorf("at most %d bytes of text were kept, want all %d in some case", kept, len(whole.Text()))
			}
		})
	}
}

// TestCancelAnywhere: the context ends after the n-th delta.
func TestCancelAnywhere(t *testing.T) {
	for _, api := range apis {
		t.Run(string(api), func(t *testing.T) {
			base := faulty(t, long)
			for n := 1; ; n++ {
				m := open(t, openai.Options{API: api, BaseURL: base})
				ctx, cancel := context.WithCancel(t.Context())
				before := goleak.IgnoreCurrent()
				seen, finished := 0, false
				var failed error
				for d, err := range m.Stream(ctx, hello()) {
					if seen++; seen == n {
						cancel()
					}
					failed, finished = err, finished || d.Finish != ""
				}
				cancel()
				goleak.VerifyNone(t, before)
				if finished {
					return
				}
				if e := kindOf(t, failed); !errors.Is(failed, context.Canceled) || e.Retryable() {
					t.Fatalf("cancelled after delta %d: %v", n, failed)
				}
			}
		})
	}
}

func TestFaults(t *testing.T) {
	for name, c := range map[string]struct {
		fault wire.Fault
		kind  model.Kind
		code  string
		text  string
	}{
		"malformed":     {wire.Fault{Malformed: 3}, model.Other, "malformed_event", "cannot be read"},
		"ends early":    {wire.Fault{EndAfter: 4}, model.Connection, "", "before it was complete"},
		"html":          {wire.Fault{ContentType: "text/html"}, model.Other, "content_type", "text/html"},
		"bad gateway":   {wire.Fault{Status: 502, Body: "<html>bad gateway</html>"}, model.Overloaded, "", "bad gateway"},
		"no details":    {wire.Fault{Status: 500}, model.Overloaded, "", "no details"},
		"before it all": {wire.Fault{CutAfter: -1}, model.Connection, "", ""},
		"error with status 200": {
			wire.Fault{Status: 200, Header: map[string]string{"Content-Type": "application/json"}, Body: `{"error":{"message":"Rate limit reached","code":429}}`},
			model.RateLimited, "", "Rate limit",
		},
	} {
		for _, api := range apis {
			t.Run(name+"/"+string(api), func(t *testing.T) {
				_, err := ask(t.Context(), open(t, openai.Options{API: api, BaseURL: faulty(t, long, c.fault)}), hello())
				e := kindOf(t, err)
				if e.Kind != c.kind || c.code != "" && e.Code != c.code || !strings.Contains(err.Error(), c.text) || e.Provider != "openai" {
					t.Errorf("error %v (code %q), want kind %s, code %q and %q", err, e.Code, c.kind, c.code, c.text)
				}
			})
		}
	}
}

// TestRetries: a request from which nothing came is sent again, others are not.
func TestRetries(t *testing.T) {
	busy := wire.Fault{Status: 429, Header: map[string]string{"Retry-After-Ms": "1"}, Body: `{"error":{"message":"slow down","code":"rate_limit_exceeded"}}`}
	broke := wire.Fault{Status: 429, Header: map[string]string{"Retry-After-Ms": "1"}, Body: `{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`}
	for name, c := range map[string]struct {
		retries  int
		faults   []wire.Fault
		requests int
		kind     model.Kind
	}{
		"default":         {0, []wire.Fault{busy, busy}, 3, ""},
		"too many":        {0, []wire.Fault{busy, busy, busy}, 3, model.RateLimited},
		"none":            {-1, []wire.Fault{busy}, 1, model.RateLimited},
		"quota":           {2, []wire.Fault{broke}, 1, model.Other},
		"lost connection": {1, []wire.Fault{{CutAfter: -1}}, 2, ""},
		"after a delta":   {2, []wire.Fault{{EndAfter: 5}}, 1, model.Connection},
		"an hour":         {2, []wire.Fault{{Status: 503, Header: map[string]string{"Retry-After": "3600"}}}, 1, model.Overloaded},
	} {
		t.Run(name, func(t *testing.T) {
			var n atomic.Int32
			s := wire.New(wire.Options{
				Model:     script.New(long...),
				OnRequest: func(*http.Request, []byte) { n.Add(1) },
				Faults: func(i int) *wire.Fault {
					if i < len(c.faults) {
						return &c.faults[i]
					}
					return nil
				},
			})
			m, err := openai.New(openai.Options{Model: "m", BaseURL: serve(t, s), Retries: c.retries, HTTPClient: client(t)})
			if err != nil {
				t.Fatal(err)
			}
			_, err = ask(t.Context(), m, hello())
			if n := int(n.Load()); n != c.requests {
				t.Errorf("%d requests, want %d", n, c.requests)
			}
			if c.kind == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if e := kindOf(t, err); e.Kind != c.kind {
				t.Errorf("error %v, want kind %s", err, c.kind)
			} else if name == "an hour" && e.RetryAfter != time.Hour {
				t.Errorf("RetryAfter is %v, want an hour", e.RetryAfter)
			}
		})
	}
}

// TestSilence: a server that says nothing for longer than the timeout is a lost connection, however often it is slow for less.
func TestSilence(t *testing.T) {
	for _, api := range apis {
		_, err := ask(t.Context(), open(t, openai.Options{
			API: api, BaseURL: faulty(t, long, wire.Fault{Pause: time.Hour}), Timeout: 20 * time.Millisecond,
		}), hello())
		if e := kindOf(t, err); e.Kind != model.Connection || !strings.Contains(err.Error(), "nothing came for 20ms") {
			t.Errorf("%s: %v, want a connection error that says why", api, err)
		}
		m := open(t, openai.Options{API: api, BaseURL: faulty(t, long, wire.Fault{Pause: 2 * time.Millisecond}), Timeout: time.Minute})
		if _, err := ask(t.Context(), m, hello()); err != nil {
			t.Errorf("%s: %v", api, err)
		}
	}
}

func TestRefusal(t *testing.T) {
	for _, api := range apis {
		lines := []script.Line{{Text: "I cannot help with that."}}
		got, err := ask(t.Context(), open(t, openai.Options{API: api, BaseURL: faulty(t, lines, wire.Fault{Refuse: true})}), hello())
		if err != nil || got.Finish != string(model.Refusal) || got.Text() != lines[0].Text {
			t.Errorf("%s: %q with finish %q, %v", api, got.Text(), got.Finish, err)
		}
	}
}

// TestKeyStays: the key of the environment goes to nobody, headers and the agent's name go along.
func TestKeyStays(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-secret")
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1")
	var seen atomic.Pointer[http.Header]
	s := wire.New(wire.Options{Model: script.New(script.Line{Agent: "helper", Text: "x"}), OnRequest: func(r *http.Request, _ []byte) { seen.Store(&r.Header) }})
	m := open(t, openai.Options{BaseURL: serve(t, s), Headers: map[string]string{"X-Team": "a"}, AgentHeader: wire.AgentHeader})
	r := hello()
	r.Agent = "helper"
	if _, err := ask(t.Context(), m, r); err != nil {
		t.Fatal(err)
	}
	got := *seen.Load()
	if a := got.Get("Authorization"); a != "" || got.Get("X-Team") != "a" {
		t.Errorf("authorization %q, X-Team %q", a, got.Get("X-Team"))
	}
}

func TestNew(t *testing.T) {
	for name, o := range map[string]openai.Options{
		"no model":  {},
		"bad API":   {Model: "m", API: "soap"},
		"bad URL":   {Model: "m", BaseURL: "localhost:1"},
		"bad field": {Model: "m", Quirks: openai.Quirks{Body: map[string]any{"x": func() {}}}},
	} {
		if _, err := openai.New(o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	m, err := openai.New(openai.Options{Model: "vendor/m:free", Provider: "openrouter"})
	if err != nil || m.Name() != "openrouter:vendor/m:free" {
		t.Errorf("name %q, %v", m.Name(), err)
	}
}
