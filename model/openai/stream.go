package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"net/url"

	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/internal/provider"
)

// maxErrorBody bounds what is read of an error.
const maxErrorBody = 1 << 20

// Stream asks the model. Errors are [*model.Error].
func (m *Model) Stream(ctx context.Context, r *model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		if err := m.stream(ctx, r, func(d model.Delta) bool { return yield(d, nil) }); err != nil {
			yield(model.Delta{}, err)
		}
	}
}

// handler turns events into deltas.
type handler interface {
	// event takes one event; done means that the answer is complete.
	event(data []byte) (done bool, err error)
	// end takes the end of the stream.
	end() (complete bool)
	// finish yields what is left and the finish.
	finish()
	// cut yields what is left of an answer that is not complete.
	cut()
}

// stream returns nil after a finish and after the reader stopped.
func (m *Model) stream(ctx context.Context, r *model.Request, yield func(model.Delta) bool) error {
	body, err := m.body(r)
	if err != nil {
		return &model.Error{Kind: model.Invalid, Provider: m.o.Provider, Err: err}
	}
	ctx, watch, stop := provider.Silence(ctx, m.o.Timeout)
	defer stop()
	if ctx.Err() != nil {
		return provider.Broken(ctx, m.o.Provider, ctx.Err())
	}
	res, err := m.post(ctx, watch, body, r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	res.Body = watch.Reader(res.Body)
	if err := m.checkType(ctx, res); err != nil {
		return err
	}
	out := &output{yield: yield, provider: m.o.Provider, names: names(r.Tools)}
	var h handler = &chatStream{m: m, output: out}
	if m.o.API == Responses {
		h = &responsesStream{m: m, output: out}
	}
	err = m.read(ctx, res, h, out)
	if out.stopped {
		return nil
	}
	if err != nil {
		if h.cut(); out.stopped {
			return nil
		}
		return err
	}
	h.finish()
	return nil
}

// read feeds the events to the handler until the answer is complete.
func (m *Model) read(ctx context.Context, res *http.Response, h handler, out *output) error {
	events := ssestream.NewDecoder(res)
	for events.Next() {
		data := bytes.TrimSpace(events.Event().Data)
		switch {
		case len(data) == 0:
			continue
		case ctx.Err() != nil:
			return provider.Broken(ctx, m.o.Provider, ctx.Err())
		case bytes.Equal(data, []byte("[DONE]")):
			return m.ended(ctx, h, io.ErrUnexpectedEOF)
		}
		done, err := h.event(data)
		if err != nil || done || out.stopped {
			return err
		}
	}
	err := events.Err()
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return m.ended(ctx, h, err)
}

// ended is the end of the stream without a last event: no error when the answer was complete all the same.
func (m *Model) ended(ctx context.Context, h handler, err error) error {
	if h.end() {
		return nil
	}
	return provider.Broken(ctx, m.o.Provider, fmt.Errorf("the answer ended before it was complete: %w", err))
}

// post sends the request. The SDK retries it until a response begins.
func (m *Model) post(ctx context.Context, watch *provider.Watch, body []byte, r *model.Request) (*http.Response, error) {
	var res *http.Response
	opts := []option.RequestOption{
		option.WithRequestBody("application/json", body),
		option.WithMiddleware(func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
			return m.attempt(req, next, watch)
		}),
	}
	if m.o.AgentHeader != "" && r.Agent != "" {
		opts = append(opts, option.WithHeader(m.o.AgentHeader, r.Agent))
	}
	err := m.client.Post(ctx, m.dialect().path, nil, &res, opts...)
	if res != nil && res.StatusCode >= 400 && ctx.Err() == nil {
		text, readErr := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
		res.Body.Close()
		if readErr == nil {
			return nil, m.failure(res.StatusCode, res.Header, text)
		}
		err = readErr
	}
	if err == nil {
		return res, nil
	}
	var transport *url.Error
	if ctx.Err() != nil || errors.As(err, &transport) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, provider.Broken(ctx, m.o.Provider, err)
	}
	return nil, &model.Error{Kind: model.Other, Provider: m.o.Provider, Err: err}
}

// attempt is one request of the SDK's. It tells the SDK not to retry what waiting does not mend.
func (m *Model) attempt(req *http.Request, next option.MiddlewareNext, watch *provider.Watch) (*http.Response, error) {
	watch.Begin()
	defer watch.End()
	res, err := next(req)
	if err != nil || res.StatusCode < 400 {
		return res, err
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	res.Body.Close()
	if err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(text))
	if e := m.failure(res.StatusCode, res.Header, text); !e.Retryable() {
		res.Header.Set("X-Should-Retry", "false")
	}
	return res, nil
}

func (m *Model) failure(status int, h http.Header, body []byte) *model.Error {
	return provider.Classify(provider.Failure{Provider: m.o.Provider, Status: status, Header: h, Body: body}, m.rules)
}

// checkType refuses what is no event stream. Some servers send their errors with status 200.
func (m *Model) checkType(ctx context.Context, res *http.Response) error {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if kind == "text/event-stream" || kind == "" {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	if err != nil {
		return provider.Broken(ctx, m.o.Provider, err)
	}
	var e struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(text, &e) == nil && len(e.Error) > 0 && string(e.Error) != "null" {
		return m.failure(res.StatusCode, res.Header, text)
	}
	return &model.Error{Kind: model.Other, Status: res.StatusCode, Provider: m.o.Provider, Code: "content_type", Err: fmt.Errorf(
		"the server answered with content type %q, not with an event stream: %.200q", res.Header.Get("Content-Type"), text,
	)}
}

// malformed is the error of an event that cannot be read.
func (m *Model) malformed(data []byte, err error) error {
	return &model.Error{Kind: model.Other, Provider: m.o.Provider, Code: "malformed_event", Err: fmt.Errorf(
		"the server sent an event that cannot be read: %w: %.200q", err, data,
	)}
}

// output yields deltas until the reader stops.
type output struct {
	yield    func(model.Delta) bool
	provider string
	names    map[string]string
	stopped  bool
	id       bool // the message id was yielded
}

func (o *output) emit(d model.Delta) {
	if !o.stopped {
		o.stopped = !o.yield(d)
	}
}

func (o *output) messageID(id string) {
	if id != "" && !o.id {
		o.id = true
		o.emit(model.Delta{MessageID: id})
	}
}

// name returns the tool's own name.
func (o *output) name(wire string) string {
	if own, ok := o.names[wire]; ok {
		return own
	}
	return wire
}
