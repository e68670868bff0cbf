package backend

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"sync/atomic"

	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/policy"
)

// place is an open directory of a walk, shared by the walker and the workers that read its files.
type place struct {
	h driver.DirHandle
	// path is the name the caller knows, resolved the one rules are judged on too.
	path, resolved string
	users          atomic.Int32
	// failed is why nothing but mounts is here.
	failed error
}

func (p *place) hold() *place {
	p.users.Add(1)
	return p
}

// child is the path of a name in it.
func (p *place) child(name string) string {
	if p.path == "/" {
		return "/" + name
	}
	return p.path + "/" + name
}

func (p *place) release() {
	if p.users.Add(-1) == 0 {
		_ = p.h.Close() // read only
	}
}

// openPlace opens the directory where a walk starts: by descriptors when the driver has them, from one listing of everything when it
// is a key-value store, else by listing each directory. Mounts below it become directories of it.
func (f *FS) openPlace(ctx context.Context, dir string) (*place, error) {
	var failed error
	ms := f.mounts(dir)
	h, resolved, err := f.openDir(ctx, dir)
	if err != nil {
		if show, _ := children(ms, dir); len(show) == 0 || !partial(ctx, err) {
			return nil, err
		}
		h, resolved = emptyDir{}, dir
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, driver.ErrNotDir) {
			failed = &RouteError{dir, err}
		}
	}
	if ms = below(ms, dir); len(ms) > 0 {
		h = &mountedDir{DirHandle: h, f: f, ctx: ctx, path: dir, mounts: ms}
	}
	p := &place{h: h, path: dir, resolved: resolved, failed: failed}
	return p.hold(), nil
}

func (f *FS) openDir(ctx context.Context, dir string) (driver.DirHandle, string, error) {
	if t, m, rel, ok := driver.As[driver.Tree](f.d, dir); ok {
		h, i, err := t.OpenDir(ctx, rel)
		if err != nil {
			return nil, "", driver.ErrorUnder(m.Prefix, err)
		}
		if i.Resolved == "" {
			i.Resolved = rel
		}
		i = i.Under(m.Prefix)
		if _, at, _, _ := driver.As[driver.Tree](f.d, i.Resolved); at.Prefix != m.Prefix {
			_ = h.Close() // nothing was read
			return nil, "", &driver.Error{Op: "search", Path: dir, Err: driver.ErrOutside}
		}
		return h, i.Resolved, nil
	}
	i, err := f.d.Stat(ctx, dir)
	if err != nil {
		return nil, "", err
	}
	if !i.IsDir() {
		return nil, "", &driver.Error{Op: "search", Path: dir, Err: driver.ErrNotDir}
	}
	if i.Resolved == "" {
		i.Resolved = dir
	}
	if w, m, rel, ok := driver.As[driver.Walker](f.d, dir); ok {
		h, err := newWalkedDir(ctx, m.Driver, w, rel)
		return h, i.Resolved, driver.ErrorUnder(m.Prefix, err)
	}
	return &listedDir{ctx: ctx, d: f.d, guard: f.guard(policy.Read), path: dir}, i.Resolved, nil
}

// emptyDir is a directory that exists only because a mount lies below it.
type emptyDir struct{}

func (emptyDir) Entries(context.Context) ([]driver.Info, error) { return nil, nil }
func (emptyDir) Dir(string) (driver.DirHandle, error)           { return nil, fs.ErrNotExist }
func (emptyDir) Open(string) (io.ReadCloser, driver.Info, error) {
	return nil, driver.Info{}, fs.ErrNotExist
}
func (emptyDir) Close() error { return nil }

// listedDir walks a driver that has only the five methods.
type listedDir struct {
	ctx   context.Context
	d     driver.Driver
	guard driver.Guard
	path  string
}

func (l *listedDir) Entries(ctx context.Context) ([]driver.Info, error) {
	var out []driver.Info
	for i, err := range l.d.List(ctx, l.path, driver.ListOptions{}) {
		if ctx.Err() != nil {
			break
		}
		if err != nil && i.Path == "" {
			return nil, err
		}
		if err != nil {
			continue
		}
		i.Path = i.Path[strings.LastIndexByte(i.Path, '/')+1:]
		out = append(out, i)
	}
	return out, ctx.Err()
}

func (l *listedDir) Dir(name string) (driver.DirHandle, error) {
	return &listedDir{l.ctx, l.d, l.guard, driver.Join(l.path, "/"+name)}, nil
}

func (l *listedDir) Open(name string) (io.ReadCloser, driver.Info, error) {
	return l.d.Open(l.ctx, driver.Join(l.path, "/"+name), driver.OpenOptions{Guard: l.guard})
}

func (l *listedDir) Close() error { return nil }

// walkedDir is the tree that the flat listing of a key-value store implies.
type walkedDir struct {
	ctx   context.Context
	d     driver.Driver
	path  string
	files []driver.Info // Path is the bare name
	dirs  map[string]*walkedDir
}

func newWalkedDir(ctx context.Context, d driver.Driver, w driver.Walker, dir string) (*walkedDir, error) {
	root := &walkedDir{ctx: ctx, d: d, path: dir}
	for i, err := range w.Walk(ctx, dir) {
		if err != nil && i.Path == "" {
			return nil, err
		}
		if err != nil || i.Path == dir {
			continue
		}
		at := root
		rest := strings.TrimPrefix(driver.Rel(i.Path, dir), "/")
		for {
			name, tail, more := strings.Cut(rest, "/")
			if !more {
				i.Path = name
				at.files = append(at.files, i)
				break
			}
			next := at.dirs[name]
			if next == nil {
				next = &walkedDir{ctx: ctx, d: d, path: driver.Join(at.path, "/"+name)}
				if at.dirs == nil {
					at.dirs = map[string]*walkedDir{}
				}
				at.dirs[name] = next
			}
			at, rest = next, tail
		}
	}
	return root, ctx.Err()
}

func (w *walkedDir) Entries(context.Context) ([]driver.Info, error) {
	out := append([]driver.Info(nil), w.files...)
	for name := range w.dirs {
		out = append(out, driver.Info{Path: name, Kind: driver.Dir})
	}
	return out, nil
}

func (w *walkedDir) Dir(name string) (driver.DirHandle, error) {
	if d, ok := w.dirs[name]; ok {
		return d, nil
	}
	return nil, fs.ErrNotExist
}

func (w *walkedDir) Open(name string) (io.ReadCloser, driver.Info, error) {
	return w.d.Open(w.ctx, driver.Join(w.path, "/"+name), driver.OpenOptions{})
}

func (w *walkedDir) Close() error { return nil }

// mountedDir puts mounts into the directories of the driver that serves them, and covers what lies under them.
type mountedDir struct {
	driver.DirHandle
	f      *FS
	ctx    context.Context
	path   string
	mounts []mount
}

func (m *mountedDir) Entries(ctx context.Context) ([]driver.Info, error) {
	show, covered := children(m.mounts, m.path)
	all, err := m.DirHandle.Entries(ctx)
	if err != nil {
		if len(show) == 0 || !partial(ctx, err) {
			return nil, err
		}
		all, err = nil, &RouteError{m.path, err}
	}
	out := all[:0]
	for _, i := range all {
		if covered[i.Path] || show[i.Path] && i.Kind == driver.Dir {
			continue
		}
		out = append(out, i)
	}
	for name := range show {
		out = append(out, driver.Info{Path: name, Kind: driver.Dir})
	}
	return out, err
}

func (m *mountedDir) Dir(name string) (driver.DirHandle, error) {
	p := driver.Join(m.path, "/"+name)
	for _, x := range m.mounts {
		if x.prefix == p {
			at, err := m.f.openPlace(m.ctx, p)
			if err != nil {
				return nil, &RouteError{p, err}
			}
			return mountRoot{at}, nil
		}
	}
	ms := below(m.mounts, p)
	if len(ms) == 0 {
		return m.DirHandle.Dir(name)
	}
	h, err := m.DirHandle.Dir(name)
	if err != nil {
		h = emptyDir{}
	}
	return &mountedDir{DirHandle: h, f: m.f, ctx: m.ctx, path: p, mounts: ms}, nil
}

// mountRoot is the directory where another driver begins: ignore files above it do not count, and its real name is its own.
type mountRoot struct{ at *place }

func (m mountRoot) Entries(ctx context.Context) ([]driver.Info, error) {
	all, err := m.at.h.Entries(ctx)
	var r *RouteError
	if err != nil && !errors.As(err, &r) && partial(ctx, err) {
		err = &RouteError{m.at.path, err}
	}
	return all, err
}
func (m mountRoot) Dir(name string) (driver.DirHandle, error) { return m.at.h.Dir(name) }
func (m mountRoot) Open(name string) (io.ReadCloser, driver.Info, error) {
	return m.at.h.Open(name)
}
func (m mountRoot) Close() error { return m.at.h.Close() }
