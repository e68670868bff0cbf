package composite

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"slices"
	"strings"

	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/policy"
)

// MountedError says that a path cannot be removed because routes are mounted there or below. [errors.Is] finds
// [errors.ErrUnsupported] in it.
type MountedError struct {
	// Routes are the prefixes, sorted.
	Routes []string
}

// Error names the routes.
func (e *MountedError) Error() string { return "it holds the mounted " + strings.Join(e.Routes, ", ") }

// Unwrap returns [errors.ErrUnsupported].
func (e *MountedError) Unwrap() error { return errors.ErrUnsupported }

// failed gives an error of a mount the path that the caller knows.
func failed(m driver.Mount, op, p string, err error) error {
	return driver.Wrap(op, p, driver.ErrorUnder(m.Prefix, err))
}

// inside is [driver.ErrOutside] for a file that a link reached and whose name belongs to another mount: a route covers what lies
// under it, by whatever name it is asked for.
func (c *Composite) inside(m driver.Mount, i driver.Info) error {
	if i.Resolved == "" || i.Resolved == i.Path || c.Route(i.Resolved).Prefix == m.Prefix {
		return nil
	}
	return driver.ErrOutside
}

// guard asks about the paths of the whole tree.
func (c *Composite) guard(m driver.Mount, g driver.Guard) driver.Guard {
	covered := func(i driver.Info) error {
		if err := c.inside(m, i.Under(m.Prefix)); err != nil {
			return err
		}
		return g.Check(i.Under(m.Prefix))
	}
	return driver.Guard{Action: g.Action, Func: covered}
}

// Stat describes a path. The root of a route and a directory above one are always there.
func (c *Composite) Stat(ctx context.Context, p string) (driver.Info, error) {
	m := c.Route(p)
	i, err := m.Driver.Stat(ctx, driver.Rel(p, m.Prefix))
	if err == nil {
		i = i.Under(m.Prefix)
		if err = c.inside(m, i); err == nil {
			return i, nil
		}
	}
	if errors.Is(err, fs.ErrNotExist) && (p == m.Prefix || c.holds(p)) {
		return driver.Info{Path: p, Resolved: p, Kind: driver.Dir}, nil
	}
	return driver.Info{}, failed(m, "stat", p, err)
}

// List yields what the driver that serves a directory has in it and no route covers, and the routes below it.
func (c *Composite) List(ctx context.Context, dir string, o driver.ListOptions) iter.Seq2[driver.Info, error] {
	return func(yield func(driver.Info, error) bool) {
		m := c.Route(dir)
		show, covered := c.children(dir)
		routes := func(until func(p string) bool) bool {
			for len(show) > 0 && until(show[0]) {
				i := driver.Info{Path: show[0], Resolved: show[0], Kind: driver.Dir}
				show = show[1:]
				if !yield(i, nil) {
					return false
				}
			}
			return true
		}
		for i, err := range m.Driver.List(ctx, driver.Rel(dir, m.Prefix), o) {
			if err != nil && i.Path == "" {
				none := errors.Is(err, fs.ErrNotExist)
				if none && dir == m.Prefix || len(show) > 0 && (none || errors.Is(err, driver.ErrNotDir)) {
					break // there is nothing but routes
				}
				yield(driver.Info{}, failed(m, "list", dir, err))
				return
			}
			i = i.Under(m.Prefix)
			if covered[i.Path] || c.inside(m, i) != nil {
				continue
			}
			if !routes(func(p string) bool { return p < i.Path }) || !yield(i, failed(m, "list", i.Path, err)) {
				return
			}
			if len(show) > 0 && show[0] == i.Path && i.IsDir() {
				show = show[1:] // it is a directory of the driver, too
			}
		}
		if ctx.Err() == nil {
			routes(func(string) bool { return true })
		}
	}
}

// children returns the paths of the directories that routes add to a directory, sorted, and the paths that routes cover.
func (c *Composite) children(dir string) (show []string, covered map[string]bool) {
	covered = map[string]bool{}
	for _, m := range c.below(dir) {
		name, _, deeper := strings.Cut(driver.Rel(m.Prefix, dir)[1:], "/")
		p := driver.Join(dir, "/"+name)
		if !deeper {
			covered[p] = true
		}
		if !m.Hidden {
			show = append(show, p)
		}
	}
	slices.Sort(show) // "/a-b" is a prefix before "/a/b", and "/a" a name before "/a-b"
	return slices.Compact(show), covered
}

// Open opens a file for reading.
func (c *Composite) Open(ctx context.Context, p string, o driver.OpenOptions) (io.ReadCloser, driver.Info, error) {
	m := c.Route(p)
	o.Guard = c.guard(m, o.Guard)
	rc, i, err := m.Driver.Open(ctx, driver.Rel(p, m.Prefix), o)
	i = i.Under(m.Prefix)
	if errors.Is(err, fs.ErrNotExist) && c.holds(p) {
		err = driver.ErrIsDir
	}
	if err != nil {
		return nil, i, failed(m, "open", p, err)
	}
	if m.Prefix == "/" {
		return rc, i, nil
	}
	r := &reader{rc, m, p}
	if s, ok := rc.(io.Seeker); ok {
		return &seeker{r, s}, i, nil
	}
	return r, i, nil
}

// reader gives the errors of reading the path that the caller knows.
type reader struct {
	rc io.ReadCloser
	m  driver.Mount
	p  string
}

func (r *reader) Read(b []byte) (int, error) {
	n, err := r.rc.Read(b)
	if err != nil && err != io.EOF { //nolint:errorlint // readers return io.EOF itself
		err = failed(r.m, "read", r.p, err)
	}
	return n, err
}

func (r *reader) Close() error { return failed(r.m, "close", r.p, r.rc.Close()) }

type seeker struct {
	*reader
	io.Seeker
}

// Write replaces or creates a file. A directory above a route is [driver.ErrIsDir].
func (c *Composite) Write(ctx context.Context, p string, src io.Reader, o driver.WriteOptions) (driver.Info, error) {
	m := c.Route(p)
	if len(c.below(p)) > 0 {
		return driver.Info{}, &driver.Error{Op: "write", Path: p, Err: driver.ErrIsDir}
	}
	o.Guard = c.guard(m, o.Guard)
	i, err := m.Driver.Write(ctx, driver.Rel(p, m.Prefix), src, o)
	return i.Under(m.Prefix), failed(m, "write", p, err)
}

// Remove removes a file, or a directory with everything below it. The root of a route and a directory above one are a
// [*MountedError].
func (c *Composite) Remove(ctx context.Context, p string, o driver.RemoveOptions) error {
	m := c.Route(p)
	var routes []string
	for _, r := range c.Mounts(p) {
		if r.Prefix != "/" && (r.Prefix == p || policy.Below(r.Prefix, p)) {
			routes = append(routes, r.Prefix)
		}
	}
	if len(routes) > 0 {
		return &driver.Error{Op: "remove", Path: p, Err: &MountedError{Routes: routes}}
	}
	o.Guard = c.guard(m, o.Guard)
	err := m.Driver.Remove(ctx, driver.Rel(p, m.Prefix), o)
	var inner *MountedError
	if errors.As(err, &inner) {
		for _, r := range inner.Routes {
			routes = append(routes, driver.Join(m.Prefix, r))
		}
		return &driver.Error{Op: "remove", Path: p, Err: &MountedError{Routes: routes}}
	}
	return failed(m, "remove", p, err)
}
