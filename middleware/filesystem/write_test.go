package filesystem_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deepagents-go/deepagents/middleware/filesystem"
	"github.com/deepagents-go/deepagents/tool"
)

// file-tools.md 5.4
func TestWrite(t *testing.T) {
	createOnly := filesystem.Options{CreateOnly: true}
	write := func(name, path, content, want string) row {
		return row{name: name, files: threeLines, tool: "write_file", args: args(t, "file_path", path, "content", content), want: want, file: path, content: content}
	}
	fails := func(r row) row { r.file = ""; return r }
	disk := func(r row) row { r.kinds = diskOnly; return r }
	runRows(t, []row{
		write("new", "/n/e/w.txt", "x", "Updated file /n/e/w.txt"),
		write("relative", "b.txt", "x", "Updated file /b.txt"),
		write("replace", "/a.txt", "x", "Updated file /a.txt"),
		write("endings", "/c.txt", "a\r\nb\n", "Updated file /c.txt"),
		write("empty", "/e.txt", "", "Updated file /e.txt"),
		write("pair of surrogates", "/e.txt", "\U0001F600", "Updated file /e.txt"),
		write("entities", "/e.txt", `a &amp;&amp; b &lt;c&gt; \u0041`, `Updated file /e.txt`),
		disk(fails(write("below a file", "/a.txt/x", "", "[err] Error writing file '/a.txt/x': not a directory"))),
		disk(fails(write("root", "/", "", "[err] Error writing file '/': is a directory"))),
		{name: "directory", kinds: diskOnly, files: map[string]string{"d/x": ""}, tool: "write_file", args: `{"file_path":"/d","content":""}`, want: "[err] Error writing file '/d': is a directory"},
		{name: "link", kinds: diskOnly, files: map[string]string{"a": "", "ln -> a": ""}, tool: "write_file", args: `{"file_path":"/ln","content":"z"}`, want: "Updated file /ln", file: "/a", content: "z"},
		{name: "dangling link", kinds: diskOnly, files: map[string]string{"ln -> new": ""}, tool: "write_file", args: `{"file_path":"/ln","content":"z"}`, want: "Updated file /ln", file: "/new", content: "z"},
		{name: "escaping link", kinds: diskOnly, files: map[string]string{"out -> /tmp/deepagents-test-never": ""}, tool: "write_file", args: `{"file_path":"/out","content":"z"}`, want: "[err] Error: Path '/out' is outside the root directory"},
		{name: "escaping directory", kinds: diskOnly, files: map[string]string{"out -> /tmp": ""}, tool: "write_file", args: `{"file_path":"/out/deepagents-test-never","content":"z"}`, want: "[err] Error: Path '/out/deepagents-test-never' is outside the root directory"},
		{name: "lone surrogate", files: threeLines, tool: "write_file", args: `{"file_path":"/a.txt","content":"x\ud83dy"}`, want: `[err] Error writing file '/a.txt': the content holds an unpaired surrogate escape (\ud83d)`, file: "/a.txt", content: "one\ntwo\nthree\n"},
		{name: "low surrogate", files: threeLines, tool: "write_file", args: `{"file_path":"/a.txt","content":"\\\ude00"}`, want: `[err] Error writing file '/a.txt': the content holds an unpaired surrogate escape (\ude00)`, file: "/a.txt", content: "one\ntwo\nthree\n"},
		{name: "two high surrogates", tool: "write_file", args: `{"file_path":"/a.txt","content":"\ud83d\ud83d\ude00"}`, want: `[err] Error writing file '/a.txt': the content holds an unpaired surrogate escape (\ud83d)`},
		{name: "escaped pair", tool: "write_file", args: `{"file_path":"/a.txt","content":"\ud83d\ude00"}`, want: "Updated file /a.txt", file: "/a.txt", content: "\U0001F600"},
		{name: "escaped backslash", tool: "write_file", args: `{"file_path":"/a.txt","content":"\\ud83d"}`, want: "Updated file /a.txt", file: "/a.txt", content: `\ud83d`},
		{name: "invalid bytes", files: threeLines, tool: "write_file", args: "{\"file_path\":\"/a.txt\",\"content\":\"\xff\"}", want: "[err] Error writing file '/a.txt': the content holds bytes that are not valid UTF-8", file: "/a.txt", content: "one\ntwo\nthree\n"},
		{name: "no content", files: threeLines, tool: "write_file", args: `{"file_path":"/a.txt"}`, want: "[err] content: this argument is required", file: "/a.txt", content: "one\ntwo\nthree\n"},
		{name: "create only, exists", o: createOnly, files: threeLines, tool: "write_file", args: `{"file_path":"/a.txt","content":"z"}`, want: "[err] Error: Cannot write to '/a.txt': it already exists. Read and edit it, or choose another path.", file: "/a.txt", content: "one\ntwo\nthree\n"},
		{name: "create only, new", o: createOnly, tool: "write_file", args: `{"file_path":"/a.txt","content":"z"}`, want: "Updated file /a.txt", file: "/a.txt", content: "z"},
	})
	if _, err := os.Lstat("/tmp/deepagents-test-never"); err == nil {
		t.Error("a link led a write outside")
	}
}

func TestWriteKeepsMode(t *testing.T) {
	w := newWorld(t, onDisk, nil, defaults)
	p := filepath.Join(w.root, "w.txt")
	if err := os.WriteFile(p, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.call("write_file", `{"file_path":"/w.txt","content":"x"}`)
	if fi, err := os.Stat(p); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", fi.Mode(), err)
	}
}

// What a write changed is told to programs.
func TestWriteArtifact(t *testing.T) {
	for _, c := range []struct {
		was, now string
		want     tool.FileChange
	}{
		{"", "a\nb", tool.FileChange{Op: "edit", Added: 2}},
		{"a\nb\nc\n", "a\nX\nY\nc\n", tool.FileChange{Op: "edit", Added: 2, Removed: 1}},
		{"a\nb\n", "a\nb\n", tool.FileChange{Op: "edit"}},
		{"a\nb\n", "", tool.FileChange{Op: "edit", Removed: 2}},
		{"a\n", "a\na\n", tool.FileChange{Op: "edit", Added: 1}},
	} {
		for _, k := range []kind{onDisk, onState} {
			w := newWorld(t, k, map[string]string{"f": c.was}, defaults)
			c.want.Path = "/f"
			got := w.result("write_file", args(t, "file_path", "f", "content", c.now)).Artifact
			if d := cmp.Diff(tool.Artifact{Files: []tool.FileChange{c.want}}, got); d != "" {
				t.Errorf("%s: %q to %q: %s", k, c.was, c.now, d)
			}
		}
	}
	w := newWorld(t, onDisk, nil, defaults)
	got := w.result("write_file", `{"file_path":"/new","content":"a\nb\n"}`).Artifact
	if d := cmp.Diff(tool.Artifact{Files: []tool.FileChange{{Path: "/new", Op: "create", Added: 2}}}, got); d != "" {
		t.Error(d)
	}
}
