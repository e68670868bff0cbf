package composite_test

import (
	"fmt"
	"testing"

	"github.com/deepagents-go/deepagents/backend"
	"github.com/deepagents-go/deepagents/backend/driver"
)

// BenchmarkTree compares a directory of the host alone with the same one under a composite with two empty routes.
func BenchmarkTree(b *testing.B) {
	d := newDisk(b, b.TempDir())
	for i := range 2000 {
		fill(b.Context(), b, d, fmt.Sprintf("/d%02d/f%03d.go", i%20, i), "package p\n")
	}
	for name, x := range map[string]driver.Driver{"disk": d, "composite": mustNew(b, d, routes{"/mem": newKV(b), "/d00/in": newKV(b)})} {
		f := newFS(b, x, backend.Options{})
		b.Run("grep/"+name, func(b *testing.B) {
			for b.Loop() {
				if _, err := f.Grep(b.Context(), backend.GrepQuery{Text: "absent"}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("glob/"+name, func(b *testing.B) {
			for b.Loop() {
				if _, err := f.Glob(b.Context(), backend.GlobQuery{Pattern: "**/*.go"}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("read/"+name, func(b *testing.B) {
			for b.Loop() {
				if _, err := f.Read(b.Context(), "/d01/f001.go", backend.Window{Limit: 10}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("ls/"+name, func(b *testing.B) {
			for b.Loop() {
				if _, err := f.List(b.Context(), "/d01"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
