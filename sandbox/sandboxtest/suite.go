package sandboxtest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/deepagents-go/deepagents/sandbox"
)

// Feature is something that a remote provider may honestly lack.
type Feature string

// The features that can be left out of a [Run].
const (
	// Background: processes outlive their command and are counted.
	Background Feature = "background"
	// Streams: stdout and stderr are told apart.
	Streams Feature = "streams"
	// Stdin: Command.Stdin and Process.Write.
	Stdin Feature = "stdin"
	// Signals: Process.Signal with more than Kill.
	Signals Feature = "signals"
	// Live: output is seen while the command runs.
	Live Feature = "live"
	// Lossless: Run sees all output, however fast it comes ([sandbox.Tapper]).
	Lossless Feature = "lossless"
	// Binary: output may be any bytes.
	Binary Feature = "binary"
	// Proc: the sandbox has a /proc, so that processes that were left can be found.
	Proc Feature = "proc"
)

// patience bounds everything that could hang. It is no time limit for a correct sandbox.
const patience = 60 * time.Second

// Run certifies the sandboxes that open makes; each test gets a new one and closes it. Without lists what is not to be expected.
func Run(t *testing.T, open func(t *testing.T) sandbox.Sandbox, without ...Feature) {
	t.Helper()
	for _, c := range slices.Concat(commandTests(), treeTests(), outputTests(), processTests()) {
		t.Run(c.name, func(t *testing.T) {
			for _, f := range c.needs {
				if slices.Contains(without, f) {
					t.Skipf("without %s", f)
				}
			}
			s := begin(t, open, !slices.Contains(without, Proc))
			c.run(s)
		})
	}
}

// test is one test of the suite.
type test struct {
	name  string
	needs []Feature
	run   func(s *suite)
}

// suite is the sandbox of one test with what tests need.
type suite struct {
	*testing.T
	box  sandbox.Sandbox
	ctx  context.Context // the one context of one test
	open func(t *testing.T) sandbox.Sandbox
	// mark stands in the arguments of every process that a test leaves running.
	mark string
	proc bool
}

// begin opens a sandbox and arranges that it is closed and looked after.
func begin(t *testing.T, open func(t *testing.T) sandbox.Sandbox, hasProc bool) *suite {
	t.Helper()
	base := runtime.NumGoroutine()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	s := &suite{T: t, ctx: ctx, open: open, proc: hasProc, mark: fmt.Sprintf("m%08xk%08x", rand.Uint32(), rand.Uint32())}
	t.Cleanup(func() {
		cancel()
		waitFor(t, "goroutines to end", func() bool { return runtime.NumGoroutine() <= base })
	})
	s.box = open(t)
	t.Cleanup(func() {
		if err := s.box.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
		if s.proc {
			s.noneLeft(s.another())
		}
	})
	return s
}

// another opens a second sandbox, to look at what the first one left.
func (s *suite) another() sandbox.Sandbox {
	box := s.open(s.T)
	s.Cleanup(func() { _ = box.Close(context.Background()) })
	return box
}

// waitFor polls until a condition holds.
func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("waited too long for %s", what)
			return
		}
	}
}

// exec runs a command that must start.
func (s *suite) exec(c sandbox.Command, o sandbox.RunOptions) sandbox.Result {
	s.Helper()
	r, err := sandbox.Run(s.ctx, s.box, c, o)
	if err != nil {
		s.Fatalf("Run(%.200q): %v", c.Line, err)
	}
	return r
}

// sh runs a line with the defaults.
func (s *suite) sh(line string) sandbox.Result {
	s.Helper()
	return s.exec(sandbox.Command{Line: line}, sandbox.RunOptions{})
}

// start starts a command and closes it at the end of the test.
func (s *suite) start(c sandbox.Command) sandbox.Process {
	s.Helper()
	p, err := s.box.Start(s.ctx, c)
	if err != nil {
		s.Fatalf("Start(%.200q): %v", c.Line, err)
	}
	s.Cleanup(func() { _ = p.Close(context.Background()) })
	return p
}

// all reads the whole output of a process from an offset.
func (s *suite) all(p sandbox.Process, from int64) (data []byte, skipped int64) {
	s.Helper()
	off := max(from, 0)
	for c, err := range p.Output(s.ctx, from) {
		if err != nil {
			s.Fatalf("Output: %v", err)
		}
		if c.Offset != off {
			s.Fatalf("chunk at offset %d, want %d", c.Offset, off)
		}
		off += int64(len(c.Data)) + c.Skipped
		data = append(data, c.Data...)
		skipped += c.Skipped
	}
	return data, skipped
}

// wait waits for a process.
func (s *suite) wait(p sandbox.Process) sandbox.Exit {
	s.Helper()
	exit, err := p.Wait(s.ctx)
	if err != nil {
		s.Fatalf("Wait: %v", err)
	}
	return exit
}

// marked returns the number of processes with the mark in their arguments. The search itself never has it there.
func (s *suite) marked(box sandbox.Sandbox) int {
	s.Helper()
	a, b, _ := strings.Cut(s.mark, "k")
	line := fmt.Sprintf(`printf '%%sk%%s' %s %s | grep -l -f - /proc/[0-9]*/cmdline 2>/dev/null | wc -l`, a, b)
	r, err := sandbox.Run(s.ctx, box, sandbox.Command{Line: line}, sandbox.RunOptions{})
	if err != nil {
		s.Errorf("looking for processes: %v", err)
		return 0
	}
	n, err := strconv.Atoi(string(bytes.TrimSpace(r.Output)))
	if err != nil {
		s.Errorf("looking for processes: %q", r.Output)
	}
	return n
}

// noneLeft fails when processes of the test live.
func (s *suite) noneLeft(box sandbox.Sandbox) {
	s.Helper()
	if s.ctx.Err() != nil {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		s.ctx = ctx
	}
	waitFor(s.T, "processes to end", func() bool { return s.marked(box) == 0 })
}

// gone fails when processes of the test live, if that can be seen.
func (s *suite) gone() {
	s.Helper()
	if s.proc {
		s.noneLeft(s.box)
	}
}

// script makes a command of a script that has the mark in its arguments.
func (s *suite) script(body string) string {
	return "sh -c '" + strings.ReplaceAll(body, "'", `'\''`) + "' " + s.mark
}

// expect compares an exit.
func (s *suite) expect(e sandbox.Exit, reason sandbox.Reason, code int) {
	s.Helper()
	if e.Reason != reason || e.Code != code {
		s.Errorf("exit is %s %d, want %s %d", e.Reason, e.Code, reason, code)
	}
}
