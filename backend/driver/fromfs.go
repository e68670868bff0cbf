package driver

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path"
	"strings"
)

// FromFS serves an [fs.FS] read-only: an embedded file system, a zip, a test map. Symbolic links are not served, because an fs.FS
// cannot say where they lead; a directory of the host belongs into backend/disk.
func FromFS(fsys fs.FS) Driver { return &fsDriver{fsys: fsys} }

type fsDriver struct {
	ReadOnly
	fsys fs.FS
}

func (d *fsDriver) name(op, p string) (string, error) {
	n := strings.TrimPrefix(p, "/")
	if n == "" {
		return ".", nil
	}
	if !fs.ValidPath(n) {
		return "", &Error{Op: op, Path: p, Err: ErrInvalidPath}
	}
	if _, ok := d.fsys.(fs.ReadLinkFS); !ok {
		return n, nil
	}
	for i := range len(n) + 1 {
		if i < len(n) && n[i] != '/' {
			continue
		}
		fi, err := fs.Lstat(d.fsys, n[:i])
		if err != nil {
			return "", Wrap(op, p, err)
		}
		if fi.Mode()&fs.ModeSymlink != 0 {
			return "", &Error{Op: op, Path: p, Err: ErrNotRegular}
		}
	}
	return n, nil
}

func (d *fsDriver) info(p string, fi fs.FileInfo) Info {
	i := Info{Path: p, Resolved: p, Mode: fi.Mode(), ModTime: fi.ModTime(), Kind: kindOf(fi.Mode())}
	if i.Kind == Regular {
		i.Size = fi.Size()
		if !fi.ModTime().IsZero() {
			i.Version = fmt.Sprintf("%x.%x", fi.Size(), fi.ModTime().UnixNano())
		}
	}
	return i
}

func kindOf(m fs.FileMode) FileKind {
	switch {
	case m.IsRegular():
		return Regular
	case m.IsDir():
		return Dir
	case m&fs.ModeSymlink != 0:
		return Link
	}
	return Other
}

func (d *fsDriver) Stat(ctx context.Context, p string) (Info, error) {
	if err := ctx.Err(); err != nil {
		return Info{}, Wrap("stat", p, err)
	}
	n, err := d.name("stat", p)
	if err != nil {
		return Info{}, err
	}
	fi, err := fs.Stat(d.fsys, n)
	if err != nil {
		return Info{}, Wrap("stat", p, err)
	}
	return d.info(p, fi), nil
}

func (d *fsDriver) List(ctx context.Context, dir string, o ListOptions) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		ents, err := d.entries(ctx, dir)
		if err != nil {
			yield(Info{}, err)
			return
		}
		for _, e := range ents {
			p := Join(dir, "/"+e.Name())
			k := kindOf(e.Type())
			if k == Link {
				continue
			}
			i := Info{Path: p, Resolved: p, Kind: k, Mode: e.Type()}
			if o.Stat {
				fi, err := e.Info()
				if err != nil {
					if !yield(Info{Path: p}, Wrap("list", p, err)) {
						return
					}
					continue
				}
				i = d.info(p, fi)
			}
			if ctx.Err() != nil || !yield(i, nil) {
				return
			}
		}
	}
}

func (d *fsDriver) entries(ctx context.Context, dir string) ([]fs.DirEntry, error) {
	i, err := d.Stat(ctx, dir)
	if err != nil {
		return nil, err
	}
	if i.Kind != Dir {
		return nil, &Error{Op: "list", Path: dir, Err: ErrNotDir}
	}
	ents, err := fs.ReadDir(d.fsys, strings.TrimPrefix(path.Join(".", dir), "/"))
	return ents, Wrap("list", dir, err)
}

func (d *fsDriver) Open(ctx context.Context, p string, o OpenOptions) (io.ReadCloser, Info, error) {
	if err := ctx.Err(); err != nil {
		return nil, Info{}, Wrap("open", p, err)
	}
	n, err := d.name("open", p)
	if err != nil {
		return nil, Info{}, err
	}
	f, err := d.fsys.Open(n)
	if err != nil {
		return nil, Info{}, Wrap("open", p, err)
	}
	fi, err := f.Stat()
	if err != nil {
		_ = f.Close() // the first error is the one to tell
		return nil, Info{}, Wrap("open", p, err)
	}
	return Opened(f, d.info(p, fi), o)
}
