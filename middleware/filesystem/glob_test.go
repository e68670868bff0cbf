package filesystem_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/middleware/filesystem"
	"github.com/deepagents-go/deepagents/tool"
)

const (
	noFiles = "No files found"
	noMatch = "No matches found"
)

func globTree() map[string]string {
	return map[string]string{
		"a.py": "", "sub/b.py": "", "sub/nested/c.py": "", "readme.md": "", ".hidden.py": "", ".hidden/x.py": "", ".github/workflows/ci.yml": "",
	}
}

// file-tools.md 5.7
func TestGlob(t *testing.T) {
	glob := func(pattern, want string) row {
		return row{name: pattern, files: globTree(), tool: "glob", args: args(t, "pattern", pattern), want: want}
	}
	in := func(path, pattern, want string) row {
		r := glob(pattern, want)
		r.name, r.args = pattern+" in "+path, args(t, "pattern", pattern, "path", path)
		return r
	}
	disk := func(r row) row { r.kinds = diskOnly; return r }
	older := func(r row) row { r.o = compat; return r }
	braces := func(n int) string { return "{" + strings.TrimSuffix(strings.Repeat("q,", n), ",") + "}" }
	const (
		all  = "['/.github/workflows/ci.yml', '/.hidden/x.py', '/a.py', '/readme.md', '/sub/b.py', '/sub/nested/c.py']"
		py   = "['/.hidden/x.py', '/a.py', '/sub/b.py', '/sub/nested/c.py']"
		deep = "['/a.py', '/sub/b.py', '/sub/nested/c.py']"
		subs = "['/sub/b.py', '/sub/nested/c.py']"
	)
	rows := []row{
		glob("*.py", py),
		glob("**/*.py", deep),
		glob("/*.py", "['/a.py']"),
		glob("sub/*.py", "['/sub/b.py']"),
		glob("sub/**/*.py", subs),
		glob("sub/**", subs),
		glob("*.yml", "['/.github/workflows/ci.yml']"),
		glob("**/*.yml", noFiles),
		glob(".github/**/*.yml", "['/.github/workflows/ci.yml']"),
		glob(".*.py", "['/.hidden.py']"),
		glob("*", all),
		glob("**", all),
		glob("**/*", "['/a.py', '/readme.md', '/sub/b.py', '/sub/nested/c.py']"),
		glob("[ab].py", "['/a.py', '/sub/b.py']"),
		glob("[!a].py", "['/.hidden/x.py', '/sub/b.py', '/sub/nested/c.py']"),
		glob("[^a].py", "['/.hidden/x.py', '/sub/b.py', '/sub/nested/c.py']"),
		glob("*.{py,md}", "['/.hidden/x.py', '/a.py', '/readme.md', '/sub/b.py', '/sub/nested/c.py']"),
		glob("{a,sub/b}.py", "['/a.py', '/sub/b.py']"),
		glob("*.{py", noFiles),
		glob("[a-", noFiles),
		glob("", noFiles),
		glob("sub/", noFiles),
		glob("a.py/**", noFiles),
		glob("./a.py", noFiles),
		glob("sub//b.py", "['/sub/b.py']"),
		glob("!*.py", noFiles),
		glob("*.PY", noFiles),
		in("/sub", "*.py", subs),
		in("sub", "*.py", subs),
		disk(in("/a.py", "*.py", noFiles)),
		{name: "loop", kinds: diskOnly, files: map[string]string{"l -> l": ""}, tool: "glob", args: `{"pattern":"*","path":"/l"}`, want: "[err] Error: Error globbing path '/l': too many levels of symbolic links"},
		disk(in("/nope", "*", "[err] Error: Path '/nope' not found")),
		older(in("/nope", "*", noFiles)),
		glob("../*.py", "[err] Error: Path traversal not allowed in glob pattern '../*.py'"),
		glob(braces(1000), noFiles),
		glob(braces(1001), "[err] Error: Invalid glob pattern '"+braces(1001)+"': Pattern limit exceeded the limit of 1000"),
		{name: "brackets", files: map[string]string{"a[1].py": ""}, tool: "glob", args: `{"pattern":"a\\[1\\].py"}`, want: "['/a[1].py']"},
		{name: "brackets in the path", files: map[string]string{"app/[id]/p.tsx": ""}, tool: "glob", args: `{"pattern":"*.tsx","path":"/app/[id]"}`, want: "['/app/[id]/p.tsx']"},
		{name: "link", kinds: diskOnly, files: map[string]string{"a.txt": "", "ln -> a.txt": ""}, tool: "glob", args: `{"pattern":"*.txt"}`, want: "['/a.txt']"},
		{name: "two names", kinds: diskOnly, files: map[string]string{"a.txt": "", "b.txt -> a.txt": ""}, tool: "glob", args: `{"pattern":"*.txt"}`, want: "['/a.txt', '/b.txt']"},
		{name: "two names, older form", o: compat, kinds: diskOnly, files: map[string]string{"a.txt": "", "b.txt -> a.txt": ""}, tool: "glob", args: `{"pattern":"*.txt"}`, want: "['/a.txt', '/a.txt']"},
		{name: "link to a directory", kinds: diskOnly, files: map[string]string{"d/x.py": "", "dl -> d": ""}, tool: "glob", args: `{"pattern":"dl/*"}`, want: noFiles},
		{name: "escaping path", kinds: diskOnly, files: map[string]string{"out -> /etc": ""}, tool: "glob", args: `{"pattern":"*","path":"/out"}`, want: "[err] Error: Path '/out' is outside the root directory"},
		{name: "lines", files: globTree(), o: lineLists, tool: "glob", args: `{"pattern":"sub/**"}`, want: "/sub/b.py\n/sub/nested/c.py"},
		{name: "surrogate", tool: "glob", args: `{"pattern":"\ud800"}`, want: `[err] Error: the pattern holds an unpaired surrogate escape (\ud800)`},
	}
	for i := range rows {
		if len(rows[i].name) > 40 {
			rows[i].name = rows[i].name[:40]
		}
	}
	runRows(t, rows)
}

func TestUnreadableDirectory(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root reads every directory")
	}
	w := newWorld(t, onDisk, map[string]string{"a": "k", "d/x": "k"}, defaults)
	if err := os.Chmod(w.root+"/d", 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(w.root+"/d", 0o700) })
	if got := w.call("glob", `{"pattern":"*"}`); !strings.HasPrefix(got, "['/a']\n\nNote: some directories could not be read,") {
		t.Errorf("got %q", got)
	}
	if got := w.call("grep", `{"pattern":"k"}`); got != "/a\n\nNote: 1 files or directories could not be read and were not searched." {
		t.Errorf("got %q", got)
	}
	if got := w.call("ls", `{"path":"/d"}`); got != "[err] Error: Listing of '/d' aborted: permission denied" {
		t.Errorf("got %q", got)
	}
}

// broken is a driver whose directories do what a test wants.
type broken struct {
	driver.ReadOnly
	do func(ctx context.Context) error
}

func (b *broken) Stat(ctx context.Context, p string) (driver.Info, error) {
	if err := b.do(ctx); err != nil {
		return driver.Info{}, err
	}
	return driver.Info{Path: p, Kind: driver.Dir}, nil
}

func (b *broken) List(ctx context.Context, _ string, _ driver.ListOptions) iter.Seq2[driver.Info, error] {
	return func(yield func(driver.Info, error) bool) {
		if err := b.do(ctx); err != nil {
			yield(driver.Info{}, err)
		}
	}
}

func (b *broken) Open(ctx context.Context, p string, o driver.OpenOptions) (io.ReadCloser, driver.Info, error) {
	if err := b.do(ctx); err != nil {
		return nil, driver.Info{}, err
	}
	return driver.Opened(io.NopCloser(strings.NewReader("")), driver.Info{Path: p}, o)
}

func brokenWorld(t *testing.T, o filesystem.Options, do func(ctx context.Context) error) *world {
	t.Helper()
	w := &world{t: t, scope: &scope{}}
	w.use(&broken{do: do}, nil, o)
	return w
}

// A backend that blocks, even one that does not listen to its context, does not block the call.
func TestSearchDeadlines(t *testing.T) {
	gate := make(chan struct{})
	defer close(gate)
	o := filesystem.Options{GlobTimeout: 30 * time.Millisecond, GrepTimeout: 30 * time.Millisecond}
	w := brokenWorld(t, o, func(context.Context) error { <-gate; return nil })
	for range 4 {
		if got := w.call("glob", `{"pattern":"*"}`); got != "[err] Error: glob timed out after 0.03s. Try a more specific pattern or a narrower path." {
			t.Errorf("got %q", got)
		}
	}
	if got := w.call("glob", `{"pattern":"*"}`); got != "[err] Error: too many glob calls are already running. Try again later with a more specific pattern or a narrower path." {
		t.Errorf("fifth got %q", got)
	}
	if got := w.call("grep", `{"pattern":"x"}`); got != "[err] Error: grep timed out after 0.03s. Try a more specific pattern or a narrower path." {
		t.Errorf("got %q", got)
	}
}

func TestGlobPlacesComeBack(t *testing.T) {
	w := newWorld(t, onDisk, globTree(), defaults)
	for range 20 {
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if got := w.call("glob", `{"pattern":"readme*"}`); got != "['/readme.md']" {
					t.Errorf("got %q", got)
				}
			})
		}
		wg.Wait()
	}
}

func TestCancelledSearch(t *testing.T) {
	w := brokenWorld(t, defaults, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
	cause := errors.New("stop")
	for _, c := range []struct{ tool, args string }{
		{"glob", `{"pattern":"*"}`}, {"grep", `{"pattern":"*"}`}, {"ls", `{"path":"/"}`}, {"read_file", `{"file_path":"/x"}`},
	} {
		ctx, cancel := context.WithCancelCause(w.ctx)
		time.AfterFunc(10*time.Millisecond, func() { cancel(cause) })
		if res, err := w.tool(c.tool).Call(ctx, tool.Call{Args: []byte(c.args)}); !errors.Is(err, cause) {
			t.Errorf("%s: %v %v", c.tool, res, err)
		}
	}
}

// Whatever a backend does, the model gets a text (F17).
func TestForeignErrors(t *testing.T) {
	for _, c := range []struct {
		tool, args, failing, panicking string
	}{
		{"glob", `{"pattern":"*"}`, "Error: glob failed: boom", "Error: glob failed: internal error: bang"},
		{"grep", `{"pattern":"x"}`, "boom", "internal error: bang"},
		{"ls", `{"path":"/d"}`, "Error: Listing of '/d' aborted: boom", "Error: Listing of '/d' aborted: internal error: bang"},
		{"read_file", `{"file_path":"/f"}`, "Error: Error reading file '/f': boom", "Error: Error reading file '/f': internal error: bang"},
		{"edit_file", `{"file_path":"/f","old_string":"a","new_string":"b"}`, "Error editing file '/f': boom", "Error editing file '/f': internal error: bang"},
		{"write_file", `{"file_path":"/f","content":"b"}`, "Error writing file '/f': unsupported operation", "Error writing file '/f': internal error: bang"},
	} {
		w := brokenWorld(t, defaults, func(context.Context) error { return errors.New("boom") })
		if got := w.call(c.tool, c.args); got != "[err] "+c.failing {
			t.Errorf("%s: got %q, want %q", c.tool, got, c.failing)
		}
		w = brokenWorld(t, defaults, func(context.Context) error { panic("bang") })
		if got := w.call(c.tool, c.args); got != "[err] "+c.panicking {
			t.Errorf("%s: got %q, want %q", c.tool, got, c.panicking)
		}
	}
}
