package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"
)

// mcp CALLS ARGS... starts deepagents mcp ARGS, plays the calls of a file with the official SDK's client, one
// "name json-arguments" a line, and prints what each gave. The file's first word on a line may be ? for the list of tools. An
// answer to questions comes from the variable ANSWER: accept, decline, or nothing for a client that cannot be asked.
func mcpSession(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: mcp CALLS ARGS...")
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out := ts.Stdout()
	var o *sdk.ClientOptions
	if answer := ts.Getenv("ANSWER"); answer != "" {
		o = &sdk.ClientOptions{ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			fmt.Fprintf(out, "? %s\n", strings.ReplaceAll(r.Params.Message, ts.Getenv("WORK"), "$WORK"))
			content := map[string]any{"decision": answer}
			return &sdk.ElicitResult{Action: "accept", Content: content}, nil
		}}
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, o)
	cmd := command(ts, append([]string{"deepagents", "mcp"}, args[1:]...))
	cmd.Stdout = nil // the transport's
	session, err := client.Connect(ctx, &sdk.CommandTransport{Command: cmd}, nil)
	ts.Check(err)
	for line := range strings.SplitSeq(strings.TrimSpace(ts.ReadFile(args[0])), "\n") {
		name, rest, _ := strings.Cut(line, " ")
		if name == "?" {
			tools, err := session.ListTools(ctx, nil)
			ts.Check(err)
			for _, t := range tools.Tools {
				fmt.Fprintln(out, t.Name)
			}
			continue
		}
		res, err := session.CallTool(ctx, &sdk.CallToolParams{Name: name, Arguments: json.RawMessage(rest)})
		if err != nil {
			fmt.Fprintf(out, "%s: %v\n", name, err)
			continue
		}
		fmt.Fprintf(out, "%s: error=%t", name, res.IsError)
		if res.StructuredContent != nil {
			b, err := json.Marshal(res.StructuredContent)
			ts.Check(err)
			fmt.Fprintf(out, " %s", b)
		}
		for _, c := range res.Content {
			if t, ok := c.(*sdk.TextContent); ok {
				fmt.Fprintf(out, " %q", strings.ReplaceAll(t.Text, ts.Getenv("WORK"), "$WORK"))
			}
		}
		fmt.Fprintln(out)
	}
	ts.Check(session.Close())
}
