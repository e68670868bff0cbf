package main

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"deepagents": main})
}

// patience bounds the waits of scripts; nothing is asserted about time.
const patience = 60 * time.Second

func TestScripts(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the scripts need a POSIX shell")
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(e *testscript.Env) error {
			fixit, err := filepath.Abs("../../examples/fixit")
			if err != nil {
				return err
			}
			e.Setenv("FIXIT", fixit)
			e.Setenv("GOHOME", os.Getenv("HOME")) // where the go command finds its caches
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			return os.Mkdir(filepath.Join(e.WorkDir, "home"), 0o700)
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "root":
				return os.Geteuid() == 0, nil
			case "mount":
				return exec.Command("unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", os.TempDir()).Run() == nil, nil
			case "go":
				_, err := exec.LookPath("go")
				return err == nil, nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "signal": signalled, "await": await, "gone": gone, "normal": normal, "pick": pick, "mcp": mcpSession, "asuser": asUser,
			"newer": newer,
		},
	})
}

// exits CODE PROG ARGS... runs a program that must exit with the code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROG ARGS...")
	}
	checkCode(ts, args[0], ts.Exec(args[1], args[2:]...))
}

func checkCode(ts *testscript.TestScript, want string, err error) {
	got := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(got) != want {
		ts.Fatalf("exit code %d, want %s", got, want)
	}
}

// command prepares deepagents outside of testscript's own running of commands.
func command(ts *testscript.TestScript, args []string) *exec.Cmd {
	if args[0] != "deepagents" {
		ts.Fatalf("%s is not deepagents", args[0])
	}
	args = args[1:]
	path := ts.Getenv("PATH")
	cmd := exec.Command(filepath.Join(filepath.SplitList(path)[0], "deepagents"), args...)
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"PATH", "HOME", "WORK", "TMPDIR", "DEEPAGENTS_MODEL", "GOCOVERDIR"} {
		if v := ts.Getenv(name); v != "" {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	cmd.Stdout, cmd.Stderr = ts.Stdout(), ts.Stderr()
	return cmd
}

// signal SIG FILE CODE ARGS... runs deepagents, waits for the file, sends the signal, and checks the exit code. A second SIGINT
// follows when SIG is INT2. Code -1 is a death by the signal.
func signalled(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 {
		ts.Fatalf("usage: signal SIG FILE CODE ARGS...")
	}
	sig, ok := map[string]syscall.Signal{"INT": syscall.SIGINT, "INT2": syscall.SIGINT, "TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL}[args[0]]
	if !ok {
		ts.Fatalf("unknown signal %s", args[0])
	}
	cmd := command(ts, args[3:])
	ts.Check(cmd.Start())
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	if !exists(ts.MkAbs(args[1])) {
		_ = cmd.Process.Kill()
		<-done
		ts.Fatalf("%s did not appear", args[1])
	}
	ts.Check(cmd.Process.Signal(sig))
	if args[0] == "INT2" {
		_ = cmd.Process.Signal(sig) // it may have ended
	}
	checkCode(ts, args[2], <-done)
}

func exists(path string) bool {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return true
		}
	}
	return false
}

// await FILE waits until a file is there.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: await FILE")
	}
	if !exists(ts.MkAbs(args[0])) {
		ts.Fatalf("%s did not appear", args[0])
	}
}

// gone TEXT waits until no process of the script's directory has the text in its command line.
func gone(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: gone TEXT")
	}
	var left string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if left = running(args[0], ts.Getenv("WORK")); left == "" {
			return
		}
	}
	ts.Fatalf("still running: %s", left)
}

func running(text, dir string) string {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	if len(files) == 0 {
		out, err := exec.Command("ps", "-A", "-o", "args=").Output()
		if err != nil {
			return "ps: " + err.Error()
		}
		for line := range strings.SplitSeq(string(out), "\n") {
			if strings.Contains(line, text) {
				return line
			}
		}
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		line := strings.ReplaceAll(string(b), "\x00", " ")
		cwd, cerr := os.Readlink(filepath.Join(filepath.Dir(f), "cwd"))
		if err == nil && cerr == nil && strings.Contains(line, text) && strings.HasPrefix(cwd, dir) {
			return f + ": " + line
		}
	}
	return ""
}

var (
	uuid      = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	interrupt = regexp.MustCompile(`"[0-9a-f]{32}"`)
	stamp     = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	took      = regexp.MustCompile(`"duration_ms":\d+`)
	generated = regexp.MustCompile(`\d{4}-\d\d-\d\d-[0-9a-f]{12}`)
	built     = regexp.MustCompile(`"version":"[^"]*"`)
)

// normal FILE... replaces ids by their order, times, durations and versions by constants.
func normal(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: normal FILE...")
	}
	for _, name := range args {
		s := ts.ReadFile(name)
		s = strings.ReplaceAll(s, ts.Getenv("WORK"), "$WORK")
		s = number(uuid, "ID", s)
		s = number(interrupt, `"QUESTION`, s)
		s = regexp.MustCompile(`"QUESTION(\d+)`).ReplaceAllString(s, `"QUESTION$1"`)
		s = stamp.ReplaceAllString(s, "TIME")
		s = generated.ReplaceAllString(s, "THREAD")
		s = took.ReplaceAllString(s, `"duration_ms":0`)
		s = built.ReplaceAllString(s, `"version":"VERSION"`)
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(s), 0o600))
	}
}

func number(re *regexp.Regexp, prefix, s string) string {
	seen := map[string]string{}
	return re.ReplaceAllStringFunc(s, func(id string) string {
		if seen[id] == "" {
			seen[id] = prefix + strconv.Itoa(len(seen)+1)
		}
		return seen[id]
	})
}

// pick VAR FILE KEY... sets a variable to a value of the last line of a file of JSON lines.
func pick(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: pick VAR FILE KEY...")
	}
	lines := bytes.Split(bytes.TrimSpace([]byte(ts.ReadFile(args[1]))), []byte("\n"))
	var v any
	ts.Check(json.Unmarshal(lines[len(lines)-1], &v))
	for _, key := range args[2:] {
		switch x := v.(type) {
		case map[string]any:
			v = x[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(x) {
				ts.Fatalf("no element %s in %v", key, x)
			}
			v = x[i]
		default:
			ts.Fatalf("no %s in %v", key, v)
		}
	}
	ts.Setenv(args[0], fmt.Sprint(v))
}

// newer FILE makes a database one of a later version of this program.
func newer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: newer FILE")
	}
	db, err := sql.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	_, err = db.Exec("PRAGMA user_version = 99")
	ts.Check(errors.Join(err, db.Close()))
}

// asuser CODE ARGS... runs deepagents as a user without rights when this is root, else as this user.
func asUser(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: asuser CODE ARGS...")
	}
	cmd := command(ts, args[1:])
	for _, path := range []string{cmd.Path, cmd.Dir} {
		for dir := filepath.Dir(path); strings.HasPrefix(dir, os.TempDir()+"/"); dir = filepath.Dir(dir) {
			ts.Check(os.Chmod(dir, 0o755)) // of temporary directories, so that the other user gets there
		}
	}
	unprivileged(cmd)
	checkCode(ts, args[0], cmd.Run())
}
