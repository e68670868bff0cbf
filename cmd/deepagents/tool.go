package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/deepagents-go/deepagents"
	"github.com/deepagents-go/deepagents/cmd/deepagents/internal/cli"
	"github.com/deepagents-go/deepagents/tool"
)

func (a *app) toolCommand() *cobra.Command {
	s := cli.Settings{Mode: "yolo", OnAsk: "deny"}
	var propagate bool
	cmd := &cobra.Command{
		Use:   "tool NAME JSON|-",
		Short: "Call one tool and print what a model would see",
		Long: "Call one tool, with everything allowed, and print exactly the text that a model would see, and one line feed.\n" +
			"The arguments are JSON, or on standard input (-).\n" +
			"A tool's error is exit code 1; a command that fails is none.",
		Example: `  deepagents tool read_file '{"file_path":"/README.md"}'`,
		Args:    cobra.ExactArgs(2),
	}
	cmd.RunE = coded(func(cmd *cobra.Command, args []string) error {
		if err := s.Check(); err != nil {
			return err
		}
		raw, err := cli.Arguments(cmd.Context(), args[1], a.stdin)
		if err != nil {
			return err
		}
		w, err := cli.OpenWorkspace(&s, a.log)
		if err != nil {
			return err
		}
		return closing(w, a.callTool(cmd, &s, w, tool.Call{Name: args[0], Args: raw}, propagate))
	})
	workFlags(cmd, &s, "root", "", cli.PathsVirtual)
	cmd.Flags().BoolVar(&propagate, "propagate-exit", false, "exit with the exit code of the command (execute)")
	return cmd
}

func (a *app) callTool(cmd *cobra.Command, s *cli.Settings, w *cli.Workspace, c tool.Call, propagate bool) error {
	ts, err := deepagents.NewToolset(w.Config(s, a.log), nil)
	if err != nil {
		return err
	}
	res, err := ts.Call(cmd.Context(), c)
	if err != nil {
		return err
	}
	text, err := cli.ResultText(res)
	if err != nil {
		return err
	}
	if a.onTerminal() {
		text = cli.Plain(text)
	}
	if _, err := fmt.Fprintln(a.out, text); err != nil {
		return err
	}
	return cli.ResultExit(res, propagate)
}
