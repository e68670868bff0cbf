package disk

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/deepagents-go/deepagents/backend/driver"
)

// Write replaces or creates a file atomically. It keeps mode and owner of a file that it replaces, and the link that led there, and
// refuses a file that is read-only. A file with several hard links, one that is a mount point, and one whose owner cannot be kept are
// written in place from a complete copy beside them: a crash is made good by the next [New], but readers may see a mixture meanwhile.
func (d *Disk) Write(ctx context.Context, p string, src io.Reader, o driver.WriteOptions) (driver.Info, error) {
	q := virtual(p)
	i, err := d.write(ctx, q, src, o)
	return i, wrap("write", q, err)
}

func (d *Disk) write(ctx context.Context, q request, src io.Reader, o driver.WriteOptions) (driver.Info, error) {
	if err := ctx.Err(); err != nil {
		return driver.Info{}, err
	}
	t, err := d.openTarget(q, o)
	if err != nil {
		return driver.Info{}, err
	}
	defer func() { _ = t.dir.Close() }() // a handle that was only worked through
	if err := t.check(o); err != nil {
		return driver.Info{}, err
	}
	if err := t.writable(); err != nil {
		return driver.Info{}, err
	}
	e, err := d.journal.begin(record{Dir: path.Dir(t.rel)})
	if err != nil {
		return driver.Info{}, err
	}
	w := &writing{d: d, t: t, e: e}
	if err := w.fill(ctx, src); err != nil {
		return driver.Info{}, errors.Join(err, w.drop())
	}
	i, err := w.commit(ctx, q, o)
	if derr := w.drop(); err == nil && derr != nil {
		err = derr
	}
	return i, err
}

// target is the place of a file that is written: its directory as an open handle, and its name there.
type target struct {
	dir    *os.Root
	name   string
	rel    string
	was    meta
	exists bool
}

// openTarget finds where a write goes, asks the guard about that place and makes missing directories.
func (d *Disk) openTarget(q request, o driver.WriteOptions) (*target, error) {
	rel := q.rel
	for range maxRaces {
		if rel == "." {
			return nil, driver.ErrIsDir
		}
		t, err := d.tryTarget(q, rel, o)
		if !errors.Is(err, errLink) {
			return t, err
		}
		if rel, err = d.resolve(q.rel); err != nil {
			return nil, err
		}
	}
	return nil, errRace
}

func (d *Disk) tryTarget(q request, rel string, o driver.WriteOptions) (*target, error) {
	rel, err := d.spell(rel)
	if err != nil {
		return nil, err
	}
	dir, name := path.Split(rel)
	dir = path.Clean(dir)
	if isTemp(name) {
		return nil, driver.ErrInvalidPath
	}
	ask := func() error {
		return o.Guard.Check(driver.Info{Path: q.typed, Resolved: d.absolute(rel)})
	}
	r, err := d.dirPlain(dir)
	if errors.Is(err, fs.ErrNotExist) {
		r, err = d.makeDirs(dir, ask)
	}
	if err != nil {
		return nil, err
	}
	t := &target{dir: r, name: name, rel: rel}
	if err = ask(); err == nil {
		err = t.look()
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return t, nil
}

// look describes what is there now.
func (t *target) look() error {
	fi, err := t.dir.Lstat(t.name)
	if errors.Is(err, fs.ErrNotExist) {
		t.was, t.exists = meta{}, false
		return nil
	}
	if err != nil {
		return err
	}
	t.was, t.exists = metaOf(fi), true
	switch t.was.kind() {
	case driver.Link:
		return errLink
	case driver.Dir:
		return driver.ErrIsDir
	case driver.Other:
		return driver.ErrNotRegular
	case driver.Regular:
	}
	return nil
}

// check compares what is there with what the caller expects.
func (t *target) check(o driver.WriteOptions) error {
	switch {
	case o.CreateOnly && t.exists:
		return fs.ErrExist
	case (o.IfVersion != "" || o.IfSum != nil) && !t.exists:
		return driver.ErrConflict
	case o.IfVersion != "" && o.IfVersion != t.was.version():
		return driver.ErrConflict
	}
	return nil
}

// writable refuses a file that its mode or its owner protects; a rename would not ask.
func (t *target) writable() error {
	if !t.exists {
		return nil
	}
	if t.was.mode.Perm()&0o222 == 0 {
		return fs.ErrPermission
	}
	f, err := openIn(t.dir, t.name, os.O_WRONLY)
	if err != nil {
		if errors.Is(err, fs.ErrPermission) {
			return err
		}
		return nil
	}
	return f.Close()
}

// sum compares the content.
func (t *target) sum(ctx context.Context, want []byte) error {
	f, err := openIn(t.dir, t.name, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // read only
	h := sha256.New()
	if _, err := io.Copy(h, reader{ctx, f}); err != nil {
		return err
	}
	if !bytes.Equal(h.Sum(nil), want) {
		return driver.ErrConflict
	}
	return nil
}

// makeDirs makes the missing directories of a path, below the deepest one that exists.
func (d *Disk) makeDirs(rel string, ask func() error) (*os.Root, error) {
	have := rel
	var r *os.Root
	for {
		have = path.Dir(have)
		var err error
		if r, err = d.dirPlain(have); err == nil {
			break
		} else if !errors.Is(err, fs.ErrNotExist) || have == "." {
			return nil, err
		}
	}
	if err := ask(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	rest := rel
	if have != "." {
		rest = strings.TrimPrefix(rel, have+"/")
	}
	for name := range strings.SplitSeq(rest, "/") {
		next, err := d.makeDir(r, name)
		_ = r.Close() // a handle that was only worked through
		if err != nil {
			return nil, err
		}
		r = next
	}
	return r, nil
}

func (d *Disk) makeDir(r *os.Root, name string) (*os.Root, error) {
	if err := r.Mkdir(name, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if err := d.sync(r); err != nil {
		return nil, err
	}
	return step(r, name)
}

// sync makes the names in a directory durable.
func (d *Disk) sync(r *os.Root) error {
	if d.noSync {
		return nil
	}
	f, err := r.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(syncDir(f), f.Close())
}

// reader ends with its context.
type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r reader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(b)
}
