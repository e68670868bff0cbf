package filesystem_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/deepagents-go/deepagents/middleware/filesystem"
	"github.com/deepagents-go/deepagents/tool"
)

// file-tools.md 5.8
func TestGrep(t *testing.T) {
	const (
		moreNote  = "\n\nNote: the search stopped early (it hit its time limit or the maximum match count). The matches above are valid, but there may be more: use a narrower path or glob, or a higher max_count."
		regexNote = "\n\nNote: grep matches literal text, not regex, so characters such as | and .* are looked for as they stand. Run one search for each alternative."
	)
	left := func(h, i, b, u string) string {
		return "\n\nNote: not searched: " + h + " hidden, " + i + " ignored, " + b + " binary, " + u + " unreadable (a skipped directory counts as one)."
	}
	grep := func(files map[string]string, want string, pairs ...any) row {
		a := args(t, pairs...)
		return row{name: a, files: files, tool: "grep", args: a, want: want}
	}
	named := func(name string, r row) row { r.name = name; return r }
	prefix := func(r row) row { r.prefix = true; return r }
	disk := func(r row) row { r.kinds = diskOnly; return r }
	with := func(o filesystem.Options, r row) row { r.o = o; r.name += " " + o.Compat; return r }
	one := func(name, content string) map[string]string { return map[string]string{name: content} }
	src := one("src/app/m.py", "k\n")
	three := threeLines
	runRows(t, []row{
		grep(three, "/a.txt", "pattern", "two"),
		grep(three, "/a.txt:\n  2: two", "pattern", "two", "output_mode", "content"),
		grep(three, "/a.txt: 2", "pattern", "t", "output_mode", "count"),
		grep(three, noMatch, "pattern", "zz"),
		grep(three, noMatch+regexNote, "pattern", "o|t"),
		grep(three, noMatch+regexNote, "pattern", "t.*o"),
		grep(three, noMatch+regexNote, "pattern", "t.+o"),
		grep(three, noMatch, "pattern", "foo("),
		grep(three, noMatch, "pattern", "[a]?^$"),
		grep(three, noMatch+regexNote, "pattern", `\d`),
		grep(three, noMatch, "pattern", `\n`),
		grep(three, noMatch, "pattern", `\t`),
		grep(three, noMatch, "pattern", `\`),
		grep(one("x", "a|b\n"), "/x", "pattern", "a|b"),
		grep(three, noMatch, "pattern", "TWO"),
		grep(map[string]string{"a.txt": "two\n", "b.txt": "two\n"}, "/a.txt", "pattern", "two", "path", "/a.txt"),
		grep(three, noMatch, "pattern", "zzz", "path", "/a.txt"),
		disk(grep(three, "[err] Error: Path '/nope' not found", "pattern", "two", "path", "/nope")),
		disk(with(compat, grep(three, noMatch, "pattern", "two", "path", "/nope"))),
		grep(three, noMatch, "pattern", "two", "path", "/", "glob", "*.md"),
		grep(src, "/src/app/m.py", "pattern", "k", "glob", "src/**/*.py"),
		grep(src, noMatch, "pattern", "k", "path", "/src", "glob", "src/**/*.py"),
		grep(src, noMatch, "pattern", "k", "glob", "/*.py"),
		grep(map[string]string{"a.ts": "k", "b.tsx": "k"}, "/a.ts\n/b.tsx", "pattern", "k", "glob", "*.{ts,tsx}"),
		grep(map[string]string{"b": "x\n", "a": "x\nx\n"}, "/a:\n  1: x\n  2: x\n/b:\n  1: x", "pattern", "x", "output_mode", "content"),
		grep(one("c", "x\r\n"), "/c:\n  1: x", "pattern", "x", "output_mode", "content"),
		grep(one("c", "a\rx\rb\r"), "/c:\n  2: x", "pattern", "x", "output_mode", "content"),
		grep(one("f", "m\nm\nm\n"), "/f: 3", "pattern", "m", "output_mode", "count", "max_count", 3),
		grep(one("f", "m\nm\nm\nm\n"), "/f: 3"+moreNote, "pattern", "m", "output_mode", "count", "max_count", 3),
		named("default cap", grep(one("f", strings.Repeat("m\n", 1001)), "/f"+moreNote, "pattern", "m")),
		named("exactly the default cap", grep(one("f", strings.Repeat("m\n", 1000)), "/f", "pattern", "m")),
		named("no cap", with(filesystem.Options{GrepMaxCount: -1}, grep(one("f", strings.Repeat("m\n", 5000)), "/f: 5000", "pattern", "m", "output_mode", "count"))),
		named("max_count 0", prefix(grep(one("f", "m\n"), "[err] max_count: must be greater than 0", "pattern", "m", "max_count", 0))),
		disk(grep(one("l -> l", ""), "[err] Error searching path '/l': too many levels of symbolic links", "pattern", "k", "path", "/l")),
		named("max_count null", grep(one("f", "m\n"), "/f", "pattern", "m", "max_count", nil)),
		named("unknown mode", grep(one("f", "m\n"), `[err] output_mode: must be one of "files_with_matches", "content", "count"`, "pattern", "m", "output_mode", "lines")),
		grep(one(".env", "k"), noMatch+left("1", "0", "0", "0"), "pattern", "k"),
		grep(one(".env", "k"), "/.env", "pattern", "k", "glob", ".env"),
		grep(one(".env", "k"), "/.env", "pattern", "k", "path", "/.env"),
		named("hidden wanted", with(filesystem.Options{GrepHidden: true}, grep(one(".env", "k"), "/.env", "pattern", "k"))),
		named("ignored", grep(map[string]string{".gitignore": "ig/\n", "ig/x": "k"}, noMatch+left("1", "1", "0", "0"), "pattern", "k")),
		named("ignored, named", grep(map[string]string{".gitignore": "ig/\n", "ig/x": "k"}, "/ig/x", "pattern", "k", "path", "/ig")),
		named("ignored, wanted", with(filesystem.Options{GrepNoIgnore: true}, grep(map[string]string{".gitignore": "ig/\n", "ig/x": "k"}, "/ig/x", "pattern", "k"))),
		named("binary", grep(one("bin", "\x00k"), noMatch+left("0", "0", "1", "0"), "pattern", "k")),
		named("binary, older form", with(compat, grep(one("bin", "\x00k"), noMatch, "pattern", "k"))),
		grep(one("lat", "k \xe9\n"), "/lat:\n  1: k \ufffd", "pattern", "k", "output_mode", "content"),
		grep(one("f", "run -e x\n"), "/f", "pattern", "-e"),
		grep(one("f", "a\nb\n"), noMatch, "pattern", "a\nb"),
		named("empty pattern", grep(map[string]string{"a": "x\n", "b": ""}, "/a", "pattern", "")),
		named("escaping path", disk(grep(one("etc -> /etc", ""), "[err] Error: Path '/etc' is outside the root directory", "pattern", "root", "path", "/etc"))),
		named("file and prefix", row{files: map[string]string{"s": "x", "s/b": "x"}, kinds: stateOnly, tool: "grep", args: `{"pattern":"x","path":"/s"}`, want: "/s"}),
		named("refused filter", grep(three, "[err] Error: Path traversal not allowed in glob pattern '../*'", "pattern", "k", "glob", "../*")),
		named("surrogate", row{tool: "grep", args: `{"pattern":"\udc00"}`, want: `[err] Error: the pattern holds an unpaired surrogate escape (\udc00)`}),
		named("names with colons", grep(map[string]string{"log:1:2.txt": "err:1:2\n", "new\nline": "err\n"}, "/log:1:2.txt:\n  1: err:1:2\n/new\nline:\n  1: err", "pattern", "err", "output_mode", "content")),
	})
}

func TestGrepBraceLimit(t *testing.T) {
	w := newWorld(t, onDisk, nil, defaults)
	got := w.call("grep", args(t, "pattern", "k", "glob", "{"+strings.Repeat("q,", 1001)+"q}"))
	if !strings.HasPrefix(got, "[err] ") || !strings.HasSuffix(got, "Pattern limit exceeded the limit of 1000") {
		t.Errorf("got %.100q", got)
	}
}

func TestGrepCap(t *testing.T) {
	const marker = "\n... [results truncated, try being more specific with your parameters]"
	w := newWorld(t, onDisk, map[string]string{"f": strings.Repeat(strings.Repeat("é", 98)+"m\n", 2000)}, defaults)
	got := w.call("grep", `{"pattern":"m","output_mode":"content"}`)
	body, note, found := strings.Cut(got, marker)
	if !found || len([]rune(body)) != 80000 || !strings.HasPrefix(note, "\n\nNote: the search stopped early (it hit its time limit or the maximum match count).") {
		t.Errorf("%d characters, marker %v, note %q", len([]rune(body)), found, note)
	}
}

// grep and read_file count lines alike.
func TestGrepAgreesWithRead(t *testing.T) {
	const content = "a\x0cb KEY\nc\u2028d\u0085 KEY\r\ne\rf KEY\nKEY"
	w := newWorld(t, onDisk, map[string]string{"f": content}, defaults)
	for _, line := range strings.Split(w.call("grep", `{"pattern":"KEY","output_mode":"content"}`), "\n")[1:] {
		n, text, _ := strings.Cut(strings.TrimSpace(line), ": ")
		i, err := strconv.Atoi(n)
		if err != nil {
			t.Fatalf("line %q", line)
		}
		got := w.call("read_file", args(t, "file_path", "/f", "offset", i-1, "limit", 1))
		if _, body, _ := strings.Cut(got, "@@\n"); body != text {
			t.Errorf("line %d: grep shows %q, read_file %q", i, text, body)
		}
	}
}

// A call that nobody validated is refused as well.
func TestGrepRefusesCount(t *testing.T) {
	w := newWorld(t, onDisk, nil, defaults)
	res, err := w.tool("grep").Call(w.ctx, tool.Call{Args: []byte(`{"pattern":"x","max_count":-2}`)})
	if got := textOf(res); err != nil || got != "[err] Error: max_count must be positive, got -2" {
		t.Errorf("%q %v", got, err)
	}
}
