package backend_test

import (
	"context"
	"fmt"
	"io"
	"iter"
	"testing"
	"testing/fstest"

	"github.com/deepagents-go/deepagents/backend"
	"github.com/deepagents-go/deepagents/backend/driver"
)

// panicking is a driver that panics in List of a directory or in Open of a file.
type panicking struct {
	driver.Driver
	path string
}

func (d *panicking) List(ctx context.Context, dir string, o driver.ListOptions) iter.Seq2[driver.Info, error] {
	if dir == d.path {
		panic("list " + dir)
	}
	return d.Driver.List(ctx, dir, o)
}

func (d *panicking) Open(ctx context.Context, path string, o driver.OpenOptions) (io.ReadCloser, driver.Info, error) {
	if path == d.path {
		panic("open " + path)
	}
	return d.Driver.Open(ctx, path, o)
}

// TestGrepPanic: a panic of a driver reaches the caller, who can recover it, and not a goroutine of the search, which ends the program.
func TestGrepPanic(t *testing.T) {
	files := fstest.MapFS{}
	for i := range 500 {
		files[fmt.Sprintf("d%d/f%d", i%7, i)] = &fstest.MapFile{Data: []byte("needle\n")}
	}
	for path, want := range map[string]string{"/": "list /", "/d3": "list /d3", "/d0/f0": "open /d0/f0", "/d6/f496": "open /d6/f496"} {
		t.Run(path, func(t *testing.T) {
			f, err := backend.New(&panicking{driver.FromFS(files), path}, backend.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if v := recover(); v != want {
					t.Errorf("recovered %v, want %q", v, want)
				}
			}()
			r, err := f.Grep(t.Context(), backend.GrepQuery{Text: "needle", Path: "/"})
			t.Errorf("%d matches, %v", len(r.Matches), err)
		})
	}
}
