package main

import (
	"context"
	"embed"
	"io"
	"io/fs"
	"iter"
	"path"

	"github.com/deepagents-go/deepagents/backend/driver"
)

// Files is a read-only backend on a directory of an embedded file system. Line windows, globs, searches and rules are built on it.
type Files struct {
	driver.ReadOnly
	files embed.FS
	root  string
}

// Stat describes a path.
func (f *Files) Stat(ctx context.Context, p string) (driver.Info, error) {
	fi, err := fs.Stat(f.files, path.Join(f.root, p))
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return driver.Info{}, driver.Wrap("stat", p, err)
	}
	i := driver.Info{Path: p, Resolved: p, Mode: fi.Mode(), Kind: driver.Dir}
	if !fi.IsDir() {
		i.Kind, i.Size = driver.Regular, fi.Size()
	}
	return i, nil
}

// List yields the entries of a directory; fs.ReadDir sorts them.
func (f *Files) List(ctx context.Context, dir string, _ driver.ListOptions) iter.Seq2[driver.Info, error] {
	return func(yield func(driver.Info, error) bool) {
		var entries []fs.DirEntry
		i, err := f.Stat(ctx, dir)
		if err == nil && i.Kind != driver.Dir {
			err = driver.ErrNotDir
		} else if err == nil {
			entries, err = fs.ReadDir(f.files, path.Join(f.root, dir))
		}
		if err != nil {
			yield(driver.Info{}, driver.Wrap("list", dir, err))
		}
		for _, e := range entries {
			if !yield(f.Stat(ctx, path.Join(dir, e.Name()))) {
				return
			}
		}
	}
}

// Open opens a file. driver.Opened applies what the options ask for, guards included.
func (f *Files) Open(ctx context.Context, p string, o driver.OpenOptions) (io.ReadCloser, driver.Info, error) {
	i, err := f.Stat(ctx, p)
	if err != nil {
		return nil, i, err
	}
	r, err := f.files.Open(path.Join(f.root, p))
	if err != nil {
		return nil, i, driver.Wrap("open", p, err)
	}
	return driver.Opened(r, i, o)
}
