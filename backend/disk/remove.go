package disk

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"

	"github.com/deepagents-go/deepagents/backend/driver"
)

// Remove removes a file, a link itself, or a directory with everything below it. The root is [errors.ErrUnsupported]. When a
// directory could be removed only in part, the error says so.
func (d *Disk) Remove(ctx context.Context, p string, o driver.RemoveOptions) error {
	q := virtual(p)
	return wrap("remove", q, d.remove(ctx, q, o))
}

// partialError says that some of a directory is gone.
type partialError struct{ err error }

func (e *partialError) Error() string { return "removed only in part: " + e.err.Error() }
func (e *partialError) Unwrap() error { return e.err }

func (d *Disk) remove(ctx context.Context, q request, o driver.RemoveOptions) error {
	if q.rel == "." {
		return errors.ErrUnsupported
	}
	dir, name := path.Split(q.rel)
	if isTemp(name) {
		return fs.ErrNotExist
	}
	r, rel, err := follow(d, path.Clean(dir), d.dirPlain)
	if err != nil {
		var out *outsideError
		if errors.As(err, &out) {
			return &outsideError{path.Join(out.host, name)}
		}
		return missing(err)
	}
	defer func() { _ = r.Close() }() // a handle that was only worked through
	if name, err = d.spellName(r, name); err != nil {
		return err
	}
	rm := &remover{d: d, ctx: ctx, o: o}
	i := driver.Info{Path: q.typed, Resolved: d.absolute(path.Join(rel, name))}
	if err := rm.visit(r, name, i, false); err != nil {
		return err
	}
	f, unlock, err := d.lockDir(ctx, r)
	if err != nil {
		return err
	}
	defer unlock()
	err = rm.visit(r, name, i, true)
	if err == nil && !d.noSync {
		err = syncDir(f)
	}
	if err != nil && rm.removed {
		return &partialError{bare(err)} // driver.Wrap would take the PathError out
	}
	return err
}

// remover goes over a subtree twice: once to ask the guard about everything, once to remove it.
type remover struct {
	d       *Disk
	ctx     context.Context
	o       driver.RemoveOptions
	removed bool
}

// visit asks about an entry of an open directory and, with unlink, removes it. Links are not followed.
func (rm *remover) visit(r *os.Root, name string, i driver.Info, unlink bool) error {
	if err := rm.ctx.Err(); err != nil {
		return err
	}
	fi, err := r.Lstat(name)
	if err != nil {
		return err
	}
	m := metaOf(fi)
	i.Kind, i.Mode, i.Size, i.ModTime = m.kind(), m.mode, m.size, m.mtime
	if !isTemp(name) {
		if err := rm.o.Guard.Check(i); err != nil {
			return err
		}
	}
	if i.Kind == driver.Dir {
		if err := rm.children(r, name, i, unlink); err != nil {
			return err
		}
	}
	if !unlink {
		return nil
	}
	if err := r.Remove(name); err != nil {
		return err
	}
	rm.removed = true
	return nil
}

// children visits what is in a directory. While others put new files there, it looks again a few times.
func (rm *remover) children(r *os.Root, name string, i driver.Info, unlink bool) error {
	sub, err := step(r, name)
	if errors.Is(err, errLink) {
		return errRace
	}
	if err != nil {
		return err
	}
	defer func() { _ = sub.Close() }() // a handle that was only worked through
	for range 3 {
		f, err := sub.Open(".")
		if err != nil {
			return err
		}
		names, err := f.Readdirnames(-1)
		_ = f.Close() // read only
		if err != nil {
			return err
		}
		slices.Sort(names)
		for _, n := range names {
			c := driver.Info{Path: driver.Join(i.Path, "/"+n), Resolved: driver.Join(i.Resolved, "/"+n)}
			if err := rm.visit(sub, n, c, unlink); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		if !unlink || len(names) == 0 {
			return nil
		}
	}
	return nil
}
