package host_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"

	"github.com/deepagents-go/deepagents/backend/driver"
)

// dirDriver is just enough of a driver on a directory.
type dirDriver struct{ dir string }

func (d *dirDriver) name(path string) string { return filepath.Join(d.dir, filepath.FromSlash(path)) }

func (d *dirDriver) Stat(_ context.Context, path string) (driver.Info, error) {
	_, err := os.Stat(d.name(path))
	return driver.Info{Path: path}, driver.Wrap("stat", path, err)
}

func (d *dirDriver) List(context.Context, string, driver.ListOptions) iter.Seq2[driver.Info, error] {
	return func(func(driver.Info, error) bool) {}
}

func (d *dirDriver) Open(_ context.Context, path string, _ driver.OpenOptions) (io.ReadCloser, driver.Info, error) {
	f, err := os.Open(d.name(path))
	return f, driver.Info{Path: path}, driver.Wrap("open", path, err)
}

func (d *dirDriver) Write(_ context.Context, path string, src io.Reader, _ driver.WriteOptions) (driver.Info, error) {
	f, err := os.Create(d.name(path))
	if err != nil {
		return driver.Info{}, err
	}
	_, err = io.Copy(f, src)
	return driver.Info{Path: path}, errors.Join(err, f.Close())
}

func (d *dirDriver) Remove(_ context.Context, path string, _ driver.RemoveOptions) error {
	return os.Remove(d.name(path))
}

// Locate and WorkDir make it a driver.Located.
func (d *dirDriver) Locate(path string) (string, bool) { return d.name(path), true }

func (d *dirDriver) WorkDir() string { return "/" }

// plainDriver has no directory on this machine.
type plainDriver struct{ driver.Driver }

// routed is a driver made of others.
type routed struct {
	driver.Driver
	main, other driver.Driver
}

func (r *routed) Route(path string) driver.Mount {
	if path == "/m" || len(path) > 3 && path[:3] == "/m/" {
		return driver.Mount{Prefix: "/m", Driver: r.other}
	}
	return driver.Mount{Prefix: "/", Driver: r.main}
}

func (r *routed) Mounts(string) []driver.Mount {
	return []driver.Mount{{Prefix: "/", Driver: r.main}, {Prefix: "/m", Driver: r.other}}
}
