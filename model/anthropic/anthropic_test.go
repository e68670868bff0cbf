package anthropic_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/anthropic"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ask sends a request and reads the answer to its end.
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

func asError(err error, e **model.Error) bool { return errors.As(err, e) }

// events answers with these events; a bare line is the data of an event whose type it names.
func events(lines ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, stream(lines...))
	}
}

func stream(lines ...string) string {
	var b strings.Builder
	for _, l := range lines {
		var t struct{ Type string }
		if json.Unmarshal([]byte(l), &t) != nil {
			t.Type = "content_block_delta"
		}
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", t.Type, l)
	}
	return b.String()
}

var hello = &model.Request{Messages: []*message.Message{message.NewUser("hi")}, Attempt: 1}

const (
	begin = `{"type":"message_start","message":{"id":"msg_9","usage":{"input_tokens":25,"cache_creation_input_tokens":11,"cache_read_input_tokens":7,"output_tokens":1}}}`
	end   = `{"type":"message_stop"}`
)

// everything is an answer with each kind of block.
var everything = []string{
	begin,
	`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Let me "}}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"see\n<x>"}}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQB/+=="}}`,
	`{"type":"content_block_stop","index":0}`,
	`{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"Zm9v+/=="}}`,
	`{"type":"content_block_stop","index":1}`,
	`{"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}`,
	`{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"I search."}}`,
	`{"type":"content_block_delta","index":2,"delta":{"type":"citations_delta","citation":{"type":"x"}}}`,
	`{"type":"content_block_stop","index":2}`,
	`{"type":"content_block_start","index":3,"content_block":{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}}`,
	`{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"query\": 9007199254740993,"}}`,
	`{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"\"b\":1.0}"}}`,
	`{"type":"content_block_stop","index":3}`,
	`{"type":"content_block_start","index":4,"content_block":{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","encrypted_content":"E/+="}]}}`,
	`{"type":"content_block_stop","index":4}`,
	`{"type":"content_block_start","index":5,"content_block":{"type":"tool_use","id":"toolu_1","name":"ls","input":{}}}`,
	`{"type":"content_block_delta","index":5,"delta":{"type":"input_json_delta","partial_json":""}}`,
	`{"type":"content_block_delta","index":5,"delta":{"type":"input_json_delta","partial_json":"{\"path\""}}`,
	`{"type":"content_block_delta","index":5,"delta":{"type":"input_json_delta","partial_json":": \"/\"}"}}`,
	`{"type":"content_block_stop","index":5}`,
	`{"type":"content_block_start","index":6,"content_block":{"type":"tool_use","id":"toolu_2","name":"ls","input":{}}}`,
	`{"type":"content_block_stop","index":6}`,
	`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":90,"output_tokens_details":{"thinking_tokens":31}}}`,
	`{"type":"brand_new_event","x":1}`,
	end,
}

var everythingParts = message.Parts{
	message.Reasoning{Text: "Let me see\n<x>", Provider: "anthropic", Opaque: json.RawMessage(`{"signature":"EqQB/+=="}`)},
	message.Opaque{Provider: "anthropic", Data: json.RawMessage(`{"type":"redacted_thinking","data":"Zm9v+/=="}`)},
	message.Text{Text: "I search."},
	message.Opaque{Provider: "anthropic", Data: json.RawMessage(`{"type":"server_tool_use","id":"srvtoolu_1","input":{"query": 9007199254740993,"b":1.0},"name":"web_search"}`)},
	message.Opaque{Provider: "anthropic", Data: json.RawMessage(`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","encrypted_content":"E/+="}]}`)},
	message.ToolCall{ID: "toolu_1", Name: "ls", Args: json.RawMessage(`{"path": "/"}`)},
	message.ToolCall{ID: "toolu_2", Name: "ls", Args: json.RawMessage(`{}`)},
}

func TestEveryBlock(t *testing.T) {
	m, _ := serve(t, events(everything...), anthropic.Options{})
	got, err := ask(t.Context(), m, hello)
	if err != nil {
		t.Fatal(err)
	}
	want := &message.Message{
		ID: "msg_9", Role: message.Assistant, Finish: "tool_calls", Parts: everythingParts,
		Usage: &message.Usage{Input: 25, Output: 90, CacheRead: 7, CacheWrite: 11, Reasoning: 31, Total: 133},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestReplay: what came goes back byte for byte, to the same provider and to no other.
func TestReplay(t *testing.T) {
	r := &model.Request{Messages: []*message.Message{
		message.NewUser("hi"),
		{Role: message.Assistant, Parts: everythingParts},
		message.NewTool(message.ToolCall{ID: "toolu_1", Name: "ls"}, message.Success, "a"),
		message.NewTool(message.ToolCall{ID: "toolu_2", Name: "ls"}, message.Success, "b"),
	}}
	ok := events(begin, end)
	m, s := serve(t, ok, anthropic.Options{})
	if _, err := ask(t.Context(), m, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`{"type":"thinking","thinking":"Let me see\n<x>","signature":"EqQB/+=="},{"type":"redacted_thinking","data":"Zm9v+/=="},{"type":"text",`,
		`"input":{"query": 9007199254740993,"b":1.0}`, `"encrypted_content":"E/+="}]},{"type":"tool_use","id":"toolu_1"`,
	} {
		if !strings.Contains(string(s.last()), want) {
			t.Errorf("the body lacks %s:\n%s", want, s.last())
		}
	}
	other, s := serve(t, ok, anthropic.Options{Provider: "other"})
	if _, err := ask(t.Context(), other, r); err != nil {
		t.Fatal(err)
	}
	for _, not := range []string{"thinking", "EqQB", "Zm9v", "srvtoolu"} {
		if strings.Contains(string(s.last()), not) {
			t.Errorf("%s went to another provider:\n%s", not, s.last())
		}
	}
}

func TestEnds(t *testing.T) {
	stop := func(reason string) string {
		return fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q},"usage":{"output_tokens":3}}`, reason)
	}
	for reason, want := range map[string]model.Finish{
		"end_turn": model.Stop, "stop_sequence": model.Stop, "pause_turn": model.Stop, "tool_use": model.ToolCalls,
		"max_tokens": model.Length, "model_context_window_exceeded": model.Length, "refusal": model.Refusal,
	} {
		m, _ := serve(t, events(begin, stop(reason), end), anthropic.Options{})
		got, err := ask(t.Context(), m, hello)
		if err != nil || got.Finish != string(want) {
			t.Errorf("%s ends with %q and error %v, want %q", reason, got.Finish, err, want)
		}
	}
}

// TestErrors are bodies as the service sends them.
func TestErrors(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		want   model.Kind
		code   string
	}{
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 215121 tokens > 200000 maximum"},"request_id":"req_0"}`, model.ContextOverflow, "invalid_request_error"},
		{400, "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"input length and `max_tokens` exceed context limit: 180000 + 32000 > 200000, decrease input length or `max_tokens` and try again\"}}", model.ContextOverflow, "invalid_request_error"},
		{413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, model.ContextOverflow, "request_too_large"},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: 90000 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-4-5"}}`, model.Invalid, "invalid_request_error"},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."}}`, model.Other, "invalid_request_error"},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy"}}`, model.Refused, "invalid_request_error"},
		{401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`, model.Auth, "authentication_error"},
		{403, `{"type":"error","error":{"type":"permission_error","message":"Your API key does not have permission to use the specified resource."}}`, model.Auth, "permission_error"},
		{404, `{"type":"error","error":{"type":"not_found_error","message":"model: claude-nope"}}`, model.Invalid, "not_found_error"},
		{429, `{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit of 30,000 input tokens per minute"}}`, model.RateLimited, "rate_limit_error"},
		{500, `{"type":"error","error":{"type":"api_error","message":"Internal server error"}}`, model.Overloaded, "api_error"},
		{529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, model.Overloaded, "overloaded_error"},
		{502, "<html><body>Bad gateway</body></html>", model.Overloaded, ""},
	} {
		for _, inStream := range []bool{false, true} {
			if inStream && c.body[0] != '{' {
				continue
			}
			m, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "12")
				if inStream {
					w.Header().Set("Content-Type", "text/event-stream")
					fmt.Fprintf(w, "event: error\ndata: %s\n\n", c.body)
					return
				}
				w.WriteHeader(c.status)
				fmt.Fprint(w, c.body)
			}, anthropic.Options{})
			_, err := ask(t.Context(), m, hello)
			var e *model.Error
			if !errors.As(err, &e) {
				t.Fatalf("%v is no *model.Error", err)
			}
			if e.Kind != c.want || e.Code != c.code || e.Provider != "anthropic" {
				if !inStream || c.status != 404 && c.status != 413 && c.status != 400 {
					t.Errorf("%d %s (in the stream: %v): kind %s, code %q; want %s, %q", c.status, c.body, inStream, e.Kind, e.Code, c.want, c.code)
				}
			}
			if !inStream && (e.RetryAfter != 12*time.Second || e.Status != c.status) {
				t.Errorf("%d: status %d, retry after %v", c.status, e.Status, e.RetryAfter)
			}
		}
	}
}

func TestMalformed(t *testing.T) {
	for name, line := range map[string]string{
		"no JSON":            `{"type":"content_block_delta","index":0,`,
		"no such block":      `{"type":"content_block_delta","index":4,"delta":{"type":"text_delta","text":"x"}}`,
		"end of none":        `{"type":"content_block_stop","index":4}`,
		"block without type": `{"type":"content_block_start","index":1,"content_block":{"text":"x"}}`,
		"wrong type":         `{"type":"content_block_start","index":"one"}`,
	} {
		m, _ := serve(t, events(begin, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"kept"}}`, line, end), anthropic.Options{})
		got, err := ask(t.Context(), m, hello)
		var e *model.Error
		if !errors.As(err, &e) || e.Kind != model.Other || !strings.Contains(err.Error(), "malformed") {
			t.Errorf("%s: error %v", name, err)
		}
		if got.Text() != "kept" {
			t.Errorf("%s: %q is left", name, got.Text())
		}
	}
}

// TestCutAnywhere: an answer that ends after any of its bytes is a lost connection, and its beginning is kept.
func TestCutAnywhere(t *testing.T) {
	whole := stream(everything...)
	step := 7
	if testing.Short() {
		step = 97
	}
	at := make(chan int, 1)
	m, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Content-Length", fmt.Sprint(len(whole)))
		fmt.Fprint(w, whole[:<-at])
	}, anthropic.Options{})
	parts := 0
	for i := 0; i < len(whole)-2; i += step {
		at <- i
		got, err := ask(t.Context(), m, hello)
		var e *model.Error
		if !errors.As(err, &e) || e.Kind != model.Connection || !e.Retryable() {
			t.Fatalf("cut at %d: error %v", i, err)
		}
		if got.Finish != "" || len(got.Parts) < parts {
			t.Fatalf("cut at %d: finish %q with %d parts after %d", i, got.Finish, len(got.Parts), parts)
		}
		parts = len(got.Parts)
	}
	if parts != len(everythingParts) {
		t.Errorf("%d parts were left at the end, want %d", parts, len(everythingParts))
	}
}

// TestCancelAnywhere: the context ends after any delta.
func TestCancelAnywhere(t *testing.T) {
	whole := stream(everything...)
	m, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, whole[:len(whole)-len(stream(end))])
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}, anthropic.Options{})
	n := 0
	ctx, cancel := context.WithCancel(t.Context())
	for d, err := range m.Stream(ctx, hello) {
		if err != nil || d.Usage != nil && d.Usage.Output == 90 {
			break
		}
		n++
	}
	cancel()
	for after := range n {
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("enough")
		seen := 0
		var failed error
		for _, err := range m.Stream(ctx, hello) {
			if failed = err; err != nil {
				break
			}
			if seen++; seen > after {
				cancel(cause)
			}
		}
		cancel(nil)
		var e *model.Error
		if !errors.Is(failed, context.Canceled) || !errors.Is(failed, cause) || !errors.As(failed, &e) || e.Retryable() {
			t.Fatalf("cancelled after %d: error %v", after, failed)
		}
	}
}

// TestNoStream: what answers is no such service.
func TestNoStream(t *testing.T) {
	for body, want := range map[string]model.Kind{
		"<html>please log in</html>": model.Other,
		`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`: model.Overloaded,
	} {
		m, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, body)
		}, anthropic.Options{})
		var e *model.Error
		if _, err := ask(t.Context(), m, hello); !errors.As(err, &e) || e.Kind != want {
			t.Errorf("%s: error %v, want %s", body, err, want)
		}
	}
}

// TestCancelAtAnyByte: the context ends after any byte of the answer.
func TestCancelAtAnyByte(t *testing.T) {
	whole := stream(everything...)
	for at := 0; at < len(whole)-4; at += 61 {
		ctx, cancel := context.WithCancel(t.Context())
		m, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, whole[:at])
			_ = http.NewResponseController(w).Flush()
			cancel()
			<-r.Context().Done()
		}, anthropic.Options{})
		var e *model.Error
		if got, err := ask(ctx, m, hello); !errors.Is(err, context.Canceled) || !errors.As(err, &e) || e.Retryable() || got.Finish != "" {
			t.Fatalf("cancelled at %d: error %v, finish %q", at, err, got.Finish)
		}
	}
}

func TestSilence(t *testing.T) {
	m, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, stream(begin))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}, anthropic.Options{Timeout: 30 * time.Millisecond})
	got, err := ask(t.Context(), m, hello)
	var e *model.Error
	if !errors.As(err, &e) || e.Kind != model.Connection || got.ID != "msg_9" {
		t.Errorf("error %v after message %q", err, got.ID)
	}
}

func TestRetries(t *testing.T) {
	calls := 0
	fail := func(w http.ResponseWriter, wait string) {
		w.Header().Set("Retry-After", wait)
		refuse(w, 529, "overloaded_error", "Overloaded")
	}
	m, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if calls++; calls < 3 {
			fail(w, "0")
			return
		}
		events(begin, end)(w, r)
	}, anthropic.Options{Retries: 2})
	if _, err := ask(t.Context(), m, hello); err != nil || calls != 3 {
		t.Errorf("error %v after %d calls, want success after 3", err, calls)
	}
	calls = 0
	m, _ = serve(t, func(w http.ResponseWriter, _ *http.Request) { calls++; fail(w, "3600") }, anthropic.Options{Retries: 2})
	var e *model.Error
	if _, err := ask(t.Context(), m, hello); !errors.As(err, &e) || e.RetryAfter != time.Hour || calls != 1 {
		t.Errorf("error %v after %d calls, want an hour's wait told after 1", err, calls)
	}
	calls = 0
	m, _ = serve(t, func(w http.ResponseWriter, r *http.Request) {
		calls++
		events(begin, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)(w, r)
	}, anthropic.Options{Retries: 2})
	if _, err := ask(t.Context(), m, hello); !errors.Is(err, model.ErrOverloaded) || calls != 1 {
		t.Errorf("error %v after %d calls: nothing is repeated once the answer began", err, calls)
	}
}

func TestHeaders(t *testing.T) {
	m, s := serve(t, events(begin, end), anthropic.Options{
		Key: "k1", Headers: map[string]string{"X-Team": "blue"}, AgentHeader: "X-Agent",
	})
	r := *hello
	r.Agent = "reviewer"
	if _, err := ask(t.Context(), m, &r); err != nil {
		t.Fatal(err)
	}
	h := s.heads[0]
	if h.Get("X-Api-Key") != "k1" || h.Get("X-Team") != "blue" || h.Get("X-Agent") != "reviewer" || h.Get("Authorization") != "" {
		t.Errorf("headers %v", h)
	}
}
