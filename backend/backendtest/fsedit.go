package backendtest

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/deepagents-go/deepagents/backend"
	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/policy"
)

func (e *env) fsEdit() {
	f := e.fs(backend.Options{})
	const dollars = `$$42 $& $1 ${1} \1 %s`
	for _, c := range []struct {
		name, content, old, new string
		all                     bool
		want                    string
		count, added, removed   int
	}{
		{"simple", "one\ntwo\nthree\n", "two", "2", false, "one\n2\nthree\n", 1, 1, 1},
		{"lines", "one\ntwo\nthree\n", "one\ntwo", "1", false, "1\nthree\n", 1, 1, 2},
		{"all", "one\none", "one", "1", true, "1\n1", 2, 2, 2},
		{"same line twice", "a a\nb\n", "a", "c", true, "c c\nb\n", 2, 1, 1},
		{"no overlap", "aaa", "aa", "b", true, "ba", 1, 1, 1},
		{"not scanned again", "aaa", "a", "aa", true, "aaaaaa", 3, 1, 1},
		{"left to right", "aaaa", "aa", "x", true, "xx", 2, 1, 1},
		{"remove a line", "foo\nbar\n", "bar\n", "", false, "foo\n", 1, 0, 1},
		{"insert a line", "foo\nbar\n", "foo\n", "foo\nnew\n", false, "foo\nnew\nbar\n", 1, 1, 0},
		{"equal", "a\nb\n", "b", "b", false, "a\nb\n", 1, 0, 0},
		{"crlf", "a\r\nb\r\nc", "a\nb", "A\nB", false, "A\r\nB\r\nc", 1, 2, 2},
		{"crlf to one", "a\r\nb\r\n", "a\r\nb", "x", false, "x\r\n", 1, 1, 2},
		{"crlf inserts (A05)", "a\r\n  b\r\nc\r\n", "a\n  b\n", "a\n  B\nB2\n", false, "a\r\n  B\r\nB2\r\nc\r\n", 1, 2, 1},
		{"crlf grows", "a\r\nb\r\nc\r\n", "b", "x\ny", false, "a\r\nx\r\ny\r\nc\r\n", 1, 2, 1},
		{"mixed", "1\n2\r\n3\n", "2", "two", false, "1\ntwo\r\n3\n", 1, 1, 1},
		{"mixed keeps each", "1\n2\r\n3\n4", "1\n2\n3", "x\ny\nz", false, "x\ny\r\nz\n4", 1, 3, 3},
		{"mixed all", "a\nb\r\na\r\nb\n", "a\nb", "x\ny", true, "x\ny\r\nx\r\ny\n", 2, 4, 4},
		{"newlines only", "a\r\n\r\nb", "\n\n", "\n", false, "a\r\nb", 1, 0, 1},
		{"cr only", "a\rb\rc", "a\nb", "x\ny\nz", false, "x\ry\rz\rc", 1, 3, 2},
		{"no ending yet", "foo", "foo", "a\r\nb", false, "a\r\nb", 1, 2, 1},
		{"bom", "\xef\xbb\xbfk=7\n", "k=7", "k=8", false, "\xef\xbb\xbfk=8\n", 1, 1, 1},
		{"no final newline", "x\nlast", "last", "LAST", false, "x\nLAST", 1, 1, 1},
		{"literal", "cost=T\n", "T", dollars, false, "cost=" + dollars + "\n", 1, 1, 1},
		{"bad bytes stay", strings.Repeat("w", 30) + "\xff\nb\n", "b", "c", false, strings.Repeat("w", 30) + "\xff\nc\n", 1, 1, 1},
		{"lone cr stays", "a\rb\nc\r\n", "c", "d", false, "a\rb\nd\r\n", 1, 1, 1},
		{"regex signs", "t.o two\n", "t.o", "x", false, "x two\n", 1, 1, 1},
		{"shown replacement char", "a \ufffd b\n", "\ufffd", "x", false, "a x b\n", 1, 1, 1},
		{"utf-8 in place", "é€𝄞\n", "€", "$", false, "é$𝄞\n", 1, 1, 1},
	} {
		e.put("/e", c.content)
		r, err := f.Edit(e.ctx, "/e", backend.Edit{Old: c.old, New: c.new, All: c.all})
		if err != nil {
			e.Errorf("%s: %v", c.name, err)
			continue
		}
		if got, _ := e.get("/e"); got != c.want {
			e.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if r.Count != c.count || r.Added != c.added || r.Removed != c.removed {
			e.Errorf("%s: %d replaced, +%d -%d, want %d, +%d -%d", c.name, r.Count, r.Added, r.Removed, c.count, c.added, c.removed)
		}
	}
}

func (e *env) fsEditErrors() {
	f := e.fs(backend.Options{})
	block := "func f() {\n\tp := 10\n\tq := 20\n\tr := 30\n}\n"
	for _, c := range []struct {
		name, content, old string
		want               backend.MatchError
	}{
		{"absent", "one\ntwo\n", "zzz", backend.MatchError{}},
		{"twice", "foo\nfoo\n", "foo", backend.MatchError{Count: 2}},
		{"twice in crlf", "a\r\nb\na\nb\n", "a\nb", backend.MatchError{Count: 2}},
		{"final newline (A05)", "x\nlast", "LAST\n", backend.MatchError{Line: 2, Text: "last"}},
		{"final newline, once", "foo\nbar", "bar\n", backend.MatchError{WithoutNewline: 1, Line: 2, Text: "bar"}},
		{"final newline, twice", "bar x bar", "bar\n", backend.MatchError{WithoutNewline: 2, Line: 1, Text: "bar x bar"}},
		{"one newline", "foo", "\n", backend.MatchError{}},
		{"two newlines", "bar", "bar\n\n", backend.MatchError{Line: 1, Text: "bar"}},
		{"no trimming", "one\ntwo\n", " two", backend.MatchError{Line: 2, Text: "two"}},
		{"no regex", "one\ntwo\n", "t.o", backend.MatchError{}},
		{"no folding", "caf\u0065\u0301\n", "caf\u00e9", backend.MatchError{}},
		{"a block that differs (A18)", block, "\tp := 10\n\tq := 77\n\tr := 30", backend.MatchError{Line: 3, Text: "\tq := 20"}},
		{"a near line", "alpha\nreturn compute(a, b)\nomega\n", "return compute(a, c)", backend.MatchError{Line: 2, Text: "return compute(a, b)"}},
	} {
		before := e.put("/x", c.content)
		_, err := f.Edit(e.ctx, "/x", backend.Edit{Old: c.old, New: "new"})
		var m *backend.MatchError
		if !errors.As(err, &m) {
			e.Errorf("%s: %v", c.name, err)
			continue
		}
		c.want.Old = c.old
		if c.want.Line == 0 {
			m.Line, m.Text = 0, "" // nothing is promised
		}
		if *m != c.want {
			e.Errorf("%s: %+v, want %+v", c.name, *m, c.want)
		}
		e.unchanged(before, c.content)
	}
	for _, all := range []bool{false, true} {
		for _, content := range []string{"hop", ""} {
			before := e.put("/x", content)
			_, err := f.Edit(e.ctx, "/x", backend.Edit{New: "-", All: all})
			e.is("empty old text", err, backend.ErrEmptyOld)
			e.unchanged(before, content)
		}
	}
	before := e.put("/x", strings.Repeat("ok ", 20)+"\xff\n")
	_, err := f.Edit(e.ctx, "/x", backend.Edit{Old: "ok \ufffd", New: "x"})
	e.is("old text with a shown replacement", err, backend.ErrReplacementChar)
	e.unchanged(before, strings.Repeat("ok ", 20)+"\xff\n")
	before = e.put("/x", "\x00a")
	_, err = f.Edit(e.ctx, "/x", backend.Edit{Old: "a", New: "b"})
	if !errors.As(err, new(*backend.BinaryError)) {
		e.Errorf("edit of a binary file: %v", err)
	}
	e.unchanged(before, "\x00a")
	_, err = f.Edit(e.ctx, "/missing?", backend.Edit{Old: "a", New: "b"})
	e.is("edit of a missing file", err, fs.ErrNotExist)
	e.gone("/missing?")
	refused := errors.New("refused")
	hooked := e.fs(backend.Options{Hooks: backend.Hooks{Content: func(_ context.Context, _ string, b []byte) error {
		if strings.Contains(string(b), "secret") {
			return refused
		}
		return nil
	}}})
	before = e.put("/x", "plain\n")
	_, err = hooked.Edit(e.ctx, "/x", backend.Edit{Old: "plain", New: "secret"})
	e.is("edit with refused content", err, refused)
	e.unchanged(before, "plain\n")
}

// unchanged checks that a failed call left bytes, mode and time as they were.
func (e *env) unchanged(before driver.Info, content string) {
	e.Helper()
	e.holds(before.Path, content)
	i, err := e.d.Stat(e.ctx, before.Path)
	if err != nil || i.Mode != before.Mode || !i.ModTime.Equal(before.ModTime) || i.Version != before.Version {
		e.Errorf("%s changed: %+v, was %+v (%v)", before.Path, i, before, err)
	}
}

func (e *env) fsEditVersion() {
	if e.s.has(NoVersions) {
		e.Skip("the driver has no versions")
	}
	f := e.fs(backend.Options{})
	first := e.put("/v", "one\n")
	r, err := f.Edit(e.ctx, "/v", backend.Edit{Old: "one", New: "two", IfVersion: first.Version})
	if err != nil {
		e.Fatal(err)
	}
	_, err = f.Edit(e.ctx, "/v", backend.Edit{Old: "two", New: "three", IfVersion: first.Version})
	e.is("edit of a file that changed since", err, driver.ErrConflict)
	e.holds("/v", "two\n")
	_, err = f.Write(e.ctx, "/v", []byte("x"), backend.WriteOptions{IfVersion: first.Version})
	e.is("write over a file that changed since", err, driver.ErrConflict)
	if _, err := f.Write(e.ctx, "/v", []byte("x"), backend.WriteOptions{IfVersion: r.Info.Version}); err != nil {
		e.Error(err)
	}
	_, err = f.Write(e.ctx, "/v", []byte("y"), backend.WriteOptions{CreateOnly: true})
	e.is("create over a file", err, fs.ErrExist)
	e.holds("/v", "x")
}

func (e *env) fsTransfers() {
	f := e.fs(backend.Options{})
	up := f.Upload(e.ctx, []backend.Transfer{{Path: "/a", Content: []byte("\xff\x00")}, {Path: "/../b", Content: []byte("x")}, {Path: "c", Content: nil}})
	var codes []string
	for _, t := range up {
		codes = append(codes, t.Path+" "+backend.TransferCode(t.Err))
	}
	e.same("upload", codes, []string{"/a ", "/../b invalid_path", "c "})
	e.put("/d/x", "x")
	codes = nil
	for _, t := range f.Download(e.ctx, []string{"/a", "/d", "/nope", "~", "c"}) {
		codes = append(codes, t.Path+" "+backend.TransferCode(t.Err)+" "+string(t.Content))
	}
	e.same("download", codes, []string{"/a  \xff\x00", "/d is_directory ", "/nope file_not_found ", "~ invalid_path ", "c  "})
}

func (e *env) fsDelete() {
	f := e.fs(backend.Options{})
	e.putAll(map[string]string{"/d/a": "", "/d/.b": "", "/e": ""})
	err := f.Delete(e.ctx, "/")
	if !errors.As(err, new(*backend.RefusedError)) {
		e.Errorf("Delete(/): %v", err)
	}
	if e.s.has(NoRemove) {
		return
	}
	guarded := e.fs(backend.Options{Hooks: backend.Hooks{Rules: policy.PathRules{
		{Kinds: []policy.Kind{policy.Write}, Paths: []string{"/**/.b"}, Decision: policy.Deny},
	}}})
	e.is("delete of a directory with a protected file", guarded.Delete(e.ctx, "/d"), policy.ErrDenied)
	e.holds("/d/a", "")
	for _, p := range []string{"/d/", "e"} {
		if err := f.Delete(e.ctx, p); err != nil {
			e.Errorf("Delete(%s): %v", p, err)
		}
	}
	e.is("second delete", f.Delete(e.ctx, "/d"), fs.ErrNotExist)
	e.same("what is left", e.paths("/"), []string(nil))
}

func (e *env) fsPaths() {
	f := e.fs(backend.Options{WorkDir: "/work"})
	e.putAll(map[string]string{"/work/a.txt": "a", "/a..b": "x", "/...": "y", "/..hidden": "z"})
	for in, want := range map[string]string{
		"": "/work", ".": "/work", "./": "/work", "/": "/", "//": "/", "/.": "/", "///a": "/a", "//a": "/a", "a.txt": "/work/a.txt",
		"/./foo//bar": "/foo/bar", "/a/": "/a", "/a/b/.": "/a/b", `\a\b`: "/a/b", `a\b`: "/work/a/b", `\\srv\share`: "/srv/share",
		"...": "/work/...", "/a..b": "/a..b", "..a": "/work/..a", "/~": "/~", "/C:/x": "/C:/x", "1:/x": "/work/1:/x", "ab:/x": "/work/ab:/x",
		"http://x/y": "/work/http:/x/y", " ": "/work/ ", "/ a": "/ a", "/a ": "/a ", "/a\nb": "/a\nb",
	} {
		if got, err := f.Clean(in); err != nil || got != want {
			e.Errorf("Clean(%q) = %q, %v, want %q", in, got, err, want)
		}
	}
	windows := "Windows absolute paths are not supported: %. Please use virtual paths starting with / (e.g., /workspace/file.txt)"
	for in, want := range map[string]string{
		"..": "Path traversal not allowed: %", "a/..": "Path traversal not allowed: %", "/a/../b": "Path traversal not allowed: %",
		`/a\..\b`: "Path traversal not allowed: %", "~": "Path traversal not allowed: %", "~root": "Path traversal not allowed: %",
		"~/x": "Path traversal not allowed: %", `C:\x`: windows, "c:/x": windows, "C:": windows, "x:y": windows,
		"/a\x00": "Path contains a null byte: /a\\0",
	} {
		_, err := f.Clean(in)
		var p *backend.PathError
		if !errors.As(err, &p) || err.Error() != strings.ReplaceAll(want, "%", in) || p.Path != in || !errors.Is(err, driver.ErrInvalidPath) {
			e.Errorf("Clean(%q): %v", in, err)
		}
		if _, err := f.Write(e.ctx, in, nil, backend.WriteOptions{}); !errors.As(err, &p) {
			e.Errorf("Write(%q): %v", in, err)
		}
	}
	for p, want := range map[string]string{"a.txt": "a", "/a..b": "x", "/...": "y", "/..hidden": "z"} {
		if l, err := f.Read(e.ctx, p, backend.Window{Limit: 1}); err != nil || l.Text != want {
			e.Errorf("Read(%q) = %q, %v", p, l.Text, err)
		}
	}
}
