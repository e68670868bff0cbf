package disk

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/deepagents-go/deepagents/backend/driver"
)

// lister is an open directory that can describe its entries.
type lister interface {
	driver.DirHandle
	stat(name string) (meta, error)
}

// List yields the entries of a directory, sorted. Links that lead out of the root or nowhere are left out.
func (d *Disk) List(ctx context.Context, dir string, o driver.ListOptions) iter.Seq2[driver.Info, error] {
	return func(yield func(driver.Info, error) bool) {
		q := virtual(dir)
		l, rel, err := d.openLister(ctx, q)
		if err != nil {
			yield(driver.Info{}, wrap("list", q, err))
			return
		}
		d.entries(ctx, q, rel, l, o, yield)
	}
}

func (d *Disk) openLister(ctx context.Context, q request) (lister, string, error) {
	if err := ctx.Err(); err != nil {
		return nil, "", err
	}
	return follow(d, q.rel, func(rel string) (lister, error) {
		if d.fast != nil {
			return d.fast.list(rel)
		}
		r, err := d.dirPlain(rel)
		if err != nil {
			return nil, err
		}
		return &rootDir{r}, nil
	})
}

// entries yields what is in an open directory and closes it.
func (d *Disk) entries(ctx context.Context, q request, rel string, l lister, o driver.ListOptions, yield func(driver.Info, error) bool) {
	defer func() { _ = l.Close() }() // read only
	all, err := l.Entries(ctx)
	if err != nil {
		yield(driver.Info{}, wrap("list", q, err))
		return
	}
	slices.SortFunc(all, func(a, b driver.Info) int { return strings.Compare(a.Path, b.Path) })
	for _, i := range all {
		if err := ctx.Err(); err != nil {
			yield(driver.Info{}, wrap("list", q, err))
			return
		}
		name := i.Path
		typed := driver.Join(q.typed, "/"+name)
		at := path.Join(rel, name)
		i.Path, i.Resolved = typed, d.absolute(at)
		var err error
		if i.Kind == driver.Link {
			i, err = d.target(ctx, i, at)
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, driver.ErrOutside) && d.prefix == "" {
				continue
			}
		} else if o.Stat {
			var m meta
			if m, err = l.stat(name); errors.Is(err, fs.ErrNotExist) {
				continue // removed meanwhile
			}
			i = m.info(typed, i.Resolved)
		}
		if err != nil {
			if !yield(driver.Info{Path: typed}, wrap("list", request{typed: typed}, err)) {
				return
			}
			continue
		}
		if !yield(i, nil) {
			return
		}
	}
}

// target describes a link: itself, with the name and kind of what it leads to.
func (d *Disk) target(ctx context.Context, i driver.Info, rel string) (driver.Info, error) {
	t, err := d.stat(ctx, request{i.Path, rel})
	if err != nil {
		return driver.Info{Path: i.Path}, err
	}
	t.Kind, t.TargetKind = driver.Link, t.Kind
	return t, nil
}

// OpenDir opens a directory for a walk.
func (d *Disk) OpenDir(ctx context.Context, dir string) (driver.DirHandle, driver.Info, error) {
	q := virtual(dir)
	h, i, err := d.openTree(ctx, q)
	return h, i, wrap("search", q, err)
}

func (d *Disk) openTree(ctx context.Context, q request) (driver.DirHandle, driver.Info, error) {
	l, rel, err := d.openLister(ctx, q)
	if err != nil {
		return nil, driver.Info{}, err
	}
	return l, driver.Info{Path: q.typed, Resolved: d.absolute(rel), Kind: driver.Dir}, nil
}

// rootDir is a directory by an [os.Root], for systems without a faster way.
type rootDir struct{ r *os.Root }

// Entries reads the names and kinds.
func (d *rootDir) Entries(ctx context.Context) ([]driver.Info, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := d.r.Open(".")
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // read only
	ents, err := f.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	out := make([]driver.Info, 0, len(ents))
	for _, e := range ents {
		if !isTemp(e.Name()) {
			out = append(out, driver.Info{Path: e.Name(), Kind: meta{mode: e.Type()}.kind()})
		}
	}
	return out, nil
}

func (d *rootDir) stat(name string) (meta, error) {
	fi, err := d.r.Lstat(name)
	if err != nil {
		return meta{}, err
	}
	return metaOf(fi), nil
}

// Dir opens a directory inside this one.
func (d *rootDir) Dir(name string) (driver.DirHandle, error) {
	r, err := step(d.r, name)
	if err != nil {
		return nil, wrap("search", request{typed: name}, err)
	}
	return &rootDir{r}, nil
}

// Open opens a regular file inside this directory.
func (d *rootDir) Open(name string) (io.ReadCloser, driver.Info, error) {
	m, err := d.stat(name)
	if err == nil && m.kind() != driver.Regular {
		err = driver.ErrNotRegular
	}
	if err != nil {
		return nil, driver.Info{}, wrap("open", request{typed: name}, err)
	}
	f, err := openIn(d.r, name, os.O_RDONLY)
	if err != nil {
		return nil, driver.Info{}, wrap("open", request{typed: name}, err)
	}
	return f, m.info(name, ""), nil
}

// Close closes the handle.
func (d *rootDir) Close() error { return d.r.Close() }
