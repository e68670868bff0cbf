package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/cmd/deepagents/internal/cli"
	"github.com/deepagents-go/deepagents/thread"
)

func (a *app) resumeCommand() *cobra.Command {
	var flags runFlags
	var answers cli.AnswerFlags
	cmd := &cobra.Command{
		Use:   "resume THREAD [--approve | --reject [--message TEXT] | --decisions FILE]",
		Short: "Answer a paused run, or go on with one that crashed or hit a limit",
		Long: "Answer a paused run, or go on with one that crashed, was interrupted or hit a limit. The thread remembers model,\n" +
			"directory, mode, backend and sandbox; flags override what it remembers.",
		Args: cobra.ExactArgs(1),
	}
	cmd.RunE = coded(func(cmd *cobra.Command, args []string) error {
		j := &job{app: a, flags: &flags, thread: args[0], resumable: true}
		return j.finish(func(ctx context.Context) error {
			if err := flags.check(cmd); err != nil {
				return err
			}
			return j.resume(ctx, cmd, answers)
		})(cmd.Context())
	})
	flags.add(cmd)
	a.early(cmd, &flags)
	f := cmd.Flags()
	f.BoolVar(&answers.Approve, "approve", false, "approve every call that waits")
	f.BoolVar(&answers.Reject, "reject", false, "reject every call that waits")
	f.StringVar(&answers.Message, "message", "", "why, for the model (with --reject)")
	f.StringVar(&answers.Decisions, "decisions", "", `file with {"decisions":[...]} for one question, or {"<interrupt id>":{"decisions":[...]}, ...}`)
	return cmd
}

// resume reads what the thread remembers, and goes on with it.
func (j *job) resume(ctx context.Context, cmd *cobra.Command, answers cli.AnswerFlags) error {
	dir, err := cli.DataDir(j.flags.data)
	if err != nil {
		return err
	}
	if j.store, err = cli.LookThreads(ctx, dir); err != nil {
		return err
	}
	v, err := cli.LoadThread(ctx, j.store, j.thread)
	if err != nil {
		return err
	}
	open := v.Open()
	if j.input.Answers, err = answers.Answers(ctx, open, j.stdin); err != nil {
		return err
	}
	if len(open) > 0 && !answers.Given() {
		return j.paused(ctx, open)
	}
	if cli.Finished(v) {
		return j.nothing(v)
	}
	remembered := j.flags.settings
	if v.RunStarted != nil {
		if err := remembered.Remember(v.RunStarted.Meta); err != nil {
			return err
		}
	}
	j.flags.given(cmd, remembered)
	j.flags.model()
	if err := j.flags.settings.Check(); err != nil {
		return err
	}
	w, err := j.prepare(ctx)
	if err != nil {
		return err
	}
	err = closing(w, j.start(ctx, w))
	if errors.Is(err, agent.ErrNothingToDo) {
		return j.nothing(v)
	}
	return err
}

// paused shows what the thread asks. Nothing is changed.
func (j *job) paused(ctx context.Context, open []thread.OpenInterrupt) error {
	if err := cli.Free(ctx, j.store, j.thread); err != nil {
		return err
	}
	j.began = true
	if err := j.output().Nothing(cli.Outcome{Thread: j.thread, Code: cli.ExitPaused, Pending: cli.Pending(open)}); err != nil {
		return err
	}
	return &cli.ExitError{Code: cli.ExitPaused, Err: errors.New(cli.Questions(j.thread, j.again(), open))}
}

// nothing says that the thread is finished.
func (j *job) nothing(v *thread.View) error {
	j.began = true
	fmt.Fprintf(j.errout, "deepagents: nothing to do: thread %s is finished; give it a new task with: deepagents run --thread %s PROMPT\n", j.thread, j.thread)
	return j.output().Nothing(cli.Outcome{Thread: j.thread, Result: cli.Answer(v)})
}
