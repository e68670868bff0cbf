package openai_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/modeltest/wire"
	"github.com/deepagents-go/deepagents/model/openai"
	"github.com/deepagents-go/deepagents/model/script"
)

// stream returns an HTTP client that answers with these events, and where the bodies go.
func stream(events ...string) (*http.Client, *[][]byte) {
	bodies := new([][]byte)
	return &http.Client{Transport: direct{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b := new(bytes.Buffer)
		_, _ = b.ReadFrom(r.Body)
		*bodies = append(*bodies, b.Bytes())
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range events {
			_, _ = fmt.Fprintf(w, "data: %s\n\n", e)
		}
	})}}, bodies
}

// delta is a chunk of Chat.
func delta(d string) string { return `{"id":"c1","choices":[{"index":0,"delta":` + d + `}]}` }

const (
	stopped = `{"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	called  = `{"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`
)

// TestForeignStreams: what servers other than OpenAI's do, as they were seen to do it, and what goes back to them.
func TestForeignStreams(t *testing.T) {
	thought := func(text, opaque string) message.Reasoning {
		return message.Reasoning{Text: text, Provider: "p", Opaque: json.RawMessage(opaque)}
	}
	for name, c := range map[string]struct {
		events []string
		parts  message.Parts
		usage  *message.Usage
		finish model.Finish
		back   string // in the assistant message of the next request
	}{
		"DeepSeek: reasoning_content, cache hits": {
			events: []string{
				delta(`{"role":"assistant","content":null,"reasoning_content":"Let "}`), delta(`{"content":null,"reasoning_content":"me \u003csee\u003e"}`),
				delta(`{"content":"Hi","reasoning_content":null}`),
				`{"id":"c1","choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop"}],"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,"prompt_cache_hit_tokens":64,"prompt_cache_miss_tokens":36,"completion_tokens_details":{"reasoning_tokens":15}}}`,
				`[DONE]`,
			},
			parts: message.Parts{thought("Let me <see>", `{"field":"reasoning_content"}`), message.Text{Text: "Hi"}},
			usage: &message.Usage{Input: 36, Output: 20, Total: 120, CacheRead: 64, Reasoning: 15}, finish: model.Stop,
			back: `"content":"Hi","reasoning_content":"Let me <see>"}`,
		},
		"xAI: reasoning is not in completion_tokens": {
			events: []string{delta(`{"content":"Hi"}`), `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":42,"completion_tokens_details":{"reasoning_tokens":30}}}`, `[DONE]`},
			parts:  message.Parts{message.Text{Text: "Hi"}}, usage: &message.Usage{Input: 10, Output: 32, Total: 42, Reasoning: 30}, finish: model.Stop,
			back: `"content":"Hi"}`,
		},
		"OpenRouter: reasoning_details in pieces": {
			events: []string{
				delta(`{"content":"","reasoning":"Let","reasoning_details":[{"type":"reasoning.text","text":"Let","format":"anthropic-claude-v1","index":0}]}`),
				delta(`{"content":"","reasoning":" me","reasoning_details":[{"type":"reasoning.text","text":" me","format":"anthropic-claude-v1","index":0}]}`),
				delta(`{"content":"","reasoning_details":[{"type":"reasoning.text","signature":"Et8B+/=","format":"anthropic-claude-v1","index":0},{"type":"reasoning.encrypted","data":"QQ==","index":1}]}`),
				delta(`{"content":"Hi"}`), stopped, `[DONE]`,
			},
			parts: message.Parts{
				message.Reasoning{Text: "Let me"},
				message.Text{Text: "Hi"},
				thought("", `{"field":"reasoning_details","details":[{"format":"anthropic-claude-v1","index":0,"signature":"Et8B+/=","text":"Let me","type":"reasoning.text"},{"data":"QQ==","index":1,"type":"reasoning.encrypted"}]}`),
			},
			finish: model.Stop,
			back:   `"reasoning_details":[{"format":"anthropic-claude-v1","index":0,"signature":"Et8B+/=","text":"Let me","type":"reasoning.text"},{"data":"QQ==","index":1,"type":"reasoning.encrypted"}]}`,
		},
		"Mistral: thinking in the content": {
			events: []string{
				delta(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm"}]}]}`), delta(`{"content":[{"type":"text","text":"Hi"}]}`), stopped, `[DONE]`,
			},
			parts: message.Parts{thought("Hm", `{"field":"thinking"}`), message.Text{Text: "Hi"}}, finish: model.Stop,
			back: `"content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm"}]},{"type":"text","text":"Hi"}]}`,
		},
		"calls without an index": {
			events: []string{
				delta(`{"tool_calls":[{"id":"a","type":"function","function":{"name":"ls","arguments":"{\"p"}}]}`), delta(`{"tool_calls":[{"function":{"arguments":"\":1}"}}]}`),
				delta(`{"tool_calls":[{"id":"b","type":"function","function":{"name":"ls","arguments":{"q": 2}}}]}`), called, `[DONE]`,
			},
			parts: message.Parts{message.ParseCall("a", "ls", `{"p":1}`), message.ParseCall("b", "ls", `{"q": 2}`)}, finish: model.ToolCalls,
			back: `"arguments":"{\"q\": 2}"`,
		},
		"all calls with index 0, finish stop": {
			events: []string{
				delta(`{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"ls","arguments":"{}"}}]}`),
				delta(`{"tool_calls":[{"index":0,"id":"b","type":"function","function":{"name":"ls","arguments":"{}"}}]}`), stopped,
			},
			parts: message.Parts{message.ParseCall("a", "ls", `{}`), message.ParseCall("b", "ls", `{}`)}, finish: model.ToolCalls,
			back: `"id":"b"`,
		},
		"interleaved calls": {
			events: []string{
				delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"ls","arguments":""}},{"index":1,"id":"b","function":{"name":"ls","arguments":"{\"b\""}}]}`),
				delta(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":1}"}}]}`), delta(`{"tool_calls":[{"index":1,"function":{"arguments":":2}"}}]}`), called, `[DONE]`,
			},
			parts: message.Parts{message.ParseCall("a", "ls", `{"a":1}`), message.ParseCall("b", "ls", `{"b":2}`)}, finish: model.ToolCalls,
			back: `"arguments":"{\"b\":2}"`,
		},
		"Groq: usage of its own": {
			events: []string{delta(`{"content":"Hi"}`), `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"x_groq":{"id":"r","usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}}}`, `[DONE]`},
			parts:  message.Parts{message.Text{Text: "Hi"}}, usage: &message.Usage{Input: 3, Output: 1, Total: 4}, finish: model.Stop, back: `"content":"Hi"`,
		},
		"filtered": {
			events: []string{delta(`{"content":"Hi"}`), `{"choices":[{"index":0,"delta":{},"finish_reason":"content_filter"}]}`},
			parts:  message.Parts{message.Text{Text: "Hi"}}, finish: model.Refusal, back: `"content":"Hi"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			hc, bodies := stream(c.events...)
			m := open(t, openai.Options{Provider: "p", HTTPClient: hc})
			got, err := ask(t.Context(), m, hello())
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.parts, got.Parts); d != "" {
				t.Errorf("parts (-want +got):\n%s", d)
			}
			if d := cmp.Diff(c.usage, got.Usage); d != "" {
				t.Errorf("usage (-want +got):\n%s", d)
			}
			if got.Finish != string(c.finish) {
				t.Errorf("finish %q, want %q", got.Finish, c.finish)
			}
			r := hello()
			r.Messages = append(r.Messages, got)
			if _, err := ask(t.Context(), m, r); err != nil {
				t.Fatal(err)
			}
			if b := (*bodies)[1]; !bytes.Contains(b, []byte(c.back)) {
				t.Errorf("%s is not in %s", c.back, b)
			}
			other := open(t, openai.Options{Provider: "q", HTTPClient: hc})
			if _, err := ask(t.Context(), other, r); err != nil {
				t.Fatal(err)
			}
			if b := (*bodies)[2]; bytes.Contains(b, []byte("reasoning")) || bytes.Contains(b, []byte("thinking")) {
				t.Errorf("another provider gets the reasoning: %s", b)
			}
		})
	}
}

// TestStreamErrors are errors inside a stream.
func TestStreamErrors(t *testing.T) {
	for event, want := range map[string]model.Kind{
		`{"error":{"message":"The server had an error","type":"server_error","code":null}}`:                                              model.Overloaded,
		`{"id":"x","error":{"code":502,"message":"Provider returned error"},"choices":[{"index":0,"delta":{},"finish_reason":"error"}]}`: model.Overloaded,
		`{"object":"error","message":"This model's maximum context length is 10 tokens","type":"BadRequestError","code":400}`:            model.ContextOverflow,
		`{"choices":[{"index":0,"delta":{},"finish_reason":"insufficient_system_resource"}]}`:                                            model.Overloaded,
		`{"error":"rate limit exceeded"}`: model.RateLimited,
		`{"choices":`:                     model.Other,
		`[]`:                              model.Other,
	} {
		hc, _ := stream(delta(`{"content":"Hi"}`), event, `[DONE]`)
		got, err := ask(t.Context(), open(t, openai.Options{HTTPClient: hc}), hello())
		if e := kindOf(t, err); e.Kind != want || got.Text() != "Hi" {
			t.Errorf("%s: %v with %q kept, want kind %s", event, err, got.Text(), want)
		}
	}
	for event, want := range map[string]model.Kind{
		`{"type":"response.failed","response":{"id":"r","error":{"code":"rate_limit_exceeded","message":"slow down"}}}`:                                               model.RateLimited,
		`{"type":"response.failed","response":{"id":"r","error":null}}`:                                                                                               model.Overloaded,
		`{"type":"error","code":"server_error","message":"oops","param":null}`:                                                                                        model.Overloaded,
		`{"type":"error","error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"Your input exceeds the context window of this model."}}`: model.ContextOverflow,
		`{"error":{"message":"no","code":"invalid_api_key"}}`:                                                                                                         model.Auth,
		`{"x":1}`:                       model.Other,
		`{"type":"response.completed"}`: model.Other,
		`{"type":"response.output_item`: model.Other,
	} {
		hc, _ := stream(`{"type":"response.output_text.delta","output_index":0,"delta":"Hi"}`, event)
		got, err := ask(t.Context(), open(t, openai.Options{API: openai.Responses, HTTPClient: hc}), hello())
		if e := kindOf(t, err); e.Kind != want || got.Text() != "Hi" {
			t.Errorf("%s: %v with %q kept, want kind %s", event, err, got.Text(), want)
		}
	}
}

// TestResponsesItems: items that only the server understands come back byte for byte, the others with their ids.
func TestResponsesItems(t *testing.T) {
	const reasoning = `{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"A"},{"type":"summary_text","text":"B"}],"encrypted_content":"gAAA\u002b/ <b>"}`
	const search = `{"id":"ws_1","type":"web_search_call", "status":"completed","action":{"type":"search","query":"<q>"}}`
	hc, bodies := stream(
		`{"type":"response.created","response":{"id":"resp_1"}}`,
		`{"type":"response.output_item.added","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[]}}`,
		`{"type":"response.reasoning_summary_part.added","output_index":0,"summary_index":0}`,
		`{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"A"}`,
		`{"type":"response.reasoning_summary_part.added","output_index":0,"summary_index":1}`,
		`{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":1,"delta":"B"}`,
		`{"type":"response.output_item.done","output_index":0,"item":`+reasoning+`}`,
		`{"type":"response.output_item.done","output_index":1,"item":`+search+`}`,
		`{"type":"response.output_item.added","output_index":2,"item":{"id":"msg_1","type":"message","phase":"commentary","content":[]}}`,
		`{"type":"response.output_text.delta","output_index":2,"delta":"I look."}`,
		`{"type":"response.output_item.done","output_index":2,"item":{"id":"msg_1","type":"message","phase":"commentary","content":[{"type":"output_text","text":"I look."}]}}`,
		`{"type":"response.some_new.event","delta":{"not":"a string"}}`,
		`{"type":"response.output_item.done","output_index":3,"item":{"id":"fc_1","type":"function_call","call_id":"call_1","name":"ls","arguments":"{\"path\": \"/\"}"}}`,
		`{"type":"response.completed","response":{"id":"resp_1","usage":{"input_tokens":90,"input_tokens_details":{"cached_tokens":64},"output_tokens":20,"output_tokens_details":{"reasoning_tokens":9},"total_tokens":110}}}`,
	)
	m := open(t, openai.Options{API: openai.Responses, HTTPClient: hc, Model: "gpt-5"})
	got, err := ask(t.Context(), m, hello())
	if err != nil {
		t.Fatal(err)
	}
	call := message.ParseCall("call_1", "ls", `{"path": "/"}`)
	call.Provider, call.Opaque = "openai", json.RawMessage(`{"type":"function_call","id":"fc_1"}`)
	want := &message.Message{
		ID: "resp_1", Role: message.Assistant, Finish: "tool_calls",
		Usage: &message.Usage{Input: 26, Output: 20, Total: 110, CacheRead: 64, Reasoning: 9},
		Parts: message.Parts{
			message.Reasoning{Text: "A\n\nB", Provider: "openai", Opaque: json.RawMessage(reasoning)},
			message.Opaque{Provider: "openai", Data: json.RawMessage(search)},
			message.Text{Text: "I look."},
			message.Opaque{Provider: "openai", Data: json.RawMessage(`{"type":"message","id":"msg_1","phase":"commentary"}`)},
			call,
		},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("(-want +got):\n%s", d)
	}
	r := hello()
	r.Messages = append(r.Messages, got, message.NewTool(call, message.Success, "a"))
	if _, err := ask(t.Context(), m, r); err != nil {
		t.Fatal(err)
	}
	b := string((*bodies)[1])
	for _, s := range []string{
		reasoning, search, `"store":false,"include":["reasoning.encrypted_content"]`, `"id":"msg_1","status":"completed","phase":"commentary"`,
		`"id":"fc_1","call_id":"call_1"`, `"arguments":"{\"path\": \"/\"}"`,
	} {
		if !strings.Contains(b, s) {
			t.Errorf("%s is not in %s", s, b)
		}
	}
	if _, err := ask(t.Context(), open(t, openai.Options{API: openai.Responses, Provider: "azure_openai", HTTPClient: hc}), r); err != nil {
		t.Fatal(err)
	}
	if b := string((*bodies)[2]); strings.Contains(b, "rs_1") || strings.Contains(b, "ws_1") || strings.Contains(b, "fc_1") || !strings.Contains(b, "I look.") {
		t.Errorf("another provider gets %s", b)
	}
}

// TestConversation plays a script of several turns through both APIs: the server understands what it said before.
func TestConversation(t *testing.T) {
	ls := script.ToolCall{ID: "call_a", Name: "ls", Args: json.RawMessage(`{"path":"/"}`)}
	broken := script.ToolCall{ID: "call_b", Name: "ls", ArgsRaw: `{"path`}
	lines := []script.Line{
		{Reasoning: "I should look.", Text: "I look.", ToolCalls: []script.ToolCall{ls, broken}},
		{Expect: []string{"a.txt", "not valid"}, Reasoning: "Good.", Text: "There is a.txt."},
		{Expect: []string{"thanks"}, Text: "Bye."},
	}
	for _, api := range apis {
		t.Run(string(api), func(t *testing.T) {
			s := wire.New(wire.Options{Model: script.New(lines...)})
			m := open(t, openai.Options{API: api, BaseURL: serve(t, s)})
			r := hello()
			next := func() *message.Message {
				got, err := ask(t.Context(), m, r)
				if err != nil {
					t.Fatal(err)
				}
				r.Messages = append(r.Messages, got)
				return got
			}
			first := next()
			for _, c := range first.Calls() {
				text, status := "a.txt", message.Success
				if c.Invalid != "" {
					text, status = c.Invalid, message.Error
				}
				r.Messages = append(r.Messages, message.NewTool(c, status, text))
			}
			next()
			r.Messages = append(r.Messages, message.NewUser("thanks"))
			if got := next(); got.Text() != "Bye." {
				t.Errorf("the last answer is %q", got.Text())
			}
			if _, ok := first.Parts[0].(message.Reasoning); !ok {
				t.Errorf("the first part is %#v, want reasoning", first.Parts[0])
			}
		})
	}
}
