package filesystem_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deepagents-go/deepagents/middleware/filesystem"
)

var (
	defaults  filesystem.Options
	compat    = filesystem.Options{Compat: filesystem.CompatDeepAgents}
	lineLists = filesystem.Options{PathList: filesystem.Lines}
)

func sprintf(format string, a ...any) string { return fmt.Sprintf(format, a...) }
func contains(s, sub string) bool            { return strings.Contains(s, sub) }

// file-tools.md 5.2
func TestLs(t *testing.T) {
	ls := func(name, path, want string, files ...string) row {
		m := map[string]string{}
		for _, f := range files {
			m[f] = "x"
		}
		return row{name: name, files: m, kinds: diskOnly, tool: "ls", args: args(t, "path", path), want: want}
	}
	both := func(r row) row { r.kinds = nil; return r }
	state := func(r row) row { r.kinds = stateOnly; return r }
	older := func(r row) row { r.o = compat; return r }
	lines := func(r row) row { r.o = lineLists; return r }
	const none = "No files found"
	runRows(t, []row{
		both(ls("empty", "/", none)),
		both(ls("two", "/", "['/README.md', '/src/']", "README.md", "src/a")),
		ls("empty directory", "/d", none, "d/"),
		ls("file", "/a.txt", "[err] Error: Path '/a.txt': not_a_directory", "a.txt"),
		ls("missing", "/nope", "[err] Error: Path '/nope': path_not_found"),
		both(ls("hidden", "/", "['/.env', '/.git/']", ".env", ".git/x")),
		both(ls("order", "/", "['/B', '/Z/', '/a']", "B", "a", "Z/x")),
		both(ls("quote", "/", `["/it's"]`, "it's")),
		both(ls("both quotes", "/", `['/a"b\'c']`, `a"b'c`)),
		both(ls("newline", "/", `['/x\ny']`, "x\ny")),
		both(ls("control and wide", "/", `['/\t\x7f\u200b\U000e0001€']`, "\t\x7f\u200b\U000e0001€")),
		both(ls("accent", "/", "['/é.txt']", "é.txt")),
		ls("link", "/", "['/a.txt', '/ln']", "a.txt", "ln -> a.txt"),
		older(ls("link, older form", "/", "['/a.txt', '/a.txt']", "a.txt", "ln -> a.txt")),
		ls("escaping link", "/", none, "out -> /etc/hostname"),
		ls("dangling link", "/", none, "dang -> nope"),
		ls("link to a directory", "/", "['/d/', '/dl/']", "d/x", "dl -> d"),
		ls("through a link", "/dl", "['/dl/x']", "d/x", "dl -> d"),
		older(ls("through a link, older form", "/dl", "['/d/x', '/d/y/']", "d/x", "d/y/z", "dl -> d")),
		both(ls("nested", "/a", "['/a/b/', '/a/d.txt']", "a/b/c.txt", "a/d.txt")),
		state(ls("state, file", "/a.txt", none, "a.txt")),
		state(ls("state, missing", "/nope", none)),
		both(lines(ls("lines", "/", "/b'c\n'/x\\ny'", "b'c", "x\ny"))),
	})
}

func TestLsLoopIsTold(t *testing.T) {
	w := newWorld(t, onDisk, map[string]string{"a.txt": "", "loop -> loop": ""}, defaults)
	got := w.call("ls", `{"path":"/"}`)
	if got != "['/a.txt']\n\nNote: 1 entries could not be read." && got != "['/a.txt']" {
		t.Errorf("got %q", got)
	}
}

func TestLsLeavesOutFIFO(t *testing.T) {
	w := newWorld(t, onDisk, nil, defaults)
	mkfifo(t, filepath.Join(w.root, "p"))
	if got := w.call("ls", `{"path":"/"}`); got != "No files found" {
		t.Errorf("got %q", got)
	}
	if got := w.call("read_file", `{"file_path":"/p"}`); got != "[err] Error: File '/p' not found" {
		t.Errorf("read got %q", got)
	}
}

func TestLsCap(t *testing.T) {
	for _, n := range []int{800, 801} {
		w := newWorld(t, onDisk, nil, defaults)
		for i := range n {
			name := fmt.Sprintf("%099d", i) // 100 characters with the slash
			if err := os.WriteFile(filepath.Join(w.root, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got := w.call("ls", `{"path":"/"}`)
		items := strings.Split(strings.Trim(got, "[]"), ", ")
		cut := strings.HasSuffix(got, "'... [results truncated, try being more specific with your parameters]']")
		if cut != (n > 800) {
			t.Errorf("%d names: cut is %v", n, cut)
		}
		shown := strings.Count(got, "'/0")
		if want := min(n, n*80000/(n*100)); shown != want {
			t.Errorf("%d names: %d shown, want %d of %d items", n, shown, want, len(items))
		}
	}
}
