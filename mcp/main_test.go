package mcp_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/deepagents-go/deepagents/mcp"
	"github.com/deepagents-go/deepagents/policy"
	"github.com/deepagents-go/deepagents/tool"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// The environment of the helper process: this test binary as a server on its standard input and output.
const (
	envRoot = "MCP_TEST_ROOT"
	envMode = "MCP_TEST_MODE"
)

func TestMain(m *testing.M) {
	if root := os.Getenv(envRoot); root != "" {
		os.Exit(helper(root, policy.Mode(os.Getenv(envMode))))
	}
	flag.Parse()
	goleak.VerifyTestMain(m)
}

// helper serves a directory until standard input ends or SIGTERM comes.
func helper(root string, mode policy.Mode) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	noisy := tool.New(tool.Spec{Name: "noisy"}, func(context.Context, struct{}) (string, error) {
		fmt.Println("this is no JSON-RPC")
		_, err := os.Stdout.WriteString("neither is this\n")
		return "quiet", err
	})
	w, err := newWorld(root, os.Getenv("MCP_TEST_STATE"), mode, noisy)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	err = mcp.Serve(ctx, w.set, mcp.Options{})
	if cerr := w.close(); cerr != nil {
		fmt.Fprintln(os.Stderr, cerr)
		return 2
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("standard output is back")
	return 0
}
