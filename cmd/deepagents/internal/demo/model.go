package demo

import (
	"context"
	"io"
	"iter"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/modeltest/wire"
	"github.com/deepagents-go/deepagents/model/openai"
)

// polite is a script that ends when a person rejected what it asked for, where the lines of a script know one way only.
type polite struct{ model.Model }

// rejection is what the person's answer tells the model.
const rejection = "rejected at the terminal"

const farewell = "You rejected that call, so I stop here: I am a script and have no other idea. A model would ask why, or try another way."

// Stream plays the script, or its end.
func (p *polite) Stream(ctx context.Context, r *model.Request) iter.Seq2[model.Delta, error] {
	if !rejected(r.Messages) {
		return p.Model.Stream(ctx, r)
	}
	return func(yield func(model.Delta, error) bool) {
		if yield(model.Delta{Text: farewell}, nil) {
			yield(model.Delta{Finish: model.Stop}, nil)
		}
	}
}

// rejected reports whether one of the newest results is a rejection.
func rejected(msgs []*message.Message) bool {
	for _, m := range slices.Backward(msgs) {
		if m.Role != message.Tool {
			return false
		}
		if strings.Contains(m.Text(), rejection) {
			return true
		}
	}
	return false
}

// endpoint is the scripted model on an address of this machine, and a client of it.
type endpoint struct {
	model    model.Model
	address  string
	requests atomic.Int64
	bytes    atomic.Int64

	server *http.Server
	client *http.Transport
	done   chan error
}

// serve starts the server. Close it.
func serve(ctx context.Context, m model.Model, name string) (*endpoint, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	e := &endpoint{address: l.Addr().String(), client: &http.Transport{}, done: make(chan error, 1)}
	e.server = &http.Server{ReadHeaderTimeout: time.Minute, Handler: wire.New(wire.Options{
		Model: m,
		OnRequest: func(_ *http.Request, body []byte) {
			e.requests.Add(1)
			e.bytes.Add(int64(len(body)))
		},
	})}
	go func() { e.done <- e.server.Serve(l) }()
	e.model, err = openai.New(openai.Options{
		Provider: "demo", Model: name, BaseURL: "http://" + e.address + "/v1", AgentHeader: wire.AgentHeader, Retries: -1,
		HTTPClient: &http.Client{Transport: e.client},
	})
	if err != nil {
		return nil, closing(e, err)
	}
	return e, nil
}

// Close ends the server and its connections.
func (e *endpoint) Close() error {
	e.client.CloseIdleConnections()
	err := e.server.Close()
	<-e.done //nolint:errcheck // it is http.ErrServerClosed by now
	return err
}

func closing(c io.Closer, err error) error {
	if cerr := c.Close(); err == nil {
		return cerr
	}
	return err
}
