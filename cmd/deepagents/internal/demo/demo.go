package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/deepagents-go/deepagents"
	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/cmd/deepagents/internal/cli"
	"github.com/deepagents-go/deepagents/thread"
)

// Options say how the demo runs.
type Options struct {
	// Out gets everything that a person sees. In is where the person answers; nil means that nobody is asked and every call is
	// approved.
	Out io.Writer
	In  io.Reader
	// Data is the data directory that keeps the recording; empty means one that is removed at the end.
	Data string
	// Keep leaves the project, and the recording, where they are.
	Keep bool
	// Version is the version of this program.
	Version string
	Logger  *slog.Logger
}

const banner = `deepagents demo
scripted model: no AI is running; every tool call below is real

`

const task = "The test of this project fails. Find out why, fix it, and show that the test passes."

// Run runs the demo. It is an error when the test does not pass at the end; whatever happens, nothing is left behind that Options
// do not ask for.
func Run(ctx context.Context, o Options) (err error) {
	home, err := os.MkdirTemp("", "deepagents-demo-")
	if err != nil {
		return err
	}
	if !o.Keep {
		defer func() { err = errors.Join(err, os.RemoveAll(home)) }()
	}
	if home, err = filepath.EvalSymlinks(home); err != nil {
		return err
	}
	d := &demo{o: o, project: choose(), dir: filepath.Join(home, "project"), data: o.Data}
	if d.data == "" {
		d.data = filepath.Join(home, "data")
	}
	if d.data, err = cli.DataDir(d.data); err != nil {
		return err
	}
	if err := d.project.copyTo(d.dir); err != nil {
		return err
	}
	return d.run(ctx)
}

// demo is one run of it.
type demo struct {
	o         Options
	project   project
	dir, data string
	thread    string
	endpoint  *endpoint
	agent     *agent.Agent
	answers   answers
	sum       summary
	pending   []result
}

// run opens what the agent works with, and closes it in every case.
func (d *demo) run(ctx context.Context) (err error) {
	m, err := d.project.script()
	if err != nil {
		return err
	}
	if d.endpoint, err = serve(ctx, m, "fix-"+d.project.name); err != nil {
		return err
	}
	defer func() { err = closing(d.endpoint, err) }()
	store, err := cli.OpenThreads(ctx, d.data)
	if err != nil {
		return err
	}
	defer func() { err = closing(store, err) }()
	settings := cli.Settings{
		Dir: d.dir, Paths: cli.PathsHost, Backend: cli.BackendDisk, Sandbox: cli.SandboxNone, Mode: "ask", OnAsk: "pause",
		Model: d.endpoint.model.Name(),
	}
	w, err := cli.OpenWorkspace(&settings, d.o.Logger)
	if err != nil {
		return err
	}
	defer func() { err = closing(w, err) }()
	c := w.Config(&settings, d.o.Logger)
	c.Model, c.Prompt, c.Threads = d.endpoint.model, cli.Prompt(&settings, true), store
	if d.agent, err = deepagents.New(c); err != nil {
		return err
	}
	return d.play(ctx, &settings)
}

// play runs the agent, with the person's answers between, until it is done.
func (d *demo) play(ctx context.Context, settings *cli.Settings) error {
	meta, err := settings.Meta(d.o.Version)
	if err != nil {
		return err
	}
	d.thread = cli.NewThreadID(time.Now())
	d.answers = answers{in: d.o.In, out: d.o.Out}
	d.print(banner)
	d.print("project  %s\nmodel    %s at http://%s (this process)\nthread   %s\n\nyou: %s\n", d.dir, d.endpoint.model.Name(), d.endpoint.address, d.thread, task)
	begin := time.Now()
	in := agent.Input{Thread: d.thread, Text: task}
	for {
		r, err := d.agent.Start(ctx, in, agent.WithMeta(meta), agent.WithOwner("deepagents demo"))
		if err != nil {
			return err
		}
		for ev, err := range r.Events(context.WithoutCancel(ctx), r.Before()) {
			if err != nil {
				break // Wait tells what happened to the run
			}
			d.show(ev)
		}
		res, err := r.Wait(context.WithoutCancel(ctx))
		if err != nil {
			return d.stopped(ctx, err)
		}
		d.sum.add(res)
		if res.Status != thread.Waiting {
			d.sum.took = time.Since(begin)
			return d.end(res)
		}
		in = agent.Input{Thread: d.thread}
		if in.Answers, err = d.ask(ctx, res.Interrupts); err != nil {
			return err
		}
	}
}

// stopped explains why the script could not go on.
func (d *demo) stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	d.print("\nThe script stops here: what it saw is not what it was written for, and it cannot think.\n")
	return err
}

func (d *demo) print(format string, args ...any) { fmt.Fprintf(d.o.Out, format, args...) }

// end prints what happened and judges it.
func (d *demo) end(res *agent.Result) error {
	d.print("\n%s", d.sum.text(d))
	d.print("%s", d.hint())
	verdict := d.sum.verdict(d.project.test)
	switch {
	case len(res.Denials) > 0:
		return &cli.ExitError{Code: cli.ExitDenied, Err: fmt.Errorf("%d call(s) were rejected; the test %s", len(res.Denials), verdict)}
	case verdict != passes:
		return fmt.Errorf("the test %s", verdict)
	}
	return nil
}

// hint says where the recording and the project are, or how to have them.
func (d *demo) hint() string {
	s := ""
	if d.o.Keep {
		s += "project left in " + d.dir + "\n"
	}
	if d.o.Data == "" && !d.o.Keep {
		return "project and recording are removed; with --data DIR the recording stays: deepagents threads show ID --data DIR\n"
	}
	return s + "look at the recording with: deepagents threads show " + d.thread + " --data " + cli.Quote(d.data) + "\n"
}
