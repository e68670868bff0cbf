package main

import (
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/deepagents-go/deepagents/backend/backendtest"
)

// TestConformance certifies the backend.
func TestConformance(t *testing.T) {
	want := map[string]string{}
	err := fs.WalkDir(os.DirFS("handbook"), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile("handbook/" + path)
		want["/"+path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	backendtest.ReadOnly(t, &Files{files: handbook, root: "handbook"}, want)
}

// TestShort: a backend is short.
func TestShort(t *testing.T) {
	b, err := os.ReadFile("files.go")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(b), "\n)\n") // after the imports
	if n := strings.Count(code, "\n"); n >= 60 {
		t.Errorf("files.go has %d lines, want fewer than 60", n)
	}
}

func Example() {
	main()
	// Output: The storage team changes who is on call on Mondays. Nothing can be written here.
}
