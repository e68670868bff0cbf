package gemini_test

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
	"github.com/deepagents-go/deepagents/model/gemini"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start")) // of the SDK, from init
}

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

var hello = &model.Request{Messages: []*message.Message{message.NewUser("hi")}, Attempt: 1}

// everything is an answer with each kind of part.
var everything = []string{
	`{"responseId":"r1","candidates":[{"content":{"role":"model","parts":[{"text":"Let me ","thought":true}]}}],"usageMetadata":{"promptTokenCount":100,"totalTokenCount":100,"cachedContentTokenCount":40}}`,
	`{"responseId":"r1","candidates":[{"content":{"role":"model","parts":[{"text":"see","thought":true,"thoughtSignature":"dGhvdWdodA+/"}]}}],"usageMetadata":{"promptTokenCount":100,"thoughtsTokenCount":12}}`,
	`{"candidates":[{"content":{"parts":[{"text":"I lo"},{"text":"ok <b>.","thoughtSignature":"dGV4dA=="}]}}],"usageMetadata":{"promptTokenCount":100,"thoughtsTokenCount":12,"candidatesTokenCount":4}}`,
	`{"candidates":[{"content":{"parts":[{"executableCode":{"language":"PYTHON","code":"1 <  2"},"thoughtSignature":"Y29kZQ=="},{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"True"}}]}}]}`,
	`{"candidates":[{"content":{"parts":[{"functionCall":{"id":"f1","name":"ls","args":{"n": 9007199254740993, "a":"<"}},"thoughtSignature":"Y2FsbA=="}]}}]}`,
	`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"now"}},{"inlineData":{"mimeType":"image/png","data":"iVBORw=="}},{}]}}]}`,
	`{"candidates":[{"content":{"parts":[{"text":"","thoughtSignature":"ZW5k"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":100,"cachedContentTokenCount":40,"thoughtsTokenCount":12,"candidatesTokenCount":30,"toolUsePromptTokenCount":5}}`,
}

func opaque(raw string) message.Opaque {
	return message.Opaque{Provider: "google_genai", Data: json.RawMessage(raw)}
}

var everythingParts = message.Parts{
	message.Reasoning{Text: "Let me see", Provider: "google_genai", Opaque: json.RawMessage(`{"thoughtSignature":"dGhvdWdodA+/"}`)},
	message.Text{Text: "I look <b>."},
	opaque(`{"thoughtSignature":"dGV4dA=="}`),
	opaque(`{"executableCode":{"language":"PYTHON","code":"1 <  2"},"thoughtSignature":"Y29kZQ=="}`),
	opaque(`{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"True"}}`),
	message.ToolCall{
		ID: "f1", Name: "ls", Args: json.RawMessage(`{"n": 9007199254740993, "a":"<"}`),
		Provider: "google_genai", Opaque: json.RawMessage(`{"id":"f1","thoughtSignature":"Y2FsbA=="}`),
	},
	message.ToolCall{ID: "call_1", Name: "now", Args: json.RawMessage(`{}`)},
	message.Media{Kind: message.Image, MIME: "image/png", Data: []byte("\x89PNG")},
	opaque(`{"text":"","thoughtSignature":"ZW5k"}`),
}

func TestEveryPart(t *testing.T) {
	m, _ := serve(t, chunks(everything...), gemini.Options{})
	got, err := ask(t.Context(), m, hello)
	if err != nil {
		t.Fatal(err)
	}
	want := &message.Message{
		ID: "r1", Role: message.Assistant, Finish: "tool_calls", Parts: everythingParts,
		Usage: &message.Usage{Input: 65, Output: 42, CacheRead: 40, Reasoning: 12, Total: 147},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func results() []*message.Message {
	return []*message.Message{
		message.NewTool(message.ToolCall{ID: "f1", Name: "ls"}, message.Success, "a"),
		message.NewTool(message.ToolCall{ID: "call_1", Name: "now"}, message.Error, "b"),
	}
}

// TestReplay: what came goes back, signatures where they stood, to the same provider and to no other.
func TestReplay(t *testing.T) {
	r := &model.Request{Messages: append([]*message.Message{message.NewUser("hi"), {Role: message.Assistant, Parts: everythingParts}}, results()...)}
	done := chunks(`{"candidates":[{"finishReason":"STOP"}]}`)
	m, s := serve(t, done, gemini.Options{})
	if _, err := ask(t.Context(), m, r); err != nil {
		t.Fatal(err)
	}
	want := `{"role":"model","parts":[{"text":"Let me see","thought":true,"thoughtSignature":"dGhvdWdodA+/"},` +
		`{"text":"I look \u003cb\u003e.","thoughtSignature":"dGV4dA=="},` +
		`{"executableCode":{"language":"PYTHON","code":"1 \u003c  2"},"thoughtSignature":"Y29kZQ=="},` +
		`{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"True"}},` +
		`{"functionCall":{"id":"f1","name":"ls","args":{"n":9007199254740993,"a":"\u003c"}},"thoughtSignature":"Y2FsbA=="},` +
		`{"functionCall":{"name":"now","args":{}}},{"inlineData":{"mimeType":"image/png","data":"iVBORw=="}},` +
		`{"text":"","thoughtSignature":"ZW5k"}]},` +
		`{"role":"user","parts":[{"functionResponse":{"id":"f1","name":"ls","response":{"output":"a"}}},` +
		`{"functionResponse":{"name":"now","response":{"error":"b"}}}]}`
	if !strings.Contains(s.last(), want) {
		t.Errorf("the body lacks\n%s\n%s", want, s.last())
	}
	other, s := serve(t, done, gemini.Options{Provider: "other"})
	if _, err := ask(t.Context(), other, r); err != nil {
		t.Fatal(err)
	}
	for _, not := range []string{"Let me", "dGhvd", "dGV4", "Y29k", "Y2Fsb", "ZW5k", "f1"} {
		if strings.Contains(s.last(), not) {
			t.Errorf("%s went to another provider:\n%s", not, s.last())
		}
	}
	if !strings.Contains(s.last(), `"thoughtSignature":"skip_thought_signature_validator"`) {
		t.Errorf("a call of another provider has no signature:\n%s", s.last())
	}
}

func TestEnds(t *testing.T) {
	for reason, want := range map[string]model.Finish{
		"STOP": model.Stop, "MAX_TOKENS": model.Length, "SAFETY": model.Refusal, "RECITATION": model.Refusal,
		"PROHIBITED_CONTENT": model.Refusal, "BLOCKLIST": model.Refusal,
	} {
		m, _ := serve(t, chunks(`{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"`+reason+`"}]}`), gemini.Options{})
		got, err := ask(t.Context(), m, hello)
		if err != nil || got.Finish != string(want) {
			t.Errorf("%s ends with %q and error %v, want %q", reason, got.Finish, err, want)
		}
	}
	for line, want := range map[string]model.Kind{
		`{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"print(1)"}]}`: model.Overloaded,
		`{"candidates":[{"finishReason":"OTHER"}]}`:                                              model.Other,
		`{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{}}`:             model.Refused,
	} {
		m, _ := serve(t, chunks(line), gemini.Options{})
		_, err := ask(t.Context(), m, hello)
		var e *model.Error
		if !errors.As(err, &e) || e.Kind != want || e.Code == "" {
			t.Errorf("%s: error %v, want %s", line, err, want)
		}
	}
}

// TestErrors are bodies as the service sends them.
func TestErrors(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		want   model.Kind
		wait   time.Duration
	}{
		{400, `{"error":{"code":400,"message":"The input token count (1048600) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`, model.ContextOverflow, 0},
		{400, `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}]}}`, model.Auth, 0},
		{400, `{"error":{"code":400,"message":"Please ensure that function call turn comes immediately after a user turn or after a function response turn.","status":"INVALID_ARGUMENT"}}`, model.Invalid, 0},
		{401, `{"error":{"code":401,"message":"Request had invalid authentication credentials.","status":"UNAUTHENTICATED"}}`, model.Auth, 0},
		{403, `{"error":{"code":403,"message":"Permission denied","status":"PERMISSION_DENIED"}}`, model.Auth, 0},
		{404, `{"error":{"code":404,"message":"models/gemini-nope is not found for API version v1beta","status":"NOT_FOUND"}}`, model.Invalid, 0},
		{429, `{"error":{"code":429,"message":"You exceeded your current quota. Please retry in 34.074824224s.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure"},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34s"}]}}`, model.RateLimited, 34 * time.Second},
		{429, `{"error":{"code":429,"message":"Quota exceeded for metric: generate_content_free_tier_requests, limit: 0","status":"RESOURCE_EXHAUSTED"}}`, model.Other, 0},
		{500, `{"error":{"code":500,"message":"An internal error has occurred.","status":"INTERNAL"}}`, model.Overloaded, 0},
		{503, `[{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}]`, model.Overloaded, 0},
		{504, `{"error":{"code":504,"message":"Deadline expired before operation could complete.","status":"DEADLINE_EXCEEDED"}}`, model.Connection, 0},
		{502, "<html>Bad gateway</html>", model.Overloaded, 0},
	} {
		for _, form := range []string{"status", "event", "bare"} {
			if form != "status" && c.body[0] == '<' {
				continue
			}
			m, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				switch form {
				case "status":
					w.WriteHeader(c.status)
					fmt.Fprint(w, c.body)
				case "event":
					w.Header().Set("Content-Type", "text/event-stream")
					fmt.Fprint(w, stream(c.body))
				case "bare":
					w.Header().Set("Content-Type", "text/event-stream")
					fmt.Fprint(w, c.body)
				}
			}, gemini.Options{})
			_, err := ask(t.Context(), m, hello)
			var e *model.Error
			if !errors.As(err, &e) {
				t.Fatalf("%s as %s: %v is no *model.Error", c.body, form, err)
			}
			if e.Kind != c.want || e.RetryAfter != c.wait || e.Provider != "google_genai" || e.Status != c.status {
				t.Errorf("%s as %s: kind %s, status %d, retry after %v; want %s, %v", c.body, form, e.Kind, e.Status, e.RetryAfter, c.want, c.wait)
			}
		}
	}
}

func TestMalformed(t *testing.T) {
	for name, line := range map[string]string{
		"no JSON": `{"candidates":[`, "wrong type": `{"candidates":{"x":1}}`, "bad part": `{"candidates":[{"content":{"parts":[{"text":1}]}}]}`,
		"bad data": `{"candidates":[{"content":{"parts":[{"inlineData":{"mimeType":"image/png","data":"?"}}]}}]}`,
	} {
		m, _ := serve(t, chunks(`{"candidates":[{"content":{"parts":[{"text":"kept"}]}}]}`, line, `{"candidates":[{"finishReason":"STOP"}]}`), gemini.Options{})
		got, err := ask(t.Context(), m, hello)
		var e *model.Error
		if !errors.As(err, &e) || e.Kind != model.Other || e.Code != "malformed_event" || got.Text() != "kept" {
			t.Errorf("%s: error %v after %q", name, err, got.Text())
		}
	}
}

func TestNoStream(t *testing.T) {
	m, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<html>please log in</html>")
	}, gemini.Options{})
	var e *model.Error
	if _, err := ask(t.Context(), m, hello); !errors.As(err, &e) || e.Kind != model.Other || e.Code != "content_type" {
		t.Errorf("error %v", err)
	}
}

// TestCutAnywhere: an answer that ends after any of its bytes is a lost connection, and its beginning is kept.
func TestCutAnywhere(t *testing.T) {
	whole := stream(everything...)
	lengths := map[bool]string{true: "told", false: "unknown"}
	for told, name := range lengths {
		t.Run("length "+name, func(t *testing.T) {
			at := make(chan int, 1)
			m, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				if told {
					w.Header().Set("Content-Length", fmt.Sprint(len(whole)))
				}
				fmt.Fprint(w, whole[:<-at])
			}, gemini.Options{})
			parts := 0
			for i := 0; i < len(whole)-4; i += 11 {
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
			if parts < len(everythingParts)-1 {
				t.Errorf("%d parts were left at the end, want %d", parts, len(everythingParts)-1)
			}
		})
	}
}

// TestCancelAnywhere: the context ends after any delta.
func TestCancelAnywhere(t *testing.T) {
	n := 0
	full, _ := serve(t, chunks(everything...), gemini.Options{})
	for range full.Stream(t.Context(), hello) {
		n++
	}
	m, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		chunks(everything...)(w, r)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}, gemini.Options{})
	for after := range n - 1 {
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
		}, gemini.Options{})
		var e *model.Error
		if got, err := ask(ctx, m, hello); !errors.Is(err, context.Canceled) || !errors.As(err, &e) || e.Retryable() || got.Finish != "" {
			t.Fatalf("cancelled at %d: error %v, finish %q", at, err, got.Finish)
		}
	}
}

func TestSilence(t *testing.T) {
	m, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		chunks(everything[0])(w, r)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}, gemini.Options{Timeout: 30 * time.Millisecond})
	got, err := ask(t.Context(), m, hello)
	var e *model.Error
	if !errors.As(err, &e) || e.Kind != model.Connection || got.ID != "r1" {
		t.Errorf("error %v after message %q", err, got.ID)
	}
}

func TestRetries(t *testing.T) {
	calls := 0
	refuse := func(w http.ResponseWriter, wait string) {
		w.Header().Set("Retry-After-Ms", wait)
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, `{"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}`)
	}
	m, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if calls++; calls < 3 {
			refuse(w, "1")
			return
		}
		chunks(everything...)(w, r)
	}, gemini.Options{Retries: 2})
	if _, err := ask(t.Context(), m, hello); err != nil || calls != 3 {
		t.Errorf("error %v after %d calls, want success after 3", err, calls)
	}
	calls = 0
	m, _ = serve(t, func(w http.ResponseWriter, _ *http.Request) { calls++; refuse(w, "3600000") }, gemini.Options{Retries: 2})
	var e *model.Error
	if _, err := ask(t.Context(), m, hello); !errors.As(err, &e) || e.RetryAfter != time.Hour || calls != 1 {
		t.Errorf("error %v after %d calls, want an hour's wait told after 1", err, calls)
	}
}

func TestHeadersAndKeys(t *testing.T) {
	m, s := serve(t, chunks(everything...), gemini.Options{Key: "k1", Headers: map[string]string{"X-Team": "blue"}, AgentHeader: "X-Agent"})
	r := *hello
	r.Agent = "reviewer"
	if _, err := ask(t.Context(), m, &r); err != nil {
		t.Fatal(err)
	}
	if h := s.heads[0]; h.Get("X-Goog-Api-Key") != "k1" || h.Get("X-Team") != "blue" || h.Get("X-Agent") != "reviewer" {
		t.Errorf("headers %v", h)
	}
	for _, o := range []gemini.Options{{Model: "gemini-3-pro"}, {Model: "gemini-3-pro", Key: "secret-key", Vertex: true, Location: "nowhere", Project: ""}} {
		_, err := gemini.New(t.Context(), o)
		if o.Key == "" && !errors.Is(err, model.ErrAuth) || err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("error %v", err)
		}
	}
}
