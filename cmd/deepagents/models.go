package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/deepagents-go/deepagents/cmd/deepagents/internal/cli"
	"github.com/deepagents-go/deepagents/model"
)

func (a *app) modelsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "models", Short: "List the providers, try a model, serve a script as one", Args: cobra.NoArgs,
		RunE: coded(func(*cobra.Command, []string) error { return cli.Usagef("models: give one of list, serve, test") }),
	}
	cmd.AddCommand(a.modelsListCommand(), a.modelsServeCommand(), a.modelsTestCommand())
	return cmd
}

func (a *app) modelsListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{Use: "list", Short: "List the providers, and which keys are set", Args: cobra.NoArgs}
	cmd.RunE = coded(func(*cobra.Command, []string) error { return cli.ListProviders(a.out, asJSON) })
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) modelsServeCommand() *cobra.Command {
	o := cli.ServeOptions{Out: a.out, Err: a.errout}
	cmd := &cobra.Command{
		Use: "serve --script FILE", Short: "Serve a script in the wire formats of OpenAI (both), Anthropic and Gemini", Args: cobra.NoArgs,
		Long: "Serve a script in the wire formats of OpenAI (Chat Completions and Responses), Anthropic and Gemini, so that any program\n" +
			"with a base URL can be pointed at it. Requests are checked as strictly as the services check them. The address is the\n" +
			"only line on standard output.",
	}
	cmd.RunE = coded(func(cmd *cobra.Command, _ []string) error { return cli.ServeScript(cmd.Context(), o) })
	f := cmd.Flags()
	f.StringVar(&o.Script, "script", "", "the script, as for --model script:FILE")
	f.StringVar(&o.Addr, "addr", "127.0.0.1:0", "address to listen on; port 0 takes a free one")
	f.BoolVar(&o.Insecure, "insecure", false, "allow an address that other machines can reach")
	return cmd
}

func (a *app) modelsTestCommand() *cobra.Command {
	var o model.OpenOptions
	var prompt string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "test SPEC", Short: "Send a model one small request and say what came", Args: cobra.ExactArgs(1),
		Long: "Send a model one small request and say what came. With a provider's model this needs its key and costs a few tokens.",
	}
	cmd.RunE = coded(func(cmd *cobra.Command, args []string) error {
		if timeout <= 0 {
			return cli.Usagef("--timeout: must be positive, got %s", timeout)
		}
		ctx, cancel := context.WithTimeoutCause(cmd.Context(), timeout, &cli.ExitError{Code: cli.ExitTimeout, Err: fmt.Errorf("no answer within %s", timeout)})
		defer cancel()
		m, err := cli.OpenModelWith(ctx, args[0], o)
		if err != nil {
			return err
		}
		return cli.TestModel(ctx, m, prompt, a.out)
	})
	f := cmd.Flags()
	f.StringVar(&o.BaseURL, "base-url", "", "address of the provider's API (default the provider's)")
	f.StringVar(&prompt, "prompt", "Reply with the single word: ready", "what to send")
	f.DurationVar(&timeout, "timeout", time.Minute, "how long to wait")
	return cmd
}
