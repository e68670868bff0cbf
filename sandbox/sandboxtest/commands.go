package sandboxtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/sandbox"
)

// commandTests are about what a command gets and gives.
func commandTests() []test {
	return []test{
		{"exit codes", nil, exitCodes},
		{"streams are kept apart", []Feature{Streams}, streams},
		{"binary output", []Feature{Binary}, binaryOutput},
		{"no standard input", nil, noStdin},
		{"no terminal", nil, noTerminal},
		{"commands are independent", nil, independent},
		{"directory", nil, directory},
		{"environment", nil, environment},
		{"start failures", nil, startFailures},
		{"many at once", nil, many},
		{"shell and files agree", nil, filesAgree},
		{"identity", nil, identity},
	}
}

func exitCodes(s *suite) {
	for _, c := range []struct {
		line, out string
		reason    sandbox.Reason
		code      int
	}{
		{"true", "", sandbox.Exited, 0},
		{"false", "", sandbox.Exited, 1},
		{"echo hi", "hi\n", sandbox.Exited, 0},
		{"echo hi; exit 3", "hi\n", sandbox.Exited, 3},
		{"exit 124", "", sandbox.Exited, 124},
		{"exit 255", "", sandbox.Exited, 255},
		{"printf x", "x", sandbox.Exited, 0},
		{"no-such-program-here 2>/dev/null", "", sandbox.Exited, 127},
		{"printf '%s' 'a b' \"c'd\" '$HOME' `echo e` '\n'", "a bc'd$HOMEe\n", sandbox.Exited, 0},
		{"  # nothing", "", sandbox.Exited, 0},
		{"-x 2>/dev/null; echo dash", "dash\n", sandbox.Exited, 0},
		{"kill -9 $$", "", sandbox.Signaled, -9},
		{"echo a; kill -TERM $$", "a\n", sandbox.Signaled, -15},
		{"cat <<'EOF'\nline 1\n\n$x\nEOF\necho é", "line 1\n\n$x\né\n", sandbox.Exited, 0},
	} {
		r := s.sh(c.line)
		if string(r.Output) != c.out {
			s.Errorf("%q: output %q, want %q", c.line, r.Output, c.out)
		}
		if r.Exit.Reason != c.reason || r.Exit.Code != c.code {
			s.Errorf("%q: exit %s %d, want %s %d", c.line, r.Exit.Reason, r.Exit.Code, c.reason, c.code)
		}
		if r.Exit.Background != 0 || r.Truncated != 0 {
			s.Errorf("%q: %d background processes, %d bytes truncated, want none", c.line, r.Exit.Background, r.Truncated)
		}
	}
}

func streams(s *suite) {
	r := s.sh("echo out1; echo err1 >&2; echo out2; echo err2 >&2")
	if got := string(r.Stdout()); got != "out1\nout2\n" {
		s.Errorf("stdout %q", got)
	}
	if got := string(r.Stderr()); got != "err1\nerr2\n" {
		s.Errorf("stderr %q", got)
	}
	if len(r.Output) != len("out1\nout2\nerr1\nerr2\n") {
		s.Errorf("output %q is not both streams", r.Output)
	}
}

func binaryOutput(s *suite) {
	var want []byte
	var line strings.Builder
	line.WriteString("printf '")
	for b := range 256 {
		want = append(want, byte(b))
		fmt.Fprintf(&line, `\%03o`, b)
	}
	line.WriteString("'")
	if r := s.sh(line.String()); !bytes.Equal(r.Output, want) {
		s.Errorf("the 256 bytes came back as %q", r.Output)
	}
	if r := s.sh(`printf 'a\r\nb\rc\n\n\n'`); string(r.Output) != "a\r\nb\rc\n\n\n" {
		s.Errorf("line endings came back as %q", r.Output)
	}
	if r := s.sh(`printf '\303'; sleep 0.1; printf '\251 \033[3'; sleep 0.1; printf '1m'`); string(r.Output) != "é \x1b[31m" {
		s.Errorf("a character and an escape in two parts came back as %q", r.Output)
	}
}

func noStdin(s *suite) {
	if r := s.sh("cat; echo $?"); string(r.Output) != "0\n" {
		s.Errorf("cat without input gave %q", r.Output)
	}
	if r := s.sh("read x && echo got"); len(r.Output) != 0 || r.Exit.Code == 0 {
		s.Errorf("read without input gave %q, exit %d", r.Output, r.Exit.Code)
	}
}

func noTerminal(s *suite) {
	if r := s.sh("read x 2>/dev/null </dev/tty && echo got; echo end"); string(r.Output) != "end\n" && r.Exit.Code == 0 {
		s.Errorf("reading the terminal gave %q", r.Output)
	}
}

func independent(s *suite) {
	before := s.sh("pwd")
	s.sh("cd /; X=1; export X; umask 000; pwd")
	if after := s.sh("pwd"); !bytes.Equal(before.Output, after.Output) {
		s.Errorf("the directory was %q and is %q", before.Output, after.Output)
	}
	if r := s.sh("echo [$X]"); string(r.Output) != "[]\n" {
		s.Errorf("a variable survived: %q", r.Output)
	}
}

func directory(s *suite) {
	base := strings.TrimSpace(string(s.sh("d=$(mktemp -d) && mkdir \"$d/a 'b\\$c\" && cd \"$d/a 'b\\$c\" && pwd").Output))
	if !strings.HasSuffix(base, "/a 'b$c") {
		s.Fatalf("no directory to test with: %q", base)
	}
	r := s.exec(sandbox.Command{Line: "pwd; echo hi >f; cat f", Dir: base}, sandbox.RunOptions{})
	if string(r.Output) != base+"\nhi\n" {
		s.Errorf("in %q: %q", base, r.Output)
	}
	s.exec(sandbox.Command{Line: `rm -r "$D"`, Env: map[string]string{"D": strings.TrimSuffix(base, "/a 'b$c")}}, sandbox.RunOptions{})
}

func environment(s *suite) {
	odd := " a'b\"c$d`e\\f\ng=h;é "
	env := map[string]string{"ONE": odd, "TWO": "", "_3": "x"}
	r := s.exec(sandbox.Command{Line: `printf '%s|%s|%s|%s' "$ONE" "${TWO-unset}" "$_3" "${FOUR-unset}"`, Env: env}, sandbox.RunOptions{})
	if want := odd + "||x|unset"; string(r.Output) != want {
		s.Errorf("environment came as %q, want %q", r.Output, want)
	}
	if r := s.sh("echo ${ONE-unset}"); string(r.Output) != "unset\n" {
		s.Errorf("the environment of one command reached the next: %q", r.Output)
	}
	for _, bad := range []map[string]string{{"": "x"}, {"A=B": "x"}, {"A": "x\x00y"}} {
		_, err := s.box.Start(s.ctx, sandbox.Command{Line: "true", Env: bad})
		s.startError(err, sandbox.InvalidCommand)
	}
}

// startError wants a named failure to start.
func (s *suite) startError(err error, kind sandbox.StartKind) {
	s.Helper()
	var se *sandbox.StartError
	if !errors.As(err, &se) || se.Kind != kind {
		s.Errorf("error is %v, want %s", err, kind)
	}
}

func startFailures(s *suite) {
	file := strings.TrimSpace(string(s.sh("mktemp").Output))
	for _, c := range []struct {
		c    sandbox.Command
		kind sandbox.StartKind
	}{
		{sandbox.Command{}, sandbox.InvalidCommand},
		{sandbox.Command{Line: "echo a\x00b"}, sandbox.InvalidCommand},
		{sandbox.Command{Line: "true", Timeout: -5}, sandbox.InvalidCommand},
		{sandbox.Command{Line: "true", Dir: "/no/such/directory"}, sandbox.WorkingDirectoryNotFound},
		{sandbox.Command{Line: "true", Dir: file}, sandbox.WorkingDirectoryNotFound},
	} {
		_, err := s.box.Start(s.ctx, c.c)
		s.startError(err, c.kind)
		_, err = sandbox.Run(s.ctx, s.box, c.c, sandbox.RunOptions{})
		s.startError(err, c.kind)
	}
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	if _, err := s.box.Start(ctx, sandbox.Command{Line: "true"}); !errors.Is(err, context.Canceled) {
		s.Errorf("starting with an ended context gave %v", err)
	}
	if r := s.exec(sandbox.Command{Line: `rm "$F"; echo ok`, Env: map[string]string{"F": file}}, sandbox.RunOptions{}); string(r.Output) != "ok\n" {
		s.Errorf("after failures: %q", r.Output)
	}
}

func many(s *suite) {
	const n = 50
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			r, err := sandbox.Run(s.ctx, s.box, sandbox.Command{Line: fmt.Sprintf("echo %d; sleep 0.1; echo e%d >&2; exit %d", i, i, i)}, sandbox.RunOptions{})
			// How the two streams lie in each other is not promised.
			out, want := string(r.Output), fmt.Sprintf("%d\ne%d\n", i, i)
			if err != nil || r.Exit.Code != i || len(out) != len(want) || !strings.Contains(out, fmt.Sprintf("e%d\n", i)) {
				s.Errorf("command %d: %q, exit %d, error %v", i, r.Output, r.Exit.Code, err)
			}
		})
	}
	wg.Wait()
}

func filesAgree(s *suite) {
	loc, _, _, ok := driver.As[driver.Located](s.box, "/")
	if !ok {
		s.Skip("the files of this sandbox have no names for the shell")
	}
	path := driver.Join(loc.WorkDir(), "/"+s.mark+".txt")
	if loc.WorkDir() == "/" {
		path = "/" + s.mark + ".txt"
	}
	name, ok := loc.Locate(path)
	if !ok {
		s.Fatalf("no name for %s", path)
	}
	if _, err := s.box.Write(s.ctx, path, strings.NewReader("from the tools\n"), driver.WriteOptions{}); err != nil {
		s.Fatal(err)
	}
	r := s.exec(sandbox.Command{Line: `cat "$P" && pwd && echo "from the shell" >"$P"`, Env: map[string]string{"P": name}}, sandbox.RunOptions{})
	dir, _ := loc.Locate(loc.WorkDir())
	if string(r.Output) != "from the tools\n"+dir+"\n" {
		s.Errorf("the shell sees %q", r.Output)
	}
	f, _, err := s.box.Open(s.ctx, path, driver.OpenOptions{})
	if err != nil {
		s.Fatal(err)
	}
	var b bytes.Buffer
	_, err = b.ReadFrom(f)
	if err := errors.Join(err, f.Close()); err != nil || b.String() != "from the shell\n" {
		s.Errorf("the tools see %q, error %v", b.String(), err)
	}
	if err := s.box.Remove(s.ctx, path, driver.RemoveOptions{}); err != nil {
		s.Error(err)
	}
}

func identity(s *suite) {
	if first, second := s.box.ID(), s.box.ID(); first == "" || first != second {
		s.Errorf("the id is %q, then %q", first, second)
	}
	if s.box.Policy().Level == "" {
		s.Error("the policy has no level")
	}
	a, b := s.start(sandbox.Command{Line: "true"}), s.start(sandbox.Command{Line: "true"})
	if a.ID() == "" || a.ID() == b.ID() {
		s.Errorf("the processes are %q and %q", a.ID(), b.ID())
	}
}
