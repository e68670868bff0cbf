package filesystem_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deepagents-go/deepagents/tool"
)

// file-tools.md 5.6
func TestDelete(t *testing.T) {
	for _, c := range []struct {
		name  string
		kinds []kind
		files []string
		path  string
		want  string
		left  string
	}{
		{"file", nil, []string{"a.txt", "b"}, "/a.txt", "Deleted /a.txt", "['/b']"},
		{"tree", nil, []string{"d/x/y", "dx"}, "/d", "Deleted /d", "['/dx']"},
		{"empty directory", diskOnly, []string{"d/", "b"}, "/d/", "Deleted /d", "['/b']"},
		{"missing", diskOnly, []string{"b"}, "/nope", "[err] Error: '/nope' not found", "['/b']"},
		{"missing below a file", diskOnly, []string{"b"}, "/b/x", "[err] Error: '/b/x' not found", "['/b']"},
		{"missing in state", stateOnly, []string{"b"}, "/nope", "[err] Error: File '/nope' not found", "['/b']"},
		{"link", diskOnly, []string{"a.txt", "ln -> a.txt"}, "/ln", "Deleted /ln", "['/a.txt']"},
		{"link to a directory", diskOnly, []string{"d/x", "dl -> d"}, "/dl", "Deleted /dl", "['/d/']"},
		{"dangling link", diskOnly, []string{"b", "dang -> nope"}, "/dang", "Deleted /dang", "['/b']"},
		{"escaping link", diskOnly, []string{"b", "out -> /etc"}, "/out", "Deleted /out", "['/b']"},
		{"through an escaping link", diskOnly, []string{"b", "out -> /etc"}, "/out/passwd", "[err] Error: Path '/out/passwd' is outside the root directory", "['/b']"},
		{"root", nil, []string{"b"}, "/", "[err] Error: '/' is the root directory and cannot be deleted. Delete what lies below it instead.", "['/b']"},
		{"root by slashes", nil, []string{"b"}, "//.", "[err] Error: '/' is the root directory and cannot be deleted. Delete what lies below it instead.", "['/b']"},
	} {
		kinds := c.kinds
		if kinds == nil {
			kinds = []kind{onDisk, onState}
		}
		for _, k := range kinds {
			t.Run(string(k)+"/"+c.name, func(t *testing.T) {
				files := map[string]string{}
				for _, f := range c.files {
					files[f] = "x"
				}
				w := newWorld(t, k, files, defaults)
				if got := w.call("delete", args(t, "file_path", c.path)); got != c.want {
					t.Errorf("got %q, want %q", got, c.want)
				}
				if got := w.call("ls", `{"path":"/"}`); got != c.left {
					t.Errorf("left %s, want %s", got, c.left)
				}
			})
		}
	}
	if _, err := os.Stat("/etc/passwd"); err != nil {
		t.Fatal("a link led a deletion outside")
	}
}

func TestDeleteArtifact(t *testing.T) {
	w := newWorld(t, onDisk, map[string]string{"d/x": "1\n"}, defaults)
	got := w.result("delete", `{"file_path":"d"}`).Artifact
	if d := cmp.Diff(tool.Artifact{Files: []tool.FileChange{{Path: "/d", Op: "delete"}}}, got); d != "" {
		t.Error(d)
	}
	if _, err := os.Lstat(filepath.Join(w.root, "d")); err == nil {
		t.Error("the directory is still there")
	}
}
