package backend_test

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/deepagents-go/deepagents/backend"
)

// TestAgainstRipgrep compares searches of random trees with those of ripgrep, whose rules for hidden, ignored and binary files ours are.
func TestAgainstRipgrep(t *testing.T) {
	rg, err := exec.LookPath("rg")
	if err != nil {
		t.Skip("ripgrep is not installed: the comparison is left out")
	}
	r := rand.New(rand.NewPCG(3, 4))
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	name := func() string { return pick("a", "b", ".h", "src", "x.log", "y.go", "a b", "[z]", "é") }
	for range 25 {
		root := t.TempDir()
		seen := map[string]bool{} // of names that are files or directories
		for range 60 {
			dir := ""
			for range r.IntN(4) {
				dir += "d" + name() + "/"
			}
			if p := dir + "f" + name(); !seen[p] {
				seen[p] = true
				put(t, root, p, content(r))
			}
			if r.IntN(8) == 0 {
				var sb strings.Builder
				for range 1 + r.IntN(3) {
					sb.WriteString(pick("", "", "!") + pick("*.log", "/fa", "da/", "f?", "**/fb", "dsrc/**", "fy.*", "d*/fa", "f[!a]") + "\n")
				}
				put(t, root, dir+pick(".gitignore", ".ignore"), sb.String())
			}
		}
		f := open(t, root, backend.Options{})
		for _, text := range []string{"key", "value one", "e"} {
			g, err := f.Grep(t.Context(), backend.GrepQuery{Text: text})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range g.Matches {
				got = append(got, fmt.Sprintf("%s:%d", m.Path, m.Line))
			}
			if want := ripgrep(t, rg, root, text); !slices.Equal(got, want) {
				t.Errorf("searching %q:\n got %q\nwant %q", text, got, want)
			}
		}
	}
}

// content is a small file of some kind.
func content(r *rand.Rand) string {
	var sb strings.Builder
	for range r.IntN(6) {
		line := []string{"key", "a value one", "nothing", "", "key value one \xff"}[r.IntN(5)]
		sb.WriteString(line + []string{"\n", "\r\n"}[r.IntN(2)])
	}
	switch r.IntN(10) {
	case 0:
		return "\x00" + sb.String()
	case 1:
		return sb.String() + "key without an end"
	}
	return sb.String()
}

func ripgrep(t *testing.T, rg, root, text string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), rg, "-nF0", "--no-heading", "--no-require-git", "--no-config", "--no-ignore-global", "--no-ignore-parent", "--encoding", "none", "--sort", "path", text, ".")
	cmd.Dir = root
	out, _ := cmd.Output() // 1 says that nothing matched
	var l []string
	for line := range strings.SplitSeq(string(out), "\n") {
		if p, rest, ok := strings.Cut(line, "\x00"); ok {
			n, _, _ := strings.Cut(rest, ":")
			l = append(l, strings.TrimPrefix(p, ".")+":"+n)
		}
	}
	slices.SortStableFunc(l, func(a, b string) int {
		x, _, _ := strings.Cut(a, ":")
		y, _, _ := strings.Cut(b, ":")
		return strings.Compare(x, y)
	})
	return l
}
