package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/policy"
)

// Host serves several directories under their own host paths. It is a [driver.Router] over one [Disk] for each.
//
// A root answers under the name it was given and under its resolved name; guards see the resolved one too. A link from one root into
// another is followed there. A path outside of all roots is [driver.ErrOutside].
type Host struct {
	disks  []*Disk
	mounts []driver.Mount // sorted by prefix
	work   string
}

// NewHost opens directories in host path mode. The first one is the working directory. A root inside another one is served by the
// outer one. Without roots, on Windows, or when a root cannot be served, it returns an error, in the last case a [*RootError].
func NewHost(roots []string, o Options) (driver.Driver, error) {
	if len(roots) == 0 {
		return nil, errors.New("disk: no root directories")
	}
	if runtime.GOOS == "windows" {
		return nil, fmt.Errorf("disk: host paths on Windows: %w", errors.ErrUnsupported)
	}
	h := &Host{}
	for _, root := range roots {
		if err := h.add(root, o); err != nil {
			return nil, errors.Join(err, h.Close())
		}
	}
	given, err := filepath.Abs(roots[0])
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	h.work = filepath.ToSlash(given)
	slices.SortFunc(h.mounts, func(a, b driver.Mount) int { return strings.Compare(a.Prefix, b.Prefix) })
	return h, nil
}

func (h *Host) add(root string, o Options) error {
	d, err := New(root, o)
	if err != nil {
		return err
	}
	for _, known := range h.disks {
		if d.names[0] == known.names[0] || policy.Below(d.names[0], known.names[0]) {
			// the outer root serves it; its other name is one more way in
			if d.names[1] == d.names[0] || d.names[1] == known.names[1] {
				return d.Close()
			}
		}
	}
	d.prefix = strings.TrimSuffix(d.names[0], "/")
	h.disks = append(h.disks, d)
	for _, name := range d.names {
		if !slices.ContainsFunc(h.mounts, func(m driver.Mount) bool { return m.Prefix == name }) {
			h.mounts = append(h.mounts, driver.Mount{Prefix: name, Driver: d})
		}
	}
	return nil
}

// Close frees the handles of all roots.
func (h *Host) Close() error {
	var err error
	for _, d := range h.disks {
		err = errors.Join(err, d.Close())
	}
	return err
}

// WorkDir returns the first root as it was given.
func (h *Host) WorkDir() string { return h.work }

// Locate returns the path itself, when a root serves it.
func (h *Host) Locate(p string) (string, bool) {
	return filepath.FromSlash(p), h.Route(p).Driver != nil
}

// Route returns the root that serves a path; its Driver is nil when none does.
func (h *Host) Route(p string) driver.Mount {
	var best driver.Mount
	for _, m := range h.mounts {
		if (p == m.Prefix || policy.Below(p, m.Prefix)) && len(m.Prefix) > len(best.Prefix) {
			best = m
		}
	}
	return best
}

// Aliases returns the path below the other name of its root.
func (h *Host) Aliases(p string) []string {
	m := h.Route(p)
	d, ok := m.Driver.(*Disk)
	if !ok {
		return nil
	}
	var out []string
	for _, name := range d.names {
		if name != m.Prefix {
			out = append(out, driver.Join(name, driver.Rel(p, m.Prefix)))
		}
	}
	return out
}

// Mounts returns the root that serves a directory and those below it.
func (h *Host) Mounts(under string) []driver.Mount {
	var out []driver.Mount
	if m := h.Route(under); m.Driver != nil {
		out = append(out, m)
	}
	for _, m := range h.mounts {
		if policy.Below(m.Prefix, under) {
			out = append(out, m)
		}
	}
	return out
}

// serve runs an operation on the root that serves a path. Where a link leads into another root, it starts again there.
func serve[T any](h *Host, op, typed string, run func(d *Disk, q request) (T, error)) (T, error) {
	at := typed
	for range maxLinks {
		m := h.Route(at)
		d, ok := m.Driver.(*Disk)
		if !ok {
			break
		}
		q := request{typed, relative(driver.Rel(at, m.Prefix))}
		v, err := run(d, q)
		var out *outsideError
		if !errors.As(err, &out) {
			return v, wrap(op, q, err)
		}
		at = path.Clean(out.host)
	}
	var none T
	return none, wrap(op, request{typed: typed}, driver.ErrOutside)
}

// Stat describes a path, following links inside and between the roots.
func (h *Host) Stat(ctx context.Context, p string) (driver.Info, error) {
	return serve(h, "stat", p, func(d *Disk, q request) (driver.Info, error) { return d.stat(ctx, q) })
}

// List yields the entries of a directory, sorted.
func (h *Host) List(ctx context.Context, dir string, o driver.ListOptions) iter.Seq2[driver.Info, error] {
	return func(yield func(driver.Info, error) bool) {
		type listing struct {
			d   *Disk
			q   request
			rel string
			l   lister
		}
		at, err := serve(h, "list", dir, func(d *Disk, q request) (listing, error) {
			l, rel, err := d.openLister(ctx, q)
			return listing{d, q, rel, l}, err
		})
		if err != nil {
			yield(driver.Info{}, err)
			return
		}
		at.d.entries(ctx, at.q, at.rel, at.l, o, func(i driver.Info, err error) bool {
			if i.Kind == driver.Link || errors.Is(err, driver.ErrOutside) {
				return h.link(ctx, i, err, yield)
			}
			return yield(i, err)
		})
	}
}

// link yields a link, which may lead into another root.
func (h *Host) link(ctx context.Context, i driver.Info, err error, yield func(driver.Info, error) bool) bool {
	if err == nil {
		return yield(i, nil)
	}
	t, err := h.Stat(ctx, i.Path)
	if errors.Is(err, driver.ErrOutside) || errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil {
		return yield(driver.Info{Path: i.Path}, err)
	}
	t.Kind, t.TargetKind = driver.Link, t.Kind
	return yield(t, nil)
}

type opened struct {
	rc io.ReadCloser
	i  driver.Info
}

// Open opens a regular file for reading.
func (h *Host) Open(ctx context.Context, p string, o driver.OpenOptions) (io.ReadCloser, driver.Info, error) {
	v, err := serve(h, "open", p, func(d *Disk, q request) (opened, error) {
		rc, i, err := d.open(ctx, q, o)
		return opened{rc, i}, err
	})
	return v.rc, v.i, err
}

// Write replaces or creates a file atomically.
func (h *Host) Write(ctx context.Context, p string, src io.Reader, o driver.WriteOptions) (driver.Info, error) {
	return serve(h, "write", p, func(d *Disk, q request) (driver.Info, error) { return d.write(ctx, q, src, o) })
}

// Remove removes a file, a link itself, or a directory with everything below it.
func (h *Host) Remove(ctx context.Context, p string, o driver.RemoveOptions) error {
	_, err := serve(h, "remove", p, func(d *Disk, q request) (struct{}, error) { return struct{}{}, d.remove(ctx, q, o) })
	return err
}

// Lock excludes other edits of a file in this process.
func (h *Host) Lock(ctx context.Context, p string) (func(), error) {
	return serve(h, "lock", p, func(d *Disk, q request) (func(), error) { return d.lockFile(ctx, q) })
}

// OpenDir opens a directory for a walk.
func (h *Host) OpenDir(ctx context.Context, dir string) (driver.DirHandle, driver.Info, error) {
	type tree struct {
		h driver.DirHandle
		i driver.Info
	}
	v, err := serve(h, "search", dir, func(d *Disk, q request) (tree, error) {
		t, i, err := d.openTree(ctx, q)
		return tree{t, i}, err
	})
	return v.h, v.i, err
}
