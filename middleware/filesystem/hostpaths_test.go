package filesystem_test

import (
	"context"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/deepagents-go/deepagents/backend/disk"
	"github.com/deepagents-go/deepagents/middleware/filesystem"
	"github.com/deepagents-go/deepagents/sandbox/host"
)

// With host paths the tools and the shell give a file the same name (X8).
func TestHostPaths(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("host paths are not served on Windows")
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d, err := disk.NewHost([]string{root}, disk.Options{NoSync: true, StateDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.(*disk.Host).Close() })
	sh, err := host.New(d, host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sh.Close(context.Background()) })
	w := &world{t: t, scope: &scope{}, root: root}
	w.use(sh, nil, filesystem.Options{Sandbox: sh})
	see := func(string) bool { return true }
	if p := w.m.Prompt(see); p != "" || strings.Contains(w.m.Description("execute", see), "translate") {
		t.Errorf("paths agree, but the model is told to translate them: %s", p)
	}
	for _, c := range []struct{ tool, args, want string }{
		{"write_file", `{"file_path":"sub/a.txt","content":"hello"}`, "Updated file " + root + "/sub/a.txt"},
		{"execute", args(t, "command", "cat "+root+"/sub/a.txt"), "hello\n[Command succeeded with exit code 0]"},
		{"execute", args(t, "command", "pwd; echo more > "+root+"/b.txt"), root + "\n\n[Command succeeded with exit code 0]"},
		{"read_file", args(t, "file_path", root+"/b.txt"), "@@ lines 1-1 of 1 @@\nmore"},
		{"ls", `{"path":"."}`, "['" + root + "/b.txt', '" + root + "/sub/']"},
		{"glob", `{"pattern":"*.txt"}`, "['" + root + "/b.txt', '" + root + "/sub/a.txt']"},
		{"grep", `{"pattern":"hello"}`, root + "/sub/a.txt"},
		{"read_file", `{"file_path":"/etc/passwd"}`, "[err] Error: Path '/etc/passwd' is outside the root directory"},
		{"write_file", `{"file_path":"/etc/deepagents-never","content":""}`, "[err] Error: Path '/etc/deepagents-never' is outside the root directory"},
		{"delete", args(t, "file_path", root), "[err] Error: '" + root + "' cannot be deleted: it holds the mounted " + root + ". Delete what lies below it instead."},
		{"delete", args(t, "file_path", filepath.Dir(root)), "[err] Error: '" + filepath.Dir(root) + "' cannot be deleted: it holds the mounted " + root + ". Delete what lies below it instead."},
		{"delete", `{"file_path":"sub"}`, "Deleted " + root + "/sub"},
	} {
		if got := w.call(c.tool, c.args); got != c.want {
			t.Errorf("%s %s\n got %q\nwant %q", c.tool, c.args, got, c.want)
		}
	}
}
