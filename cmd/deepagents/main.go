package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/deepagents-go/deepagents/cmd/deepagents/internal/cli"
)

func main() {
	os.Exit(execute(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// app is what the commands share.
type app struct {
	stdin       *os.File
	out, errout io.Writer
	log         *slog.Logger
}

// execute runs the program and returns its exit code.
func execute(args []string, stdin *os.File, out, errout io.Writer) int {
	ctx, stop := signals(context.Background())
	defer stop()
	a := &app{stdin: stdin, out: out, errout: errout}
	a.log = slog.New(slog.NewTextHandler(errout, &slog.HandlerOptions{Level: slog.LevelWarn}))
	root := a.root()
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errout)
	return a.report(root.ExecuteContext(ctx))
}

// report prints an error and returns the exit code. Errors that no command returned are those of the flags.
func (a *app) report(err error) int {
	if err == nil {
		return cli.ExitOK
	}
	var exit *cli.ExitError
	if !errors.As(err, &exit) {
		fmt.Fprintf(a.errout, "deepagents: %v\n", err)
		return cli.ExitUsage
	}
	if exit.Err != nil {
		fmt.Fprintf(a.errout, "deepagents: %v\n", exit.Err)
	}
	return exit.Code
}

// coded gives the errors of a command their exit codes.
func coded(run func(cmd *cobra.Command, args []string) error) func(cmd *cobra.Command, args []string) error {
	return func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		var exit *cli.ExitError
		if err == nil || errors.As(err, &exit) && error(exit) == err { //nolint:errorlint // is it the outermost one
			return err
		}
		return &cli.ExitError{Code: cli.Code(err), Err: err}
	}
}

// signals returns a context that ends at SIGINT or SIGTERM, with the signal as its cause. The second one ends the program at once;
// the processes it started go with it. SIGPIPE is taken so that writing to a closed pipe is an error and not the end.
func signals(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	ch := make(chan os.Signal, 2)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		for n := 0; ; n++ {
			select {
			case s := <-ch:
				err := &cli.SignalError{Signal: s}
				if n > 0 {
					os.Exit(err.ExitCode())
				}
				cancel(err)
			case <-done:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(ch)
		signal.Stop(pipe)
		close(done)
		cancel(nil)
	}
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "deepagents",
		Short: "Deep agents: a model in a loop that works on files and runs commands",
		Long: "deepagents runs a model in a loop with tools for files and commands, on a real directory.\n\n" +
			"Exit codes: 0 success, 1 error, 2 usage, 3 no model or credentials, 4 a call was denied, 5 paused for approval,\n" +
			"6 limit reached, 124 timeout, 130 interrupted, 143 terminated.",
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("deepagents {{.Version}}\n")
	root.AddCommand(a.runCommand(), a.resumeCommand(), a.mcpCommand(), a.toolCommand(), a.threadsCommand(), a.doctorCommand(), a.versionCommand(),
		a.demoCommand(), a.modelsCommand())
	return root
}
