package mcp_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/mcp"
	"github.com/deepagents-go/deepagents/policy"
	"github.com/deepagents-go/deepagents/tool"
)

// A server with one tool that asks before it acts. A program leaves In and Out away and serves its standard input and output.
func ExampleServe() {
	type who struct {
		Name string `json:"name"`
	}
	greet := tool.New(tool.Spec{Name: "greet"}, func(_ context.Context, in who) (string, error) {
		return "Hello " + in.Name, nil
	})
	tools, err := agent.NewToolset(agent.Config{
		Tools:      []tool.Tool{greet},
		Policy:     policy.Judges{policy.AskMode},
		Middleware: []agent.Middleware{mcp.Progress()},
	}, mcp.Ask)
	if err != nil {
		fmt.Println(err)
		return
	}
	// This client has no elicitation, so that nobody can be asked.
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"greet","arguments":{"name":"Ada"}}}
`)
	if err := mcp.Serve(context.Background(), tools, mcp.Options{In: in, Out: os.Stdout, Version: "1.0.0"}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// {"jsonrpc":"2.0","id":1,"result":{"capabilities":{"tools":{}},"protocolVersion":"2025-11-25","serverInfo":{"name":"deepagents","version":"1.0.0"}}}
	// {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"Error: use greet denied: mode ask asks before a tool runs, and this MCP client cannot ask anybody (it has no elicitation) (--mode yolo)"}],"isError":true}}
}
