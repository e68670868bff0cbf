package glob_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/deepagents-go/deepagents/internal/glob"
)

func TestMatcher(t *testing.T) {
	for _, c := range []struct {
		pattern string
		yes, no string // paths, separated by blanks
	}{
		{"*.py", "a.py x/a.py .h/a.py", ".a.py a.pyc x/.a.py"},
		{"**/*.py", "a.py x/y/a.py", ".h/a.py x/.a.py"},
		{"/*.py", "a.py", "x/a.py"},
		{"**", "a x/a .h/a", ".a"},
		{"**/*", "a x/a", ".h/a x/.a"},
		{"/**", "a x/a", ".h/a"},
		{"a/**", "a/b a/b/c", "a a/.b a/.b/c b/a"},
		{"a/**/b", "a/b a/x/b a/x/y/b", "a/.x/b a/b/c"},
		{"a/**/**/b", "a/b a/x/b", "ab"},
		{"**/.x/**/y", ".x/y a/.x/y a/.x/b/y", "a/x/y .x/.z/y"},
		{"a**b", "ab axb a**b x/axxb", "a/b"},
		{"[.]env", "", ".env"},
		{`\.env`, ".env", "env"},
		{".[a-e]nv", ".env", ".xnv"},
		{"?env", "xenv éenv", ".env"},
		{"[a-c]x", "ax bx", "dx -x"},
		{"[!a-c]x", "dx", "ax .x"},
		{"[]a]x", "]x ax", "bx"},
		{"[a-]x", "ax -x", "bx"},
		{`[\]]x`, "]x", `\x`},
		{"[[:digit:]]", "1", "a"},
		{"[[:nope:]]", "", "a :"},
		{"{a}", "{a}", "a"},
		{"{a,b}{1..2}", "a1 a2 b1 b2", "a3 a"},
		{"{a,{b,c}}", "a b c", "{b c}"},
		{"{01..03}", "01 03", "1"},
		{"{3..1..2}", "3 1", "2"},
		{"{a..c}", "a b c", "d"},
		{"{,x}y", "y xy", "x"},
		{`\{a,b}`, "{a,b}", "a"},
		{"a}", "a}", "a"},
		{"{a,b", "", "a {a,b"},
		{"@(a)", "@(a)", "a"},
		{"a|b", "a|b", "a b"},
		{"!a", "!a", "a b"},
		{"x//y", "x/y", "x"},
		{"x/", "", "x x/y"},
		{"./a", "", "a"},
		{`a\`, "", `a a\`},
		{"*a*a*a*b", "xaaab aXaYab", "aaac"},
		{"é?", "éé", "é"},
		{"\xff*", "\xffab", "\xfeab"},
	} {
		m, err := glob.Compile(c.pattern)
		if err != nil {
			t.Errorf("Compile(%q): %v", c.pattern, err)
			continue
		}
		for p := range strings.FieldsSeq(c.yes) {
			if !m.Match(p) {
				t.Errorf("%q does not match %q", c.pattern, p)
			}
			for i := range len(p) {
				if p[i] == '/' && !m.Below(p[:i]) {
					t.Errorf("%q matches %q and claims nothing below %q", c.pattern, p, p[:i])
				}
			}
		}
		for p := range strings.FieldsSeq(c.no) {
			if m.Match(p) {
				t.Errorf("%q matches %q", c.pattern, p)
			}
		}
	}
}

func TestRefused(t *testing.T) {
	for _, p := range []string{"..", "../a", "a/../b", "{..,a}/b", "{1..1001}", "{0..9}{0..9}{0..9}{0..9}", "{1..9223372036854775807}", strings.Repeat("{", 40_000)} {
		_, err := glob.Compile(p)
		var pe *glob.PatternError
		if !errors.As(err, &pe) || pe.Pattern != p || !errors.Is(err, glob.ErrPattern) {
			t.Errorf("Compile(%.20q): %v", p, err)
		}
	}
	for _, p := range []string{"{1..1000}", "..a", "a..b", strings.Repeat("{a,b}", 9), strings.Repeat("{", 3000)} {
		if _, err := glob.Compile(p); err != nil {
			t.Errorf("Compile(%.20q): %v", p, err)
		}
	}
}

func TestBelow(t *testing.T) {
	for _, c := range []struct {
		pattern, dir string
		want         bool
	}{
		{"src/*.go", "src", true},
		{"src/*.go", "src/x", false},
		{"src/*.go", "doc", false},
		{"**/x", "a/b", true},
		{"**/x", ".a", false},
		{".a/**", ".a", true},
		{"*.go", ".a", true},
		{"a/b/c", "a/b", true},
		{"a/b/c", "a/b/c", false},
		{"", "a", false},
	} {
		m, err := glob.Compile(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Below(c.dir); got != c.want {
			t.Errorf("Below(%q, %q) = %v", c.pattern, c.dir, got)
		}
	}
}

// FuzzMatcher checks that patterns end, and that a match is announced by the directories above it.
func FuzzMatcher(f *testing.F) {
	for _, s := range [][2]string{{"**/*.{py,md}", "a/b.py"}, {"[!a-\\]]*", "x"}, {"{1..3}/**", "1/2"}, {"*a*a*a*a*b", "aaaaaaaaaaaaaa"}, {"[[:alpha:]-z]", "-"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, pattern, path string) {
		m, err := glob.Compile(pattern)
		if err != nil {
			return
		}
		path = strings.Trim(path, "/")
		if path == "" || !m.Match(path) {
			return
		}
		for i := range len(path) {
			if path[i] == '/' && !m.Below(path[:i]) {
				t.Errorf("%q matches %q and claims nothing below %q", pattern, path, path[:i])
			}
		}
	})
}
