package host_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/deepagents-go/deepagents/sandbox"
	"github.com/deepagents-go/deepagents/sandbox/host"
)

func TestMain(m *testing.M) {
	if os.Getenv(harnessEnv) != "" {
		os.Exit(harness())
	}
	goleak.VerifyTestMain(m)
}

// harnessEnv makes the test binary play a program that embeds the library.
const harnessEnv = "DEEPAGENTS_TEST_HARNESS"

// harness runs the command of the variable. It says "ready" when the command has written something, and never ends by itself
// when the command goes on.
func harness() int {
	h, err := host.New(&plainDriver{}, host.Options{Dir: os.TempDir(), Timeout: sandbox.NoTimeout})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	r, err := sandbox.Run(context.Background(), h, sandbox.Command{Line: os.Getenv(harnessEnv)}, sandbox.RunOptions{Live: os.Stdout})
	if err != nil || r.Exit.Code != 0 {
		fmt.Println(err, r.Exit)
		return 1
	}
	if r.Exit.Background > 0 {
		fmt.Println("left")
		select {}
	}
	if err := h.Close(context.Background()); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}
