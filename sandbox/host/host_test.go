package host_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/sandbox"
	"github.com/deepagents-go/deepagents/sandbox/host"
	"github.com/deepagents-go/deepagents/sandbox/sandboxtest"
)

// open makes a Host on a new directory.
func open(t testing.TB, o host.Options) *host.Host {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.New(&dirDriver{dir}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return h
}

func run(t testing.TB, h *host.Host, c sandbox.Command) sandbox.Result {
	t.Helper()
	r, err := sandbox.Run(t.Context(), h, c, sandbox.RunOptions{})
	if err != nil {
		t.Fatalf("%q: %v", c.Line, err)
	}
	return r
}

func TestConformance(t *testing.T) {
	sandboxtest.Run(t, func(t *testing.T) sandbox.Sandbox { return open(t, host.Options{}) })
}

// TestConformanceUntapped runs the suite through Output instead of the tap, and with a grace.
func TestConformanceUntapped(t *testing.T) {
	sandboxtest.Run(t, func(t *testing.T) sandbox.Sandbox {
		return struct{ sandbox.Sandbox }{open(t, host.Options{Grace: 50 * time.Millisecond, KeepOutput: 2 << 20})}
	}, sandboxtest.Lossless)
}

func TestNew(t *testing.T) {
	located := &dirDriver{"/"}
	for _, c := range []struct {
		name string
		drv  driver.Driver
		o    host.Options
		want string
	}{
		{"no driver", nil, host.Options{}, "host: a driver is needed"},
		{"negative timeout", located, host.Options{Timeout: -5 * time.Second}, "timeout must be positive, got -5"},
		{"fraction", located, host.Options{Timeout: -1500 * time.Millisecond}, "timeout must be positive, got -1.5"},
		{"negative grace", located, host.Options{Grace: -1}, "host: grace must not be negative, got -1ns"},
		{"negative output", located, host.Options{MaxOutput: -1}, "host: max output must not be negative, got -1"},
		{"negative keep", located, host.Options{KeepOutput: -1}, "host: kept output must not be negative, got -1"},
		{"both environments", located, host.Options{InheritEnv: true, EmptyEnv: true}, "host: InheritEnv and EmptyEnv exclude each other"},
		{"no directory", &plainDriver{}, host.Options{}, "host: Dir is needed: the driver has no directory on this machine"},
		{
			"secret", located,
			host.Options{Env: map[string]string{"A": "1", "MY_TOKEN": "x"}},
			"host: environment: MY_TOKEN looks like a secret; list it in AllowSecretEnv to pass it to commands",
		},
		{"bad name", located, host.Options{Env: map[string]string{"A=B": "1"}}, `host: environment: "A=B" cannot be a name`},
	} {
		if _, err := host.New(c.drv, c.o); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	h := open(t, host.Options{})
	if !regexp.MustCompile(`^local-[0-9a-f]{8}$`).MatchString(h.ID()) {
		t.Errorf("id %q", h.ID())
	}
	if d := h.Defaults(); d.Timeout != 120*time.Second || d.Grace != 0 || d.MaxOutput != 100_000 {
		t.Errorf("defaults %+v", d)
	}
	if p := h.Policy(); p.Level != "none" || p.Confined() {
		t.Errorf("policy %+v", p)
	}
}

func TestDir(t *testing.T) {
	h := open(t, host.Options{})
	if r := run(t, h, sandbox.Command{Line: "mkdir -p 'sub dir'; pwd"}); string(r.Output) != h.Dir()+"\n" {
		t.Errorf("pwd %q, want %q", r.Output, h.Dir())
	}
	if r := run(t, h, sandbox.Command{Line: "pwd", Dir: "sub dir"}); string(r.Output) != h.Dir()+"/sub dir\n" {
		t.Errorf("a relative directory is %q", r.Output)
	}
	other := t.TempDir()
	g, err := host.New(&plainDriver{}, host.Options{Dir: other})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = g.Close(t.Context()) }()
	if g.Dir() != other {
		t.Errorf("dir %q", g.Dir())
	}
	// The directory may go, and a command says so.
	gone := filepath.Join(other, "gone")
	if err := os.Mkdir(gone, 0o700); err != nil {
		t.Fatal(err)
	}
	g2, err := host.New(&plainDriver{}, host.Options{Dir: gone})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = g2.Close(t.Context()) }()
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	_, err = sandbox.Run(t.Context(), g2, sandbox.Command{Line: "echo hi"}, sandbox.RunOptions{})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	text, _ := sandbox.FormatError(err)
	if want := "Error executing command (WorkingDirectoryNotFound): directory " + gone + ": file does not exist\n[Command failed with exit code 1]"; text != want {
		t.Errorf("text %q\nwant %q", text, want)
	}
}

func TestCapabilitiesAreForwarded(t *testing.T) {
	a, b := &dirDriver{t.TempDir()}, &dirDriver{t.TempDir()}
	h, err := host.New(&routed{main: a, other: b}, host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = h.Close(t.Context()) }()
	if h.Dir() != a.dir {
		t.Errorf("dir %q, want the one of the mount at the root", h.Dir())
	}
	loc, m, rel, ok := driver.As[driver.Located](h, "/m/x")
	if !ok || m.Prefix != "/m" || rel != "/x" || loc != driver.Located(b) {
		t.Errorf("As gives %v %+v %q %t", loc, m, rel, ok)
	}
	if mounts := driver.Split(h, "/"); len(mounts) != 2 || mounts[1].Driver != driver.Driver(b) {
		t.Errorf("Split gives %+v", mounts)
	}
}

func TestStartFailures(t *testing.T) {
	kind := func(err error) sandbox.StartKind {
		var se *sandbox.StartError
		if !errors.As(err, &se) {
			t.Errorf("no start error: %v", err)
			return ""
		}
		return se.Kind
	}
	h := open(t, host.Options{Shell: "/no/such/shell"})
	_, err := h.Start(t.Context(), sandbox.Command{Line: "true"})
	if kind(err) != sandbox.StartFailed || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing shell: %v", err)
	}
	if _, err := host.New(&dirDriver{t.TempDir()}, host.Options{Shell: "no-such-shell"}); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("a shell that is not in PATH: %v", err)
	}
	if r := run(t, open(t, host.Options{Shell: "sh"}), sandbox.Command{Line: "echo $0"}); string(r.Output) != "sh\n" {
		t.Errorf("a shell by name: %q", r.Output)
	}
	notExec := filepath.Join(t.TempDir(), "sh")
	if err := os.WriteFile(notExec, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = open(t, host.Options{Shell: notExec}).Start(t.Context(), sandbox.Command{Line: "true"})
	if kind(err) != sandbox.PermissionDenied {
		t.Errorf("shell that may not run: %v", err)
	}
	_, err = open(t, host.Options{}).Start(t.Context(), sandbox.Command{Line: "true " + strings.Repeat("x", 200_000)})
	if kind(err) != sandbox.InvalidCommand || !errors.Is(err, syscall.E2BIG) {
		t.Errorf("long command: %v", err)
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-123")
	t.Setenv("DATABASE_URL", "pg://u:pw9@h")
	t.Setenv("HARMLESS", "yes")
	t.Setenv("LANG", "C")
	env := func(h *host.Host, c sandbox.Command) string {
		c.Line = "env"
		return string(run(t, h, c).Output)
	}
	plain := env(open(t, host.Options{}), sandbox.Command{})
	for _, name := range []string{"PATH=", "HOME=", "LANG=C\n"} {
		if !strings.Contains(plain, name) {
			t.Errorf("%s is missing in %s", name, plain)
		}
	}
	for line := range strings.Lines(plain) {
		name, _, _ := strings.Cut(line, "=")
		if !strings.Contains(" PATH HOME USER LANG TERM TMPDIR PWD OLDPWD SHLVL _ ", " "+name+" ") {
			t.Errorf("%s reaches commands", name)
		}
	}
	h := open(t, host.Options{EmptyEnv: true})
	if got := env(h, sandbox.Command{}); got != "PWD="+h.Dir()+"\n" {
		t.Errorf("empty environment: %q", got)
	}
	h = open(t, host.Options{EmptyEnv: true, Env: map[string]string{"A": "1", "B": "2"}})
	if got := string(run(t, h, sandbox.Command{Line: "echo $A $B $C $HOME", Env: map[string]string{"B": "3", "C": "4"}}).Output); got != "1 3 4\n" {
		t.Errorf("overlays: %q", got)
	}
	var log bytes.Buffer
	h = open(t, host.Options{InheritEnv: true, Env: map[string]string{"A": "1"}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	got := env(h, sandbox.Command{})
	if !strings.Contains(got, "HARMLESS=yes\n") || !strings.Contains(got, "A=1\n") || strings.Contains(got, "sk-123") || strings.Contains(got, "pw9") {
		t.Errorf("inherited: %s", got)
	}
	if l := log.String(); !strings.Contains(l, "level=WARN") || !strings.Contains(l, "OPENAI_API_KEY") || strings.Contains(l, "sk-123") {
		t.Errorf("log %q", l)
	}
	h = open(t, host.Options{InheritEnv: true, AllowSecretEnv: []string{"OPENAI_API_KEY", "X_TOKEN"}, Env: map[string]string{"X_TOKEN": "t"}})
	if got := env(h, sandbox.Command{}); !strings.Contains(got, "OPENAI_API_KEY=sk-123\n") || !strings.Contains(got, "X_TOKEN=t\n") || strings.Contains(got, "pw9") {
		t.Errorf("allowed: %s", got)
	}
	_, err := h.Start(t.Context(), sandbox.Command{Line: "true", Env: map[string]string{"DB_PASSWORD": "x"}})
	var se *sandbox.StartError
	if !errors.As(err, &se) || se.Kind != sandbox.InvalidCommand {
		t.Errorf("a secret of a command: %v", err)
	}
}

// TestCommandEndsWithItsShell is about holders of the pipe: they do not hold the command.
func TestCommandEndsWithItsShell(t *testing.T) {
	h := open(t, host.Options{Timeout: time.Minute})
	for _, line := range []string{"sleep 600 & echo bg", "(sleep 600; echo no) & echo bg", "{ sleep 600 & } ; echo bg"} {
		r := run(t, h, sandbox.Command{Line: line})
		if got := sandbox.Format(r, sandbox.FormatOptions{}); got != "bg\n\n[Command succeeded with exit code 0]\n[1 background process(es) still running]" &&
			got != "bg\n\n[Command succeeded with exit code 0]\n[2 background process(es) still running]" {
			t.Errorf("%q: %q", line, got)
		}
	}
}

// TestLateOutput is about what background processes write after their shell: it is kept for later readers of a process.
func TestLateOutput(t *testing.T) {
	h := open(t, host.Options{})
	p, err := h.Start(t.Context(), sandbox.Command{Line: "{ while [ ! -e go ]; do sleep 0.02; done; echo late; echo done >ended; } & echo early"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close(t.Context()) }()
	read := func(from int64) (out string) {
		for c, err := range p.Output(t.Context(), from) {
			if err != nil {
				t.Fatal(err)
			}
			out += string(c.Data)
		}
		return out
	}
	if got := read(0); got != "early\n" {
		t.Errorf("first %q", got)
	}
	if err := os.WriteFile(filepath.Join(h.Dir(), "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); read(6) != "late\n"; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("later %q", read(0))
		}
	}
}

// TestManyLeftBehind lets go of commands whose background processes have ended.
func TestManyLeftBehind(t *testing.T) {
	h := open(t, host.Options{})
	for range 60 {
		if r := run(t, h, sandbox.Command{Line: "sleep 0.2 & true"}); r.Exit.Background != 1 {
			t.Fatalf("exit %+v", r.Exit)
		}
	}
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc to count files in")
	}
	if len(fds) > 60 {
		t.Errorf("%d files are open", len(fds))
	}
}

func BenchmarkTrue(b *testing.B) {
	b.Run("os/exec", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("/bin/sh", "-c", "true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("host", func(b *testing.B) {
		h := open(b, host.Options{})
		for b.Loop() {
			if _, err := sandbox.Run(b.Context(), h, sandbox.Command{Line: "true"}, sandbox.RunOptions{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkFlood(b *testing.B) {
	const line = "head -c 1073741824 /dev/zero"
	b.Run("to /dev/null", func(b *testing.B) {
		b.SetBytes(1 << 30)
		for b.Loop() {
			if err := exec.Command("/bin/sh", "-c", line+" | cat >/dev/null").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("host", func(b *testing.B) {
		h := open(b, host.Options{})
		b.SetBytes(1 << 30)
		for b.Loop() {
			if _, err := sandbox.Run(b.Context(), h, sandbox.Command{Line: line}, sandbox.RunOptions{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
