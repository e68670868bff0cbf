package openai_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/modeltest/wire"
	"github.com/deepagents-go/deepagents/model/openai"
	"github.com/deepagents-go/deepagents/model/script"
)

// first are events that begin an answer.
var first = map[openai.API]string{
	openai.Chat:      "data: " + delta(`{"content":"Hi"}`) + "\n\n",
	openai.Responses: "data: " + `{"type":"response.output_text.delta","output_index":0,"delta":"Hi"}` + "\n\n",
}

// TestFirstDeltaAtOnce: the server waits until the reader has the first delta; only then does it go on.
func TestFirstDeltaAtOnce(t *testing.T) {
	for _, api := range apis {
		t.Run(string(api), func(t *testing.T) {
			arrived := make(chan struct{})
			m := open(t, openai.Options{API: api, BaseURL: serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = w.Write([]byte(first[api]))
				_ = http.NewResponseController(w).Flush()
				select {
				case <-arrived:
				case <-r.Context().Done():
				}
			}))})
			var text string
			for d, err := range m.Stream(t.Context(), hello()) {
				if d.Text != "" {
					text += d.Text
					close(arrived)
				}
				if err != nil && kindOf(t, err).Kind != model.Connection {
					t.Error(err)
				}
			}
			if text != "Hi" {
				t.Errorf("%q arrived", text)
			}
		})
	}
}

// TestNoEnd: a server that never ends the stream of a complete answer does not hold the reader.
func TestNoEnd(t *testing.T) {
	m := open(t, openai.Options{Timeout: -1, BaseURL: serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte(first[openai.Chat] + "data: " + stopped + "\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1,\"total_tokens\":2}}\n\n"))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))})
	got, err := ask(t.Context(), m, hello())
	if err != nil || got.Text() != "Hi" || got.Finish != string(model.Stop) || got.Usage == nil {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestCancelAtAnyByte: the server sends that many bytes of an answer and no more; then the context ends.
func TestCancelAtAnyByte(t *testing.T) {
	for _, api := range apis {
		t.Run(string(api), func(t *testing.T) {
			whole := recorded(t, api)
			step := 97
			if testing.Short() {
				step = 499
			}
			for n := 0; n < len(whole); n += step {
				sent := make(chan struct{})
				m := open(t, openai.Options{API: api, BaseURL: serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body) // the server sees that the client is gone only after that
					w.Header().Set("Content-Type", "text/event-stream")
					_, _ = w.Write([]byte(whole[:n]))
					_ = http.NewResponseController(w).Flush()
					close(sent)
					<-r.Context().Done()
				}))})
				before := goleak.IgnoreCurrent()
				ctx, cancel := context.WithCancel(t.Context())
				go func() { <-sent; cancel() }()
				got, err := ask(ctx, m, hello())
				cancel()
				goleak.VerifyNone(t, before)
				if err == nil && got.Finish != "" && got.Usage != nil {
					continue // it was complete before the context ended
				}
				if !errors.Is(err, context.Canceled) || kindOf(t, err).Retryable() {
					t.Fatalf("cancelled after %d bytes: %v", n, err)
				}
			}
		})
	}
}

// recorded returns the bytes of a whole answer.
func recorded(t *testing.T, api openai.API) string {
	var b strings.Builder
	s := wire.New(wire.Options{Model: script.New(long...)})
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := httptest.NewRecorder()
		s.ServeHTTP(rec, r)
		b.Write(rec.Body.Bytes())
		w.WriteHeader(http.StatusTeapot)
	})
	if _, err := ask(t.Context(), open(t, openai.Options{API: api, HTTPClient: &http.Client{Transport: direct{h}}}), hello()); err == nil {
		t.Fatal("no error")
	}
	return b.String()
}
