// Coding-assistant gives an agent an empty directory and a shell, and lets it write and run a program to answer a question.
//
//	go run ./examples/coding-assistant                                           a script, no key
//	go run ./examples/coding-assistant -m deepseek:deepseek-chat "calculate 43 * 52"
//
// The commands run on this machine without asking: use a model and a task that you trust, or put another sandbox in the place of
// sandbox/host.
package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/deepagents-go/deepagents"
	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/backend/disk"
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/providers"
	"github.com/deepagents-go/deepagents/model/script"
	"github.com/deepagents-go/deepagents/sandbox/host"
)

const prompt = `You answer questions by programs. Your files are in an empty directory, which is / for the file tools and the
working directory of your commands. For every question: write a small POSIX shell script, run it with execute, look at what it
prints, and report the result in one sentence. Never answer from memory.`

//go:embed script.jsonl
var demo []byte

func main() {
	spec := flag.String("m", "", "model, as provider:model (default: a script that answers \"calculate 43 * 52\")")
	flag.Parse()
	task := strings.Join(flag.Args(), " ")
	if task == "" {
		task = "calculate 43 * 52"
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *spec, task, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run answers one task in a temporary directory, which is gone afterwards.
func run(ctx context.Context, spec, task string, out io.Writer) (err error) {
	m, err := open(ctx, spec)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "assistant-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	files, err := disk.New(dir, disk.Options{})
	if err != nil {
		return err
	}
	shell, err := host.New(files, host.Options{})
	if err != nil {
		return errors.Join(err, files.Close())
	}
	defer func() { err = errors.Join(err, shell.Close(context.WithoutCancel(ctx)), files.Close()) }()
	temperature := 0.0
	a, err := deepagents.New(deepagents.Config{
		Model: m, Prompt: prompt, Backend: files, Sandbox: shell,
		Unattended: true, // nobody is asked before a command runs
		Settings:   model.Settings{Temperature: &temperature},
	})
	if err != nil {
		return err
	}
	for ev, err := range a.Stream(ctx, agent.Input{Text: task}) {
		if err != nil {
			return err
		}
		switch e := ev.Data.(type) {
		case agent.ToolRequested:
			fmt.Fprintf(out, "> %s %s\n", e.Name, e.Args)
		case agent.ToolCompleted:
			fmt.Fprintf(out, "< %s\n", e.Content)
		case agent.RunCompleted:
			fmt.Fprintln(out, e.Result)
		}
	}
	return nil
}

func open(ctx context.Context, spec string) (model.Model, error) {
	if spec == "" {
		return script.Parse("assistant", bytes.NewReader(demo))
	}
	return providers.Open(ctx, spec, model.OpenOptions{})
}
