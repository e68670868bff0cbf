package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/deepagents-go/deepagents/cmd/deepagents/internal/cli"
	"github.com/deepagents-go/deepagents/thread"
)

func (a *app) threadsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "threads", Short: "List, show, delete and export threads", Args: cobra.NoArgs,
		RunE: coded(func(*cobra.Command, []string) error {
			return cli.Usagef("threads: give one of list, show, delete, export")
		}),
	}
	var data string
	cmd.PersistentFlags().StringVar(&data, "data", "", "data directory (default ~/.deepagents)")
	with := func(use func(ctx context.Context, s thread.Store, args []string) error) func(*cobra.Command, []string) error {
		return coded(func(cmd *cobra.Command, args []string) error { return withThreads(cmd.Context(), data, args, use) })
	}

	var asJSON bool
	list := &cobra.Command{Use: "list", Short: "List the threads, sorted by id", Args: cobra.NoArgs}
	list.RunE = with(func(ctx context.Context, s thread.Store, _ []string) error {
		return cli.ListThreads(ctx, s, a.out, asJSON)
	})
	show := &cobra.Command{Use: "show ID", Short: "Show where a thread stands and its conversation", Args: cobra.ExactArgs(1)}
	show.RunE = with(func(ctx context.Context, s thread.Store, args []string) error {
		return cli.ShowThread(ctx, s, args[0], cli.Again{Possible: true, Data: data}, a.out, asJSON)
	})
	for _, c := range []*cobra.Command{list, show} {
		c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	}

	var as string
	export := &cobra.Command{
		Use: "export ID", Short: "Print a thread as events (jsonl) or as a script for script:FILE", Args: cobra.ExactArgs(1),
	}
	export.Flags().StringVar(&as, "as", "jsonl", "jsonl: the events of all its runs; script: the turns of its model")
	export.RunE = with(func(ctx context.Context, s thread.Store, args []string) error {
		return cli.ExportThread(ctx, s, args[0], as, a.out)
	})

	remove := &cobra.Command{Use: "delete ID", Short: "Delete a thread for good", Args: cobra.ExactArgs(1)}
	remove.RunE = with(func(ctx context.Context, s thread.Store, args []string) error {
		if err := cli.DeleteThread(ctx, s, args[0]); err != nil {
			return err
		}
		_, err := fmt.Fprintf(a.errout, "deleted thread %s\n", args[0])
		return err
	})
	cmd.AddCommand(list, show, remove, export)
	return cmd
}

func withThreads(ctx context.Context, data string, args []string, use func(context.Context, thread.Store, []string) error) error {
	dir, err := cli.DataDir(data)
	if err != nil {
		return err
	}
	s, err := cli.LookThreads(ctx, dir)
	if err != nil {
		return err
	}
	err = use(ctx, s, args)
	if cerr := s.Close(); err == nil {
		err = cerr
	}
	return err
}
