package backend_test

import (
	"context"
	"errors"
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

// heedless is a driver that looks at no context: its root has no end, and its files yield neither bytes nor an error.
type heedless struct {
	driver.Driver
	cancel context.CancelFunc
}

func (d *heedless) List(_ context.Context, dir string, _ driver.ListOptions) iter.Seq2[driver.Info, error] {
	return func(yield func(driver.Info, error) bool) {
		for n := 0; yield(driver.Info{Path: driver.Join(dir, fmt.Sprintf("/f%d", n))}, nil); n++ {
			if n == 1000 {
				d.cancel()
			}
		}
	}
}

func (d *heedless) Open(_ context.Context, path string, _ driver.OpenOptions) (io.ReadCloser, driver.Info, error) {
	return io.NopCloser(stuck{}), driver.Info{Path: path, Resolved: path, Size: 5}, nil
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

// TestHeedlessDriver: a call ends with its context although the driver would go on for ever, and a file that yields nothing is
// unreadable.
func TestHeedlessDriver(t *testing.T) {
	for name, call := range map[string]func(ctx context.Context, f *backend.FS) error{
		"list": func(ctx context.Context, f *backend.FS) error { _, err := f.List(ctx, "/"); return err },
		"grep": func(ctx context.Context, f *backend.FS) error {
			_, err := f.Grep(ctx, backend.GrepQuery{Text: "x", Path: "/"})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			f, err := backend.New(&heedless{driver.FromFS(fstest.MapFS{}), cancel}, backend.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := call(ctx, f); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
	f, err := backend.New(&heedless{Driver: driver.FromFS(fstest.MapFS{"f": {Data: []byte("x")}})}, backend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Grep(t.Context(), backend.GrepQuery{Text: "x", Path: "/f"}); !errors.Is(err, io.ErrNoProgress) {
		t.Error(err)
	}
}
