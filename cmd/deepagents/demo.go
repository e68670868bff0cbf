package main

import (
	"os"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"github.com/deepagents-go/deepagents/cmd/deepagents/internal/demo"
)

func (a *app) demoCommand() *cobra.Command {
	var o demo.Options
	var plain bool
	cmd := &cobra.Command{
		Use: "demo", Short: "See an agent find and fix a fault: no key, no network, no AI", Args: cobra.NoArgs,
		Long: "See an agent find and fix a fault in a copy of a small project. The model is a script behind the HTTP interface of a\n" +
			"provider, on this machine; the client, the loop, the tools, the commands and the approvals are real.\n" +
			"At a terminal you are asked before a file is changed or a command runs.",
	}
	cmd.RunE = coded(func(cmd *cobra.Command, _ []string) error {
		o.Out, o.Version, o.Logger = a.out, version(), a.log
		if !plain && terminal(a.stdin) && terminal(os.Stdout) {
			o.In = a.stdin
		}
		return demo.Run(cmd.Context(), o)
	})
	cmd.Flags().BoolVar(&plain, "plain", false, "ask nothing, also at a terminal: approve every call, and say so")
	cmd.Flags().StringVar(&o.Data, "data", "", "data directory that keeps the recording (default one that is removed)")
	cmd.Flags().BoolVar(&o.Keep, "keep", false, "leave the project and the recording in the temporary directory")
	return cmd
}

// onTerminal says that what is printed may drive a terminal.
func (a *app) onTerminal() bool {
	f, ok := a.out.(*os.File)
	return ok && terminal(f)
}

func terminal(f *os.File) bool { return isatty.IsTerminal(f.Fd()) }
