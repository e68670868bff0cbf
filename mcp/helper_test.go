package mcp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/backend"
	"github.com/deepagents-go/deepagents/backend/disk"
	"github.com/deepagents-go/deepagents/mcp"
	"github.com/deepagents-go/deepagents/middleware/filesystem"
	"github.com/deepagents-go/deepagents/policy"
	"github.com/deepagents-go/deepagents/sandbox/host"
	"github.com/deepagents-go/deepagents/tool"
)

// The protocol versions before and after questions became results.
const (
	oldVersion = "2025-11-25"
	newVersion = "2026-07-28"
)

// world is the eight tools on a directory, with its shell.
type world struct {
	root string
	set  *agent.Toolset
	shut []func() error
}

func newWorld(root, stateDir string, mode policy.Mode, more ...tool.Tool) (*world, error) {
	d, err := disk.New(root, disk.Options{NoSync: true, StateDir: stateDir})
	if err != nil {
		return nil, err
	}
	h, err := host.New(d, host.Options{})
	if err != nil {
		return nil, err
	}
	w := &world{root: root, shut: []func() error{func() error { return h.Close(context.Background()) }, d.Close}}
	fs, err := backend.New(d, backend.Options{})
	if err != nil {
		return nil, err
	}
	m, err := filesystem.New(filesystem.Options{FS: fs, Sandbox: h})
	if err != nil {
		return nil, err
	}
	w.set, err = agent.NewToolset(agent.Config{
		Middleware: []agent.Middleware{mcp.Progress(), m}, Tools: more, Policy: policy.Judges{mode},
	}, mcp.Ask)
	return w, err
}

func (w *world) close() error {
	var err error
	for _, f := range w.shut {
		err = errors.Join(err, f())
	}
	return err
}

// serveDir returns a world on a new directory with these files.
func serveDir(t testing.TB, mode policy.Mode, files map[string]string, more ...tool.Tool) *world {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		p := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	w, err := newWorld(root, t.TempDir(), mode, more...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *world) file(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(w.root, name))
	if errors.Is(err, os.ErrNotExist) {
		return "<none>"
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// pipes are a server's input and output as its client holds them.
type pipes struct {
	in   *io.PipeWriter
	out  *io.PipeReader
	done chan error
}

// start runs Serve on pipes. The test fails when it does not end by itself once both pipes are closed.
func start(t testing.TB, ctx context.Context, ts *agent.Toolset, o mcp.Options) *pipes {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	o.In, o.Out = inR, outW
	p := &pipes{in: inW, out: outR, done: make(chan error, 1)}
	go func() { p.done <- mcp.Serve(ctx, ts, o); close(p.done) }()
	t.Cleanup(func() {
		_ = inW.Close()
		_ = outR.Close()
		<-p.done
	})
	return p
}

// connect starts a server and connects the SDK's client to it. An empty version is the client's newest.
func connect(t testing.TB, ts *agent.Toolset, o mcp.Options, co *sdk.ClientOptions, version string) *sdk.ClientSession {
	t.Helper()
	p := start(t, t.Context(), ts, o)
	return client(t, &sdk.IOTransport{Reader: p.out, Writer: p.in, MaxLineLength: -1}, co, version)
}

func client(t testing.TB, tr sdk.Transport, co *sdk.ClientOptions, version string) *sdk.ClientSession {
	t.Helper()
	c := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, co)
	s, err := c.Connect(t.Context(), tr, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// answering is a client that answers every form like this.
func answering(f func(*sdk.ElicitParams) *sdk.ElicitResult) *sdk.ClientOptions {
	return &sdk.ClientOptions{ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		return f(r.Params), nil
	}}
}

func call(t testing.TB, s *sdk.ClientSession, name string, args any) *sdk.CallToolResult {
	t.Helper()
	if text, ok := args.(string); ok {
		args = json.RawMessage(text)
	}
	res, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("%s %v: %v", name, args, err)
	}
	return res
}

// text returns the text of a result, with "[err] " in front when it is an error.
func text(t testing.TB, r *sdk.CallToolResult) string {
	t.Helper()
	var b strings.Builder
	if r.IsError {
		b.WriteString("[err] ")
	}
	for _, c := range r.Content {
		tc, ok := c.(*sdk.TextContent)
		if !ok {
			t.Fatalf("content %T, want text", c)
		}
		b.WriteString(tc.Text)
	}
	return b.String()
}

// asJSON encodes without line breaks.
func asJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// raw is a client that writes and reads lines.
type raw struct {
	t   testing.TB
	in  io.Writer
	out *bufio.Reader
}

func newRaw(t testing.TB, in io.Writer, out io.Reader) *raw {
	return &raw{t, in, bufio.NewReader(out)}
}

func (r *raw) send(lines ...string) {
	r.t.Helper()
	if _, err := io.WriteString(r.in, strings.Join(lines, "\n")+"\n"); err != nil {
		r.t.Fatal(err)
	}
}

// next returns the next line the server wrote, which must be JSON.
func (r *raw) next() string {
	r.t.Helper()
	line, err := r.out.ReadString('\n')
	if err != nil {
		r.t.Fatalf("read: %v after %q", err, line)
	}
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(line)); err != nil {
		r.t.Fatalf("the server wrote %q: %v", line, err)
	}
	return b.String()
}

// initialize does the handshake and returns the server's answer.
func (r *raw) initialize(version string) string {
	r.t.Helper()
	r.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + version +
		`","capabilities":{"elicitation":{}},"clientInfo":{"name":"raw","version":"1"}}}`)
	answer := r.next()
	r.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return answer
}

func field(t testing.TB, doc string, path ...string) string {
	t.Helper()
	v := json.RawMessage(doc)
	for _, name := range path {
		var m map[string]json.RawMessage
		if err := json.Unmarshal(v, &m); err != nil {
			t.Fatalf("%s of %s: %v", name, doc, err)
		}
		v = m[name]
	}
	return string(v)
}

// gate is a tool that says when it runs and waits until it is let go or cancelled.
type gate struct {
	running chan struct{}
	release chan struct{}
	once    sync.Once
}

func newGate() *gate { return &gate{running: make(chan struct{}, 100), release: make(chan struct{})} }

func (g *gate) tool() tool.Tool {
	spec := tool.Spec{Name: "gate", Hints: tool.Hints{ReadOnly: true}}
	return tool.New(spec, func(ctx context.Context, _ struct{}) (string, error) {
		g.running <- struct{}{}
		select {
		case <-g.release:
			return "through", nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	})
}

func (g *gate) open() { g.once.Do(func() { close(g.release) }) }

// serveDirAt is a world on a directory that is there, with everything allowed.
func serveDirAt(t testing.TB, root string) *world {
	t.Helper()
	w, err := newWorld(root, t.TempDir(), policy.Yolo)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.close() })
	return w
}
