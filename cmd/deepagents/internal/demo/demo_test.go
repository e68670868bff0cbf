package demo_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/deepagents-go/deepagents/cmd/deepagents/internal/cli"
	"github.com/deepagents-go/deepagents/cmd/deepagents/internal/demo"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start")) // of Google's SDK, from init
}

// alone makes a PATH with a shell and these programs, and an empty temporary directory that must be empty in the end.
func alone(t *testing.T, programs map[string]string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs a POSIX shell")
	}
	bin, tmp := t.TempDir(), t.TempDir()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	if err := os.Symlink(sh, filepath.Join(bin, "sh")); err != nil {
		t.Fatal(err)
	}
	for name, text := range programs {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
	t.Setenv("TMPDIR", tmp)
	t.Cleanup(func() {
		left, err := os.ReadDir(tmp)
		if err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	})
}

func run(ctx context.Context, in io.Reader) (string, error) {
	var out bytes.Buffer
	err := demo.Run(ctx, demo.Options{Out: &out, In: in, Logger: slog.New(slog.DiscardHandler)})
	return out.String(), err
}

// TestAnswers: what a person types decides.
func TestAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		code int
		want []string
		not  string
	}{
		"yes": {"y\nYES\n y \n", 0, []string{
			"? approve [y/n] ", "the test passes\n", "approvals 3", "files changed: share.sh (edit, +1 -1)\n",
		}, "without asking"},
		"something else": {"why?\ny\n\ny\ny\n", 0, []string{"the test passes", "The model is a script", "deepagents run -m"}, ""},
		"no to the first": {"n\n", cli.ExitDenied, []string{
			"the test was not run to the end\n", "I am a script", "files changed: none\n", "commands: sh check.sh (not run)\n", "approvals 1,",
		}, "999"},
		"no to the change": {"y\nno\n", cli.ExitDenied, []string{"the test fails\n", "files changed: none\n", "commands: sh check.sh (exit 1)\n"}, ""},
		"no to the last":   {"y\ny\nn\n", cli.ExitDenied, []string{"the test was not run to the end\n", "files changed: share.sh (edit, +1 -1)\n"}, ""},
		"no answer":        {"y\n", cli.ExitDenied, []string{"no answer: rejected", "files changed: none\n"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			alone(t, nil)
			out, err := run(t.Context(), strings.NewReader(c.in))
			if got := cli.Code(err); got != c.code {
				t.Errorf("exit code %d, want %d: %v", got, c.code, err)
			}
			for _, w := range c.want {
				if !strings.Contains(out, w) {
					t.Errorf("no %q in:\n%s", w, out)
				}
			}
			if c.not != "" && strings.Contains(out, c.not) {
				t.Errorf("%q in:\n%s", c.not, out)
			}
		})
	}
}

// TestGuards: a world that differs stops the script, which says what it expected.
func TestGuards(t *testing.T) {
	alone(t, map[string]string{"go": "echo 'go: this is no Go'\nexit 1\n"})
	out, err := run(t.Context(), nil)
	if err == nil || cli.Code(err) != cli.ExitFailure {
		t.Errorf("error %v", err)
	}
	for _, w := range []string{`expected "--- FAIL: TestSplit"`, "go: this is no Go"} {
		if err != nil && !strings.Contains(err.Error(), w) {
			t.Errorf("no %q in %v", w, err)
		}
	}
	if !strings.Contains(out, "what it saw is not what it was written for") || strings.Contains(out, "\nthe test passes\n") {
		t.Errorf("it prints:\n%s", out)
	}
}

// TestCancel: the context ends the wait for an answer, and a command.
func TestCancel(t *testing.T) {
	cause := errors.New("enough")
	t.Run("question", func(t *testing.T) {
		alone(t, nil)
		r, w := io.Pipe()
		defer w.Close()
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			_, _ = w.Write([]byte("?\n")) // read: the question was asked
			cancel(cause)
		}()
		if _, err := run(ctx, r); !errors.Is(err, cause) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("command", func(t *testing.T) {
		started := filepath.Join(t.TempDir(), "started")
		alone(t, map[string]string{"go": ": >" + started + "\nwhile :; do :; done\n"})
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			for {
				if _, err := os.Stat(started); err == nil {
					cancel(cause)
					return
				}
			}
		}()
		if _, err := run(ctx, nil); !errors.Is(err, cause) {
			t.Errorf("error %v", err)
		}
	})
}
