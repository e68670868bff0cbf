//go:build linux

package mcp_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deepagents-go/deepagents/mcp"
)

// process is the helper process with its pipes.
type process struct {
	*raw
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stderr bytes.Buffer
	root   string
}

func helperCommand(t testing.TB, mode string) (*exec.Cmd, string) {
	t.Helper()
	root := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envRoot+"="+root, envMode+"="+mode, "MCP_TEST_STATE="+t.TempDir())
	return cmd, root
}

func startProcess(t testing.TB, mode string) *process {
	t.Helper()
	p := &process{}
	p.cmd, p.root = helperCommand(t, mode)
	p.cmd.Stderr = &p.stderr
	in, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.stdin, p.raw = in, newRaw(t, in, out)
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	})
	p.initialize(oldVersion)
	return p
}

// rest returns what else the process wrote, and how it ended.
func (p *process) rest() (string, error) {
	p.t.Helper()
	b, err := io.ReadAll(p.out)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(b), p.cmd.Wait()
}

// A command with a child in a session of its own, whose ids it writes to files.
const tree = `setsid sh -c 'echo $$ > child; exec sleep 1000' & echo $$ > shell.tmp; while [ ! -s child ]; do sleep 0.01; done; mv shell.tmp shell; sleep 1000`

// startTree calls execute with tree and returns the ids of the processes once they run.
func startTree(t testing.TB, root string, send func(command string)) []int {
	t.Helper()
	send(tree)
	for {
		if _, err := os.Stat(filepath.Join(root, "shell")); err == nil {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	var pids []int
	for _, name := range []string{"shell", "child"} {
		b, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

// awaitDeath returns when none of the processes lives. The test's own time limit is its end otherwise.
func awaitDeath(pids []int) {
	for _, pid := range pids {
		for alive(pid) {
			time.Sleep(5 * time.Millisecond)
		}
	}
}

func alive(pid int) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(b), ") ")
	return !strings.HasPrefix(after, "Z")
}

func executeLine(id, command string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"execute","arguments":{"command":` + strconv.Quote(command) + `}}}`
}

func TestACancelledCallKillsItsProcessTree(t *testing.T) {
	for _, version := range []string{oldVersion, newVersion} {
		w := serveDir(t, "yolo", nil)
		s := connect(t, w.set, mcp.Options{}, nil, version)
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		pids := startTree(t, w.root, func(command string) {
			go func() {
				_, err := s.CallTool(ctx, &sdk.CallToolParams{Name: "execute", Arguments: map[string]any{"command": command}})
				failed <- err
			}()
		})
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("the call: %v", err)
		}
		awaitDeath(pids)
		if got := text(t, call(t, s, "execute", `{"command":"echo still here"}`)); !strings.Contains(got, "still here") {
			t.Errorf("afterwards: %q", got)
		}
	}
}

func TestProcessEndsWithItsClient(t *testing.T) {
	for name, end := range map[string]func(p *process) error{
		"EOF":     func(p *process) error { return p.stdin.Close() },
		"SIGTERM": func(p *process) error { return p.cmd.Process.Signal(syscall.SIGTERM) },
	} {
		t.Run(name, func(t *testing.T) {
			p := startProcess(t, "yolo")
			pids := startTree(t, p.root, func(command string) { p.send(executeLine("1", command)) })
			if err := end(p); err != nil {
				t.Fatal(err)
			}
			rest, err := p.rest()
			if (err == nil) != (name == "EOF") {
				t.Errorf("the process ended with %v: %s", err, p.stderr.String())
			}
			if name == "EOF" && rest != "standard output is back\n" || name == "SIGTERM" && rest != "" {
				t.Errorf("it wrote %q", rest)
			}
			for _, pid := range pids {
				if alive(pid) {
					t.Errorf("process %d outlived the server", pid)
				}
			}
		})
	}
}

func TestStandardOutputCarriesNothingElse(t *testing.T) {
	p := startProcess(t, "yolo")
	p.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"noisy"}}`)
	if got := p.next(); !strings.Contains(got, "quiet") {
		t.Errorf("result %s", got)
	}
	p.send(executeLine("2", "echo out; echo err >&2"))
	if got := p.next(); !strings.Contains(got, "out") {
		t.Errorf("result %s", got)
	}
	if err := p.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if rest, err := p.rest(); err != nil || rest != "standard output is back\n" {
		t.Errorf("it wrote %q and ended with %v", rest, err)
	}
	if got := p.stderr.String(); !strings.Contains(got, "this is no JSON-RPC") || !strings.Contains(got, "neither is this") {
		t.Errorf("standard error holds %q", got)
	}
}

// A file as standard input is always ready and ends.
func TestRequestsFromAFile(t *testing.T) {
	cmd, _ := helperCommand(t, "yolo")
	script := filepath.Join(t.TempDir(), "in.jsonl")
	lines := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"f","version":"1"}}}` +
		"\n" + executeLine("1", "echo from a file") + "\n"
	if err := os.WriteFile(script, []byte(lines), 0o644); err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(script)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	cmd.Stdin = in
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), `"id":0`) || !strings.Contains(string(out), "from a file") {
		t.Errorf("output %s, %v", out, err)
	}
}

// A client that reads nothing cannot keep the server from ending, nor can its silence.
func TestProcessEndsWhileItWrites(t *testing.T) {
	p := startProcess(t, "yolo")
	if err := os.WriteFile(filepath.Join(p.root, "big"), bytes.Repeat([]byte("0123456789\n"), 7000), 0o644); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		p.send(`{"jsonrpc":"2.0","id":` + strconv.Itoa(i+1) + `,"method":"tools/call","params":{"name":"read_file","arguments":{"file_path":"/big","limit":7000}}}`)
	}
	if _, err := p.out.Peek(1); err != nil { // it writes
		t.Fatal(err)
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Wait(); err == nil || p.cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("the process ended with %v: %s", err, p.stderr.String())
	}
}

func TestTheSDKsClientOverAProcess(t *testing.T) {
	cmd, root := helperCommand(t, "ask")
	s := client(t, &sdk.CommandTransport{Command: cmd}, answering(func(*sdk.ElicitParams) *sdk.ElicitResult {
		return filled("decision", "approve")
	}), "")
	big := strings.Repeat("0123456789abcdef\n", 1<<20/17)
	call(t, s, "write_file", map[string]any{"file_path": "/big.txt", "content": big})
	if b, err := os.ReadFile(filepath.Join(root, "big.txt")); err != nil || string(b) != big {
		t.Errorf("the file has %d bytes, %v", len(b), err)
	}
	if got := text(t, call(t, s, "read_file", `{"file_path":"/big.txt","limit":10000}`)); len(got) < 70_000 {
		t.Errorf("read %d bytes", len(got))
	}
	if got := asJSON(t, call(t, s, "execute", `{"command":"exit 7"}`).StructuredContent); !strings.Contains(got, `"exit_code":7`) {
		t.Errorf("structured content %s", got)
	}
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}
