package ignore_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deepagents-go/deepagents/internal/ignore"
)

// tree is a set of ignore files by directory ("" is the top) and the paths to ask about; a path with a final slash is a directory.
type tree struct {
	files map[string]string
	paths []string
}

// ours tells what the chain of files leaves out, entering directories from the top as a walker does.
func (tr tree) ours() []string {
	var out []string
	for _, p := range tr.paths {
		if tr.ignored(p) {
			out = append(out, p)
		}
	}
	return out
}

func (tr tree) ignored(p string) bool {
	var c *ignore.Chain
	dir := strings.HasSuffix(p, "/")
	parts := strings.Split(strings.TrimSuffix(p, "/"), "/")
	for i := range parts {
		here := strings.Join(parts[:i], "/")
		if s, ok := tr.files[here]; ok {
			c = c.Push(here, ignore.Parse([]byte(s)), nil)
		}
		if c.Ignored(strings.Join(parts[:i+1], "/"), dir || i < len(parts)-1) {
			return true
		}
	}
	return false
}

// git asks git check-ignore.
func (tr tree) git(t *testing.T) []string {
	t.Helper()
	root := t.TempDir()
	run := func(in string, args ...string) []byte {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
		cmd.Stdin = strings.NewReader(in)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.Output()
		var exit *exec.ExitError
		if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
			t.Fatalf("git %v: %v %s", args, err, errs.String())
		}
		return out
	}
	run("", "init", "-q")
	for _, p := range tr.paths {
		full := filepath.Join(root, p)
		if strings.HasSuffix(p, "/") {
			mkdir(t, full)
			continue
		}
		mkdir(t, filepath.Dir(full))
		if err := os.WriteFile(full, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for dir, s := range tr.files {
		mkdir(t, filepath.Join(root, dir))
		if err := os.WriteFile(filepath.Join(root, dir, ".gitignore"), []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var in strings.Builder
	for _, p := range tr.paths {
		in.WriteString(strings.TrimSuffix(p, "/") + "\x00")
	}
	var out []string
	said := map[string]bool{}
	for p := range strings.SplitSeq(string(run(in.String(), "check-ignore", "-z", "--stdin")), "\x00") {
		said[p] = true
	}
	for _, p := range tr.paths {
		if said[strings.TrimSuffix(p, "/")] {
			out = append(out, p)
		}
	}
	return out
}

func mkdir(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
}

func needGit(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed: the comparison with check-ignore is left out")
	}
}

func TestPatterns(t *testing.T) {
	paths := []string{
		"a", "b", "a.log", "x/a.log", "x/y/a.log", "foo/", "foo/bar", "foo/bar2/baz", "x/foo/", "x/foo/bar", "x/foobar", "build/", "build/out",
		"src/build", "doc/a.txt", "doc/sub/a.txt", "doc/sub/deep/a.txt", "#hash", "!bang", "sp ace", "trail ", "back\\slash", "[x]", "x/[x]",
		".hidden", ".h/f", "dir.d/f", "dir.d/g/h", "é", "1", "12", "a-b", "]", "a]b", "ab", "ac", "aZ", "A.LOG", "abc/def/ghi", "abc/ghi",
	}
	for name, c := range map[string]struct {
		text string
		want string
	}{
		"name":            {"a.log", "a.log x/a.log x/y/a.log"},
		"suffix":          {"*.log", "a.log x/a.log x/y/a.log"},
		"anchored":        {"/a.log", "a.log"},
		"middle slash":    {"doc/*.txt", "doc/a.txt"},
		"directory":       {"foo/", "foo/ foo/bar foo/bar2/baz x/foo/ x/foo/bar"},
		"dir only file":   {"build/", "build/ build/out"},
		"inside":          {"foo/**", "foo/bar foo/bar2/baz"},
		"any depth":       {"**/bar", "foo/bar x/foo/bar"},
		"middle stars":    {"abc/**/ghi", "abc/def/ghi abc/ghi"},
		"doc stars":       {"doc/**/a.txt", "doc/a.txt doc/sub/a.txt doc/sub/deep/a.txt"},
		"negated":         {"*.log\n!/a.log", "x/a.log x/y/a.log"},
		"last wins":       {"!a\na", "a"},
		"under excluded":  {"foo/\n!foo/bar", "foo/ foo/bar foo/bar2/baz x/foo/ x/foo/bar"},
		"comment":         {"#hash", ""},
		"escaped comment": {`\#hash`, "#hash"},
		"escaped bang":    {`\!bang`, "!bang"},
		"spaces":          {"sp ace  \ntrail\\ ", "sp ace trail "},
		"trailing":        {"trail ", ""},
		"backslash":       {`back\\slash`, `back\slash`},
		"set":             {`[[]x]`, "[x] x/[x]"},
		"ranges":          {"a[a-b]", "ab"},
		"not set":         {"a[!b]", "ac aZ"},
		"class":           {"a[[:upper:]]", "aZ"},
		"bracket first":   {"[]]", "]"},
		"unclosed":        {"[ab", ""},
		"one":             {"?", "git"},
		"crlf":            {"a.log\r\nb\r\n", "b a.log x/a.log x/y/a.log"},
		"bom":             {"\xef\xbb\xbfb", "b"},
		"all":             {"/*\n!/foo", "git"},
		"slash":           {"/", ""},
		"empty":           {"\n\n  \n", ""},
		"star dir":        {"*/", "git"},
		"dots":            {".*", ".hidden .h/f"},
		"double in name":  {"f**r", "git"},
		"end slash stars": {"dir.d/**/", "dir.d/g/h"},
	} {
		t.Run(name, func(t *testing.T) {
			tr := tree{files: map[string]string{"": c.text}, paths: paths}
			got := tr.ours()
			if c.want != "git" { // else only git says what is right
				var want []string
				for _, p := range paths {
					if slices.Contains(splitWant(c.want, paths), p) {
						want = append(want, p)
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("%q leaves out %q, want %q", c.text, got, want)
				}
			}
			needGit(t)
			if want := tr.git(t); !slices.Equal(got, want) {
				t.Errorf("%q leaves out %q, git %q", c.text, got, want)
			}
		})
	}
}

// splitWant finds the paths that a text of paths, which may hold spaces, names.
func splitWant(s string, paths []string) []string {
	byLength := slices.Clone(paths)
	slices.SortFunc(byLength, func(a, b string) int { return len(b) - len(a) })
	s = " " + s + " "
	var out []string
	for _, p := range byLength {
		if i := strings.Index(s, " "+p+" "); i >= 0 {
			out = append(out, p)
			s = s[:i+1] + s[i+1+len(p):]
		}
	}
	return out
}

func TestNested(t *testing.T) {
	tr := tree{
		files: map[string]string{"": "*.tmp\n/top\n", "sub": "!keep.tmp\nlocal\n/anchored\n", "sub/deep": "*\n!*.go\n", "other": "x/y\n"},
		paths: []string{
			"a.tmp", "top", "sub/top", "sub/keep.tmp", "sub/a.tmp", "sub/local", "sub/x/local", "sub/anchored", "sub/x/anchored",
			"sub/deep/a.go", "sub/deep/a.txt", "sub/deep/d/a.go", "other/x/y", "other/z/x/y", "x/y",
		},
	}
	want := []string{"a.tmp", "top", "sub/a.tmp", "sub/local", "sub/x/local", "sub/anchored", "sub/deep/a.txt", "sub/deep/d/a.go", "other/x/y"}
	if got := tr.ours(); !slices.Equal(got, want) {
		t.Errorf("left out %q, want %q", got, want)
	}
	needGit(t)
	if got := tr.git(t); !slices.Equal(got, want) {
		t.Errorf("git leaves out %q, want %q", got, want)
	}
}

// TestDotIgnore checks that .ignore files win over .gitignore files of any directory.
func TestDotIgnore(t *testing.T) {
	var c *ignore.Chain
	c = c.Push("", ignore.Parse([]byte("a\n")), ignore.Parse([]byte("b\n!c\n")))
	c = c.Push("d", ignore.Parse([]byte("!b\nc\n")), nil)
	for p, want := range map[string]bool{"d/a": true, "d/b": true, "d/c": false, "d/e": false} {
		if got := c.Ignored(p, false); got != want {
			t.Errorf("Ignored(%s) = %v", p, got)
		}
	}
}

// TestRandomAgainstGit compares random ignore files with git.
func TestRandomAgainstGit(t *testing.T) {
	needGit(t)
	r := rand.New(rand.NewPCG(1, 2))
	names := []string{"a", "b", "ab", "a.b", ".a", "abc"}
	pieces := []string{"a", "b", "c", "*", "?", "**", "/", "/", ".", "[ab]", "[!a]", "\\a", "a*", "*b"}
	for range 40 {
		var tr tree
		tr.files = map[string]string{}
		for _, dir := range []string{"", "a", "a/b", "b"} {
			if dir != "" && r.IntN(2) == 0 {
				continue
			}
			var sb strings.Builder
			for range 1 + r.IntN(4) {
				if r.IntN(4) == 0 {
					sb.WriteByte('!')
				}
				for range 1 + r.IntN(4) {
					sb.WriteString(pieces[r.IntN(len(pieces))])
				}
				sb.WriteByte('\n')
			}
			tr.files[dir] = sb.String()
		}
		for _, d := range []string{"", "a/", "b/", "a/b/", "a/b/abc/", "ab/.a/"} {
			for _, n := range names {
				if p := d + n; !slices.Contains([]string{"a", "b", "ab", "a/b", "a/b/abc", "ab/.a"}, p) {
					tr.paths = append(tr.paths, p)
				} else {
					tr.paths = append(tr.paths, p+"/")
				}
			}
		}
		got, want := tr.ours(), tr.git(t)
		if !slices.Equal(got, want) {
			for _, p := range tr.paths {
				if slices.Contains(got, p) != slices.Contains(want, p) {
					t.Errorf("%s: we say %v, git %v; files %s", p, slices.Contains(got, p), slices.Contains(want, p), fmt.Sprintf("%q", tr.files))
					break
				}
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"*.log\n!a/**/b\n", "[a-\n\\", "**/**/**", "!", "a b \\ \n", "[[:alpha:]]\r\n"} {
		f.Add(s, "a/b/c.log")
	}
	f.Fuzz(func(_ *testing.T, text, path string) {
		var c *ignore.Chain
		c = c.Push("", ignore.Parse([]byte(text)), ignore.Parse([]byte(text)))
		c.Ignored(strings.Trim(path, "/"), false)
		c.Ignored(strings.Trim(path, "/"), true)
	})
}
