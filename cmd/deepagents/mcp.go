package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/deepagents-go/deepagents"
	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/cmd/deepagents/internal/cli"
	"github.com/deepagents-go/deepagents/mcp"
	"github.com/deepagents-go/deepagents/tool"
)

func (a *app) mcpCommand() *cobra.Command {
	s := cli.Settings{OnAsk: "deny"}
	var tools []string
	cmd := &cobra.Command{
		Use:   "mcp --root DIR",
		Short: "Serve the tools to an MCP client on standard input and output",
		Long: "Serve the file tools, and with --sandbox none the shell, to any MCP client on standard input and output. No model\n" +
			"and no key are needed. In ask mode, writes and commands are put to the person in front of the client.",
		Example: `  deepagents mcp --root ~/src/project --mode edit`,
		Args:    cobra.NoArgs,
	}
	cmd.RunE = coded(func(cmd *cobra.Command, _ []string) error {
		if s.Backend == cli.BackendDisk && !cmd.Flags().Changed("root") {
			return cli.Usagef("--root DIR is missing: say which directory to serve")
		}
		if err := s.Check(); err != nil {
			return err
		}
		w, err := cli.OpenWorkspace(&s, a.log)
		if err != nil {
			return err
		}
		return closing(w, a.serve(cmd, &s, w, tools))
	})
	workFlags(cmd, &s, "root", "", cli.PathsVirtual)
	f := cmd.Flags()
	f.StringVar(&s.Mode, "mode", "ask", "read (nothing is changed), ask (writes and commands ask), edit (commands ask) or yolo (nothing asks)")
	f.StringSliceVar(&tools, "tools", nil, "names of the tools to serve, separated by commas (default all)")
	return cmd
}

func (a *app) serve(cmd *cobra.Command, s *cli.Settings, w *cli.Workspace, tools []string) error {
	c := w.Config(s, a.log)
	c.Advisory = deepagents.DefaultWriteDenies()
	c.Files.AllowNoRead = true
	c.Middleware = []agent.Middleware{mcp.Progress()}
	if len(tools) > 0 {
		c.Files.Tools = tools
	}
	ts, err := deepagents.NewToolset(c, mcp.Ask)
	if err != nil {
		return cli.Usage(err)
	}
	specs := ts.Specs()
	for _, name := range tools {
		if !slices.ContainsFunc(specs, func(t tool.Spec) bool { return t.Name == name }) {
			return cli.Usagef("--tools: %s is not available here: execute needs --sandbox none", name)
		}
	}
	w.Warn(s, a.errout)
	return mcp.Serve(cmd.Context(), ts, mcp.Options{Version: version(), Logger: a.log})
}
