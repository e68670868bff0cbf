package host_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/sandbox"
	"github.com/deepagents-go/deepagents/sandbox/host"
)

func Example() {
	dir := os.TempDir()
	h, err := host.New(driver.FromFS(os.DirFS(dir)), host.Options{Dir: dir, EmptyEnv: true, Env: map[string]string{"WHO": "world"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	defer func() { _ = h.Close(ctx) }()
	for _, line := range []string{`echo "hello $WHO"; echo oops >&2; exit 3`, "echo begin; sleep 60"} {
		r, err := sandbox.Run(ctx, h, sandbox.Command{Line: line, Timeout: time.Second}, sandbox.RunOptions{})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(sandbox.Format(r, sandbox.FormatOptions{}))
	}
	// Output:
	// hello world
	//
	// [stderr] oops
	// [Command failed with exit code 3]
	// begin
	//
	// Error: Command timed out after 1 seconds (custom timeout). The command may be stuck or require more time.
	// [Command failed with exit code 124]
}
