package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/deepagents-go/deepagents"
	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/cmd/deepagents/internal/cli"
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/thread"
	"github.com/deepagents-go/deepagents/thread/memory"
)

func (a *app) runCommand() *cobra.Command {
	var flags runFlags
	var prompt cli.PromptSources
	var threadID string
	var ephemeral bool
	cmd := &cobra.Command{
		Use:   "run [flags] [PROMPT|-]",
		Short: "Run one task without a terminal",
		Long: "Run one task without a terminal. The prompt is the argument, the file of --prompt-file, or standard input (-).\n" +
			"When standard input is a pipe or a file, it follows the prompt.",
		Example: "  deepagents run -m script:demo.jsonl --mode edit --sandbox none \"fix the failing test\"",
	}
	cmd.RunE = coded(func(cmd *cobra.Command, args []string) error {
		j := &job{app: a, flags: &flags, thread: threadID, resumable: !ephemeral}
		return j.finish(func(ctx context.Context) error {
			if err := flags.check(cmd); err != nil {
				return err
			}
			if threadID == "" && cmd.Flags().Changed("thread") {
				return cli.Usagef("--thread: the id is empty: leave the flag out for a new one")
			}
			flags.model()
			if err := flags.settings.Check(); err != nil {
				return err
			}
			if ephemeral && flags.settings.OnAsk == "pause" {
				return cli.Usagef("--ephemeral and --on-ask pause do not go together: nobody could answer later")
			}
			prompt.Args, prompt.Stdin, prompt.Piped, prompt.Notice = args, a.stdin, cli.Piped(a.stdin), a.errout
			text, err := prompt.Prompt(ctx)
			if err != nil {
				return err
			}
			j.input = agent.Input{Text: text}
			return j.fresh(ctx, ephemeral)
		})(cmd.Context())
	})
	flags.add(cmd)
	a.early(cmd, &flags)
	f := cmd.Flags()
	f.StringVarP(&prompt.File, "prompt-file", "p", "", "read the prompt from a file (- is standard input)")
	f.StringVar(&threadID, "thread", "", "id of the thread, created when it is new: 1 to 128 of A-Z a-z 0-9 . _ - (default a new id)")
	f.BoolVar(&ephemeral, "ephemeral", false, "keep the thread in memory only")
	return cmd
}

// early makes a mistake in the command line itself end the JSON formats with a run.completed event, as later ones do. What counts
// is the --output that stands before the mistake.
func (a *app) early(cmd *cobra.Command, flags *runFlags) {
	end := coded(func(cmd *cobra.Command, _ []string) error {
		j := &job{app: a, flags: flags}
		return j.finish(func(context.Context) error { return cli.Usagef("%w", flags.mistake) })(cmd.Context())
	})
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		flags.mistake = err
		return end(cmd, nil)
	})
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if flags.mistake = check(cmd, args); flags.mistake == nil {
				return nil
			}
			return end(cmd, args)
		}
	}
}

// job is one run of the command line.
type job struct {
	*app
	flags     *runFlags
	thread    string
	store     thread.Store
	model     model.Model
	input     agent.Input
	resumable bool
	// began says that there was a run, whose own last event tells how it ended.
	began bool
}

// finish makes sure that the JSON formats end with a run.completed event, also when no run began, and that the store is closed.
func (j *job) finish(do func(ctx context.Context) error) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		err := do(ctx)
		if j.store != nil {
			if cerr := j.store.Close(); err == nil {
				err = cerr
			}
		}
		if err != nil && !j.began {
			o := j.output()
			if oerr := o.Nothing(cli.Outcome{Thread: j.thread, Code: cli.Code(err), Error: err.Error()}); oerr != nil {
				return oerr
			}
		}
		return err
	}
}

func (j *job) again() cli.Again { return cli.Again{Possible: j.resumable, Data: j.flags.data} }

func (j *job) output() *cli.Output {
	return &cli.Output{Format: j.flags.output, Out: j.out, Err: j.errout, Terminal: j.onTerminal()}
}

// fresh opens the store and begins a new task.
func (j *job) fresh(ctx context.Context, ephemeral bool) error {
	if j.thread == "" {
		j.thread = cli.NewThreadID(time.Now())
	} else if err := thread.ValidThread(j.thread); err != nil {
		return cli.Usagef("--thread: %w", err)
	}
	// What is wrong with the model or the directory is found before anything is created.
	w, err := j.prepare(ctx)
	if err != nil {
		return err
	}
	if ephemeral {
		j.store = memory.New()
	} else if err := j.open(ctx); err != nil {
		return closing(w, err)
	} else if err := cli.CheckNew(ctx, j.store, j.thread, j.again()); err != nil {
		return closing(w, err)
	}
	return closing(w, j.start(ctx, w))
}

// prepare opens the model and what the tools work on.
func (j *job) prepare(ctx context.Context) (*cli.Workspace, error) {
	var err error
	if j.model, err = cli.OpenModel(ctx, j.flags.settings.Model); err != nil {
		return nil, err
	}
	return cli.OpenWorkspace(&j.flags.settings, j.log)
}

func closing(w *cli.Workspace, err error) error {
	if cerr := w.Close(); err == nil {
		return cerr
	}
	return err
}

func (j *job) open(ctx context.Context) error {
	dir, err := cli.DataDir(j.flags.data)
	if err != nil {
		return err
	}
	j.store, err = cli.OpenThreads(ctx, dir)
	return err
}

// start runs the agent to its end.
func (j *job) start(ctx context.Context, w *cli.Workspace) error {
	s := &j.flags.settings
	onAsk, err := agent.ParseOnAsk(s.OnAsk)
	if err != nil {
		return err
	}
	meta, err := s.Meta(version())
	if err != nil {
		return err
	}
	c := w.Config(s, j.log)
	c.Model, c.Prompt = j.model, cli.Prompt(s, w.Sandbox != nil)
	c.Threads, c.Limits = j.store, j.flags.limits()
	a, err := deepagents.New(c)
	if err != nil {
		return err
	}
	w.Warn(s, j.errout)
	j.input.Thread = j.thread
	var r *agent.Run
	err = cli.Patiently(ctx, func() (err error) {
		r, err = a.Start(ctx, j.input, agent.WithOnAsk(onAsk), agent.WithMeta(meta), agent.WithOwner("deepagents "+version()))
		return err
	})
	if err != nil {
		return err
	}
	j.began = true
	res, err := cli.Follow(ctx, r, j.output())
	return cli.Conclude(j.thread, j.again(), res, err)
}
