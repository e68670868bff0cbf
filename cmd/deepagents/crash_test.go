package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// crashTurns is the number of turns of the run that is killed.
const crashTurns = 20

// crashCase is a directory, a thread and a script that works in it: commands that append a line, edits that change one, and files
// that are written.
type crashCase struct {
	t         *testing.T
	dir, data string
	script    string
	// kills counts the processes that died.
	kills int
}

func newCrashCase(t *testing.T) *crashCase {
	t.Helper()
	c := &crashCase{t: t, dir: t.TempDir(), data: t.TempDir()}
	c.script = filepath.Join(c.data, "script.jsonl")
	var script, old bytes.Buffer
	for i := range crashTurns {
		name, args := "execute", map[string]string{"command": fmt.Sprintf("echo line %d. >>log; sleep 0.005", i)}
		switch i % 4 {
		case 1:
			name, args = "edit_file", map[string]string{"file_path": "edited", "old_string": fmt.Sprintf("old %d.", i), "new_string": fmt.Sprintf("new %d.", i)}
		case 3:
			name, args = "write_file", map[string]string{"file_path": fmt.Sprintf("written%d", i), "content": "x"}
		}
		line, err := json.Marshal(map[string]any{"tool_calls": []any{map[string]any{"id": fmt.Sprintf("call%d", i), "name": name, "args": args}}})
		if err != nil {
			t.Fatal(err)
		}
		script.Write(append(line, '\n'))
		fmt.Fprintf(&old, "old %d.\n", i)
	}
	script.WriteString(`{"text":"finished"}` + "\n")
	c.write(c.script, script.Bytes())
	c.write(filepath.Join(c.dir, "edited"), old.Bytes())
	return c
}

func (c *crashCase) write(path string, b []byte) {
	c.t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		c.t.Fatal(err)
	}
}

func (c *crashCase) read(name string) string {
	c.t.Helper()
	b, err := os.ReadFile(filepath.Join(c.dir, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		c.t.Fatal(err)
	}
	return string(b)
}

// moment is when a process is killed: so long after so many events. The zero value is never.
type moment struct {
	events int
	after  time.Duration
}

// anyMoment draws a moment of a run, or of what is left of it; sometimes it is before the first event, or never.
func anyMoment(draw *rand.Rand) moment {
	if draw.IntN(8) == 0 {
		return moment{after: time.Duration(draw.Int64N(int64(40*time.Millisecond))) + 1}
	}
	return moment{1 + draw.IntN(5*crashTurns), time.Duration(draw.Int64N(int64(12 * time.Millisecond)))}
}

// play runs deepagents and kills it at a moment. The code is -1 when it was killed.
func (c *crashCase) play(kill moment, args ...string) (code int, out string) {
	c.t.Helper()
	cmd := exec.Command("deepagents", append(args, "--data", c.data)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	die := func() { _ = cmd.Process.Kill() } // it may have ended
	if kill.events == 0 && kill.after > 0 {
		defer time.AfterFunc(kill.after, die).Stop()
	}
	var all strings.Builder
	lines := bufio.NewReader(stdout)
	for n := 1; ; n++ {
		line, err := lines.ReadString('\n')
		all.WriteString(line)
		if err != nil {
			break
		}
		if n == kill.events {
			defer time.AfterFunc(kill.after, die).Stop()
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		c.t.Fatal(err)
	}
	code = cmd.ProcessState.ExitCode()
	if code < 0 {
		c.kills++
	}
	return code, all.String() + stderr.String()
}

// finish runs the script to its end. With draw every process is killed at a moment that it may not reach.
func (c *crashCase) finish(draw *rand.Rand) {
	c.t.Helper()
	begin := []string{"run", "-C", c.dir, "-m", "script:" + c.script, "--sandbox", "none", "--mode", "yolo", "--thread", "t", "-o", "jsonl", "work"}
	args := begin
	for range 1000 {
		var kill moment
		if draw != nil {
			kill = anyMoment(draw)
		}
		switch code, out := c.play(kill, args...); code {
		case 0:
			return
		case -1:
			args = []string{"resume", "t", "-o", "jsonl"}
		case 2:
			// It was killed before anything was recorded.
			if args[0] != "resume" || !strings.Contains(out, "not found") {
				c.t.Fatalf("%v: exit 2: %s", args, out)
			}
			args = begin
		default:
			c.t.Fatalf("%v: exit %d: %s", args, code, out)
		}
	}
	c.t.Fatal("no process came to the end")
}

// outcomes returns how each call of the thread ended, from its exported events.
func (c *crashCase) outcomes() map[string]string {
	c.t.Helper()
	code, out := c.play(moment{}, "threads", "export", "t")
	if code != 0 {
		c.t.Fatalf("export: exit %d: %s", code, out)
	}
	got := map[string]string{}
	for line := range strings.SplitSeq(strings.TrimSpace(out), "\n") {
		var ev struct {
			Type    string `json:"type"`
			CallID  string `json:"tool_call_id"`
			Status  string `json:"status"`
			Content string `json:"content"`
		}
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			c.t.Fatalf("%v: %s", err, line)
		}
		if ev.Type != "tool.completed" {
			continue
		}
		if got[ev.CallID] != "" {
			c.t.Errorf("%s ended twice", ev.CallID)
		}
		got[ev.CallID] = ev.Status
		if ev.Status == "unknown" && !strings.Contains(ev.Content, "outcome of this call is unknown") {
			c.t.Errorf("%s: the model is not told that the outcome is unknown: %s", ev.CallID, ev.Content)
		}
	}
	return got
}

// check compares the files with the outcomes: what was done was done once, and what may not have been done is reported.
func (c *crashCase) check() (unknown int) {
	c.t.Helper()
	log, edited := c.read("log"), c.read("edited")
	got := c.outcomes()
	for i := range crashTurns {
		id := fmt.Sprintf("call%d", i)
		status := got[id]
		if status == "unknown" {
			unknown++
		} else if status != "ok" {
			c.t.Errorf("%s ended as %q", id, status)
		}
		switch i % 4 {
		case 0, 2:
			n := strings.Count(log, fmt.Sprintf("line %d.\n", i))
			if n > 1 || n == 0 && status != "unknown" {
				c.t.Errorf("%s (%s): its line is there %d times", id, status, n)
			}
		case 1:
			changed := strings.Contains(edited, fmt.Sprintf("new %d.\n", i))
			kept := strings.Contains(edited, fmt.Sprintf("old %d.\n", i))
			if changed == kept || !changed && status != "unknown" {
				c.t.Errorf("%s (%s): the file is %q", id, status, edited)
			}
		case 3:
			if status != "ok" || c.read(fmt.Sprintf("written%d", i)) != "x" {
				c.t.Errorf("%s (%s): a write that can be repeated is not there", id, status)
			}
		}
	}
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, e := range entries {
		if name := e.Name(); name != "log" && name != "edited" && !strings.HasPrefix(name, "written") {
			c.t.Errorf("%s is left over", name)
		}
	}
	return unknown
}

// TestKilledAtAnyMoment kills a run of commands and edits, again and again, and goes on with it. DEEPAGENTS_LONG=1 plays more
// rounds.
func TestKilledAtAnyMoment(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the commands of the run need a POSIX shell")
	}
	rounds := 4
	if os.Getenv("DEEPAGENTS_LONG") != "" {
		rounds = 150
	}
	whole := newCrashCase(t)
	whole.finish(nil)
	if n := whole.check(); n != 0 {
		t.Errorf("%d outcomes are unknown in a run that nobody killed", n)
	}
	want := whole.read("log") + whole.read("edited")

	kills, unknowns := 0, 0
	for round := range rounds {
		seed := rand.Uint64()
		c := newCrashCase(t)
		c.finish(rand.New(rand.NewPCG(seed, uint64(round))))
		n := c.check()
		if n == 0 && c.read("log")+c.read("edited") != want {
			t.Errorf("the files differ from those of the run that nobody killed:\n%s%s", c.read("log"), c.read("edited"))
		}
		if t.Failed() {
			t.Fatalf("seed %d, %d kills", seed, c.kills)
		}
		kills, unknowns = kills+c.kills, unknowns+n
	}
	t.Logf("%d rounds, %d kills, %d unknown outcomes", rounds, kills, unknowns)
}
