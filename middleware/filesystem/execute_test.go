package filesystem_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/middleware/filesystem"
	"github.com/deepagents-go/deepagents/sandbox"
	"github.com/deepagents-go/deepagents/sandbox/host"
	"github.com/deepagents-go/deepagents/tool"
)

func shellWorld(t testing.TB, h host.Options, o filesystem.Options) *world {
	t.Helper()
	w := newWorld(t, onDisk, nil, o)
	hh, err := host.New(w.fs.Driver(), h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hh.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	o.Sandbox = hh
	w.use(w.fs.Driver(), nil, o)
	return w
}

// file-tools.md 5.9
func TestExecute(t *testing.T) {
	code := func(n int) tool.Artifact { return tool.Artifact{ExitCode: &n} }
	reason := func(a tool.Artifact, r string) tool.Artifact { a.Reason = r; return a }
	cut := func(a tool.Artifact) tool.Artifact { a.Truncated = true; return a }
	const good, failedWith = "\n[Command succeeded with exit code 0]", "\n[Command failed with exit code "
	for _, c := range []struct {
		name, args, want string
		h                host.Options
		o                filesystem.Options
		artifact         any
	}{
		{name: "echo", args: `{"command":"echo hi"}`, want: "hi\n" + good, artifact: code(0)},
		{name: "silent", args: `{"command":"true"}`, want: "<no output>" + good, artifact: code(0)},
		{name: "failing", args: `{"command":"echo hi; exit 3"}`, want: "hi\n" + failedWith + "3]", artifact: code(3)},
		{name: "failing, older form", o: compat, args: `{"command":"echo hi; exit 3"}`, want: "hi\n\nExit code: 3" + failedWith + "3]", artifact: code(3)},
		{name: "stderr", args: `{"command":"echo out; echo err >&2"}`, want: "out\n\n[stderr] err" + good, artifact: code(0)},
		{name: "signal", args: `{"command":"kill -9 $$"}`, want: "<no output>" + failedWith + "-9]", artifact: reason(code(-9), "signal")},
		{name: "no stdin", args: `{"command":"cat"}`, want: "<no output>" + good, artifact: code(0)},
		{name: "null timeout", args: `{"command":"echo hi","timeout":null}`, want: "hi\n" + good, artifact: code(0)},
		{name: "empty", args: `{"command":""}`, want: "Error: Command must be a non-empty string." + failedWith + "1]", artifact: reason(code(1), "InvalidCommand")},
		{name: "custom timeout", args: `{"command":"echo part; sleep 30","timeout":1}`, want: "part\n\nError: Command timed out after 1 seconds (custom timeout). The command may be stuck or require more time." + failedWith + "124]", artifact: reason(code(124), "timeout")},
		{name: "own timeout", h: host.Options{Timeout: time.Second}, args: `{"command":"sleep 30"}`, want: "Error: Command timed out after 1 seconds. For long-running commands, re-run using the timeout parameter." + failedWith + "124]", artifact: reason(code(124), "timeout")},
		{name: "timeout 0", args: `{"command":"x","timeout":0}`, want: "[err] Error: Invalid parameter. timeout must be positive, got 0"},
		{name: "timeout -1", args: `{"command":"x","timeout":-1}`, want: "[err] Error: timeout must be non-negative, got -1."},
		{name: "timeout 3601", args: `{"command":"x","timeout":3601}`, want: "[err] Error: timeout 3601s exceeds maximum allowed (3600s)."},
		{name: "timeout far too long", args: `{"command":"x","timeout":9223372036854775807}`, want: "[err] Error: timeout 9223372036854775807s exceeds maximum allowed (3600s)."},
		{name: "timeout 3600", args: `{"command":"echo hi","timeout":3600}`, want: "hi\n" + good, artifact: code(0)},
		{name: "own maximum", o: filesystem.Options{MaxExecuteTimeout: 90 * time.Second}, args: `{"command":"x","timeout":91}`, want: "[err] Error: timeout 91s exceeds maximum allowed (90s)."},
		{name: "fits the cap", h: host.Options{MaxOutput: 10}, args: `{"command":"printf 1234567890"}`, want: "1234567890" + good, artifact: code(0)},
		{name: "over the cap", h: host.Options{MaxOutput: 10}, args: `{"command":"printf 12345678901"}`, want: "1234567890\n\n... Output truncated at 10 bytes." + good + "\n[Output was truncated due to size limits]", artifact: cut(code(0))},
		{name: "bad bytes", args: `{"command":"printf '\\377'"}`, want: "\ufffd" + good, artifact: code(0)},
		{name: "surrogate", args: `{"command":"echo \ud800"}`, want: `[err] Error: Invalid parameter. command holds an unpaired surrogate escape (\ud800)`},
		{name: "NUL", args: `{"command":"echo \u0000"}`, want: "Error executing command (InvalidCommand): command holds a NUL" + failedWith + "1]", artifact: reason(code(1), "InvalidCommand")},
		{name: "directory is gone", h: host.Options{Dir: "/nonexistent-dir"}, args: `{"command":"echo hi"}`, want: "Error executing command (WorkingDirectoryNotFound): no such file or directory" + failedWith + "1]", artifact: reason(code(1), "WorkingDirectoryNotFound")},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := shellWorld(t, c.h, c.o)
			res := w.result("execute", c.args)
			got := textOf(res)
			if kind, _, ok := strings.Cut(c.want, "): "); ok && strings.HasPrefix(got, kind+"): ") {
				_, tail, _ := strings.Cut(c.want, "\n") // the system's wording after the kind is free
				if !strings.HasSuffix(got, "\n"+tail) {
					t.Errorf("got %q", got)
				}
			} else if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if d := cmp.Diff(c.artifact, res.Artifact); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestExecuteRunsInTheRoot(t *testing.T) {
	w := shellWorld(t, host.Options{}, defaults)
	w.call("write_file", `{"file_path":"/x.txt","content":"from the tools"}`)
	if got := w.call("execute", `{"command":"cat x.txt; cd /"}`); !strings.HasPrefix(got, "from the tools\n[") {
		t.Errorf("got %q", got)
	}
	if got := w.call("execute", `{"command":"printf %s \"$PWD\""}`); !strings.HasPrefix(got, w.root+"\n[") {
		t.Errorf("got %q in %s", got, w.root)
	}
}

func TestExecuteIsLive(t *testing.T) {
	w := shellWorld(t, host.Options{}, defaults)
	w.call("execute", `{"command":"echo out; echo err >&2"}`)
	if got := w.scope.live.String(); !strings.Contains(got, "out\n") || !strings.Contains(got, "err\n") {
		t.Errorf("live output %q", got)
	}
}

func TestExecuteCancelled(t *testing.T) {
	w := shellWorld(t, host.Options{}, defaults)
	cause := errors.New("stop")
	ctx, cancel := context.WithCancelCause(w.ctx)
	time.AfterFunc(50*time.Millisecond, func() { cancel(cause) })
	res, err := w.tool("execute").Call(ctx, tool.Call{Args: []byte(`{"command":"sleep 60"}`)})
	if !errors.Is(err, cause) {
		t.Errorf("%v %v", res, err)
	}
}

// odd is a sandbox whose commands end as a test wants.
type odd struct {
	sandbox.Sandbox
	start error
	exit  sandbox.Exit
	wait  error
	level string
	got   sandbox.Command
}

func (o *odd) Policy() sandbox.Policy { return sandbox.Policy{Level: o.level} }

func (o *odd) StartTap(_ context.Context, c sandbox.Command, tap func(sandbox.Stream, []byte)) (sandbox.Process, error) {
	o.got = c
	if o.start != nil {
		return nil, o.start
	}
	tap(sandbox.Stdout, []byte("some output"))
	return &oddProcess{o: o}, nil
}

type oddProcess struct {
	sandbox.Process
	o *odd
}

func (p *oddProcess) Wait(context.Context) (sandbox.Exit, error) { return p.o.exit, p.o.wait }
func (p *oddProcess) Close(context.Context) error                { return nil }

func TestExecuteOddEnds(t *testing.T) {
	for _, c := range []struct {
		name   string
		s      odd
		o      filesystem.Options
		args   string
		want   string
		status message.Status
	}{
		{name: "lost", s: odd{exit: sandbox.Exit{Code: -1, Reason: sandbox.Lost}}, want: "some output\n\nError: No exit status received. Whether the command took effect is unknown.", status: message.Error},
		{name: "connection lost", s: odd{wait: errors.New("reset")}, want: "some output\n\nError: No exit status received. Whether the command took effect is unknown.", status: message.Error},
		{name: "unsupported", s: odd{start: errors.ErrUnsupported}, want: "Error: Execution not available. unsupported operation", status: message.Error},
		{name: "closed", s: odd{start: sandbox.ErrClosed}, want: "Error: Execution not available. sandbox closed", status: message.Error},
		{name: "background", s: odd{exit: sandbox.Exit{Reason: sandbox.Exited, Background: 2}}, want: "some output\n[Command succeeded with exit code 0]\n[2 background process(es) still running]"},
		{name: "remote, timeout 0, older form", s: odd{level: "remote"}, o: compat, args: `,"timeout":0`, want: "some output\n[Command succeeded with exit code 0]"},
		{name: "remote, timeout 0", s: odd{level: "remote"}, args: `,"timeout":0`, want: "Error: Invalid parameter. timeout must be positive, got 0", status: message.Error},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.Sandbox = &c.s
			w := newWorld(t, onDisk, nil, c.o)
			res := w.result("execute", `{"command":"x"`+c.args+`}`)
			got := strings.TrimPrefix(textOf(res), "[err] ")
			if got != c.want || res.Status != c.status {
				t.Errorf("got %q (%s), want %q (%s)", got, res.Status, c.want, c.status)
			}
			if c.o.Compat != "" && c.s.got.Timeout != sandbox.NoTimeout {
				t.Errorf("timeout %v", c.s.got.Timeout)
			}
		})
	}
}
