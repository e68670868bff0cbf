// Package docs_test runs what the README and the pages of this directory show: every command, and every Go program.
package docs_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
)

// block is a fenced block of a page.
type block struct {
	lang, text string
	line       int
}

func blocks(t *testing.T, page string) []block {
	t.Helper()
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var out []block
	var cur *block
	for i, line := range strings.Split(string(raw), "\n") {
		switch {
		case cur == nil && strings.HasPrefix(line, "```"):
			cur = &block{lang: strings.TrimPrefix(line, "```"), line: i + 1}
		case cur != nil && line == "```":
			out = append(out, *cur)
			cur = nil
		case cur != nil:
			cur.text += line + "\n"
		}
	}
	return out
}

// build makes the binary once and returns the directory that holds it.
func build(t *testing.T, repo string) string {
	t.Helper()
	bin := t.TempDir()
	cmd := exec.Command("go", "build", "-o", filepath.Join(bin, "deepagents"), "./cmd/deepagents")
	cmd.Dir = repo
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return bin
}

// TestPages runs the `console` blocks of each page in one directory of their own: lines that begin with "$ " are commands, the
// lines below are their output. "…" stands for any text in a line, a line "..." for any lines. `go` blocks that are whole programs
// are run, too.
func TestPages(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the pages show POSIX shell commands")
	}
	repo, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	bin := build(t, repo)
	pages, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, "../README.md") {
		t.Run(strings.TrimSuffix(filepath.Base(page), ".md"), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			shareBuildCache(t, dir)
			env := []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + dir, "REPO=" + repo, "TMPDIR=" + t.TempDir()}
			for _, b := range blocks(t, page) {
				switch {
				case b.lang == "console":
					console(t, b, dir, env)
				case b.lang == "go" && strings.HasPrefix(b.text, "package main"):
					program(t, b, repo)
				}
			}
		})
	}
}

// shareBuildCache puts this machine's build cache where a home directory has it: the commands of an agent get no GOCACHE.
func shareBuildCache(t *testing.T, home string) {
	t.Helper()
	cache := filepath.Join(home, ".cache")
	if runtime.GOOS == "darwin" {
		cache = filepath.Join(home, "Library", "Caches")
	}
	if err := os.MkdirAll(cache, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(goEnv(t, "GOCACHE"), filepath.Join(cache, "go-build")); err != nil {
		t.Fatal(err)
	}
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// console runs the commands of a block and compares their output.
func console(t *testing.T, b block, dir string, env []string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(b.text, "\n"), "\n")
	for i := 0; i < len(lines); {
		cmd, ok := strings.CutPrefix(lines[i], "$ ")
		if !ok {
			t.Fatalf("line %d: a console block begins with a command", b.line+i+1)
		}
		at := b.line + i + 1
		i++
		for strings.HasSuffix(cmd, "\\") || heredoc(cmd) {
			cmd += "\n" + lines[i]
			i++
		}
		var want []string
		for i < len(lines) && !strings.HasPrefix(lines[i], "$ ") {
			want = append(want, lines[i])
			i++
		}
		got := shell(t, cmd, dir, env)
		if !matches(want, got) {
			t.Errorf("line %d: %s\nshows:\n%s\nprints:\n%s", at, cmd, strings.Join(want, "\n"), got)
		}
	}
}

var heredocStart = regexp.MustCompile(`<<'(\w+)'`)

// heredoc reports whether a command still waits for the end of its here document.
func heredoc(cmd string) bool {
	m := heredocStart.FindStringSubmatch(cmd)
	return m != nil && !strings.HasSuffix(cmd, "\n"+m[1])
}

func shell(t *testing.T, cmd, dir string, env []string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "sh", "-c", cmd)
	c.Dir, c.Env, c.WaitDelay = dir, env, time.Second
	out, err := c.CombinedOutput()
	if ctx.Err() != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

// matches compares lines with their pattern.
func matches(want []string, got string) bool {
	var re strings.Builder
	re.WriteString(`\A`)
	for i, w := range want {
		if w == "..." {
			re.WriteString(`(?:.*\n)*?`)
			continue
		}
		parts := strings.Split(w, "…")
		for k, p := range parts {
			parts[k] = regexp.QuoteMeta(p)
		}
		re.WriteString(strings.Join(parts, ".*"))
		if i < len(want)-1 {
			re.WriteString(`\n`)
		}
	}
	re.WriteString(`\n?\z`)
	return regexp.MustCompile(re.String()).MatchString(got + "\n")
}

// program runs a Go program of a page inside the module.
func program(t *testing.T, b block, repo string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(b.text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "run", file)
	cmd.Dir = repo
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the program at line %d: %v\n%s", b.line, err, out)
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		want []string
		got  string
		ok   bool
	}{
		{nil, "", true},
		{nil, "x", false},
		{[]string{"a", "b"}, "a\nb", true},
		{[]string{"a"}, "a\nb", false},
		{[]string{"a…z"}, "abcz", true},
		{[]string{"...", "z"}, "a\nb\nz", true},
		{[]string{"a", "..."}, "a\nb\nc", true},
		{[]string{"..."}, "", true},
		{[]string{"a.c"}, "abc", false},
	} {
		if got := matches(c.want, c.got); got != c.ok {
			t.Errorf("matches(%q, %q) = %v", c.want, c.got, got)
		}
	}
}
