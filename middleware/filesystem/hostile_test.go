package filesystem_test

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/deepagents-go/deepagents/backend"
	"github.com/deepagents-go/deepagents/middleware/filesystem"
)

// A hostile tree neither hangs nor floods (case A20).
func TestHostileTree(t *testing.T) {
	files := map[string]string{
		"ok.txt": "the needle\n", "zero -> /dev/zero": "", "self -> self": "", "m1 -> m2": "", "m2 -> m1": "", "dang -> nope": "",
		"loop/self -> .": "", "line": strings.Repeat("x", 2<<20) + "needle" + strings.Repeat("y", 3<<20),
	}
	for i := range 2000 {
		files[fmt.Sprintf("many/%02d/%04d", i%50, i)] = ""
	}
	w := newWorld(t, onDisk, files, defaults)
	mkfifo(t, filepath.Join(w.root, "fifo"))
	sock, err := net.Listen("unix", filepath.Join(w.root, "s"))
	if err != nil {
		t.Skip("no socket here:", err)
	}
	defer func() { _ = sock.Close() }()
	if err := os.WriteFile(filepath.Join(w.root, "huge"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(w.root, "huge"), 2<<30); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/fifo":   "[err] Error: File '/fifo' not found",
		"/s":      "[err] Error: File '/s' not found",
		"/zero":   "[err] Error: Path '/zero' is outside the root directory",
		"/self":   "[err] Error: Error reading file '/self': too many levels of symbolic links",
		"/m1":     "[err] Error: Error reading file '/m1': too many levels of symbolic links",
		"/dang":   "[err] Error: File '/dang' not found",
		"/huge":   "[err] Error: File '/huge' is binary (2147483648 bytes, application/octet-stream)",
		"/ok.txt": "@@ lines 1-1 of 1 @@\nthe needle",
	} {
		if got := w.call("read_file", args(t, "file_path", path)); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
	const listed = "['/huge', '/line', '/loop/', '/many/', '/ok.txt']\n\nNote: 3 entries could not be read."
	if got := w.call("ls", `{"path":"/"}`); got != listed {
		t.Errorf("ls: %s", got)
	}
	got := w.call("grep", `{"pattern":"needle","output_mode":"content"}`)
	if !strings.HasSuffix(got, "/ok.txt:\n  1: the needle") || !strings.HasPrefix(got, "/line:\n  1: …xxx") || len(got) > 1000 {
		t.Errorf("grep: %.1200s", got)
	}
	if got := w.call("glob", `{"pattern":"o*"}`); got != "['/ok.txt']" {
		t.Errorf("glob: %s", got)
	}
	if got := w.call("glob", `{"pattern":"**"}`); len(got) > 90_000 || strings.Contains(got, "self/self") {
		t.Errorf("glob: %d bytes", len(got))
	}
}

// Relative paths and searches without a path start in the working directory.
func TestWorkDir(t *testing.T) {
	w := newWorld(t, onDisk, map[string]string{"w/a": "k\n", "b": "k\n"}, defaults)
	fs, err := backend.New(w.fs.Driver(), backend.Options{WorkDir: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	w.fs, w.m = fs, mustNew(t, filesystem.Options{FS: fs})
	for _, c := range []struct{ tool, args, want string }{
		{"read_file", `{"file_path":"a"}`, "@@ lines 1-1 of 1 @@\nk"},
		{"read_file", `{"file_path":"/b"}`, "@@ lines 1-1 of 1 @@\nk"},
		{"write_file", `{"file_path":"new","content":""}`, "Updated file /w/new"},
		{"ls", `{"path":"."}`, "['/w/a', '/w/new']"},
		{"glob", `{"pattern":"*"}`, "['/w/a', '/w/new']"},
		{"glob", `{"pattern":"*","path":"/"}`, "['/b', '/w/a', '/w/new']"},
		{"grep", `{"pattern":"k"}`, "/w/a"},
	} {
		if got := w.call(c.tool, c.args); got != c.want {
			t.Errorf("%s %s: got %q, want %q", c.tool, c.args, got, c.want)
		}
	}
}

// Hostile names go through every tool as they are.
func TestHostileNames(t *testing.T) {
	for _, name := range []string{`'; touch PWNED; '`, "$(touch PWNED)", "`x`", `a"b`, "n\nl", "-rf", "'''", "%s%d", "EOF", " ", "a b", "[id]", "{a,b}", "*", "x..y", "é\u0301"} {
		for _, k := range []kind{onDisk, onState} {
			w := newWorld(t, k, nil, defaults)
			p := "/d/" + name
			for _, c := range []struct{ tool, args, want string }{
				{"write_file", args(t, "file_path", p, "content", "one needle\n"), "Updated file " + p},
				{"read_file", args(t, "file_path", p), "@@ lines 1-1 of 1 @@\none needle"},
				{"edit_file", args(t, "file_path", p, "old_string", "one", "new_string", "a"), "Successfully replaced 1 instance(s) of the string in '" + p + "'"},
				{"grep", args(t, "pattern", "needle", "path", "/d"), p},
				{"grep", args(t, "pattern", "needle", "path", p, "output_mode", "content"), p + ":\n  1: a needle"},
				{"delete", args(t, "file_path", p), "Deleted " + p},
				{"glob", args(t, "pattern", "*"), "No files found"},
			} {
				if got := w.call(c.tool, c.args); got != c.want {
					t.Errorf("%s %q %s: got %q, want %q", k, name, c.tool, got, c.want)
				}
			}
		}
	}
}

var escape = regexp.MustCompile(`\\(u[0-9a-fA-F]{4}|.)`)

// Text is stored exactly, or refused: a replacement character that nobody wrote never gets into a file.
func FuzzWriteText(f *testing.F) {
	for _, s := range []string{`plain`, `\ud83d\ude00`, `\ud83d`, `\ude00`, `\\ud83d`, `\ufffd`, `\uD800\u0041`, `\ud800\ud800\udc00`, "\xff", `\u12`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, inner string) {
		raw := `"` + inner + `"`
		if !json.Valid([]byte(raw)) {
			return
		}
		w := newWorld(t, onState, nil, defaults)
		got := w.call("write_file", `{"file_path":"/f","content":`+raw+`}`)
		written := strings.Count(escape.ReplaceAllStringFunc(inner, func(e string) string {
			if strings.EqualFold(e, `\ufffd`) {
				return "\ufffd"
			}
			return "-"
		}), "\ufffd")
		var decoded string
		if err := json.Unmarshal([]byte(raw), &decoded); err != nil {
			t.Fatal(err)
		}
		if lost := strings.Count(decoded, "\ufffd") != written; lost != strings.HasPrefix(got, "[err] Error writing file '/f': the content holds ") {
			t.Errorf("%q: got %q", raw, got)
		}
	})
}
