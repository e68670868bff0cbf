package provider_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/internal/provider"
)

// TestClassify: bodies as providers sent them, from public reports.
func TestClassify(t *testing.T) {
	for _, c := range []struct {
		from   string
		status int
		body   string
		kind   model.Kind
		code   string
		text   string
	}{
		{"OpenAI chat", 400, `{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 204308 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, model.ContextOverflow, "context_length_exceeded", "204308"},
		{"OpenAI responses", 400, `{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}`, model.ContextOverflow, "", ""},
		{"OpenAI limit", 400, `{"error":{"message":"Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.","type":"invalid_request_error","param":"messages","code":"invalid_request_error"}}`, model.ContextOverflow, "", ""},
		{"vLLM", 400, `{"object":"error","message":"This model's maximum context length is 16384 tokens. However, you requested 19591 tokens (9591 in the messages, 10000 in the completion).","type":"BadRequestError","param":null,"code":400}`, model.ContextOverflow, "BadRequestError", ""},
		{"Groq", 400, `{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, model.ContextOverflow, "", ""},
		{"DashScope", 400, `{"error":{"code":"invalid_parameter_error","param":null,"message":"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]","type":"invalid_request_error"}}`, model.ContextOverflow, "", ""},
		{"llama.cpp", 400, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":4096}}`, model.ContextOverflow, "exceed_context_size_error", ""},
		{"Mistral", 400, `{"object":"error","message":"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_error","code":"3051"}`, model.ContextOverflow, "", ""},
		{"xAI", 400, `{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}`, model.ContextOverflow, "Client specified an invalid argument", "537812"},
		{"Anthropic", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 208310 tokens > 200000 maximum"}}`, model.ContextOverflow, "invalid_request_error", ""},
		{"Gemini", 400, `[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]`, model.ContextOverflow, "INVALID_ARGUMENT", ""},
		{"OpenRouter", 400, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"prompt is too long: 201000 tokens > 200000 maximum\"}}","provider_name":"X"}}}`, model.ContextOverflow, "", "prompt is too long"},
		{"OpenAI, one request over the limit", 429, `{"error":{"message":"Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 40000. The input or output tokens must be reduced in order to run successfully.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`, model.ContextOverflow, "rate_limit_exceeded", ""},
		{"too large", 413, ``, model.ContextOverflow, "", "413"},

		{"OpenAI rate", 429, `{"error":{"message":"Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`, model.RateLimited, "rate_limit_exceeded", ""},
		{"OpenAI quota", 429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`, model.Other, "insufficient_quota", ""},
		{"DeepSeek balance", 402, `{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}`, model.Other, "", ""},
		{"Anthropic credit", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`, model.Other, "", ""},
		{"engine overloaded", 429, `{"error":{"message":"The engine is currently overloaded, please try again later","type":"engine_overloaded_error"}}`, model.Overloaded, "engine_overloaded_error", ""},

		{"OpenAI key", 401, `{"error":{"message":"Incorrect API key provided: sk-x.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`, model.Auth, "invalid_api_key", ""},
		{"forbidden", 403, `{"error":{"message":"Country not supported","code":"unsupported_country_region_territory"}}`, model.Auth, "", ""},
		{"Anthropic overloaded", 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, model.Overloaded, "overloaded_error", ""},
		{"stream, no status", 0, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, model.Overloaded, "", ""},
		{"policy", 400, `{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","type":null,"param":"prompt","code":"content_filter","status":400}}`, model.Refused, "content_filter", ""},
		{"bad request", 400, `{"error":{"message":"Invalid value: 'x'.","type":"invalid_request_error","param":"messages","code":"invalid_value"}}`, model.Invalid, "invalid_value", "Invalid value"},
		{"FastAPI", 422, `{"detail":[{"loc":["body"],"msg":"field required"}]}`, model.Invalid, "", "field required"},
		{"no such model", 404, `{"error":{"message":"The model does not exist","type":"invalid_request_error","code":"model_not_found"}}`, model.Invalid, "model_not_found", ""},
		{"proxy", 502, `<html>Bad Gateway</html>`, model.Overloaded, "", "Bad Gateway"},
		{"timeout", 408, `{"message":"timed out"}`, model.Connection, "", "timed out"},
		{"nothing", 500, ``, model.Overloaded, "", "no details"},
		{"OpenRouter stream", 0, `{"id":"gen","error":{"code":429,"message":"Provider returned error"},"choices":[]}`, model.RateLimited, "", ""},
		{"strange", 0, `null`, model.Other, "", "null"},
	} {
		t.Run(c.from, func(t *testing.T) {
			e := provider.Classify(provider.Failure{Provider: "p", Status: c.status, Body: []byte(c.body)}, provider.General())
			if e.Kind != c.kind || c.code != "" && e.Code != c.code || !strings.Contains(e.Error(), c.text) || e.Provider != "p" {
				t.Errorf("%v: kind %s, code %q; want %s, %q and %q", e, e.Kind, e.Code, c.kind, c.code, c.text)
			}
		})
	}
	own := append([]provider.Rule{{Status: 400, Text: "INVALID VALUE", Kind: model.Refused}}, provider.General()...)
	if e := provider.Classify(provider.Failure{Status: 400, Body: []byte(`{"message":"invalid value"}`)}, own); e.Kind != model.Refused {
		t.Errorf("the provider's own rule does not come first: %v", e)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		ms, after string
		want      time.Duration
	}{
		{"", "", 0},
		{"", "7", 7 * time.Second},
		{"", "0.5", 500 * time.Millisecond},
		{"1500", "7", 1500 * time.Millisecond},
		{"x", "7", 7 * time.Second},
		{"", "Fri, 02 Jan 2026 03:05:05 GMT", time.Minute},
		{"", "Fri, 02 Jan 2026 03:00:05 GMT", 0},
		{"", "-3", 0},
		{"", "NaN", 0},
		{"", "soon", 0},
		{"", "1e300", 24 * time.Hour},
	} {
		h := http.Header{}
		if c.ms != "" {
			h.Set("Retry-After-Ms", c.ms)
		}
		if c.after != "" {
			h.Set("Retry-After", c.after)
		}
		if got := provider.RetryAfter(h, now); got != c.want {
			t.Errorf("%q, %q: %v, want %v", c.ms, c.after, got, c.want)
		}
	}
	if got := provider.RetryAfter(nil, now); got != 0 {
		t.Errorf("no header: %v", got)
	}
}

func TestBroken(t *testing.T) {
	lost := errors.New("reset by peer")
	if e := provider.Broken(t.Context(), "p", lost); e.Kind != model.Connection || !errors.Is(e, lost) {
		t.Errorf("%v is no connection error", e)
	}
	why := errors.New("the person left")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if e := provider.Broken(ctx, "p", lost); e.Retryable() || !errors.Is(e, context.Canceled) || !errors.Is(e, why) {
		t.Errorf("%v, want a cancellation with its cause", e)
	}
}

func TestSilence(t *testing.T) {
	ctx, w, stop := provider.Silence(t.Context(), time.Nanosecond)
	defer stop()
	w.Begin()
	<-ctx.Done()
	var s *provider.SilenceError
	if e := provider.Broken(ctx, "p", fmt.Errorf("read: %w", ctx.Err())); e.Kind != model.Connection || !errors.As(e, &s) {
		t.Errorf("%v, want a connection error of silence", e)
	}
	ctx, w, stop = provider.Silence(t.Context(), 0)
	w.Begin()
	w.End()
	if ctx.Err() != nil {
		t.Error("no limit ended the context")
	}
	stop()
	if ctx.Err() == nil {
		t.Error("the context goes on")
	}
}
