package disk

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/deepagents-go/deepagents/backend/driver"
)

// Open opens a regular file for reading, following links that stay inside the root. FIFOs, sockets and devices are not opened.
func (d *Disk) Open(ctx context.Context, p string, o driver.OpenOptions) (io.ReadCloser, driver.Info, error) {
	q := virtual(p)
	rc, i, err := d.open(ctx, q, o)
	return rc, i, wrap("open", q, err)
}

func (d *Disk) open(ctx context.Context, q request, o driver.OpenOptions) (io.ReadCloser, driver.Info, error) {
	if err := ctx.Err(); err != nil {
		return nil, driver.Info{}, err
	}
	if isTemp(path.Base(q.rel)) {
		return nil, driver.Info{}, fs.ErrNotExist
	}
	f, rel, err := follow(d, q.rel, func(rel string) (*os.File, error) {
		if d.fast == nil {
			m, err := d.statPlain(rel)
			if err != nil {
				return nil, err
			}
			if m.kind() == driver.Other {
				return nil, driver.ErrNotRegular
			}
		}
		return d.openPlain(rel, os.O_RDONLY)
	})
	if err != nil {
		return nil, driver.Info{}, missing(err)
	}
	fi, err := f.Stat()
	if err != nil {
		_ = f.Close() // the first error is the one to tell
		return nil, driver.Info{}, err
	}
	return driver.Opened(file{f}, metaOf(fi).info(q.typed, d.absolute(rel)), o)
}

// file hides what an [os.File] could do besides reading.
type file struct{ f *os.File }

func (f file) Read(b []byte) (int, error) { n, err := f.f.Read(b); return n, bareEOF(err) }
func (f file) ReadAt(b []byte, off int64) (int, error) {
	n, err := f.f.ReadAt(b, off)
	return n, bareEOF(err)
}
func (f file) Seek(offset int64, whence int) (int64, error) { return f.f.Seek(offset, whence) }
func (f file) Close() error                                 { return f.f.Close() }

func bareEOF(err error) error {
	if err == io.EOF { //nolint:errorlint // readers compare it so
		return err
	}
	return bare(err)
}
