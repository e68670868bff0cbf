package cli_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/cmd/deepagents/internal/cli"
	"github.com/deepagents-go/deepagents/model/script"
	"github.com/deepagents-go/deepagents/thread"
	"github.com/deepagents-go/deepagents/thread/memory"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start")) // of Google's SDK, from init
}

// dying is a store whose process dies when a run would record its end.
type dying struct{ thread.Store }

func (s dying) Append(ctx context.Context, id string, a thread.Append) (int64, error) {
	if slices.ContainsFunc(a.Records, func(r thread.Record) bool { return r.Kind == thread.KindRunEnded }) {
		return 0, errors.New("died")
	}
	return s.Store.Append(ctx, id, a)
}

// A process that dies between the last step and the end of its run leaves a thread that is finished: a new task may begin.
func TestDeadAfterTheLastStep(t *testing.T) {
	ctx := context.Background()
	store := memory.New()
	a, err := agent.New(agent.Config{Model: script.New(script.Line{Text: "done"}), Threads: dying{store}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Run(ctx, agent.Input{Thread: "t", Text: "go"}); err == nil {
		t.Fatal("the run recorded its end")
	}
	v, err := cli.LoadThread(ctx, store, "t")
	if err != nil {
		t.Fatal(err)
	}
	if !v.Crashed() || !cli.Finished(v) || cli.Answer(v) != "done" {
		t.Errorf("crashed %t, finished %t, answer %q", v.Crashed(), cli.Finished(v), cli.Answer(v))
	}
	if err := cli.CheckNew(ctx, store, "t", cli.Again{}); err != nil {
		t.Errorf("a new task is refused: %v", err)
	}
}

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"a\tb\nc":           "a\tb\nc",
		"\x1b[31mred\x1b[m": "\uFFFD[31mred\uFFFD[m",
		"a\u202Eb":          "a\uFFFDb",
		"\r\x00\u0085":      "\uFFFD\uFFFD\uFFFD",
	} {
		if got := cli.Plain(in); got != want {
			t.Errorf("Plain(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestResumeCommand(t *testing.T) {
	for data, want := range map[string]string{
		"":           "deepagents resume t",
		"/a/b-c.d":   "deepagents resume t --data /a/b-c.d",
		"a b":        "deepagents resume t --data 'a b'",
		"it's $HOME": `deepagents resume t --data 'it'\''s $HOME'`,
	} {
		if got := (cli.Again{Data: data}).Resume("t"); got != want {
			t.Errorf("%q: %s, want %s", data, got, want)
		}
	}
}

// endless is an input that never ends.
type endless struct{ fed bool }

func (e *endless) Read(p []byte) (int, error) {
	e.fed = true
	return len(p), nil
}

func TestPromptIsBounded(t *testing.T) {
	in := &endless{}
	_, err := cli.PromptSources{Args: []string{"-"}, Stdin: in}.Prompt(context.Background())
	if err == nil || !strings.Contains(err.Error(), "16 MiB") || cli.Code(err) != cli.ExitUsage || !in.fed {
		t.Errorf("error %v", err)
	}
}

func TestCode(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("x"), 1},
		{cli.Usagef("x"), 2},
		{&thread.BusyError{Thread: "t"}, 2},
		{errors.Join(errors.New("x"), thread.ErrNewer), 2},
		{&cli.ExitError{Code: 6}, 6},
		{&cli.SignalError{}, 130},
	} {
		if got := cli.Code(tt.err); got != tt.want {
			t.Errorf("%v: %d, want %d", tt.err, got, tt.want)
		}
	}
}

// TestAnswerOnTerminal: what a model writes cannot drive a terminal, and reaches a file byte for byte.
func TestAnswerOnTerminal(t *testing.T) {
	const answer = "a\x1b]0;title\x07b\n\tc\u202e"
	for terminal, want := range map[bool]string{false: answer + "\n", true: "a\uFFFD]0;title\uFFFDb\n\tc\uFFFD\n"} {
		var out strings.Builder
		o := cli.Output{Format: cli.OutputText, Out: &out, Err: io.Discard, Terminal: terminal}
		if err := o.Event(agent.Event{Data: agent.RunCompleted{Result: answer}}); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("terminal %v: %q", terminal, out.String())
		}
	}
}
