package disk

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"

	"github.com/deepagents-go/deepagents/backend/driver"
)

// writing is a write whose new content is in a temporary file.
type writing struct {
	d *Disk
	t *target
	e *entry
	f *os.File
	// mode is that of the file when the write began, or 0.
	mode fs.FileMode
	// gone says that the temporary file has no name any more.
	gone bool
}

// fill makes the temporary file complete and durable.
func (w *writing) fill(ctx context.Context, src io.Reader) error {
	mode := fs.FileMode(0o666)
	if w.t.exists {
		w.mode = w.t.was.mode.Perm()
		mode = 0o600 // until it gets the mode of the file it replaces
	}
	f, err := w.t.dir.OpenFile(w.e.temp(), os.O_CREATE|os.O_EXCL|os.O_RDWR, mode)
	if err != nil {
		return err
	}
	w.f = f
	if _, err := io.Copy(writerOnly{f}, reader{ctx, src}); err != nil {
		return err
	}
	if w.d.noSync {
		return nil
	}
	return f.Sync()
}

// writerOnly keeps [io.Copy] in its loop, which sees the context.
type writerOnly struct{ io.Writer }

// commit compares and replaces under the lock of the directory.
func (w *writing) commit(ctx context.Context, q request, o driver.WriteOptions) (driver.Info, error) {
	dir, unlock, err := w.d.lockDir(ctx, w.t.dir)
	if err != nil {
		return driver.Info{}, err
	}
	defer unlock()
	if err := w.t.look(); err != nil {
		if errors.Is(err, errLink) {
			err = driver.ErrConflict // it became a link since
		}
		return driver.Info{}, err
	}
	if err := w.t.check(o); err != nil {
		return driver.Info{}, err
	}
	if err := w.t.writable(); err != nil {
		return driver.Info{}, err
	}
	if o.IfSum != nil {
		if err := w.t.sum(ctx, o.IfSum); err != nil {
			return driver.Info{}, err
		}
	}
	if err := w.put(o, dir); err != nil {
		return driver.Info{}, err
	}
	fi, err := w.t.dir.Lstat(w.t.name)
	if err != nil {
		return driver.Info{}, err
	}
	return metaOf(fi).info(q.typed, w.d.absolute(w.t.rel)), nil
}

func (w *writing) put(o driver.WriteOptions, dir *os.File) error {
	if w.t.exists {
		fi, err := w.f.Stat()
		if err != nil {
			return err
		}
		if w.t.was.nlink > 1 || !keepOwner(w.f, metaOf(fi), w.t.was) {
			return w.inPlace(dir)
		}
		w.mode = w.t.was.mode.Perm()
	}
	if w.mode != 0 {
		if err := w.f.Chmod(w.mode); err != nil {
			return err
		}
	}
	var err error
	if o.CreateOnly {
		err = w.create()
	} else {
		err = w.t.dir.Rename(w.e.temp(), w.t.name)
		w.gone = err == nil
		if errors.Is(err, syscall.EBUSY) && w.t.exists {
			return w.inPlace(dir) // a file that is mounted itself, as containers do, cannot be replaced
		}
	}
	if err != nil || w.d.noSync {
		return err
	}
	return syncDir(dir)
}

// create gives the file its name only if nothing has it, whoever else is writing.
func (w *writing) create() error {
	err := w.t.dir.Link(w.e.temp(), w.t.name)
	if err == nil {
		err = w.t.dir.Remove(w.e.temp())
		w.gone = err == nil
		return err
	}
	if errors.Is(err, fs.ErrExist) {
		return fs.ErrExist
	}
	// no hard links on this file system: take the name first
	f, err := w.t.dir.OpenFile(w.t.name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	_ = f.Close() // nothing was written
	if err := w.t.dir.Rename(w.e.temp(), w.t.name); err != nil {
		return errors.Join(err, w.t.dir.Remove(w.t.name))
	}
	w.gone = true
	return nil
}

// inPlace writes into the file itself. The record says so first, so that the next start can finish it.
func (w *writing) inPlace(dir *os.File) error {
	if !w.d.noSync {
		if err := syncDir(dir); err != nil {
			return err
		}
	}
	if err := w.e.write(record{Dir: path.Dir(w.t.rel), Target: w.t.name}, !w.d.noSync); err != nil {
		return err
	}
	err := w.d.finish(w.t.dir, w.e.temp(), w.t.name)
	if err != nil {
		// the file is damaged; put right by the next start, which needs the record and the copy
		return errors.Join(err, w.keep())
	}
	return nil
}

// keep leaves the copy and its record to the next start.
func (w *writing) keep() error {
	w.gone = true
	err := errors.Join(w.f.Close(), w.e.f.Close())
	w.f, w.e = nil, nil
	return err
}

// finish copies the content of a temporary file into a file.
func (d *Disk) finish(dir *os.Root, temp, name string) error {
	src, err := openIn(dir, temp, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer func() { _ = src.Close() }() // read only
	dst, err := openIn(dir, name, os.O_WRONLY)
	if err != nil {
		return err
	}
	n, err := io.Copy(dst, src)
	if err == nil {
		err = dst.Truncate(n)
	}
	if err == nil && !d.noSync {
		err = dst.Sync()
	}
	return errors.Join(err, dst.Close())
}

// drop removes what is left of the write.
func (w *writing) drop() error {
	var err error
	if w.f != nil {
		err = w.f.Close()
		if !w.gone {
			err = errors.Join(err, w.t.dir.Remove(w.e.temp()))
		}
	}
	if w.e == nil {
		return err
	}
	if err != nil {
		return errors.Join(err, w.e.f.Close()) // the record stays, the next start tries again
	}
	return w.d.journal.end(w.e)
}
