package sandboxtest

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/deepagents-go/deepagents/sandbox"
)

// treeTests are about ends: nothing of a command outlives it that should not.
func treeTests() []test {
	return []test{
		{"timeout ends a tree that ignores TERM", nil, timeoutTree},
		{"timeout ends what hides", nil, timeoutHidden},
		{"timeout ends a bounded fork bomb", nil, forkBomb},
		{"time is not limited", nil, noTimeout},
		{"cancel ends the tree", nil, cancelTree},
		{"cancel before the start", nil, cancelBefore},
		{"background processes live until Close", []Feature{Background}, background},
		{"a background flood stalls nobody", []Feature{Background}, backgroundFlood},
		{"Close ends a running command", nil, closeRunning},
		{"closed sandbox", nil, closedSandbox},
	}
}

// timed runs a line with a short limit and wants it to run out of time.
func (s *suite) timed(line string, limit time.Duration) sandbox.Result {
	s.Helper()
	r := s.exec(sandbox.Command{Line: line, Timeout: limit}, sandbox.RunOptions{})
	s.expect(r.Exit, sandbox.TimedOut, sandbox.TimeoutCode)
	if r.Exit.Background != 0 {
		s.Errorf("%d background processes after a timeout", r.Exit.Background)
	}
	if r.Limit != limit || !r.Custom {
		s.Errorf("the limit is told as %s (custom %t)", r.Limit, r.Custom)
	}
	s.gone()
	if r := s.sh("echo ok"); string(r.Output) != "ok\n" {
		s.Errorf("the next command gave %q", r.Output)
	}
	return r
}

func timeoutTree(s *suite) {
	grandchild := s.script("trap '' TERM; while :; do echo tick; sleep 0.1; done")
	for _, line := range []string{
		"echo begin; { " + grandchild + " & wait; } | cat",
		"echo begin; " + grandchild,
		"echo begin; trap '' TERM INT HUP; " + grandchild + " & wait",
	} {
		out := string(s.timed(line, time.Second).Output)
		if !strings.HasPrefix(out, "begin\n") || !strings.Contains(out, "tick\n") {
			s.Errorf("%q: partial output %q", line, out)
		}
	}
	for _, line := range []string{
		"sh -c 'sleep 300 & sleep 300'; true",
		s.script("while :; do date; sleep 1; done") + " | cat",
		s.script("sleep 300") + " | " + s.script("sleep 300") + " | " + s.script("sleep 300"),
	} {
		s.timed(line, 400*time.Millisecond)
	}
}

func timeoutHidden(s *suite) {
	sleep := s.script("sleep 300; true")
	lines := []string{
		"( " + sleep + " & ) & sleep 300",
		"( ( " + sleep + " ) & ) >/dev/null 2>&1; sleep 300",
		"env -i " + sleep + " & sleep 300",
		"exec " + sleep,
	}
	for _, tool := range []string{"setsid", "nohup"} {
		if s.sh("command -v "+tool).Exit.Code != 0 {
			s.Logf("the sandbox has no %s: not tested", tool)
			continue
		}
		lines = append(lines,
			tool+" "+sleep+" >/dev/null 2>&1 & sleep 300",
			"( "+tool+" "+sleep+" </dev/null >/dev/null 2>&1 & ); sleep 300",
			"( env -i "+tool+" "+sleep+" </dev/null >/dev/null 2>&1 & ); sleep 300",
			tool+" sh -c '"+tool+" sh -c \"sleep 300; true\" "+s.mark+" & exit' >/dev/null 2>&1; sleep 300",
		)
	}
	for _, line := range lines {
		s.timed(line, 400*time.Millisecond)
	}
}

func forkBomb(s *suite) {
	// Each level starts two more: 2^6 leaves, which sleep.
	const bomb = `f() { if [ $1 -gt 0 ]; then f $(($1-1)) & f $(($1-1)) & wait; else sleep 300; fi; }; f 6`
	s.timed(s.script(bomb), time.Second)
	s.timed(s.script("trap '' TERM; "+bomb), time.Second)
	if s.sh("command -v setsid").Exit.Code != 0 {
		s.Log("the sandbox has no setsid: not tested")
		return
	}
	s.timed(`n=40; while [ $n -gt 0 ]; do setsid `+s.script("sleep 300; true")+` >/dev/null 2>&1 & n=$((n-1)); done; wait`, time.Second)
}

func noTimeout(s *suite) {
	r := s.exec(sandbox.Command{Line: "sleep 0.2; echo end", Timeout: sandbox.NoTimeout}, sandbox.RunOptions{})
	s.expect(r.Exit, sandbox.Exited, 0)
	if string(r.Output) != "end\n" || r.Limit != 0 {
		s.Errorf("output %q, limit %s", r.Output, r.Limit)
	}
}

// signalled is a writer that tells when something was written.
type signalled chan struct{}

func (w signalled) Write(p []byte) (int, error) {
	select {
	case w <- struct{}{}:
	default:
	}
	return len(p), nil
}

// cancelWhen runs a line and cancels it with a cause as soon as it has written something.
func (s *suite) cancelWhen(line string, cause error) (sandbox.Result, error) {
	s.Helper()
	ctx, cancel := context.WithCancelCause(s.ctx)
	defer cancel(nil)
	live := make(signalled, 1)
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-live:
			cancel(cause)
		case <-stop:
		}
	}()
	return sandbox.Run(ctx, s.box, sandbox.Command{Line: line}, sandbox.RunOptions{Live: live})
}

func cancelTree(s *suite) {
	cause := errors.New("the user left")
	for _, line := range []string{
		"echo part; " + s.script("trap '' TERM INT; sleep 300; true"),
		"echo part; " + s.script("sleep 300; true") + " & wait",
		"echo part; ( " + s.script("sleep 300; true") + " >/dev/null 2>&1 & ) ; sleep 300",
		"echo part; while :; do echo more; done",
	} {
		r, err := s.cancelWhen(line, cause)
		if !errors.Is(err, cause) {
			s.Errorf("%q: error %v", line, err)
		}
		s.expect(r.Exit, sandbox.Cancelled, -1)
		if !strings.HasPrefix(string(r.Output), "part\n") {
			s.Errorf("%q: output %.100q", line, r.Output)
		}
		s.gone()
	}
}

func cancelBefore(s *suite) {
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	r, err := sandbox.Run(ctx, s.box, sandbox.Command{Line: s.script("sleep 300; true")}, sandbox.RunOptions{})
	if !errors.Is(err, context.Canceled) {
		s.Errorf("error %v", err)
	}
	s.expect(r.Exit, sandbox.Cancelled, -1)
	s.gone()
}

func background(s *suite) {
	sleep := s.script("sleep 300; true")
	for i, line := range []string{
		sleep + " & echo bg",
		sleep + " >/dev/null 2>&1 & echo bg",
		"( " + sleep + " & ) ; echo bg",
	} {
		r := s.sh(line)
		s.expect(r.Exit, sandbox.Exited, 0)
		if string(r.Output) != "bg\n" {
			s.Errorf("%q: output %q", line, r.Output)
		}
		if r.Exit.Background < 1 {
			s.Errorf("%q: background processes are not counted", line)
		}
		if n := s.marked(s.box); s.proc && n < i+1 {
			s.Errorf("%q: %d processes live, want at least %d", line, n, i+1)
		}
	}
	// A timeout or a cancel of a later command is no business of theirs.
	r := s.exec(sandbox.Command{Line: "sleep 300", Timeout: 100 * time.Millisecond}, sandbox.RunOptions{})
	s.expect(r.Exit, sandbox.TimedOut, sandbox.TimeoutCode)
	if n := s.marked(s.box); s.proc && n < 3 {
		s.Errorf("%d processes live after the timeout of another command, want 3", n)
	}
	// The end of the test closes the sandbox and looks that they are gone.
}

func backgroundFlood(s *suite) {
	r := s.sh(s.script("yes") + " & echo ready")
	if r.Exit.Reason != sandbox.Exited || r.Exit.Background < 1 {
		s.Errorf("exit %+v", r.Exit)
	}
	if !strings.Contains(string(r.Output), "ready\n") && r.Truncated == 0 {
		s.Error("the output of the shell is missing")
	}
	if r := s.sh("echo next"); string(r.Output) != "next\n" {
		s.Errorf("the next command gave %q", r.Output)
	}
}

func closeRunning(s *suite) {
	box := s.another()
	p, err := box.Start(s.ctx, sandbox.Command{Line: "echo part; " + s.script("trap '' TERM; sleep 300; true"), Timeout: sandbox.NoTimeout})
	if err != nil {
		s.Fatal(err)
	}
	for c, err := range p.Output(s.ctx, 0) {
		if err != nil || len(c.Data) > 0 {
			break
		}
	}
	ended := make(chan error, 1)
	go func() {
		_, err := p.Wait(s.ctx)
		ended <- err
	}()
	if err := box.Close(s.ctx); err != nil {
		s.Errorf("Close: %v", err)
	}
	if err := <-ended; err != nil {
		s.Errorf("Wait during Close: %v", err)
	}
	s.gone()
}

func closedSandbox(s *suite) {
	box := s.another()
	for range 2 {
		if err := box.Close(s.ctx); err != nil {
			s.Errorf("Close: %v", err)
		}
	}
	_, err := box.Start(s.ctx, sandbox.Command{Line: "true"})
	s.startError(err, sandbox.SandboxLost)
	if !errors.Is(err, sandbox.ErrClosed) {
		s.Errorf("Start after Close: %v", err)
	}
}
