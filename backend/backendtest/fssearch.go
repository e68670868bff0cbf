package backendtest

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/deepagents-go/deepagents/backend"
	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/policy"
)

func (e *env) fsList() {
	f := e.fs(backend.Options{})
	e.putAll(map[string]string{"/B": "", "/a": "12", "/Z/x": "", "/.git/c": ""})
	l, err := f.List(e.ctx, "/")
	if err != nil {
		e.Fatal(err)
	}
	var got []string
	for _, i := range l.Entries {
		got = append(got, fmt.Sprintf("%s %v %d", i.Path, i.IsDir(), i.Size))
	}
	e.same("List", got, []string{"/.git true 0", "/B false 0", "/Z true 0", "/a false 2"})
	if e.s.has(ImplicitDirs) {
		return
	}
	_, err = f.List(e.ctx, "/a")
	e.is("List of a file", err, driver.ErrNotDir)
	_, err = f.List(e.ctx, "/nope")
	e.is("List of a missing directory", err, fs.ErrNotExist)
}

func (e *env) fsGlob() {
	f := e.fs(backend.Options{})
	for _, p := range []string{"/a.py", "/sub/b.py", "/sub/nested/c.py", "/readme.md", "/.hidden.py", "/.hidden/x.py", "/.github/workflows/ci.yml"} {
		e.put(p, "")
	}
	all := "/.github/workflows/ci.yml /.hidden/x.py /a.py /readme.md /sub/b.py /sub/nested/c.py"
	py := "/.hidden/x.py /a.py /sub/b.py /sub/nested/c.py"
	list := func(n int) string {
		l := make([]string, n)
		for i := range l {
			l[i] = fmt.Sprint("n", i)
		}
		return "{" + strings.Join(l, ",") + "}"
	}
	for _, c := range []struct{ pattern, dir, want string }{
		{"*.py", "", py},
		{"**/*.py", "", "/a.py /sub/b.py /sub/nested/c.py"},
		{"/*.py", "", "/a.py"},
		{"sub/*.py", "", "/sub/b.py"},
		{"sub/**/*.py", "", "/sub/b.py /sub/nested/c.py"},
		{"sub/**", "", "/sub/b.py /sub/nested/c.py"},
		{"*.yml", "", "/.github/workflows/ci.yml"},
		{"**/*.yml", "", ""},
		{".github/**/*.yml", "", "/.github/workflows/ci.yml"},
		{".*.py", "", "/.hidden.py"},
		{"*", "", all},
		{"**", "", all},
		{"**/*", "", "/a.py /readme.md /sub/b.py /sub/nested/c.py"},
		{"[ab].py", "", "/a.py /sub/b.py"},
		{"[!a].py", "", "/.hidden/x.py /sub/b.py /sub/nested/c.py"},
		{"[^a].py", "", "/.hidden/x.py /sub/b.py /sub/nested/c.py"},
		{"*.{py,md}", "", "/.hidden/x.py /a.py /readme.md /sub/b.py /sub/nested/c.py"},
		{"{a,sub/b}.py", "", "/a.py /sub/b.py"},
		{"*.{py", "", ""},
		{"[a-", "", ""},
		{"", "", ""},
		{"/", "", ""},
		{"sub/", "", ""},
		{"a.py/**", "", ""},
		{"./a.py", "", ""},
		{"sub//b.py", "", "/sub/b.py"},
		{"!*.py", "", ""},
		{"*.PY", "", ""},
		{"*.py", "/sub", "/sub/b.py /sub/nested/c.py"},
		{list(1000), "", ""},
		{"?.py", "/sub", "/sub/b.py /sub/nested/c.py"},
		{"{1..3}", "", ""},
		{"[[:lower:]].py", "/", "/.hidden/x.py /a.py /sub/b.py /sub/nested/c.py"},
		{"**/nested/**", "", "/sub/nested/c.py"},
		{"*/**/c.py", "", "/sub/nested/c.py"},
		{".hidden/*", "", "/.hidden/x.py"},
		{"[.]hidden.py", "", ""},
	} {
		r, err := f.Glob(e.ctx, backend.GlobQuery{Pattern: c.pattern, Dir: c.dir})
		if err != nil || strings.Join(r.Paths, " ") != c.want || r.Truncated || r.Unreadable > 0 {
			e.Errorf("Glob(%q, %q) = %+v, %v, want %s", short(c.pattern), c.dir, r, err, c.want)
		}
	}
	r, err := f.Glob(e.ctx, backend.GlobQuery{Pattern: "*.py", Max: 2})
	if err != nil || strings.Join(r.Paths, " ") != "/.hidden/x.py /a.py" || !r.Truncated {
		e.Errorf("Glob with Max 2 = %+v, %v", r, err)
	}
	if r, err = f.Glob(e.ctx, backend.GlobQuery{Pattern: "*.py", Max: 4}); err != nil || r.Truncated {
		e.Errorf("Glob with exactly Max = %+v, %v", r, err)
	}
	if !e.s.has(ImplicitDirs) {
		if r, err = f.Glob(e.ctx, backend.GlobQuery{Pattern: "*.py", Dir: "/a.py"}); err != nil || len(r.Paths) > 0 {
			e.Errorf("Glob in a file = %+v, %v", r, err)
		}
		_, err = f.Glob(e.ctx, backend.GlobQuery{Pattern: "*", Dir: "/nope"})
		e.is("Glob in a missing directory", err, fs.ErrNotExist)
	}
	for pattern, want := range map[string]string{
		"../*.py":  "Path traversal not allowed in glob pattern '../*.py'",
		"a/../*":   "Path traversal not allowed in glob pattern 'a/../*'",
		list(1001): "Invalid glob pattern '" + list(1001) + "': Pattern limit exceeded the limit of 1000",
	} {
		if _, err := f.Glob(e.ctx, backend.GlobQuery{Pattern: pattern}); err == nil || err.Error() != want {
			e.Errorf("Glob(%s): %v", short(pattern), err)
		}
	}
}

// lines shows matches as "path:line:text".
func lines(r backend.GrepResult) string {
	var l []string
	for _, m := range r.Matches {
		l = append(l, fmt.Sprintf("%s:%d:%s", m.Path, m.Line, m.Text))
	}
	return strings.Join(l, " | ")
}

func (e *env) fsGrep() {
	f := e.fs(backend.Options{})
	e.putAll(map[string]string{
		"/a.txt": "one\ntwo\nthree\n", "/b/x": "x\n", "/b-x": "x\nx\n", "/src/app/m.py": "k\n", "/crlf": "x\r\ny\r\n", "/cr": "p\rq x\rr",
		"/.env": "k=1\n", "/.h/f": "k\n", "/bin": "\x00k", "/lat": "k \xe9\n", "/lit": "a|b\n-e\n", "/end": "last k",
		"/long": strings.Repeat("y", 100_000) + "needle" + strings.Repeat("z", 100_000) + "\nneedle\n",
	})
	for _, c := range []struct {
		q    backend.GrepQuery
		want string
	}{
		{backend.GrepQuery{Text: "two"}, "/a.txt:2:two"},
		{backend.GrepQuery{Text: "TWO"}, ""},
		{backend.GrepQuery{Text: "t", Path: "/a.txt"}, "/a.txt:2:two | /a.txt:3:three"},
		{backend.GrepQuery{Text: "x"}, "/b-x:1:x | /b-x:2:x | /b/x:1:x | /cr:2:q x | /crlf:1:x"},
		{backend.GrepQuery{Text: "k", Glob: "src/**/*.py"}, "/src/app/m.py:1:k"},
		{backend.GrepQuery{Text: "k", Glob: "*.py"}, "/src/app/m.py:1:k"},
		{backend.GrepQuery{Text: "k", Glob: "**/*.py"}, "/src/app/m.py:1:k"},
		{backend.GrepQuery{Text: "k", Glob: "/*.py"}, ""},
		{backend.GrepQuery{Text: "k", Path: "/src", Glob: "src/**/*.py"}, ""},
		{backend.GrepQuery{Text: "k", Path: "/src", Glob: "app/*.py"}, "/src/app/m.py:1:k"},
		{backend.GrepQuery{Text: "k"}, "/end:1:last k | /lat:1:k \ufffd | /src/app/m.py:1:k"},
		{backend.GrepQuery{Text: "k", Glob: ".env"}, "/.env:1:k=1"},
		{backend.GrepQuery{Text: "k", Path: "/.env"}, "/.env:1:k=1"},
		{backend.GrepQuery{Text: "k", Path: "/.h"}, "/.h/f:1:k"},
		{backend.GrepQuery{Text: "k", Glob: ".h/*"}, "/.h/f:1:k"},
		{backend.GrepQuery{Text: "k", Hidden: true}, "/.env:1:k=1 | /.h/f:1:k | /end:1:last k | /lat:1:k \ufffd | /src/app/m.py:1:k"},
		{backend.GrepQuery{Text: "-e"}, "/lit:2:-e"},
		{backend.GrepQuery{Text: "a|b"}, "/lit:1:a|b"},
		{backend.GrepQuery{Text: "o\nt"}, ""},
		{backend.GrepQuery{Text: "", Path: "/a.txt"}, "/a.txt:1:one | /a.txt:2:two | /a.txt:3:three"},
		{backend.GrepQuery{Text: "x\r"}, ""},
	} {
		r, err := f.Grep(e.ctx, c.q)
		if err != nil || lines(r) != c.want || r.Truncated {
			e.Errorf("Grep(%+v) = %s, %v, want %s", c.q, lines(r), err, c.want)
		}
	}
	r, err := f.Grep(e.ctx, backend.GrepQuery{Text: "zzz-none"})
	if err != nil || r.Hidden != 2 || r.Binary != 1 || r.Ignored != 0 || r.Unreadable != 0 {
		e.Errorf("left out: %+v, %v, want 2 hidden and 1 binary", r, err)
	}
	r, err = f.Grep(e.ctx, backend.GrepQuery{Text: "needle"})
	if err != nil || len(r.Matches) != 2 || r.Matches[0].Line != 1 || r.Matches[1].Line != 2 || len(r.Matches[0].Text) > 600 || !strings.Contains(r.Matches[0].Text, "yneedlez") {
		e.Errorf("a long line: %s, %v", short(lines(r)), err)
	}
	for max, truncated := range map[int]bool{1: true, 2: true, 4: true, 5: false, 6: false} {
		r, err := f.Grep(e.ctx, backend.GrepQuery{Text: "x", Max: max})
		if err != nil || r.Truncated != truncated || len(r.Matches) != min(max, 5) || r.Matches[0].Path != "/b-x" {
			e.Errorf("Grep with Max %d = %s, truncated %v, %v", max, lines(r), r.Truncated, err)
		}
	}
	_, err = f.Grep(e.ctx, backend.GrepQuery{Text: "x", Path: "/none.txt"})
	e.is("Grep in a missing path", err, fs.ErrNotExist)
	if _, err := f.Grep(e.ctx, backend.GrepQuery{Text: "x", Glob: "../**"}); err == nil {
		e.Error("a glob that leaves the root is accepted")
	}
}

func (e *env) fsIgnore() {
	f := e.fs(backend.Options{})
	e.putAll(map[string]string{
		"/.gitignore": "ig/\n*.log\n!keep.log\n/top\nsub/deep/*.tmp\n", "/ig/x": "k\n", "/a.log": "k\n", "/keep.log": "k\n", "/top": "k\n",
		"/sub/top": "k\n", "/sub/b.log": "k\n", "/sub/deep/t.tmp": "k\n", "/sub/deep/.gitignore": "!t.tmp\nhere\n", "/sub/deep/here": "k\n",
		"/sub/here": "k\n", "/dot/.ignore": "only\n", "/dot/only": "k\n", "/dot/.gitignore": "!only\n", "/.git/k": "k\n", "/ok": "k\n",
	})
	for _, c := range []struct {
		q    backend.GrepQuery
		want string
	}{
		{backend.GrepQuery{Text: "k"}, "/keep.log /ok /sub/deep/t.tmp /sub/here /sub/top"},
		{backend.GrepQuery{Text: "k", Path: "/ig"}, "/ig/x"},
		{backend.GrepQuery{Text: "k", Path: "/a.log"}, "/a.log"},
		{backend.GrepQuery{Text: "k", Path: "/sub"}, "/sub/deep/t.tmp /sub/here /sub/top"},
		{backend.GrepQuery{Text: "k", NoIgnore: true}, "/a.log /dot/only /ig/x /keep.log /ok /sub/b.log /sub/deep/here /sub/deep/t.tmp /sub/here /sub/top /top"},
	} {
		r, err := f.Grep(e.ctx, c.q)
		var got []string
		for _, m := range r.Matches {
			got = append(got, m.Path)
		}
		if err != nil || strings.Join(got, " ") != c.want {
			e.Errorf("Grep(%+v) = %s, %v, want %s", c.q, strings.Join(got, " "), err, c.want)
		}
	}
	if r, err := f.Grep(e.ctx, backend.GrepQuery{Text: "zzz"}); err != nil || r.Ignored != 6 {
		e.Errorf("ignored: %+v, %v, want 6", r, err)
	}
}

// fsLineNumbers checks that read and grep count lines alike.
func (e *env) fsLineNumbers() {
	f := e.fs(backend.Options{})
	for name, content := range map[string]string{
		"lf": "a\nKEY\n", "crlf": "a\r\nb\r\nKEY\r\n", "cr": "a\rb\rKEY", "odd": "a\fb\u2028c\x0b\n\u0085\nx\ry KEY\n",
		"cr then lf": "a\rb\rKEY\n", "far lf": strings.Repeat("a\r", 60_000) + "KEY\n", "far cr": strings.Repeat("a", 150_000) + "\rKEY\r",
	} {
		e.put("/n", content)
		r, err := f.Grep(e.ctx, backend.GrepQuery{Text: "KEY", Path: "/n"})
		if err != nil || len(r.Matches) != 1 {
			e.Errorf("%s: %s, %v", name, lines(r), err)
			continue
		}
		l, err := f.Read(e.ctx, "/n", backend.Window{Offset: r.Matches[0].Line - 1, Limit: 1})
		if err != nil || !strings.Contains(l.Text, "KEY") {
			e.Errorf("%s: grep says line %d, read has no KEY there (%v)", name, r.Matches[0].Line, err)
		}
	}
}

func (e *env) fsRules() {
	e.putAll(map[string]string{"/s/x": "k\n", "/s/.env": "k\n", "/p": "k\n", "/named/y": "k\n"})
	f := e.fs(backend.Options{Hooks: backend.Hooks{
		Rules: policy.PathRules{
			{Kinds: []policy.Kind{policy.Read}, Paths: []string{"/s/**"}, Decision: policy.Deny},
			{Kinds: []policy.Kind{policy.Read}, Paths: []string{"/named/**"}, Decision: policy.Deny, Listed: true},
		},
		Visible: func(i driver.Info) bool { return !strings.HasSuffix(i.Path, "/invisible") },
	}})
	e.put("/q/invisible", "k\n")
	for _, p := range []string{"/s/x", "/s/.env", "/named/y"} {
		_, err := f.Read(e.ctx, p, backend.Window{Limit: 1})
		e.is("Read "+p, err, policy.ErrDenied)
		_, err = f.Stat(e.ctx, p)
		e.is("Stat "+p, err, policy.ErrDenied)
		if _, err := f.Write(e.ctx, p, []byte("k\n"), backend.WriteOptions{}); err != nil {
			e.Errorf("Write %s: %v", p, err)
		}
	}
	_, err := f.List(e.ctx, "/s")
	e.is("List /s", err, policy.ErrDenied)
	l, err := f.List(e.ctx, "/")
	if err != nil || len(l.Entries) != 3 || l.Entries[0].Path != "/named" || l.Entries[1].Path != "/p" || l.Entries[2].Path != "/q" {
		e.Errorf("List / = %+v, %v", l, err)
	}
	g, err := f.Glob(e.ctx, backend.GlobQuery{Pattern: "*"})
	e.same("Glob *", g.Paths, []string{"/named/y", "/p"})
	if err != nil {
		e.Error(err)
	}
	r, err := f.Grep(e.ctx, backend.GrepQuery{Text: "k", Hidden: true})
	if err != nil || lines(r) != "/p:1:k" {
		e.Errorf("Grep = %s, %v", lines(r), err)
	}
	var m *backend.MatchError
	_, err = f.Edit(e.ctx, "/named/y", backend.Edit{Old: "kx", New: "z"})
	if !errors.As(err, &m) || m.Text != "" {
		e.Errorf("a failed edit shows text of a file that may not be read: %v", err)
	}
}
