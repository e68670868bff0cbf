package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/mcp"
	"github.com/deepagents-go/deepagents/tool"
)

// gated serves the gate and a tool that answers at once.
func gated(t testing.TB) (*gate, *agent.Toolset) {
	t.Helper()
	g := newGate()
	quick := tool.New(tool.Spec{Name: "quick"}, func(context.Context, struct{}) (string, error) { return "quick", nil })
	ts, err := agent.NewToolset(agent.Config{Tools: []tool.Tool{g.tool(), quick}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return g, ts
}

func callLine(id, name string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + name + `"}}`
}

func TestLinesThatAreNoMessages(t *testing.T) {
	_, ts := gated(t)
	p := start(t, t.Context(), ts, mcp.Options{})
	r := newRaw(t, p.in, p.out)
	r.initialize(oldVersion)
	for _, c := range []struct{ send, id, code string }{
		{`{"jsonrpc":"2.0","id":1,`, `null`, `-32700`},
		{`hello`, `null`, `-32700`},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"} trailing`, `null`, `-32700`},
		{`{"jsonrpc":"1.0","id":7,"method":"ping"}`, `7`, `-32600`},
		{`{"id":"x","method":"ping"}`, `"x"`, `-32600`},
		{`{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}`, `null`, `-32600`},
		{`{"jsonrpc":"2.0"}`, `null`, `-32600`},
		{`{"jsonrpc":"2.0","id":1,"method":7}`, `1`, `-32600`},
		{`"text"`, `null`, `-32600`},
		{`[]`, `null`, `-32600`},
		{`{"jsonrpc":"2.0","id":2,"method":"no/such"}`, `2`, `-32601`},
		{`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":7}}`, `3`, `-32602`},
		{`{"jsonrpc":"2.0","id":4,"method":"tools/call"}`, `4`, `-32600`},
	} {
		r.send(c.send)
		got := r.next()
		if field(t, got, "id") != c.id || field(t, got, "error", "code") != c.code {
			t.Errorf("%s: %s, want code %s for id %s", c.send, got, c.code, c.id)
		}
	}
	// Empty lines, carriage returns, answers that nobody waits for and unknown notifications do no harm.
	r.send("", "  ", `{"jsonrpc":"2.0","id":99,"result":{}}`, `{"jsonrpc":"2.0","method":"notifications/unknown"}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[]}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":12345}}`, callLine("5", "quick")+"\r")
	if got := r.next(); !strings.Contains(got, `"id":5`) || !strings.Contains(got, "quick") {
		t.Errorf("afterwards: %s", got)
	}
}

func TestALineThatIsTooLong(t *testing.T) {
	_, ts := gated(t)
	p := start(t, t.Context(), ts, mcp.Options{})
	r := newRaw(t, p.in, p.out)
	r.initialize(oldVersion)
	go func() {
		chunk := strings.Repeat("x", 1<<20)
		for range 65 {
			if _, err := io.WriteString(p.in, chunk); err != nil {
				return
			}
		}
		_, _ = io.WriteString(p.in, "\n"+callLine("1", "quick")+"\n")
	}()
	if got := r.next(); field(t, got, "error", "code") != "-32600" || !strings.Contains(got, "longer than 67108864 bytes") {
		t.Errorf("too long: %s", got)
	}
	if got := r.next(); !strings.Contains(got, `"id":1`) {
		t.Errorf("afterwards: %s", got)
	}
}

func TestRequestsBeforeInitialize(t *testing.T) {
	_, ts := gated(t)
	p := start(t, t.Context(), ts, mcp.Options{})
	r := newRaw(t, p.in, p.out)
	r.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if got := r.next(); !strings.Contains(got, "initialization") || field(t, got, "id") != "1" {
		t.Errorf("tools/list: %s", got)
	}
	r.initialize(oldVersion)
}

func TestARequestIDInUse(t *testing.T) {
	g, ts := gated(t)
	p := start(t, t.Context(), ts, mcp.Options{})
	r := newRaw(t, p.in, p.out)
	r.initialize(oldVersion)
	r.send(callLine("1", "gate"))
	<-g.running
	r.send(callLine("1", "quick"))
	if got := r.next(); field(t, got, "id") != "null" || !strings.Contains(got, "in use") {
		t.Errorf("the second request: %s", got)
	}
	g.open()
	if got := r.next(); field(t, got, "id") != "1" || !strings.Contains(got, "through") {
		t.Errorf("the first request: %s", got)
	}
	r.send(callLine("1", "quick")) // free again
	if got := r.next(); !strings.Contains(got, "quick") {
		t.Errorf("the third request: %s", got)
	}
}

func TestBatches(t *testing.T) {
	g, ts := gated(t)
	p := start(t, t.Context(), ts, mcp.Options{})
	r := newRaw(t, p.in, p.out)
	r.initialize("2025-03-26")
	r.send(`[` + callLine("1", "gate") + `,7,` + callLine("2", "quick") + `,{"jsonrpc":"2.0","method":"notifications/unknown"}]`)
	<-g.running
	r.send(callLine("3", "quick"))
	if got := r.next(); field(t, got, "id") != "3" {
		t.Errorf("a request beside the batch: %s", got)
	}
	g.open()
	got := r.next()
	if !strings.HasPrefix(got, "[") || strings.Count(got, `"jsonrpc"`) != 3 || !strings.Contains(got, "through") || !strings.Contains(got, "quick") || !strings.Contains(got, "-32600") {
		t.Errorf("the batch: %s", got)
	}
	// Notifications alone have no response: the next line answers the next request.
	r.send(`[{"jsonrpc":"2.0","method":"notifications/unknown"}]`, `[7]`)
	if got := r.next(); !strings.HasPrefix(got, `[{"error"`) {
		t.Errorf("a batch without any request: %s", got)
	}
}

func TestACancelledCallHasNoResponse(t *testing.T) {
	g, ts := gated(t)
	p := start(t, t.Context(), ts, mcp.Options{})
	r := newRaw(t, p.in, p.out)
	r.initialize(oldVersion)
	for _, id := range []string{`7`, `"seven"`} {
		r.send(callLine(id, "gate"))
		<-g.running
		r.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+id+`,"reason":"enough"}}`, callLine("8", "quick"))
		if got := r.next(); field(t, got, "id") != "8" {
			t.Errorf("after the cancelled call %s: %s", id, got)
		}
	}
	if err := p.in.Close(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(r.out); err != nil || len(rest) > 0 {
		t.Errorf("the rest is %q, %v", rest, err)
	}
}

// A script may pipe its requests in and close: they are answered.
func TestRequestsBeforeEOFAreAnswered(t *testing.T) {
	_, ts := gated(t)
	var out strings.Builder
	in := strings.NewReader(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + oldVersion +
		`","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" + callLine("1", "quick") + "\n" + callLine("2", "quick"))
	if err := mcp.Serve(t.Context(), ts, mcp.Options{In: in, Out: &out}); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{`"id":0`, `"id":1`, `"id":2`} {
		if !strings.Contains(out.String(), id) {
			t.Errorf("no response with %s in %s", id, out.String())
		}
	}
}

func TestEOFInTheMiddleOfACall(t *testing.T) {
	g, ts := gated(t)
	p := start(t, t.Context(), ts, mcp.Options{})
	r := newRaw(t, p.in, p.out)
	r.initialize(oldVersion)
	r.send(callLine("1", "gate"))
	<-g.running
	if err := p.in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-p.done; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

func TestTheEndOfTheContextEndsEverything(t *testing.T) {
	stopped := errors.New("stopped")
	g, ts := gated(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	p := start(t, ctx, ts, mcp.Options{})
	r := newRaw(t, p.in, p.out)
	r.initialize(oldVersion)
	r.send(callLine("1", "gate"), callLine("2", "gate"))
	<-g.running
	<-g.running
	cancel(stopped)
	if err := <-p.done; !errors.Is(err, stopped) {
		t.Errorf("Serve: %v", err)
	}
	if err := mcp.Serve(ctx, ts, mcp.Options{}); !errors.Is(err, stopped) {
		t.Errorf("Serve with a context that has ended: %v", err)
	}
}

// The client reads nothing, so that the server is stuck in a write when its context ends.
func TestTheEndOfTheContextInterruptsAWrite(t *testing.T) {
	_, ts := gated(t)
	ctx, cancel := context.WithCancel(t.Context())
	p := start(t, ctx, ts, mcp.Options{})
	newRaw(t, p.in, p.out).initialize(oldVersion)
	newRaw(t, p.in, p.out).send(callLine("1", "quick"))
	cancel()
	if err := <-p.done; !errors.Is(err, context.Canceled) {
		t.Errorf("Serve: %v", err)
	}
}

// Files are interrupted and stay open.
func TestFilesStayOpen(t *testing.T) {
	_, ts := gated(t)
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- mcp.Serve(ctx, ts, mcp.Options{In: inR, Out: outW}) }()
	newRaw(t, inW, outR).initialize(oldVersion)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Serve: %v", err)
	}
	for _, f := range []*os.File{inR, inW, outR, outW} {
		if err := f.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}

// stubborn is an input that nothing interrupts.
type stubborn struct{ end chan struct{} }

func (s stubborn) Read([]byte) (int, error) {
	<-s.end
	return 0, io.EOF
}

func TestAnInputThatCannotBeInterrupted(t *testing.T) {
	_, ts := gated(t)
	ctx, cancel := context.WithCancel(t.Context())
	in := stubborn{make(chan struct{})}
	done := make(chan error, 1)
	go func() { done <- mcp.Serve(ctx, ts, mcp.Options{In: in, Out: io.Discard}) }()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Serve: %v", err)
	}
	close(in.end)
}

func TestAClientThatStopsReading(t *testing.T) {
	g, ts := gated(t)
	p := start(t, t.Context(), ts, mcp.Options{})
	r := newRaw(t, p.in, p.out)
	r.initialize(oldVersion)
	r.send(callLine("1", "gate"), callLine("2", "quick"))
	<-g.running
	if err := p.out.Close(); err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(p.in, callLine("3", "quick")+"\n")
	if err := <-p.done; err == nil || !strings.Contains(err.Error(), "connection") {
		t.Errorf("Serve: %v", err)
	}
}

// Whatever comes in, what goes out is JSON in lines, and the end of the input is the end.
func FuzzInput(f *testing.F) {
	_, ts := gated(f)
	hello := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"f","version":"1"}}}`
	for _, seed := range []string{
		"", "\n\r\n \n", hello, callLine("1", "quick"), `[` + callLine("1", "quick") + `,` + callLine("1", "quick") + `]`, `[[[]]]`, "{\"a\":\xff}",
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"quick","arguments":[1]}}`, `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":null,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"method":"initialize"}`, `{"jsonrpc":"2.0","id":1,"error":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, input string) {
		if strings.Contains(input, "gate") || strings.Contains(input, "subscriptions") {
			t.Skip("it waits for the end of the input")
		}
		var out strings.Builder
		in := strings.NewReader(hello + "\n" + input + "\n" + callLine(`"last"`, "quick"))
		if err := mcp.Serve(t.Context(), ts, mcp.Options{In: in, Out: &out}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if !json.Valid([]byte(line)) {
				t.Errorf("the server wrote %q", line)
			}
		}
		if !strings.Contains(out.String(), `"last"`) {
			t.Errorf("the last request is not answered: %s", out.String())
		}
	})
}

// BenchmarkInitialize is what a client waits for before it can use the tools: a new server, the handshake and the list.
func BenchmarkInitialize(b *testing.B) {
	w := serveDir(b, "ask", nil)
	b.ReportAllocs()
	for b.Loop() {
		st, ct := sdk.NewInMemoryTransports()
		srv, err := mcp.NewServer(w.set, mcp.Options{})
		if err != nil {
			b.Fatal(err)
		}
		ss, err := srv.Connect(b.Context(), st, nil)
		if err != nil {
			b.Fatal(err)
		}
		cs, err := sdk.NewClient(&sdk.Implementation{Name: "bench"}, nil).Connect(b.Context(), ct, &sdk.ClientSessionOptions{ProtocolVersion: oldVersion})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := cs.ListTools(b.Context(), nil); err != nil {
			b.Fatal(err)
		}
		_ = cs.Close()
		_ = ss.Wait()
	}
}

// BenchmarkCall is what the protocol adds to a call.
func BenchmarkCall(b *testing.B) {
	_, ts := gated(b)
	s := connect(b, ts, mcp.Options{}, nil, oldVersion)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.CallTool(b.Context(), &sdk.CallToolParams{Name: "quick"}); err != nil {
			b.Fatal(err)
		}
	}
}
