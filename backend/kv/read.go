package kv

import (
	"context"
	"io"
	"io/fs"
	"iter"
	"slices"
	"strings"

	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/store"
)

// Stat describes a file, or a directory that longer paths imply.
func (d *FS) Stat(ctx context.Context, p string) (driver.Info, error) {
	i, err := d.stat(ctx, p)
	return i, driver.Wrap("stat", p, err)
}

func (d *FS) stat(ctx context.Context, p string) (driver.Info, error) {
	a, err := d.area(ctx)
	if err != nil {
		return driver.Info{}, err
	}
	if p == "/" {
		return dirInfo(p), nil
	}
	f, ok, err := a.get(ctx, p, store.GetOptions{KeepTTL: true})
	switch {
	case err != nil:
		return driver.Info{}, err
	case ok:
		return f.info(p), nil
	}
	dir, err := a.isDir(ctx, p)
	switch {
	case err != nil:
		return driver.Info{}, err
	case dir:
		return dirInfo(p), nil
	}
	return driver.Info{}, fs.ErrNotExist
}

// isDir reports whether the path of a file implies the directory.
func (a area) isDir(ctx context.Context, p string) (bool, error) {
	for f, err := range a.files(ctx, p) {
		return f.Path != "", err
	}
	return false, nil
}

// entry is a file with its path.
type entry struct {
	driver.Info
	file
}

// files yields the files below a directory, sorted by path.
func (a area) files(ctx context.Context, dir string) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		for i, err := range a.items(ctx, strings.TrimSuffix(dir, "/")+"/") {
			if err != nil {
				yield(entry{}, err)
				return
			}
			f := decode(i)
			if f.listed && !yield(entry{f.info(i.Key), f}, nil) {
				return
			}
		}
	}
}

// List yields what is directly below a directory. There are no directories of their own, so a path that implies none, missing or
// a file, yields nothing. A name that is both a file and a directory is yielded twice.
func (d *FS) List(ctx context.Context, dir string, _ driver.ListOptions) iter.Seq2[driver.Info, error] {
	return func(yield func(driver.Info, error) bool) {
		list, err := d.list(ctx, dir)
		if err != nil {
			yield(driver.Info{}, driver.Wrap("list", dir, err))
			return
		}
		for _, i := range list {
			if err := ctx.Err(); err != nil {
				yield(driver.Info{}, driver.Wrap("list", dir, err))
				return
			}
			if !yield(i, nil) {
				return
			}
		}
	}
}

func (d *FS) list(ctx context.Context, dir string) ([]driver.Info, error) {
	a, err := d.area(ctx)
	if err != nil {
		return nil, err
	}
	prefix := strings.TrimSuffix(dir, "/") + "/"
	var out []driver.Info
	last := ""
	for f, err := range a.files(ctx, dir) {
		if err != nil {
			return nil, err
		}
		name, _, deeper := strings.Cut(f.Path[len(prefix):], "/")
		switch {
		case !deeper:
			out = append(out, f.Info)
		case name != last:
			out = append(out, dirInfo(prefix+name))
			last = name
		}
	}
	// "/a-b" comes before "/a/x" and after "/a".
	slices.SortStableFunc(out, func(a, b driver.Info) int { return strings.Compare(a.Path, b.Path) })
	return out, nil
}

// Walk yields every file below a directory, sorted by path.
func (d *FS) Walk(ctx context.Context, dir string) iter.Seq2[driver.Info, error] {
	return func(yield func(driver.Info, error) bool) {
		a, err := d.area(ctx)
		if err != nil {
			yield(driver.Info{}, driver.Wrap("walk", dir, err))
			return
		}
		for f, err := range a.files(ctx, dir) {
			if err != nil {
				yield(driver.Info{}, driver.Wrap("walk", dir, err))
				return
			}
			if !yield(f.Info, nil) {
				return
			}
		}
	}
}

// body is an open file. It is a snapshot: later writes do not change it.
type body struct{ *strings.Reader }

func (body) Close() error { return nil }

// Open opens a file. The reader can seek when no range was asked for. Opening starts the time to live of the item anew.
func (d *FS) Open(ctx context.Context, p string, o driver.OpenOptions) (io.ReadCloser, driver.Info, error) {
	a, err := d.area(ctx)
	if err != nil {
		return nil, driver.Info{}, driver.Wrap("open", p, err)
	}
	f, ok, err := a.get(ctx, p, store.GetOptions{})
	switch {
	case err != nil:
	case ok && f.bad == nil:
		return driver.Opened(body{strings.NewReader(f.body)}, f.info(p), o)
	case ok:
		err = f.bad
		if denied := o.Guard.Check(f.info(p)); denied != nil {
			err = denied
		}
	case p == "/":
		err = driver.ErrIsDir
	default:
		var dir bool
		if dir, err = a.isDir(ctx, p); err == nil {
			err = fs.ErrNotExist
			if dir {
				err = driver.ErrIsDir
			}
		}
	}
	return nil, driver.Info{}, driver.Wrap("open", p, err)
}
