package anthropic_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/deepagents-go/deepagents/model/anthropic"
)

// TestFirstDeltaAtOnce: the server waits until the reader has the first delta; only then does it go on.
func TestFirstDeltaAtOnce(t *testing.T) {
	arrived := make(chan struct{})
	m, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, stream(begin, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}`))
		_ = http.NewResponseController(w).Flush()
		select {
		case <-arrived:
		case <-r.Context().Done():
		}
		fmt.Fprint(w, stream(`{"type":"content_block_stop","index":0}`, end))
	}, anthropic.Options{})
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

// BenchmarkStream compares this package with the SDK alone on an answer of 2,000 deltas.
func BenchmarkStream(b *testing.B) {
	lines := []string{begin, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`}
	for i := range 2000 {
		lines = append(lines, fmt.Sprintf(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"word %d "}}`, i))
	}
	lines = append(lines, `{"type":"content_block_stop","index":0}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}`, end)
	client := &http.Client{Transport: canned(stream(lines...))}
	b.Run("ours", func(b *testing.B) {
		m := open(b, anthropic.Options{HTTPClient: client})
		b.ReportAllocs()
		for b.Loop() {
			if _, err := ask(context.Background(), m, hello); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("sdk", func(b *testing.B) {
		c := sdk.NewClient(option.WithHTTPClient(client), option.WithAPIKey("k"))
		b.ReportAllocs()
		for b.Loop() {
			s := c.Messages.NewStreaming(context.Background(), sdk.MessageNewParams{
				Model: "claude", MaxTokens: 10, Messages: []sdk.MessageParam{sdk.NewUserMessage(sdk.NewTextBlock("hi"))},
			})
			var text strings.Builder
			for s.Next() {
				if d, ok := s.Current().AsAny().(sdk.ContentBlockDeltaEvent); ok {
					text.WriteString(d.Delta.Text)
				}
			}
			if s.Err() != nil {
				b.Fatal(s.Err())
			}
		}
	})
}
