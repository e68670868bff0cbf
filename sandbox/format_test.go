package sandbox_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/deepagents-go/deepagents/sandbox"
)

// result makes a Result of parts: text of stdout, "!" and text of stderr, or a number of bytes that are missing after the last.
func result(e sandbox.Exit, parts ...any) sandbox.Result {
	r := sandbox.Result{Exit: e, Spans: []sandbox.Span{}}
	if r.Exit.Reason == "" {
		r.Exit.Reason = sandbox.Exited
	}
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			r.Spans[len(r.Spans)-1].Skipped = int64(p)
			r.Truncated += int64(p)
		case string:
			s := sandbox.Stdout
			if rest, ok := strings.CutPrefix(p, "!"); ok {
				s, p = sandbox.Stderr, rest
			}
			r.Output = append(r.Output, p...)
			r.Spans = append(r.Spans, sandbox.Span{Stream: s, Len: len(p)})
		}
	}
	return r
}

func code(n int) sandbox.Exit { return sandbox.Exit{Code: n} }

const (
	ok        = "\n[Command succeeded with exit code 0]"
	truncated = "\n[Output was truncated due to size limits]"
)

func failed(n int) string { return fmt.Sprintf("\n[Command failed with exit code %d]", n) }

func TestFormat(t *testing.T) {
	timeout := func(limit time.Duration, custom bool, parts ...any) sandbox.Result {
		r := result(sandbox.Exit{Code: 124, Reason: sandbox.TimedOut}, parts...)
		r.Limit, r.Custom = limit, custom
		return r
	}
	const custom1 = "Error: Command timed out after 1 seconds (custom timeout). The command may be stuck or require more time."
	const default120 = "Error: Command timed out after 120 seconds. For long-running commands, re-run using the timeout parameter."
	ten := sandbox.FormatOptions{Max: 10}
	for _, c := range []struct {
		name string
		r    sandbox.Result
		o    sandbox.FormatOptions
		want string
	}{
		{"stdout", result(code(0), "hi\n"), sandbox.FormatOptions{}, "hi\n" + ok},
		{"nothing", result(code(0)), sandbox.FormatOptions{}, "<no output>" + ok},
		{"nothing, failed", result(code(1)), sandbox.FormatOptions{}, "<no output>" + failed(1)},
		{"one exit line", result(code(3), "hi\n"), sandbox.FormatOptions{}, "hi\n" + failed(3)},
		{"stderr last", result(code(0), "!err\n", "out\n"), sandbox.FormatOptions{}, "out\n\n[stderr] err" + ok},
		{"stderr lines", result(code(0), "x", "!e1\ne2\n"), sandbox.FormatOptions{}, "x\n[stderr] e1\n[stderr] e2" + ok},
		{"stderr stripped", result(code(0), "! \n a\n\nb \n\n"), sandbox.FormatOptions{}, "[stderr] a\n[stderr] \n[stderr] b" + ok},
		{"stderr blank", result(code(0), "!\n"), sandbox.FormatOptions{}, "[stderr] " + ok},
		{"interleaved", result(code(0), "a\n", "!1\n", "b\n", "!2\n"), sandbox.FormatOptions{}, "a\nb\n\n[stderr] 1\n[stderr] 2" + ok},
		{"signal", result(sandbox.Exit{Code: -9, Reason: sandbox.Signaled}), sandbox.FormatOptions{}, "<no output>" + failed(-9)},
		{"bad bytes", result(code(0), "a\xff\xfeb\n"), sandbox.FormatOptions{}, "a\uFFFD\uFFFDb\n" + ok},
		{"carriage returns stay", result(code(0), "1%\r2%\r\n"), sandbox.FormatOptions{}, "1%\r2%\r\n" + ok},
		{"background", result(sandbox.Exit{Background: 2}, "bg\n"), sandbox.FormatOptions{}, "bg\n" + ok + "\n[2 background process(es) still running]"},

		{"at the limit", result(code(0), "1234567890"), ten, "1234567890" + ok},
		{"over the limit", result(code(0), "12345678901"), ten, "1234567890\n\n... Output truncated at 10 bytes." + ok + truncated},
		{"over the limit, failed", result(code(2), "12345678901"), ten, "1234567890\n\n... Output truncated at 10 bytes." + failed(2) + truncated},
		{"characters count", result(code(0), "ééééééééééx"), ten, "éééééééééé\n\n... Output truncated at 10 bytes." + ok + truncated},
		{"over the limit in stderr", result(code(0), "12345", "!678"), ten, "12345\n[std\n\n... Output truncated at 10 bytes." + ok + truncated},
		{
			"everything at the end of the line", result(sandbox.Exit{Background: 1}, "12345678901"), ten,
			"1234567890\n\n... Output truncated at 10 bytes." + ok + "\n[1 background process(es) still running]" + truncated,
		},
		{
			"saved", result(code(0), "12345678901"),
			sandbox.FormatOptions{Max: 10, Saved: "/r/c1"},
			"1234567890\n\n... Output truncated at 10 bytes; all output: /r/c1" + ok + truncated,
		},
		{
			"head and tail", result(code(0), "1234567890abcdef"),
			sandbox.FormatOptions{Max: 10, Tail: 4},
			"123456\n... [6 bytes omitted] ...\ncdef" + ok + truncated,
		},
		{
			"head and tail, saved", result(code(0), "12345\n7890abcdef"),
			sandbox.FormatOptions{Max: 10, Tail: 4, Saved: "/x"},
			"12345\n... [6 bytes omitted; all output: /x] ...\ncdef" + ok + truncated,
		},
		{"all tail", result(code(0), "1234567890ab"), sandbox.FormatOptions{Max: 10, Tail: 40}, "... [2 bytes omitted] ...\n34567890ab" + ok + truncated},
		{"head cut by the capture", result(code(0), "abc", 7), sandbox.FormatOptions{}, "abc\n\n... Output truncated at 3 bytes." + ok + truncated},
		{
			"gap of the capture", result(code(0), "first\n", 1000, "last\n"),
			sandbox.FormatOptions{},
			"first\n... [1000 bytes omitted] ...\nlast\n" + ok + truncated,
		},
		{
			"gap inside characters", result(code(0), "a\xc3", 5, "\xa9b"),
			sandbox.FormatOptions{},
			"a\n... [7 bytes omitted] ...\nb" + ok + truncated,
		},
		{
			"gap and cut are told together", result(code(0), "0123456789", 100, "abcdefghij"),
			sandbox.FormatOptions{Max: 10, Tail: 4},
			"012345\n... [110 bytes omitted] ...\nghij" + ok + truncated,
		},
		{
			"gap in stderr", result(code(1), "out\n", "!e1\n", 50, "!e9\n"),
			sandbox.FormatOptions{},
			"out\n\n[stderr] e1\n... [50 bytes omitted] ...\n[stderr] e9" + failed(1) + truncated,
		},
		{"nothing kept", result(code(0), "", 9), sandbox.FormatOptions{Tail: 5}, "... [9 bytes omitted] ..." + ok + truncated},
		{"no spans", sandbox.Result{Output: []byte("hi"), Exit: code(0)}, sandbox.FormatOptions{}, "hi" + ok},
		{
			"no spans, truncated",
			sandbox.Result{Output: []byte("hi"), Truncated: 4, Exit: code(0)},
			sandbox.FormatOptions{},
			"hi\n\n... Output truncated at 2 bytes." + ok + truncated,
		},

		{"timeout", timeout(time.Second, true), sandbox.FormatOptions{}, custom1 + failed(124)},
		{"timeout by default", timeout(2*time.Minute, false), sandbox.FormatOptions{}, default120 + failed(124)},
		{"partial", timeout(time.Second, true, "part\n"), sandbox.FormatOptions{}, "part\n\n" + custom1 + failed(124)},
		{"partial, no line end", timeout(time.Second, true, "part"), sandbox.FormatOptions{}, "part\n\n" + custom1 + failed(124)},
		{"partial stderr", timeout(time.Second, true, "!oops\n"), sandbox.FormatOptions{}, "[stderr] oops\n\n" + custom1 + failed(124)},
		{"fractions", timeout(1500*time.Millisecond, false), sandbox.FormatOptions{}, strings.Replace(default120, "120", "1.5", 1) + failed(124)},
		{"cancelled", result(sandbox.Exit{Code: -1, Reason: sandbox.Cancelled}, "x\n"), sandbox.FormatOptions{}, "x\n\nError: Command was cancelled, and its processes were ended."},
		{"lost", result(sandbox.Exit{Code: -1, Reason: sandbox.Lost}), sandbox.FormatOptions{}, "Error: No exit status received. Whether the command took effect is unknown."},
		{"memory", result(sandbox.Exit{Code: -9, Reason: sandbox.OutMemory}), sandbox.FormatOptions{}, "Error: Command was ended because it used more memory than it may." + failed(-9)},

		{"compat", result(code(3), "hi\n"), sandbox.FormatOptions{Compat: true}, "hi\n\nExit code: 3" + failed(3)},
		{"compat, nothing", result(code(1)), sandbox.FormatOptions{Compat: true}, "<no output>\n\nExit code: 1" + failed(1)},
		{"compat, success", result(code(0), "hi\n"), sandbox.FormatOptions{Compat: true}, "hi\n" + ok},
		{"compat, timeout", timeout(time.Second, true, "part"), sandbox.FormatOptions{Compat: true}, custom1 + failed(124)},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := sandbox.Format(c.r, c.o); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestFormatError(t *testing.T) {
	empty := &sandbox.StartError{Kind: sandbox.InvalidCommand, Err: sandbox.ErrEmptyCommand}
	if got, is := sandbox.FormatError(fmt.Errorf("run: %w", empty)); !is || got != "Error: Command must be a non-empty string."+failed(1) {
		t.Errorf("empty command: %q %t", got, is)
	}
	lost := &sandbox.StartError{Kind: sandbox.SandboxLost, Err: errors.New("gone")}
	if got, is := sandbox.FormatError(lost); !is || got != "Error executing command (SandboxLost): gone"+failed(1) {
		t.Errorf("lost sandbox: %q %t", got, is)
	}
	if _, is := sandbox.FormatError(errors.New("other")); is {
		t.Error("any error is taken for a start failure")
	}
}

func TestLooksSecret(t *testing.T) {
	for _, kv := range []string{
		"OPENAI_API_KEY=x", "AWS_SECRET_ACCESS_KEY=x", "AWS_SESSION_TOKEN=x", "DB_PASSWORD=x", "PGPASSWORD=x", "GITHUB_TOKEN=x", "my-secret=x",
		"GH_PAT=x", "SENTRY_DSN=x", "SSH_AUTH_SOCK=/x", "APIKEY=x", "client_credentials=x", "DATABASE_URL=pg://u:pw@h", "X=https://a:b@c/d",
	} {
		if name, value, _ := strings.Cut(kv, "="); !sandbox.LooksSecret(name, value) {
			t.Errorf("%s looks harmless", kv)
		}
	}
	for _, kv := range []string{
		"PATH=/bin", "HOME=/root", "PWD=/", "KEYBOARD=us", "MONKEY=x", "TOKENIZERS_PARALLELISM=false", "GOFLAGS=-mod=mod", "PASSENGERS=3", "AUTHOR=me",
		"BASE_URL=https://h/p", "REPO=git@h:x/y", "PROXY=http://user@h", "MAIL=a@b://c",
	} {
		if name, value, _ := strings.Cut(kv, "="); sandbox.LooksSecret(name, value) {
			t.Errorf("%s looks like a secret", kv)
		}
	}
}
