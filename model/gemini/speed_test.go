package gemini_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/deepagents-go/deepagents/model/gemini"
)

// TestFirstDeltaAtOnce: the server waits until the reader has the first delta; only then does it go on.
func TestFirstDeltaAtOnce(t *testing.T) {
	arrived := make(chan struct{})
	m, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, stream(`{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}`))
		_ = http.NewResponseController(w).Flush()
		select {
		case <-arrived:
		case <-r.Context().Done():
		}
		fmt.Fprint(w, stream(`{"candidates":[{"finishReason":"STOP"}]}`))
	}, gemini.Options{})
	for d, err := range m.Stream(t.Context(), hello) {
		if err != nil {
			t.Fatal(err)
		}
		if d.Text != "" {
			close(arrived)
		}
	}
}

// canned answers with the same bytes, without a network.
type canned string

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	_ = r.Body.Close()
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Request: r, Body: body{strings.NewReader(string(c))},
	}, nil
}

type body struct{ *strings.Reader }

func (body) Close() error { return nil }

// BenchmarkStream compares this package with the SDK alone on an answer of 2,000 chunks.
func BenchmarkStream(b *testing.B) {
	var lines []string
	for i := range 2000 {
		lines = append(lines, fmt.Sprintf(`{"candidates":[{"content":{"parts":[{"text":"word %d "}],"role":"model"}}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":%d},"responseId":"r"}`, i, i))
	}
	lines = append(lines, `{"candidates":[{"finishReason":"STOP"}]}`)
	client := &http.Client{Transport: canned(stream(lines...))}
	b.Run("ours", func(b *testing.B) {
		m := open(b, gemini.Options{HTTPClient: client})
		b.ReportAllocs()
		for b.Loop() {
			if _, err := ask(context.Background(), m, hello); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("sdk", func(b *testing.B) {
		c, err := genai.NewClient(context.Background(), &genai.ClientConfig{APIKey: "k", Backend: genai.BackendGeminiAPI, HTTPClient: client})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			var text strings.Builder
			for r, err := range c.Models.GenerateContentStream(context.Background(), "gemini-3-pro", genai.Text("hi"), nil) {
				if err != nil {
					b.Fatal(err)
				}
				text.WriteString(r.Text())
			}
		}
	})
}
