package main

import (
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/cmd/deepagents/internal/cli"
)

// runFlags are the flags that run and resume share.
type runFlags struct {
	settings cli.Settings
	output   string
	data     string
	turns    int
	timeout  time.Duration
	// mistake is one in the command line itself, such as an unknown flag.
	mistake error
}

// workFlags adds the flags that say what the tools work on.
func workFlags(cmd *cobra.Command, s *cli.Settings, dirFlag, dirShort, paths string) {
	f := cmd.Flags()
	f.StringVarP(&s.Dir, dirFlag, dirShort, ".", "root of the file tools and working directory of commands")
	f.StringVar(&s.Paths, "paths", paths, "how the file tools name files: host (as commands do) or virtual (/ is the root)")
	f.StringVar(&s.Backend, "backend", cli.BackendDisk, "where the files are: disk, or state (in the thread)")
	f.StringVar(&s.Sandbox, "sandbox", "", "where commands run: none (this machine, nothing confines them); without it there is no execute tool")
	values(cmd, "paths", cli.PathsHost, cli.PathsVirtual)
	values(cmd, "backend", cli.BackendDisk, cli.BackendState)
	values(cmd, "sandbox", cli.SandboxNone)
}

// values makes a shell complete the values of a flag.
func values(cmd *cobra.Command, flag string, of ...cobra.Completion) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(of, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // the flag does not exist: a mistake in this package
	}
}

func (r *runFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	s := &r.settings
	workFlags(cmd, s, "cd", "C", cli.PathsHost)
	f.StringVarP(&s.Model, "model", "m", "", "provider:model, or script:FILE (default $DEEPAGENTS_MODEL)")
	f.StringVarP(&r.output, "output", "o", cli.OutputText, "text, json (the last event alone) or jsonl (every event)")
	f.StringVar(&s.Mode, "mode", "ask", "plan (read only), ask (writes and commands ask), edit (commands ask) or yolo (nothing asks)")
	f.StringVar(&s.OnAsk, "on-ask", "deny", "an ask with nobody to ask: deny (the run goes on), pause (for deepagents resume) or fail")
	f.StringVar(&r.data, "data", "", "data directory (default ~/.deepagents)")
	f.IntVar(&r.turns, "max-turns", 0, "stop after so many model calls (default no limit)")
	values(cmd, "output", cli.OutputText, cli.OutputJSON, cli.OutputJSONL)
	values(cmd, "mode", "plan", "ask", "edit", "yolo")
	values(cmd, "on-ask", "deny", "pause", "fail")
	f.DurationVar(&r.timeout, "timeout", 0, "stop after this time, as 90s or 10m (default no limit)")
}

// check looks at the flags that are not settings.
func (r *runFlags) check(cmd *cobra.Command) error {
	if err := cli.CheckOutput(r.output); err != nil {
		r.output = cli.OutputText
		return err
	}
	if cmd.Flags().Changed("max-turns") && r.turns < 1 {
		return cli.Usagef("--max-turns: must be at least 1, got %d", r.turns)
	}
	if cmd.Flags().Changed("timeout") && r.timeout <= 0 {
		return cli.Usagef("--timeout: must be positive, got %s", r.timeout)
	}
	return nil
}

func (r *runFlags) limits() agent.Limits { return agent.Limits{Turns: r.turns, Time: r.timeout} }

// model completes the model spec from the environment.
func (r *runFlags) model() {
	if r.settings.Model == "" {
		r.settings.Model = os.Getenv("DEEPAGENTS_MODEL")
	}
}

// given copies the settings whose flags were given over those that a thread remembers.
func (r *runFlags) given(cmd *cobra.Command, remembered cli.Settings) {
	flags := r.settings
	r.settings = remembered
	for name, set := range map[string]func(){
		"cd":      func() { r.settings.Dir = flags.Dir },
		"paths":   func() { r.settings.Paths = flags.Paths },
		"backend": func() { r.settings.Backend = flags.Backend },
		"sandbox": func() { r.settings.Sandbox = flags.Sandbox },
		"mode":    func() { r.settings.Mode = flags.Mode },
		"on-ask":  func() { r.settings.OnAsk = flags.OnAsk },
		"model":   func() { r.settings.Model = flags.Model },
	} {
		if cmd.Flags().Changed(name) {
			set()
		}
	}
}
