package filesystem_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deepagents-go/deepagents/middleware/filesystem"
	"github.com/deepagents-go/deepagents/state"
	"github.com/deepagents-go/deepagents/tool"
)

// file-tools.md 5.5
func TestEdit(t *testing.T) {
	const three = "one\ntwo\nthree\n"
	edit := func(name, content, old, new, want, after string) row {
		return row{
			name: name, files: map[string]string{"f": content}, tool: "edit_file",
			args: args(t, "file_path", "/f", "old_string", old, "new_string", new), want: want, file: "/f", content: after,
		}
	}
	fails := func(name, content, old, want string) row {
		return edit(name, content, old, "x", "[err] "+want, content)
	}
	all := func(r row) row {
		r.args = strings.Replace(r.args, "{", `{"replace_all":true,`, 1)
		r.name += ", all"
		return r
	}
	ok := func(n int) string {
		return fmt.Sprintf("Successfully replaced %d instance(s) of the string in '/f'", n)
	}
	notFound := func(old string) string { return "Error: String not found in file: '" + old + "'" }
	const emptyOld = "Error: old_string cannot be empty. Provide the exact text to replace."
	long := strings.Repeat("é", 501)
	runRows(t, []row{
		edit("one", three, "two", "2", ok(1), "one\n2\nthree\n"),
		edit("same", three, "two", "two", ok(1), three),
		fails("none", three, "zzz", notFound("zzz")),
		fails("empty", three, "", emptyOld),
		all(fails("empty", three, "", emptyOld)),
		fails("empty in an empty file", "", "", emptyOld),
		fails("twice", "one\none", "one", "Error: String 'one' appears 2 times in file. Use replace_all=True to replace all instances, or provide a more specific string with surrounding context."),
		all(edit("twice", "one\none", "one", "1", ok(2), "1\n1")),
		all(edit("no overlap", "aaa", "aa", "b", ok(1), "ba")),
		all(edit("no second look", "aaa", "a", "aa", ok(3), "aaaaaa")),
		edit("literal", "cost=T\n", "T", `$$42 $& $1 ${1} \1 %s`, ok(1), "cost="+`$$42 $& $1 ${1} \1 %s`+"\n"),
		fails("newline too many", "foo\nbar", "bar\n", "Error: old_string ends with a newline, but the file does not end with a newline. Retry with the trailing newline removed from old_string (and from new_string if it also ends with a newline)."),
		fails("newline too many, twice", "bar x bar", "bar\n", "Error: old_string ends with a newline, but the file does not end with a newline. With the trailing newline removed, old_string would appear 2 times in the file. Retry with the trailing newline removed and add surrounding context so the match is unique."),
		fails("only a newline", "foo", "\n", notFound("\n")),
		fails("two newlines", "bar", "bar\n\n", notFound("bar\n\n")+"\nThe closest line is 1: 'bar'."),
		edit("last line", "foo\nbar\n", "bar\n", "", ok(1), "foo\n"),
		edit("CRLF", "a\r\nb\r\nc", "a\nb", "A\nB", ok(1), "A\r\nB\r\nc"),
		edit("CRLF in old", "a\r\nb\r\n", "a\r\nb", "x", ok(1), "x\r\n"),
		edit("CRLF, new line", "a\r\nb\r\nc\r\n", "b", "x\ny", ok(1), "a\r\nx\r\ny\r\nc\r\n"),
		edit("mixed", "L1\nL2\r\nL3\n", "L2", "Z", ok(1), "L1\nZ\r\nL3\n"),
		edit("BOM", "\ufeffhi\n", "hi", "ho", ok(1), "\ufeffho\n"),
		fails("binary", "\xff", "x", "Error editing file '/f': the file is binary (1 bytes, application/octet-stream)"),
		edit("bad byte elsewhere", "a long enough line with a bad byte \xff\nx\n", "x", "y", ok(1), "a long enough line with a bad byte \xff\ny\n"),
		fails("replacement character", "a long enough line with a bad byte \xff\n", "byte \ufffd", "Error editing file '/f': old_string holds U+FFFD, which is shown in place of bytes that are not valid UTF-8; choose text without it"),
		fails("no regex", three, "t.o", notFound("t.o")),
		edit("two lines", three, "one\ntwo", "1", ok(1), "1\nthree\n"),
		fails("no trimming", three, " two", notFound(" two")+"\nThe closest line is 2: 'two'."),
		fails("no folding", "e\u0301\n", "é", notFound("é")),
		fails("near miss", "p := 10\nq := 20\nr := 30\n", "p := 10\nq := 77\nr := 30", notFound("p := 10\nq := 77\nr := 30")+"\nThe closest line is 2: 'q := 20'."),
		fails("header", three, "@@ lines 1-3 of 3 @@\none", notFound("@@ lines 1-3 of 3 @@\none")+"\nThe header line of read_file is not part of the file; leave it out of old_string."),
		fails("long echo", three, long, notFound(strings.Repeat("é", 500)+"...")),
		all(fails("long echo", three, long, notFound(strings.Repeat("é", 500)+"..."))),
		{name: "missing", tool: "edit_file", args: `{"file_path":"/nope","old_string":"a","new_string":"b"}`, want: "[err] Error: File '/nope' not found"},
		{name: "directory", files: map[string]string{"d/x": ""}, tool: "edit_file", args: `{"file_path":"/d","old_string":"a","new_string":"b"}`, want: "[err] Error: File '/d' not found"},
		{name: "lone surrogate", files: map[string]string{"a": "A"}, tool: "edit_file", args: `{"file_path":"/a","old_string":"A","new_string":"\ud800"}`, want: `[err] Error editing file '/a': new_string holds an unpaired surrogate escape (\ud800)`, file: "/a", content: "A"},
		{name: "lone surrogate in old", files: map[string]string{"a": "A"}, tool: "edit_file", args: `{"file_path":"/a","old_string":"\ud800","new_string":""}`, want: `[err] Error editing file '/a': old_string holds an unpaired surrogate escape (\ud800)`},
	})
}

func TestEditArtifact(t *testing.T) {
	w := newWorld(t, onDisk, map[string]string{"f": "a\nb\nc\n"}, defaults)
	got := w.result("edit_file", `{"file_path":"f","old_string":"b","new_string":"x\ny"}`).Artifact
	if d := cmp.Diff(tool.Artifact{Files: []tool.FileChange{{Path: "/f", Op: "edit", Added: 2, Removed: 1}}}, got); d != "" {
		t.Error(d)
	}
}

func TestFailedEditTouchesNothing(t *testing.T) {
	w := newWorld(t, onDisk, map[string]string{"f": "hop"}, defaults)
	p := filepath.Join(w.root, "f")
	was, err := os.Stat(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, old := range []string{"", "zap", "o "} {
		w.call("edit_file", args(t, "file_path", "/f", "old_string", old, "new_string", "-"))
	}
	if now, err := os.Stat(p); err != nil || !now.ModTime().Equal(was.ModTime()) || !os.SameFile(was, now) {
		t.Errorf("the file was touched: %v", err)
	}
}

func TestConcurrentEdits(t *testing.T) {
	w := newWorld(t, onDisk, map[string]string{"f": numbered(10)}, defaults)
	var wg sync.WaitGroup
	edit := w.tool("edit_file")
	for i := 1; i <= 10; i++ {
		wg.Go(func() {
			a := args(t, "file_path", "/f", "old_string", fmt.Sprintf("line %d\n", i), "new_string", fmt.Sprintf("changed %d\n", i))
			if res, err := edit.Call(w.ctx, tool.Call{Args: []byte(a)}); err != nil || res.Status != "" {
				t.Errorf("%v %s", err, textOf(res))
			}
		})
	}
	wg.Wait()
	if got := w.onDiskBytes("f"); strings.Count(got, "changed") != 10 {
		t.Errorf("edits were lost: %q", got)
	}
}

// The stale guard of F8.
func TestStaleGuard(t *testing.T) {
	const stale = "[err] Error: File '/f' changed since it was read. Read it again before editing."
	w := newWorld(t, onDisk, map[string]string{"f": "v1\n"}, filesystem.Options{StaleGuard: true})
	edit := func(old, new string) string {
		return w.call("edit_file", args(t, "file_path", "/f", "old_string", old, "new_string", new))
	}
	behind := func(content string) {
		if err := os.WriteFile(filepath.Join(w.root, "f"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const ok = "Successfully replaced 1 instance(s) of the string in '/f'"
	steps := []struct {
		what string
		do   func() string
		want string
	}{
		{"never read", func() string { return edit("v1", "v2") }, ok},
		{"read", func() string { return w.call("read_file", `{"file_path":"/f"}`) }, "@@ lines 1-1 of 1 @@\nv2"},
		{"own edit", func() string { return edit("v2", "v3") }, ok},
		{"own edit again", func() string { return edit("v3", "v4") }, ok},
		{"changed behind its back", func() string { behind("other v4\n"); return edit("v4", "v5") }, stale},
		{"still", func() string { return edit("v4", "v5") }, stale},
		{"read again", func() string { return w.call("read_file", `{"file_path":"/f"}`) }, "@@ lines 1-1 of 1 @@\nother v4"},
		{"edit again", func() string { return edit("v4", "v5") }, ok},
		{"a write needs no read", func() string {
			behind("third\n")
			return w.call("write_file", `{"file_path":"/f","content":"v6\n"}`)
		}, "Updated file /f"},
		{"edit after a write", func() string { return edit("v6", "v7") }, ok},
	}
	for _, s := range steps {
		if got := s.do(); got != s.want {
			t.Fatalf("%s: got %q, want %q", s.what, got, s.want)
		}
	}
}

// What the stale guard knows survives a snapshot.
func TestStaleGuardSurvives(t *testing.T) {
	w := newWorld(t, onDisk, map[string]string{"f": "v1\n", "g": ""}, filesystem.Options{StaleGuard: true})
	w.call("read_file", `{"file_path":"/f"}`)
	w.call("read_file", `{"file_path":"/g"}`)
	s := w.scope.tx.State()
	raw, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	restored, err := s.Schema().Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	w.scope.tx = state.NewTx(restored)
	if err := os.WriteFile(filepath.Join(w.root, "f"), []byte("not v1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := w.call("edit_file", `{"file_path":"/f","old_string":"v1","new_string":"v2"}`); !strings.Contains(got, "changed since it was read") {
		t.Errorf("got %q", got)
	}
}
