package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// maxLine bounds one message.
	maxLine = 64 << 20
	// drainTime is how long requests may still be answered after the client has closed its side, so that a script can pipe its
	// requests in. After that their calls are cancelled.
	drainTime = time.Second
)

// conn is a connection of the SDK over lines. Unlike the SDK's own it survives lines that are no messages, gives up at the end
// of a context, and sends no response to a request that was cancelled.
type conn struct {
	in  io.Reader
	out io.Writer
	log *slog.Logger

	lines chan line
	done  chan struct{}
	once  sync.Once
	// reader is closed when the goroutine that reads has ended.
	reader chan struct{}
	queue  []jsonrpc.Message

	writeMu sync.Mutex

	mu     sync.Mutex
	flying map[jsonrpc.ID]*flight
	// writing counts the responses that are being written; idle is closed when they and flying are none.
	writing int
	idle    chan struct{}
}

// flight is a request that has no response yet.
type flight struct {
	cancelled bool
	batch     *batch
}

// batch collects the responses to the requests that came in one array, as protocol version 2025-03-26 allows.
type batch struct {
	missing   int
	responses []json.RawMessage
}

var _ sdk.Connection = (*conn)(nil)

func newConn(in io.Reader, out io.Writer, log *slog.Logger) *conn {
	c := &conn{
		in: in, out: out, log: log,
		lines: make(chan line), done: make(chan struct{}), reader: make(chan struct{}), flying: map[jsonrpc.ID]*flight{},
	}
	go c.readLines()
	return c
}

// Connect returns the connection itself, which is its own transport.
func (c *conn) Connect(context.Context) (sdk.Connection, error) { return c, nil }

// SessionID returns "": there is one session.
func (c *conn) SessionID() string { return "" }

// Close ends reading and writing.
func (c *conn) Close() error {
	c.once.Do(func() {
		close(c.done)
		interrupt(c.in)
		interrupt(c.out)
	})
	return nil
}

// join waits for the goroutine that reads, unless its Read cannot be interrupted: that ends when the input does.
func (c *conn) join() {
	t := time.NewTimer(drainTime)
	defer t.Stop()
	select {
	case <-c.reader:
	case <-t.C:
		c.log.Warn("the input cannot be interrupted")
	}
}

// interrupt ends what is blocked in a Read or Write. Files are not closed: the caller may go on with standard output.
func interrupt(v any) {
	switch x := v.(type) {
	case *os.File:
		_ = x.SetDeadline(time.Unix(1, 0)) // where files have none, nothing can interrupt
	case io.Closer:
		_ = x.Close() // it only interrupts
	}
}

func (c *conn) readLines() {
	defer close(c.reader)
	r := newLineReader(c.in, maxLine)
	for {
		l := r.next()
		select {
		case c.lines <- l:
		case <-c.done:
			return
		}
		if l.err != nil && !errors.Is(l.err, errLong) {
			return
		}
	}
}

// Read returns the next message. What is no message is answered with an error and skipped.
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		if len(c.queue) > 0 {
			m := c.queue[0]
			c.queue = c.queue[1:]
			return m, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.done:
			return nil, io.EOF
		case l := <-c.lines:
			switch {
			case errors.Is(l.err, errLong):
				c.complain(jsonrpc.CodeInvalidRequest, fmt.Sprintf("a message is longer than %d bytes", maxLine))
			case l.err != nil:
				c.drain()
				return nil, l.err
			default:
				c.accept(l.text)
			}
		}
	}
}

// accept queues the messages of a line.
func (c *conn) accept(text []byte) {
	text = bytes.TrimSpace(text)
	switch {
	case len(text) == 0:
	case !json.Valid(text):
		c.complain(jsonrpc.CodeParseError, "the line is no JSON")
	case text[0] == '[':
		c.acceptBatch(text)
	default:
		if m, refusal := c.take(text, nil); refusal != nil {
			c.writeRaw(refusal)
		} else {
			c.queue = append(c.queue, m)
		}
	}
}

func (c *conn) acceptBatch(text []byte) {
	var raws []json.RawMessage
	if err := json.Unmarshal(text, &raws); err != nil || len(raws) == 0 {
		c.complain(jsonrpc.CodeInvalidRequest, "the batch is empty")
		return
	}
	b := &batch{missing: 1} // this function, until every request is counted
	for _, raw := range raws {
		if m, refusal := c.take(raw, b); refusal != nil {
			c.mu.Lock()
			b.responses = append(b.responses, refusal)
			c.mu.Unlock()
		} else {
			c.queue = append(c.queue, m)
		}
	}
	c.mu.Lock()
	raw := b.settle()
	c.mu.Unlock()
	c.writeRaw(raw)
}

// settle notes that one request of the batch is done, and returns the response when all are. The caller holds conn.mu.
func (b *batch) settle() []byte {
	b.missing--
	if b.missing > 0 || len(b.responses) == 0 {
		return nil
	}
	raw, err := json.Marshal(b.responses)
	if err != nil {
		return nil // every element was encoded or checked before
	}
	return raw
}

// take decodes one message and notes what it means for the requests in flight, or returns the refusal to send.
func (c *conn) take(raw []byte, b *batch) (jsonrpc.Message, []byte) {
	m, err := jsonrpc.DecodeMessage(raw)
	if err != nil {
		return nil, refuse(idOf(raw), jsonrpc.CodeInvalidRequest, err.Error())
	}
	req, ok := m.(*jsonrpc.Request)
	if !ok {
		return m, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !req.ID.IsValid() {
		c.noteCancel(req)
		return m, nil
	}
	if c.flying[req.ID] != nil {
		return nil, refuse(nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("the request id %v is in use", req.ID.Raw()))
	}
	if b != nil {
		b.missing++
	}
	c.flying[req.ID] = &flight{batch: b}
	return m, nil
}

// noteCancel marks the request that a notification cancels.
func (c *conn) noteCancel(req *jsonrpc.Request) {
	if req.Method != "notifications/cancelled" {
		return
	}
	var p struct {
		RequestID any `json:"requestId"`
	}
	if json.Unmarshal(req.Params, &p) != nil {
		return
	}
	if id, err := jsonrpc.MakeID(p.RequestID); err == nil && c.flying[id] != nil {
		c.flying[id].cancelled = true
	}
}

// Write sends a message; the response to a cancelled request is dropped.
func (c *conn) Write(_ context.Context, m jsonrpc.Message) error {
	raw, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return fmt.Errorf("mcp: encode message: %w", err)
	}
	if res, ok := m.(*jsonrpc.Response); ok {
		raw = c.land(res.ID, raw)
		defer c.landed()
	}
	return c.send(raw)
}

// land takes a request out of flight and returns what is to be sent now, if anything.
func (c *conn) land(id jsonrpc.ID, raw []byte) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writing++
	f := c.flying[id]
	delete(c.flying, id)
	switch {
	case f == nil:
		return raw
	case f.batch != nil:
		if !f.cancelled {
			f.batch.responses = append(f.batch.responses, raw)
		}
		return f.batch.settle()
	case f.cancelled:
		return nil
	}
	return raw
}

func (c *conn) landed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writing--
	if c.idle != nil && c.writing == 0 && len(c.flying) == 0 {
		close(c.idle)
		c.idle = nil
	}
}

// drain waits until every request is answered, but not for long.
func (c *conn) drain() {
	c.mu.Lock()
	if c.writing == 0 && len(c.flying) == 0 {
		c.mu.Unlock()
		return
	}
	idle := make(chan struct{})
	c.idle = idle
	c.mu.Unlock()
	t := time.NewTimer(drainTime)
	defer t.Stop()
	select {
	case <-idle:
	case <-c.done:
	case <-t.C:
	}
}

// send writes one line. No text means nothing.
func (c *conn) send(raw []byte) error {
	if len(raw) == 0 {
		return nil
	}
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	select {
	case <-c.done:
		return io.ErrClosedPipe
	default:
	}
	_, err := c.out.Write(append(raw, '\n'))
	return err
}

// complain answers something that has no id.
func (c *conn) complain(code int64, text string) {
	c.log.Warn("bad message", "problem", text)
	c.writeRaw(refuse(nil, code, text))
}

func (c *conn) writeRaw(raw []byte) {
	if err := c.send(raw); err != nil {
		c.log.Warn("write failed", "error", err)
	}
}

// refuse returns an error response; no id means null.
func refuse(id json.RawMessage, code int64, text string) []byte {
	if id == nil {
		id = json.RawMessage("null")
	}
	raw, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": text},
	})
	if err != nil {
		return nil // the id was decoded before
	}
	return raw
}

// idOf returns the id of a broken request, or nil.
func idOf(raw []byte) json.RawMessage {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method json.RawMessage `json:"method"`
	}
	if json.Unmarshal(raw, &m) != nil || m.Method == nil || len(m.ID) == 0 {
		return nil
	}
	if m.ID[0] == '"' || m.ID[0] == '-' || m.ID[0] >= '0' && m.ID[0] <= '9' {
		return m.ID
	}
	return nil
}
