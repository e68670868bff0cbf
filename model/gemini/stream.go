package gemini

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"strings"
	"time"

	"google.golang.org/genai"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/internal/provider"
)

const (
	firstWait   = 500 * time.Millisecond
	longestWait = 2 * time.Minute
)

// Stream asks the model. A stream that ends before it says why is a [model.Connection] error, and so is a silence of
// Options.Timeout; what came before stays with the reader.
func (m *Model) Stream(ctx context.Context, r *model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		ctx, watch, cancel := provider.Silence(ctx, m.o.Timeout)
		defer cancel()
		body, err := m.open(ctx, watch, r)
		if err != nil {
			yield(model.Delta{}, err)
			return
		}
		defer func() { _ = body.Close() }()
		s := stream{m: m, ctx: ctx, yield: yield}
		s.run(watch.Reader(body))
	}
}

// open sends the request, again when that may help, and returns the body of the answer.
func (m *Model) open(ctx context.Context, watch *provider.Watch, r *model.Request) (io.ReadCloser, error) {
	body, err := m.body(r)
	if err != nil {
		return nil, &model.Error{Kind: model.Invalid, Provider: m.o.Provider, Err: err}
	}
	wait := firstWait
	for n := 0; ; n++ {
		if ctx.Err() != nil {
			return nil, provider.Broken(ctx, m.o.Provider, ctx.Err())
		}
		res, failed := m.send(ctx, watch, body, r)
		if failed == nil {
			return res, nil
		}
		pause := cmp.Or(failed.RetryAfter, wait)
		if n >= m.o.Retries || !failed.Retryable() || pause > longestWait {
			return nil, failed
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, provider.Broken(ctx, m.o.Provider, ctx.Err())
		}
		wait *= 2
	}
}

// send sends the request once.
func (m *Model) send(ctx context.Context, watch *provider.Watch, body map[string]any, r *model.Request) (io.ReadCloser, *model.Error) {
	watch.Begin()
	defer watch.End()
	var x exchange
	never := false
	config := &genai.GenerateContentConfig{AutomaticContinuation: &never, HTTPOptions: &genai.HTTPOptions{
		Headers:               make(http.Header),
		ExtrasRequestProvider: func(map[string]any) map[string]any { return body },
	}}
	if m.o.AgentHeader != "" && r.Agent != "" {
		config.HTTPOptions.Headers.Set(m.o.AgentHeader, r.Agent)
	}
	// The SDK sees one empty content, and an empty stream: the real ones go past it.
	var failed error
	for _, err := range m.client.Models.GenerateContentStream(withExchange(ctx, &x), m.o.Model, genai.Text("x"), config) {
		if err != nil {
			failed = err
			break
		}
	}
	switch {
	case ctx.Err() != nil:
		if x.body != nil {
			_ = x.body.Close()
		}
		return nil, provider.Broken(ctx, m.o.Provider, ctx.Err())
	case x.body != nil:
		return x.body, m.checkType(ctx, &x)
	case x.status != 0 && x.text != nil:
		return nil, m.classify(x.status, x.header, x.text)
	case failed == nil:
		failed = errors.New("the SDK sent nothing")
	}
	return nil, provider.Broken(ctx, m.o.Provider, failed)
}

// checkType refuses what is no event stream: a page of a proxy, an error with status 200.
func (m *Model) checkType(ctx context.Context, x *exchange) *model.Error {
	kind, _, _ := mime.ParseMediaType(x.header.Get("Content-Type"))
	if kind == "text/event-stream" || kind == "" {
		return nil
	}
	defer func() { _ = x.body.Close() }()
	text, err := io.ReadAll(io.LimitReader(x.body, maxErrorBody))
	if err != nil {
		return provider.Broken(ctx, m.o.Provider, err)
	}
	if isError(text) {
		return m.classify(x.status, x.header, text)
	}
	return &model.Error{Kind: model.Other, Status: x.status, Provider: m.o.Provider, Code: "content_type", Err: fmt.Errorf(
		"the server answered with content type %q, not with an event stream: %.200q", kind, text,
	)}
}

// isError reports whether a JSON value, or the first of a list, has an error in it.
func isError(data []byte) bool {
	type failure struct{ Error json.RawMessage }
	var one failure
	if json.Unmarshal(data, &one) != nil {
		var list []failure
		if json.Unmarshal(data, &list) != nil || len(list) == 0 {
			return false
		}
		one = list[0]
	}
	return len(one.Error) > 0 && string(one.Error) != "null"
}

// stream turns chunks into deltas.
type stream struct {
	m      *Model
	ctx    context.Context // of one request
	yield  func(model.Delta, error) bool
	id     string
	calls  int
	counts usage
	finish model.Finish
}

// run reads to the end.
func (s *stream) run(body io.Reader) {
	const line = 256 << 20
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 0, 16<<10), line)
	var data []byte
	for lines.Scan() {
		text := lines.Bytes()
		switch rest, ok := bytes.CutPrefix(text, []byte("data:")); {
		case ok:
			data = append(append(data, bytes.TrimPrefix(rest, []byte(" "))...), '\n')
			continue
		case len(text) > 0 && text[0] != ':' && !field(text):
			data = append(append(data, text...), '\n') // errors come without the prefix
			continue
		case len(text) > 0 || len(data) == 0:
			continue
		}
		if !s.event(data) {
			return
		}
		data = data[:0]
	}
	s.end(lines.Err(), data)
}

// field reports whether a line is a field of an event other than its data.
func field(line []byte) bool {
	name, _, ok := bytes.Cut(line, []byte(":"))
	return ok && (string(name) == "event" || string(name) == "id" || string(name) == "retry")
}

// end takes the end of the connection, with what came after the last whole event.
func (s *stream) end(err error, rest []byte) {
	switch {
	case s.ctx.Err() != nil:
		s.fail(s.ctx.Err())
	case err == nil && isError(rest):
		s.fail(s.m.classify(0, nil, rest))
	case err == nil && len(bytes.TrimSpace(rest)) == 0 && s.finish != "":
		s.yield(model.Delta{Finish: s.finish}, nil)
	default:
		s.fail(provider.Broken(s.ctx, s.m.o.Provider, fmt.Errorf("the answer ended before it was complete: %w", cmp.Or(err, io.ErrUnexpectedEOF))))
	}
}

// fail ends the sequence. When the context ended, that is the reason, whatever it did to the stream.
func (s *stream) fail(err error) {
	if s.ctx.Err() != nil {
		err = provider.Broken(s.ctx, s.m.o.Provider, err)
	}
	s.yield(model.Delta{}, err)
}

type chunk struct {
	Candidates []struct {
		Content struct {
			Parts []json.RawMessage `json:"parts"`
		} `json:"content"`
		FinishReason  string `json:"finishReason"`
		FinishMessage string `json:"finishMessage"`
	} `json:"candidates"`
	Feedback *struct {
		Reason  string `json:"blockReason"`
		Message string `json:"blockReasonMessage"`
	} `json:"promptFeedback"`
	Usage *usage          `json:"usageMetadata"`
	ID    string          `json:"responseId"`
	Error json.RawMessage `json:"error"`
}

type usage struct {
	Prompt     *int `json:"promptTokenCount"`
	ToolPrompt *int `json:"toolUsePromptTokenCount"`
	Cached     *int `json:"cachedContentTokenCount"`
	Candidates *int `json:"candidatesTokenCount"`
	Thoughts   *int `json:"thoughtsTokenCount"`
}

// event handles one chunk. It reports whether the stream goes on.
func (s *stream) event(data []byte) bool {
	if s.ctx.Err() != nil {
		s.fail(s.ctx.Err())
		return false
	}
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		if isError(data) {
			s.fail(s.m.classify(0, nil, data))
		} else {
			s.fail(s.malformed(data, err))
		}
		return false
	}
	if isError(data) {
		s.fail(s.m.classify(0, nil, data))
		return false
	}
	if c.ID != "" && s.id == "" {
		if s.id = c.ID; !s.yield(model.Delta{MessageID: c.ID}, nil) {
			return false
		}
	}
	if f := c.Feedback; f != nil && f.Reason != "" && f.Reason != "BLOCK_REASON_UNSPECIFIED" {
		s.fail(&model.Error{Kind: model.Refused, Provider: s.m.o.Provider, Code: f.Reason, Err: errors.New(cmp.Or(f.Message, "the prompt was blocked"))})
		return false
	}
	if len(c.Candidates) > 0 {
		for _, raw := range c.Candidates[0].Content.Parts {
			ok, err := s.part(raw)
			if err != nil {
				s.fail(s.malformed(data, err))
			}
			if err != nil || !ok {
				return false
			}
		}
	}
	if c.Usage != nil && !s.count(c.Usage) {
		return false
	}
	if len(c.Candidates) > 0 && c.Candidates[0].FinishReason != "" {
		return s.finished(c.Candidates[0].FinishReason, c.Candidates[0].FinishMessage)
	}
	return true
}

func (s *stream) malformed(data []byte, err error) error {
	return &model.Error{Kind: model.Other, Provider: s.m.o.Provider, Code: "malformed_event", Err: fmt.Errorf(
		"malformed event %.200q: %w", bytes.TrimSpace(data), err,
	)}
}

// finished notes why the answer ends. What the model itself broke is worth another try.
func (s *stream) finished(reason, text string) bool {
	fail := func(kind model.Kind) bool {
		s.fail(&model.Error{Kind: kind, Provider: s.m.o.Provider, Code: reason, Err: errors.New(cmp.Or(text, "the answer ended with "+reason))})
		return false
	}
	switch reason {
	case "FINISH_REASON_UNSPECIFIED":
		return true
	case "STOP":
		if s.finish = model.Stop; s.calls > 0 {
			s.finish = model.ToolCalls
		}
	case "MAX_TOKENS":
		s.finish = model.Length
	case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
		s.finish = model.Refusal
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE":
		return fail(model.Overloaded)
	default:
		return fail(model.Other)
	}
	return true
}

// count takes the counters of a chunk: they are those of the whole answer so far.
func (s *stream) count(u *usage) bool {
	set := func(to **int, n *int) {
		if n != nil {
			*to = n
		}
	}
	set(&s.counts.Prompt, u.Prompt)
	set(&s.counts.ToolPrompt, u.ToolPrompt)
	set(&s.counts.Cached, u.Cached)
	set(&s.counts.Candidates, u.Candidates)
	set(&s.counts.Thoughts, u.Thoughts)
	n := func(p *int) int {
		if p == nil {
			return 0
		}
		return *p
	}
	c := s.counts
	now := message.Usage{CacheRead: n(c.Cached), Reasoning: n(c.Thoughts), Output: n(c.Candidates) + n(c.Thoughts)}
	now.Input = max(0, n(c.Prompt)-now.CacheRead) + n(c.ToolPrompt)
	now.Total = now.Input + now.Output + now.CacheRead
	return s.yield(model.Delta{Usage: &now}, nil)
}

type part struct {
	Text      *string `json:"text"`
	Thought   bool    `json:"thought"`
	Signature string  `json:"thoughtSignature"`
	Call      *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
	Inline *struct {
		MIME string `json:"mimeType"`
		Data []byte `json:"data"`
	} `json:"inlineData"`
}

// part handles one part. ok is false when the reader is gone.
func (s *stream) part(raw json.RawMessage) (ok bool, err error) {
	var p part
	if err := json.Unmarshal(raw, &p); err != nil {
		return false, err
	}
	switch {
	case p.Call != nil:
		return s.call(&p)
	case p.Inline != nil:
		kind, _, _ := strings.Cut(p.Inline.MIME, "/")
		m := message.Media{Kind: message.MediaKind(kind), MIME: p.Inline.MIME, Data: p.Inline.Data}
		if m.Kind != message.Image && m.Kind != message.Audio && m.Kind != message.Video {
			m.Kind = message.File
		}
		return s.yield(model.Delta{Part: m}, nil) && s.signed(p.Signature, false), nil
	case p.Text == nil:
		if len(raw) <= len(`{}`) {
			return true, nil
		}
		return s.yield(model.Delta{Part: message.Opaque{Provider: s.m.o.Provider, Data: bytes.Clone(raw)}}, nil), nil
	case p.Thought:
		return (*p.Text == "" || s.yield(model.Delta{Reasoning: *p.Text}, nil)) && s.signed(p.Signature, true), nil
	case *p.Text == "" && p.Signature != "":
		return s.yield(model.Delta{Part: message.Opaque{Provider: s.m.o.Provider, Data: bytes.Clone(raw)}}, nil), nil
	}
	return (*p.Text == "" || s.yield(model.Delta{Text: *p.Text}, nil)) && s.signed(p.Signature, false), nil
}

// signed yields the signature of what was yielded before it.
func (s *stream) signed(signature string, thought bool) bool {
	if signature == "" {
		return true
	}
	raw := keep(kept{Signature: signature})
	if thought {
		return s.yield(model.Delta{Part: message.Reasoning{Provider: s.m.o.Provider, Opaque: raw}}, nil)
	}
	return s.yield(model.Delta{Part: message.Opaque{Provider: s.m.o.Provider, Data: raw}}, nil)
}

func keep(k kept) json.RawMessage {
	raw, err := json.Marshal(k)
	if err != nil { // strings cannot fail
		return nil
	}
	return raw
}

// call yields a call, which comes whole. Arguments that are no object are kept as the text that they are.
func (s *stream) call(p *part) (bool, error) {
	d := &model.CallDelta{Index: s.calls, ID: p.Call.ID, Name: p.Call.Name, Args: string(p.Call.Args)}
	s.calls++
	if d.ID == "" {
		d.ID = fmt.Sprint("call_", d.Index)
	}
	switch {
	case len(p.Call.Args) > 0 && p.Call.Args[0] == '"':
		if err := json.Unmarshal(p.Call.Args, &d.Args); err != nil {
			return false, err
		}
	case d.Args == "null":
		d.Args = ""
	}
	if k := (kept{ID: p.Call.ID, Signature: p.Signature}); k != (kept{}) {
		d.Provider, d.Opaque = s.m.o.Provider, keep(k)
	}
	return s.yield(model.Delta{Call: d}, nil), nil
}
