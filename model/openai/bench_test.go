package openai_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/openai"
)

// canned answers every request with the same bytes, as fast as they can be read.
type canned string

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(strings.NewReader(string(c))), Request: r,
	}, nil
}

const benchEvents = 2000

func chatEvents() canned {
	var b strings.Builder
	for i := range benchEvents {
		fmt.Fprintf(&b, "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"gpt-4o\",\"system_fingerprint\":\"fp\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word %d \"},\"logprobs\":null,\"finish_reason\":null}]}\n\n", i)
	}
	b.WriteString("data: {\"id\":\"chatcmpl-1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	return canned(b.String())
}

func responsesEvents() canned {
	var b strings.Builder
	for i := range benchEvents {
		fmt.Fprintf(&b, "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"sequence_number\":%d,\"item_id\":\"msg_1\",\"output_index\":0,\"content_index\":0,\"delta\":\"word \",\"logprobs\":[],\"obfuscation\":\"abcdef\"}\n\n", i)
	}
	b.WriteString("event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"status\":\"completed\"}}\n\n")
	return canned(b.String())
}

// BenchmarkStream compares a stream of 2,000 deltas through this package with the same through the SDK's own types.
func BenchmarkStream(b *testing.B) {
	run := func(name string, events canned, f func(*http.Client) int) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			hc := &http.Client{Transport: events}
			for b.Loop() {
				if n := f(hc); n < benchEvents {
					b.Fatalf("%d events", n)
				}
			}
		})
	}
	ours := func(api openai.API) func(*http.Client) int {
		return func(hc *http.Client) int {
			n := 0
			for _, err := range open(b, openai.Options{API: api, HTTPClient: hc}).Stream(context.Background(), hello()) {
				if err != nil {
					b.Fatal(err)
				}
				n++
			}
			return n
		}
	}
	run("chat/ours", chatEvents(), ours(openai.Chat))
	run("chat/sdk", chatEvents(), func(hc *http.Client) int {
		c := sdk.NewClient(option.WithHTTPClient(hc), option.WithAPIKey("k"))
		s := c.Chat.Completions.NewStreaming(context.Background(), sdk.ChatCompletionNewParams{
			Model: "m", Messages: []sdk.ChatCompletionMessageParamUnion{sdk.UserMessage("hello")},
		})
		n := 0
		for s.Next() {
			_ = s.Current().Choices
			n++
		}
		return n
	})
	run("responses/ours", responsesEvents(), ours(openai.Responses))
	run("responses/sdk", responsesEvents(), func(hc *http.Client) int {
		c := sdk.NewClient(option.WithHTTPClient(hc), option.WithAPIKey("k"))
		s := c.Responses.NewStreaming(context.Background(), responses.ResponseNewParams{Model: "m"})
		n := 0
		for s.Next() {
			_ = s.Current().Delta
			n++
		}
		return n
	})
}

// longRequest is a conversation of n messages with tools.
func longRequest(n int) *model.Request {
	r := &model.Request{System: message.Parts{message.Text{Text: strings.Repeat("You are careful. ", 200)}}, Tools: goldenTools}
	r.Messages = append(r.Messages, message.NewUser("Do it all."))
	for i := 1; len(r.Messages) < n; i++ {
		c := message.ParseCall(fmt.Sprintf("call_%d", i), "ls", fmt.Sprintf(`{"path":"/dir/%d"}`, i))
		r.Messages = append(
			r.Messages, &message.Message{Role: message.Assistant, Parts: message.Parts{message.Text{Text: "I look further."}, c}},
			message.NewTool(c, message.Success, strings.Repeat("a line of a file\n", 60)),
		)
	}
	return r
}

// BenchmarkFirstBody builds the same when nothing is kept yet, as after a restart.
func BenchmarkFirstBody(b *testing.B) {
	for _, api := range apis {
		b.Run(string(api), func(b *testing.B) {
			r := longRequest(2000)
			b.ReportAllocs()
			for b.Loop() {
				_, _ = ask(b.Context(), open(b, openai.Options{API: api, HTTPClient: &http.Client{Transport: nobody{}}}), r)
			}
		})
	}
}

// BenchmarkBody builds the body of 2,000 messages as in a later turn of a run, when only the last two are new, and sends it to
// nobody.
func BenchmarkBody(b *testing.B) {
	for _, api := range apis {
		b.Run(string(api), func(b *testing.B) {
			m := open(b, openai.Options{API: api, HTTPClient: &http.Client{Transport: nobody{}}})
			r := longRequest(2000)
			_, _ = ask(b.Context(), m, r)
			b.ReportAllocs()
			for b.Loop() {
				r.Messages[len(r.Messages)-2] = r.Messages[len(r.Messages)-2].Clone()
				r.Messages[len(r.Messages)-1] = r.Messages[len(r.Messages)-1].Clone()
				_, _ = ask(b.Context(), m, r)
			}
		})
	}
}

// nobody refuses every request without reading it.
type nobody struct{}

func (nobody) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusBadRequest, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
}
