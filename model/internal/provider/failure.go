package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/deepagents-go/deepagents/model"
)

// Rule gives an error its kind. Status is an HTTP status, or 0 for any; Text is found, whatever its case, in the code, type or
// message of the error, and empty fits all. The first rule that fits decides.
type Rule struct {
	Status int
	Text   string
	Kind   model.Kind
}

// General are the rules that hold for every provider; a provider's own stand before them.
func General() []Rule {
	return []Rule{
		{Text: "context_length_exceeded", Kind: model.ContextOverflow},
		{Text: "context length exceeded", Kind: model.ContextOverflow},
		{Text: "maximum context length", Kind: model.ContextOverflow},
		{Text: "exceeds the context window", Kind: model.ContextOverflow},
		{Text: "exceeds the available context size", Kind: model.ContextOverflow},
		{Text: "exceed_context_size_error", Kind: model.ContextOverflow},
		{Text: "greater than the context length", Kind: model.ContextOverflow},
		{Text: "exceeded max context length", Kind: model.ContextOverflow},
		{Text: "maximum prompt length", Kind: model.ContextOverflow},
		{Text: "prompt is too long", Kind: model.ContextOverflow},
		{Text: "prompt too long", Kind: model.ContextOverflow},
		{Text: "input is too long", Kind: model.ContextOverflow},
		{Text: "too many tokens: ", Kind: model.ContextOverflow},
		{Text: "input length and `max_tokens` exceed", Kind: model.ContextOverflow},
		{Text: "input token count", Kind: model.ContextOverflow},
		{Text: "input tokens exceed the configured limit", Kind: model.ContextOverflow},
		{Text: "range of input length should be", Kind: model.ContextOverflow},
		{Text: "reduce the length of the messages", Kind: model.ContextOverflow},
		{Text: "too large for model with", Kind: model.ContextOverflow},
		{Text: "tokens must be reduced", Kind: model.ContextOverflow}, // more than a minute's limit: waiting does not help
		{Status: http.StatusRequestEntityTooLarge, Kind: model.ContextOverflow},

		// No money is not a matter of waiting.
		{Text: "insufficient_quota", Kind: model.Other},
		{Text: "insufficient balance", Kind: model.Other},
		{Text: "credit balance is too low", Kind: model.Other},
		{Text: "billing_hard_limit_reached", Kind: model.Other},
		{Status: http.StatusPaymentRequired, Kind: model.Other},

		{Status: http.StatusUnauthorized, Kind: model.Auth},
		{Status: http.StatusForbidden, Kind: model.Auth},
		{Text: "invalid_api_key", Kind: model.Auth},
		{Text: "authentication_error", Kind: model.Auth},
		{Text: "permission_error", Kind: model.Auth},

		{Status: http.StatusTooManyRequests, Text: "overloaded", Kind: model.Overloaded},
		{Status: http.StatusTooManyRequests, Kind: model.RateLimited},
		{Text: "rate_limit", Kind: model.RateLimited},
		{Text: "rate limit", Kind: model.RateLimited},
		{Text: "too many requests", Kind: model.RateLimited},

		{Text: "content_policy_violation", Kind: model.Refused},
		{Text: "content_filter", Kind: model.Refused},
		{Text: "bio_policy", Kind: model.Refused},
		{Text: "misalignment_policy_violation", Kind: model.Refused},

		{Text: "overloaded", Kind: model.Overloaded},
		{Text: "server_error", Kind: model.Overloaded},
		{Text: "service unavailable", Kind: model.Overloaded},
		{Text: "insufficient_system_resource", Kind: model.Overloaded},
		{Status: http.StatusRequestTimeout, Kind: model.Connection},
		{Status: http.StatusConflict, Kind: model.Overloaded},
	}
}

// Failure is an error as a provider tells it.
type Failure struct {
	Provider string
	// Status is the HTTP status, or 0 for an error inside a stream that tells none.
	Status int
	Header http.Header
	// Body is the response, or the event.
	Body []byte
}

// Classify turns a failure into an error: by the rules, else 5xx is [model.Overloaded], 4xx [model.Invalid] and the rest
// [model.Other]. Code, text and a status that stands in the body are found in the forms that providers use.
func Classify(f Failure, rules []Rule) *model.Error {
	d := describe(f.Body)
	status := f.Status
	if (status == 0 || status == http.StatusOK) && d.status >= 400 && d.status < 600 {
		status = d.status
	}
	e := &model.Error{
		Kind: model.Other, Status: status, Provider: f.Provider, Code: d.code, RetryAfter: RetryAfter(f.Header, time.Now()),
		Err: errors.New(d.text),
	}
	if d.text == "" {
		e.Err = fmt.Errorf("no details (HTTP status %d %s)", status, http.StatusText(status))
	}
	text := strings.ToLower(d.code + "\n" + d.kind + "\n" + d.text)
	for _, r := range rules {
		if (r.Status == 0 || r.Status == status) && strings.Contains(text, strings.ToLower(r.Text)) {
			e.Kind = r.Kind
			return e
		}
	}
	switch {
	case status >= 500:
		e.Kind = model.Overloaded
	case status >= 400:
		e.Kind = model.Invalid
	}
	return e
}

// described is what an error body says.
type described struct {
	code, kind, text string
	status           int
}

// describe reads {"error": {...}}, [{"error": {...}}], {"error": "text"}, {"message": ...}, {"detail": ...} and plain text.
func describe(body []byte) described {
	const most = 2000
	body = bytes.TrimSpace(body)
	raw := body
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil && len(list) > 0 {
		raw = list[0]
	}
	var top map[string]json.RawMessage
	if json.Unmarshal(raw, &top) != nil {
		return described{text: clip(string(body), most)}
	}
	fields := top
	if inner := top["error"]; len(inner) > 0 && string(inner) != "null" {
		var m map[string]json.RawMessage
		if json.Unmarshal(inner, &m) == nil {
			fields = m
		} else if top["message"] == nil {
			fields = map[string]json.RawMessage{"message": inner, "code": top["code"], "type": top["type"]}
		}
	}
	d := described{code: plain(fields["code"]), kind: plain(fields["type"]), text: plain(fields["message"])}
	if n, err := strconv.Atoi(d.code); err == nil {
		d.status = n
		d.code = ""
	}
	if s := plain(fields["status"]); d.code == "" {
		d.code = s
	}
	if d.code == "" {
		d.code = d.kind
	}
	if d.text == "" {
		d.text = plain(top["detail"])
	}
	if d.text == "" {
		d.text = string(body)
	}
	// OpenRouter puts what the provider behind it said here, and only "Provider returned error" in the message.
	var meta struct {
		Metadata struct {
			Raw json.RawMessage `json:"raw"`
		} `json:"metadata"`
	}
	if inner := top["error"]; json.Unmarshal(inner, &meta) == nil && len(meta.Metadata.Raw) > 0 {
		d.text += ": " + plain(meta.Metadata.Raw)
	}
	d.text = clip(d.text, most)
	return d
}

// plain returns a JSON string's text, and any other value but null as it is written.
func plain(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "..."
}

// RetryAfter reads how long the provider asks to wait: the milliseconds of Retry-After-Ms, else the seconds or the date of
// Retry-After. 0 means that it does not say; a date that is past is 0 too.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return span(ms, time.Millisecond)
	}
	v := h.Get("Retry-After")
	if v == "" {
		return 0
	}
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		return span(s, time.Second)
	}
	if t, err := http.ParseTime(v); err == nil {
		return max(0, t.Sub(now))
	}
	return 0
}

// span is n units, at most a day; what is no positive number is 0.
func span(n float64, unit time.Duration) time.Duration {
	const most = 24 * time.Hour
	if !(n > 0) {
		return 0
	}
	if n > float64(most/unit) {
		return most
	}
	return time.Duration(n * float64(unit))
}

// Broken is the error of a connection that failed or of an answer that ended before it was complete. When the caller's context
// ended, it is an error that nobody retries and that wraps the context's error and its cause.
func Broken(ctx context.Context, provider string, err error) *model.Error {
	kind := model.Connection
	var silent *SilenceError
	cause := context.Cause(ctx)
	switch {
	case errors.As(cause, &silent):
		err = silent
	case ctx.Err() != nil:
		kind, err = model.Other, ctx.Err()
		if cause != nil && !errors.Is(cause, err) {
			err = fmt.Errorf("%w: %w", err, cause)
		}
	}
	return &model.Error{Kind: kind, Provider: provider, Err: err}
}
