package filesystem_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/backend"
	"github.com/deepagents-go/deepagents/middleware/filesystem"
	"github.com/deepagents-go/deepagents/tool"
)

// The tools behind the agent's own validation, policy and state.
func TestInAToolset(t *testing.T) {
	w := newWorld(t, onDisk, map[string]string{"f": "one\n"}, filesystem.Options{StaleGuard: true})
	set, err := agent.NewToolset(agent.Config{Middleware: []agent.Middleware{w.m}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	call := func(name, a string) string {
		res, err := set.Call(context.Background(), tool.Call{Name: name, Args: json.RawMessage(a)})
		if err != nil {
			t.Fatal(err)
		}
		return textOf(res)
	}
	for _, c := range []struct{ tool, args, want string }{
		{"read_file", `{"file_path":"/f","offset":"0"}`, "@@ lines 1-1 of 1 @@\none"},
		{"edit_file", `{"file_path":"/f","old_string":"one","new_string":"two","replace_all":"false"}`, "Successfully replaced 1 instance(s) of the string in '/f'"},
		{"execute", `{"command":"true"}`, "[err] Error: Execution not available. This agent's backend does not support command execution (SandboxBackendProtocol). To use the execute tool, provide a backend that implements SandboxBackendProtocol."},
		{"read_file", `{"file_path":"../f"}`, traversal + "../f"},
	} {
		if got := call(c.tool, c.args); got != c.want {
			t.Errorf("%s %s: got %q, want %q", c.tool, c.args, got, c.want)
		}
	}
	if err := os.WriteFile(filepath.Join(w.root, "f"), []byte("someone else\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := call("edit_file", `{"file_path":"/f","old_string":"else","new_string":"new"}`); got != "[err] Error: File '/f' changed since it was read. Read it again before editing." {
		t.Errorf("the guard does not remember across calls: %q", got)
	}
}

// A search that runs out of time says so and returns what it has.
func TestSearchBudgets(t *testing.T) {
	w := newWorld(t, onDisk, globTree(), defaults)
	fs, err := backend.New(w.fs.Driver(), backend.Options{GlobTime: time.Nanosecond, GrepTime: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	w.m = mustNew(t, filesystem.Options{FS: fs})
	if got := w.call("glob", `{"pattern":"*"}`); !strings.HasPrefix(got, noFiles+"\n\nNote: the search stopped early because it hit its time or size limit.") {
		t.Errorf("glob: %q", got)
	}
	if got := w.call("grep", `{"pattern":"x|y"}`); !strings.HasPrefix(got, noMatch+"\n\nNote: the search stopped early (it hit its time limit or the maximum match count).") || strings.Contains(got, "regex") {
		t.Errorf("grep: %q", got)
	}
}
