package backend_test

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deepagents-go/deepagents/backend"
)

// bigText is about 48 MB in 600,000 lines.
func bigText() string {
	var sb strings.Builder
	for i := range 600_000 {
		fmt.Fprintf(&sb, "%08d the quick brown fox jumps over the lazy dog, again and again and again\n", i)
	}
	return sb.String()
}

func BenchmarkReadDeep(b *testing.B) {
	root := b.TempDir()
	put(b, root, "big", bigText())
	w := backend.Window{Offset: 550_000, Limit: 100, MaxBytes: 400_000}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			f := open(b, root, backend.Options{})
			if _, err := f.Read(b.Context(), "/big", w); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("again", func(b *testing.B) {
		f := open(b, root, backend.Options{})
		time.Sleep(50 * time.Millisecond) // until the version of the file proves its content
		for b.Loop() {
			if _, err := f.Read(b.Context(), "/big", w); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkEdit(b *testing.B) {
	for _, size := range []int{1 << 10, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			root := b.TempDir()
			put(b, root, "f", strings.Repeat("line of text\n", size/13)+"KEY 0\n")
			f := open(b, root, backend.Options{})
			for i := 0; b.Loop(); i++ {
				if _, err := f.Edit(b.Context(), "/f", backend.Edit{Old: fmt.Sprintf("KEY %d\n", i), New: fmt.Sprintf("KEY %d\n", i+1)}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// tree makes 10,000 files of a few KiB in 500 directories; one in a hundred holds the needle.
func tree(b *testing.B) string {
	b.Helper()
	root := b.TempDir()
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 10_000 {
		var sb strings.Builder
		for range 20 + r.IntN(150) {
			fmt.Fprintf(&sb, "func f%d(a, b int) int { return a*%d + b } // %s\n", r.IntN(1000), r.IntN(1000), strings.Repeat("x", r.IntN(30)))
		}
		if i%100 == 0 {
			sb.WriteString("here is the needle\n")
		}
		put(b, root, fmt.Sprintf("d%02d/e%02d/file%05d.go", i%20, i/20%25, i), sb.String())
	}
	return root
}

// BenchmarkGrep also runs rg and grep, when they are installed, and reports how many times their time ours is.
func BenchmarkGrep(b *testing.B) {
	root := tree(b)
	f := open(b, root, backend.Options{})
	for _, text := range []string{"needle", "return a*500", "absent text"} {
		b.Run(strings.ReplaceAll(text, " ", "-"), func(b *testing.B) {
			for b.Loop() {
				if _, err := f.Grep(b.Context(), backend.GrepQuery{Text: text}); err != nil {
					b.Fatal(err)
				}
			}
			ours := float64(b.Elapsed()) / float64(b.N)
			for name, args := range map[string][]string{"rg": {"-nF", "--no-heading", text, root}, "grep": {"-rnF", text, root}} {
				if _, err := exec.LookPath(name); err == nil {
					b.ReportMetric(ours/float64(fastest(b, name, args)), "x-"+name)
				}
			}
		})
	}
}

// fastest is the best of some runs of a command.
func fastest(b *testing.B, name string, args []string) time.Duration {
	b.Helper()
	best := time.Hour
	for range 5 {
		start := time.Now()
		_ = exec.CommandContext(b.Context(), name, args...).Run() // 1 says that nothing matched
		best = min(best, time.Since(start))
	}
	return best
}

func BenchmarkGlob(b *testing.B) {
	root := tree(b)
	f := open(b, root, backend.Options{})
	for b.Loop() {
		if r, err := f.Glob(b.Context(), backend.GlobQuery{Pattern: "**/file000*.go"}); err != nil || len(r.Paths) != 100 {
			b.Fatal(len(r.Paths), err)
		}
	}
}

func BenchmarkList(b *testing.B) {
	root := b.TempDir()
	for i := range 5000 {
		put(b, root, filepath.Join("d", fmt.Sprint(i)), "")
	}
	f := open(b, root, backend.Options{})
	for b.Loop() {
		if l, err := f.List(b.Context(), "/d"); err != nil || len(l.Entries) != 5000 {
			b.Fatal(len(l.Entries), err)
		}
	}
}
