package host_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// secrets are in the environment that the harness is started with (case A09).
func secrets() []string {
	return []string{"OPENAI_API_KEY=sk-123", "AWS_SECRET_ACCESS_KEY=zz9", "DATABASE_URL=pg://u:pw9@h"}
}

func harnessCommand(t *testing.T, line string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=/root", harnessEnv + "=" + line}, secrets()...)
	return cmd
}

func TestSecretsDoNotReachCommands(t *testing.T) {
	out, err := harnessCommand(t, "env; cat /proc/self/environ; cat /proc/$PPID/cmdline; ps auxe 2>/dev/null | grep -a $$ || true").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, secret := range []string{"sk-123", "zz9", "pw9"} {
		if strings.Contains(string(out), secret) {
			t.Errorf("%s reaches commands: %q", secret, out)
		}
	}
	for _, name := range []string{"PATH=", "HOME=/root"} {
		if !strings.Contains(string(out), name) {
			t.Errorf("%s is missing: %q", name, out)
		}
	}
	// The documented limit: a command of the same user can look at the environment that this program was started with.
	out, err = harnessCommand(t, "cat /proc/$PPID/environ").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if !strings.Contains(string(out), "sk-123") {
		t.Error("/proc/$PPID/environ shows nothing now: the package's documentation can promise more")
	}
}

// TestKilledHarness kills the embedding program: no process of its commands may live on.
func TestKilledHarness(t *testing.T) {
	for _, line := range []string{
		"echo ready; sh -c 'sleep 300; true' MARK",
		"sh -c 'trap \"\" TERM HUP; sleep 300; true' MARK | sh -c 'sleep 300; true' MARK & echo ready; wait",
		"setsid sh -c 'sleep 300; true' MARK >/dev/null 2>&1 & (env -i setsid sh -c 'sleep 300; true' MARK >/dev/null 2>&1 &) ; sleep 0.1; echo ready; sleep 300",
		"nohup sh -c 'sleep 300; true' MARK >/dev/null 2>&1 & echo ready",
	} {
		mark := fmt.Sprintf("killed-%d-%d", os.Getpid(), time.Now().UnixNano())
		cmd := harnessCommand(t, strings.ReplaceAll(line, "MARK", mark))
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if s, err := bufio.NewReader(stdout).ReadString('\n'); s != "ready\n" {
			t.Errorf("%q: harness says %q, %v", line, s, err)
		}
		waitFor(t, line+": start", func() bool { return withArg(t, mark) > 0 })
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		waitFor(t, line+": end", func() bool { return withArg(t, mark) == 0 })
	}
}

// withArg counts processes with an argument.
func withArg(t *testing.T, arg string) int {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, name := range names {
		// The harness itself has it in its environment only; sh -c has the whole line as one argument.
		if b, err := os.ReadFile(name); err == nil && strings.Contains("\x00"+string(b), "\x00"+arg+"\x00") {
			n++
		}
	}
	return n
}

func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited too long for %s", what)
		}
	}
}
