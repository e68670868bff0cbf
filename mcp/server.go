package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/tool"
)

// DefaultName is the name that a server gives itself when [Options] has none.
const DefaultName = "deepagents"

// Options configure a server. The zero value serves every tool on standard input and output.
type Options struct {
	// In and Out carry the messages, one JSON text a line. Give both or none: nil is standard input and output of the process,
	// and whatever else is printed to standard output then goes to standard error while [Serve] runs. When serving ends, a
	// blocked Read or Write is interrupted: a file gets a deadline in the past, anything else is closed if it has Close.
	In  io.Reader
	Out io.Writer
	// Name and Version introduce the server to the client; the defaults are [DefaultName] and "0.0.0".
	Name, Version string
	// Instructions tell the client's model how to use the tools. Optional.
	Instructions string
	// Tools are the names of the tools to serve; nil means all. A name that the toolset does not have is an error.
	Tools []string
	// Logger gets what happens on the connection; nil is silent. It must not write to Out.
	Logger *slog.Logger
}

// multiRound is the first protocol version in which a server asks by returning a result instead of by sending a request.
const multiRound = "2026-07-28"

// server is what the handlers of all calls share.
type server struct {
	set    *agent.Toolset
	log    *slog.Logger
	rounds *rounds
	// offered are the names in tools/list, hidden those that Options.Tools leaves out.
	offered, hidden map[string]bool
	calls           atomic.Int64
}

// NewServer returns a server of the official SDK for the tools, to be connected to any of its transports. It fails when
// Options.Tools names a tool that the toolset does not have, or when a tool's schema is not that of an object. [Serve] is
// NewServer on standard input and output, with the care that needs.
func NewServer(ts *agent.Toolset, o Options) (*sdk.Server, error) {
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &server{set: ts, log: log, rounds: newRounds(), offered: map[string]bool{}, hidden: map[string]bool{}}
	specs, err := s.choose(o.Tools)
	if err != nil {
		return nil, err
	}
	impl := &sdk.Implementation{Name: cmp.Or(o.Name, DefaultName), Version: cmp.Or(o.Version, "0.0.0")}
	srv := sdk.NewServer(impl, &sdk.ServerOptions{
		Instructions: o.Instructions,
		Logger:       log,
		// The list of tools never changes, and nothing is logged to the client.
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}},
	})
	srv.AddReceivingMiddleware(s.intercept)
	for _, spec := range specs {
		t, err := describe(spec)
		if err != nil {
			return nil, err
		}
		srv.AddTool(t, s.handler(spec))
	}
	return srv, nil
}

// choose returns the tools to serve.
func (s *server) choose(names []string) ([]tool.Spec, error) {
	all := s.set.Specs()
	have := make([]string, 0, len(all))
	for _, spec := range all {
		have = append(have, spec.Name)
	}
	for _, name := range names {
		if !slices.Contains(have, name) {
			return nil, fmt.Errorf("mcp: unknown tool %q: use any of %s", name, strings.Join(have, ", "))
		}
	}
	specs := make([]tool.Spec, 0, len(all))
	for _, spec := range all {
		if names == nil || slices.Contains(names, spec.Name) {
			specs = append(specs, spec)
			s.offered[spec.Name] = true
		} else {
			s.hidden[spec.Name] = true
		}
	}
	return specs, nil
}

// describe returns a tool as clients see it. Its schemas are passed on byte for byte.
func describe(spec tool.Spec) (*sdk.Tool, error) {
	input := spec.Input
	if len(input) == 0 {
		input = json.RawMessage(`{"type":"object"}`)
	}
	if !isObjectSchema(input) {
		return nil, fmt.Errorf("mcp: tool %q: the input schema is not that of an object", spec.Name)
	}
	t := &sdk.Tool{
		Name: spec.Name, Title: spec.Title, Description: spec.Description, InputSchema: input,
		Annotations: &sdk.ToolAnnotations{
			Title:           spec.Title,
			ReadOnlyHint:    spec.Hints.ReadOnly,
			DestructiveHint: &spec.Hints.Destructive,
			IdempotentHint:  spec.Hints.Idempotent,
			OpenWorldHint:   &spec.Hints.OpenWorld,
		},
	}
	if isObjectSchema(spec.Output) {
		t.OutputSchema = spec.Output
	}
	return t, nil
}

// isObjectSchema reports whether a JSON Schema says "type": "object", as every version of the protocol wants it.
func isObjectSchema(raw json.RawMessage) bool {
	var s struct {
		Type any `json:"type"`
	}
	return json.Unmarshal(raw, &s) == nil && s.Type == "object"
}

// intercept answers for tools that are not offered, and corrects the version of clients that are ahead of their handshake.
func (s *server) intercept(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		switch p := req.GetParams().(type) {
		case *sdk.InitializeParams:
			// The SDK negotiates an older version here but goes on to treat the client by the version it asked for.
			if p != nil && p.ProtocolVersion >= multiRound {
				p.ProtocolVersion = newestHandshake()
			}
		case *sdk.CallToolParamsRaw:
			if p != nil && !s.offered[p.Name] {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: s.refusal(ctx, p)}
			}
		}
		return next(ctx, method, req)
	}
}

// newestHandshake is the newest protocol version that begins with an initialize request.
func newestHandshake() string {
	newest := ""
	for _, v := range sdk.SupportedProtocolVersions() {
		if v < multiRound && v > newest {
			newest = v
		}
	}
	return newest
}

// refusal says why a tool that is not offered cannot be called. The toolset knows the reason, and runs nothing for such a name.
func (s *server) refusal(ctx context.Context, p *sdk.CallToolParamsRaw) string {
	if s.hidden[p.Name] {
		return fmt.Sprintf("Error: %s is not available.", p.Name)
	}
	res, err := s.set.Call(ctx, tool.Call{Name: p.Name, Args: arguments(p)})
	if err != nil {
		return err.Error()
	}
	return (&message.Message{Parts: res.Parts}).Text()
}

// arguments returns the arguments of a call; none at all means an empty object.
func arguments(p *sdk.CallToolParamsRaw) json.RawMessage {
	if len(p.Arguments) == 0 || string(p.Arguments) == "null" {
		return json.RawMessage("{}")
	}
	return p.Arguments
}

// callID names a call for the texts of a rejection and for the files of large results.
func (s *server) callID() string { return "mcp-" + strconv.FormatInt(s.calls.Add(1), 10) }
