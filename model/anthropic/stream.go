package anthropic

import (
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
	"time"

	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/internal/provider"
)

// maxErrorBody bounds what is read of an error.
const maxErrorBody = 1 << 20

// Stream asks the model. A stream that ends before its last event is a [model.Connection] error, and so is a silence of
// Options.Timeout; what came before stays with the reader.
func (m *Model) Stream(ctx context.Context, r *model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		ctx, watch, cancel := provider.Silence(ctx, m.o.Timeout)
		defer cancel()
		res, err := m.send(ctx, watch, r)
		if err != nil {
			yield(model.Delta{}, err)
			return
		}
		defer res.Body.Close()
		res.Body = watch.Reader(res.Body)
		dec := ssestream.NewDecoder(res)
		s := stream{m: m, ctx: ctx, dec: dec, yield: yield, blocks: make(map[int]*block)}
		if s.run() {
			drain(dec, cancel)
		}
	}
}

// drain reads what is left after the last event, so that the connection can be used again.
func drain(dec ssestream.Decoder, cancel func()) {
	timer := time.AfterFunc(time.Second, cancel)
	defer timer.Stop()
	for dec.Next() { // nothing more is meant to come
	}
}

func (m *Model) send(ctx context.Context, watch *provider.Watch, r *model.Request) (*http.Response, error) {
	body, err := m.body(r)
	if err != nil {
		return nil, &model.Error{Kind: model.Invalid, Provider: m.o.Provider, Err: err}
	}
	if ctx.Err() != nil {
		return nil, provider.Broken(ctx, m.o.Provider, ctx.Err())
	}
	opts := []option.RequestOption{option.WithMiddleware(
		func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
			return attempt(req, next, watch)
		},
	)}
	if m.o.AgentHeader != "" && r.Agent != "" {
		opts = append(opts, option.WithHeader(m.o.AgentHeader, r.Agent))
	}
	var res *http.Response
	if err := m.client.Post(ctx, "v1/messages", body, &res, opts...); err != nil {
		return nil, m.failure(ctx, err)
	}
	return res, m.checkType(ctx, res)
}

// attempt is one request of the SDK's. It keeps the SDK from sleeping for hours inside a call.
func attempt(r *http.Request, next option.MiddlewareNext, watch *provider.Watch) (*http.Response, error) {
	watch.Begin()
	defer watch.End()
	res, err := next(r)
	if res != nil && provider.RetryAfter(res.Header, time.Now()) > longestWait {
		res.Header.Set("X-Should-Retry", "false")
	}
	return res, err
}

// checkType refuses what is no event stream: a page of a proxy, an error with status 200.
func (m *Model) checkType(ctx context.Context, res *http.Response) error {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if kind == "text/event-stream" || kind == "" {
		return nil
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	if err != nil {
		return provider.Broken(ctx, m.o.Provider, err)
	}
	var e struct{ Error json.RawMessage }
	if json.Unmarshal(text, &e) == nil && len(e.Error) > 0 && string(e.Error) != "null" {
		return m.event(res.StatusCode, res.Header, text)
	}
	return &model.Error{Kind: model.Other, Status: res.StatusCode, Provider: m.o.Provider, Code: "content_type", Err: fmt.Errorf(
		"the server answered with content type %q, not with an event stream: %.200q", kind, text,
	)}
}

// stream turns events into deltas.
type stream struct {
	m      *Model
	ctx    context.Context // of one request
	dec    ssestream.Decoder
	yield  func(model.Delta, error) bool
	blocks map[int]*block
	calls  int
	usage  message.Usage
	finish model.Finish
}

// block is a content block that is open.
type block struct {
	typ string
	// raw is the block as it began, for those that only Anthropic understands.
	raw json.RawMessage
	// rest is what deltas add: the signature, the arguments, fields of unknown blocks.
	rest map[string]*bytes.Buffer
	// index is that of a call; more says that arguments came in deltas.
	index int
	more  bool
}

type event struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		ID    string `json:"id"`
		Usage *usage `json:"usage"`
	} `json:"message"`
	Block json.RawMessage `json:"content_block"`
	Delta json.RawMessage `json:"delta"`
	Usage *usage          `json:"usage"`
}

type usage struct {
	Input      *int `json:"input_tokens"`
	Output     *int `json:"output_tokens"`
	CacheRead  *int `json:"cache_read_input_tokens"`
	CacheWrite *int `json:"cache_creation_input_tokens"`
	Details    struct {
		Thinking *int `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// run reads to the end. It reports whether the answer is complete and wanted to its end.
func (s *stream) run() bool {
	for s.dec.Next() {
		e := s.dec.Event()
		if len(bytes.TrimSpace(e.Data)) == 0 || e.Type == "ping" {
			continue
		}
		if e.Type == "error" {
			s.fail(s.m.event(0, nil, e.Data))
			return false
		}
		var ev event
		if err := json.Unmarshal(e.Data, &ev); err != nil {
			s.fail(s.malformed(e.Data, err))
			return false
		}
		done, ok, err := s.event(&ev, e.Data)
		switch {
		case err != nil:
			s.fail(err)
			return false
		case !ok:
			return false
		case done:
			return true
		}
	}
	s.fail(provider.Broken(s.ctx, s.m.o.Provider, cmp.Or(s.dec.Err(), io.ErrUnexpectedEOF)))
	return false
}

// fail ends the sequence. When the context ended, that is the reason, whatever it did to the stream.
func (s *stream) fail(err error) {
	if s.ctx.Err() != nil {
		err = provider.Broken(s.ctx, s.m.o.Provider, err)
	}
	s.yield(model.Delta{}, err)
}

func (s *stream) malformed(data []byte, err error) error {
	const most = 200
	if len(data) > most {
		data = data[:most]
	}
	return &model.Error{Kind: model.Other, Provider: s.m.o.Provider, Code: "malformed_event", Err: fmt.Errorf("malformed event %q: %w", bytes.TrimSpace(data), err)}
}

// event handles one event. done says that it was the last, ok is false when the reader is gone.
func (s *stream) event(e *event, data []byte) (done, ok bool, err error) {
	switch e.Type {
	case "message_start":
		if !s.out(model.Delta{MessageID: e.Message.ID}) {
			return false, false, nil
		}
		return false, s.count(e.Message.Usage), nil
	case "content_block_start":
		ok, err = s.start(e, data)
		return false, ok, err
	case "content_block_delta":
		b := s.blocks[e.Index]
		if b == nil {
			return false, false, s.malformed(data, errors.New("a delta of a block that did not begin"))
		}
		ok, err = s.delta(b, e.Delta, data)
		return false, ok, err
	case "content_block_stop":
		b := s.blocks[e.Index]
		if b == nil {
			return false, false, s.malformed(data, errors.New("the end of a block that did not begin"))
		}
		delete(s.blocks, e.Index)
		ok, err = s.stop(b, data)
		return false, ok, err
	case "message_delta":
		var d struct {
			StopReason string `json:"stop_reason"`
		}
		if len(e.Delta) > 0 {
			if err := json.Unmarshal(e.Delta, &d); err != nil {
				return false, false, s.malformed(data, err)
			}
		}
		if d.StopReason != "" {
			s.finish = finish(d.StopReason)
		}
		return false, s.count(e.Usage), nil
	case "message_stop":
		return true, s.out(model.Delta{Finish: cmp.Or(s.finish, model.Stop)}), nil
	}
	return false, true, nil // a type that is newer than this program
}

func finish(reason string) model.Finish {
	switch reason {
	case "tool_use":
		return model.ToolCalls
	case "max_tokens", "model_context_window_exceeded":
		return model.Length
	case "refusal":
		return model.Refusal
	}
	return model.Stop
}

func (s *stream) out(d model.Delta) bool { return s.yield(d, nil) }

// count takes the counters that are told; they are cumulative.
func (s *stream) count(u *usage) bool {
	if u == nil {
		return true
	}
	set := func(to *int, n *int) {
		if n != nil {
			*to = *n
		}
	}
	set(&s.usage.Input, u.Input)
	set(&s.usage.Output, u.Output)
	set(&s.usage.CacheRead, u.CacheRead)
	set(&s.usage.CacheWrite, u.CacheWrite)
	set(&s.usage.Reasoning, u.Details.Thinking)
	s.usage.Total = s.usage.Input + s.usage.Output + s.usage.CacheRead + s.usage.CacheWrite
	now := s.usage
	return s.out(model.Delta{Usage: &now})
}

// start begins a block.
func (s *stream) start(e *event, data []byte) (bool, error) {
	var c struct {
		Type     string          `json:"type"`
		Text     string          `json:"text"`
		Thinking string          `json:"thinking"`
		ID       string          `json:"id"`
		Name     string          `json:"name"`
		Input    json.RawMessage `json:"input"`
	}
	if err := json.Unmarshal(e.Block, &c); err != nil || c.Type == "" {
		return false, s.malformed(data, cmp.Or(err, errors.New("a block without a type")))
	}
	b := &block{typ: c.Type, raw: e.Block}
	s.blocks[e.Index] = b
	switch c.Type {
	case "text":
		return c.Text == "" || s.out(model.Delta{Text: c.Text}), nil
	case "thinking":
		return c.Thinking == "" || s.out(model.Delta{Reasoning: c.Thinking}), nil
	case "tool_use":
		b.index, b.raw = s.calls, c.Input
		s.calls++
		return s.out(model.Delta{Call: &model.CallDelta{Index: b.index, ID: c.ID, Name: c.Name}}), nil
	}
	return true, nil
}

// delta goes on with a block.
func (s *stream) delta(b *block, raw json.RawMessage, data []byte) (bool, error) {
	var d struct {
		Type      string `json:"type"`
		Text      string `json:"text"`
		Thinking  string `json:"thinking"`
		Signature string `json:"signature"`
		JSON      string `json:"partial_json"`
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return false, s.malformed(data, err)
	}
	switch {
	case b.typ == "text" && d.Type == "text_delta":
		return d.Text == "" || s.out(model.Delta{Text: d.Text}), nil
	case b.typ == "text":
		return true, nil // citations: the text stands without them
	case b.typ == "thinking" && d.Type == "thinking_delta":
		return d.Thinking == "" || s.out(model.Delta{Reasoning: d.Thinking}), nil
	case b.typ == "thinking" && d.Type == "signature_delta":
		b.add("signature", d.Signature)
		return true, nil
	case b.typ == "tool_use" && d.Type == "input_json_delta":
		b.more = b.more || d.JSON != ""
		return d.JSON == "" || s.out(model.Delta{Call: &model.CallDelta{Index: b.index, Args: d.JSON}}), nil
	case b.typ == "tool_use", b.typ == "thinking":
		return true, nil
	case d.Type == "input_json_delta":
		b.add("input", d.JSON)
		return true, nil
	}
	return true, b.merge(raw)
}

func (b *block) add(field, text string) {
	if b.rest == nil {
		b.rest = make(map[string]*bytes.Buffer, 1)
	}
	if b.rest[field] == nil {
		b.rest[field] = new(bytes.Buffer)
	}
	b.rest[field].WriteString(text)
}

// stop ends a block.
func (s *stream) stop(b *block, data []byte) (bool, error) {
	switch b.typ {
	case "text":
		return true, nil
	case "thinking":
		sig := signature{b.signature()}
		if sig.Signature == "" {
			return true, nil // a compatible server: nothing that could go back
		}
		raw, err := json.Marshal(sig)
		if err != nil {
			return false, s.malformed(data, err)
		}
		return s.out(model.Delta{Part: message.Reasoning{Provider: s.m.o.Provider, Opaque: raw}}), nil
	case "tool_use":
		// Compatible servers send the arguments with the beginning.
		if args := bytes.TrimSpace(b.raw); !b.more && len(args) > 0 && string(args) != "{}" && string(args) != "null" {
			return s.out(model.Delta{Call: &model.CallDelta{Index: b.index, Args: string(args)}}), nil
		}
		return true, nil
	}
	raw, err := b.whole()
	if err != nil {
		return false, s.malformed(data, err)
	}
	return s.out(model.Delta{Part: message.Opaque{Provider: s.m.o.Provider, Data: raw}}), nil
}
