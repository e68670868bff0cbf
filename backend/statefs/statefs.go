package statefs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/internal/filedata"
	"github.com/deepagents-go/deepagents/run"
	"github.com/deepagents-go/deepagents/state"
)

// ErrNoFiles says that the agent's state has no files: its schema does not hold the key [Files].
var ErrNoFiles = errors.New("the state of this agent holds no files: add statefs.Files.Field() to its schema, or use a backend that needs none")

// Options configure an [FS].
type Options struct {
	// Now tells the time for created_at and modified_at; nil means time.Now.
	Now func() time.Time
	// FileFormat is the form that files are written in; 0 means V2.
	FileFormat FileFormat
	// MaxSize bounds the bytes of one file, a larger one is [driver.ErrTooLarge]; 0 means no bound.
	MaxSize int64
}

// FS is the driver of the files in the state of the run that the context carries. One value serves any number of threads.
// Outside a run every method fails with an error that wraps [run.ErrOutside].
type FS struct{ o Options }

// New returns a driver.
func New(o Options) *FS {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &FS{o}
}

// Fields returns the key that the schema of an agent with this driver must hold.
func (*FS) Fields() []*state.Field { return []*state.Field{Files.Field()} }

// tx returns the transaction of the call.
func tx(ctx context.Context) (*state.Tx, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s, ok := run.From(ctx)
	if !ok {
		return nil, fmt.Errorf("%w: files of this backend live in the state of a thread; call it with the context that a tool or "+
			"a hook gets, or use a backend that stands alone, like disk", run.ErrOutside)
	}
	t := s.State()
	if t == nil {
		return nil, ErrNoFiles
	}
	schema := t.State().Schema()
	if schema == nil {
		return nil, ErrNoFiles
	}
	if f, ok := schema.Field(Files.Name()); !ok || f != Files.Field() {
		return nil, ErrNoFiles
	}
	return t, nil
}

// files returns the files that the call sees.
func files(ctx context.Context, op, path string) (Map, error) {
	t, err := tx(ctx)
	if err != nil {
		return Map{}, &driver.Error{Op: op, Path: path, Err: err}
	}
	return Files.Get(t), nil
}

func (e *entry) info(path string) driver.Info {
	return driver.Info{
		Path: path, Resolved: path, Kind: driver.Regular, Size: int64(len(e.body)), Mode: 0o644, ModTime: e.modTime, Version: e.version,
	}
}

func dirInfo(path string) driver.Info {
	return driver.Info{Path: path, Resolved: path, Kind: driver.Dir, Mode: fs.ModeDir | 0o755}
}

// Stat describes a file, or a directory that longer paths imply.
func (*FS) Stat(ctx context.Context, path string) (driver.Info, error) {
	m, err := files(ctx, "stat", path)
	if err != nil {
		return driver.Info{}, err
	}
	if e, ok := m.m.Get(path); ok {
		return e.info(path), nil
	}
	if m.isDir(path) {
		return dirInfo(path), nil
	}
	return driver.Info{}, &driver.Error{Op: "stat", Path: path, Err: fs.ErrNotExist}
}

// List yields what is directly below a directory. There are no directories of their own, so a path that implies none, missing or
// a file, yields nothing. A name that is both a file and a directory is yielded twice.
func (*FS) List(ctx context.Context, dir string, _ driver.ListOptions) iter.Seq2[driver.Info, error] {
	return func(yield func(driver.Info, error) bool) {
		m, err := files(ctx, "list", dir)
		if err != nil {
			yield(driver.Info{}, err)
			return
		}
		for _, i := range m.list(dir) {
			if err := ctx.Err(); err != nil {
				yield(driver.Info{}, &driver.Error{Op: "list", Path: dir, Err: err})
				return
			}
			if !yield(i, nil) {
				return
			}
		}
	}
}

// list goes from one name to the next and jumps over what lies below a directory.
func (m Map) list(dir string) []driver.Info {
	prefix := strings.TrimSuffix(dir, "/") + "/"
	var out []driver.Info
	for from := prefix; from != ""; {
		start := from
		from = ""
		for p, e := range m.m.From(start) {
			rest, ok := strings.CutPrefix(p, prefix)
			if !ok {
				break
			}
			name, _, deeper := strings.Cut(rest, "/")
			if deeper {
				out = append(out, dirInfo(prefix+name))
				from = prefix + name + string(rune('/'+1))
				break
			}
			out = append(out, e.info(p))
		}
	}
	// "/a-b" comes before "/a/x" and after "/a".
	slices.SortStableFunc(out, func(a, b driver.Info) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// Walk yields every file below a directory, sorted by path.
func (*FS) Walk(ctx context.Context, dir string) iter.Seq2[driver.Info, error] {
	return func(yield func(driver.Info, error) bool) {
		m, err := files(ctx, "walk", dir)
		if err != nil {
			yield(driver.Info{}, err)
			return
		}
		for p, e := range m.m.Prefix(strings.TrimSuffix(dir, "/") + "/") {
			if err := ctx.Err(); err != nil {
				yield(driver.Info{}, &driver.Error{Op: "walk", Path: dir, Err: err})
				return
			}
			if !yield(e.info(p), nil) {
				return
			}
		}
	}
}

// body is an open file. It is a snapshot: later writes do not change it.
type body struct{ *strings.Reader }

func (body) Close() error { return nil }

// Open opens a file. The reader can seek when no range was asked for.
func (*FS) Open(ctx context.Context, path string, o driver.OpenOptions) (io.ReadCloser, driver.Info, error) {
	m, err := files(ctx, "open", path)
	if err != nil {
		return nil, driver.Info{}, err
	}
	e, ok := m.m.Get(path)
	switch {
	case ok && e.bad != nil:
		err = e.bad
		if denied := o.Guard.Check(e.info(path)); denied != nil {
			err = denied
		}
	case ok:
		return driver.Opened(body{strings.NewReader(e.body)}, e.info(path), o)
	case m.isDir(path):
		err = driver.ErrIsDir
	default:
		err = fs.ErrNotExist
	}
	return nil, driver.Info{}, driver.Wrap("open", path, err)
}

// Write stores a file. created_at and the unknown fields of a file that it replaces are kept. Nothing is written when src fails.
func (s *FS) Write(ctx context.Context, path string, src io.Reader, o driver.WriteOptions) (driver.Info, error) {
	i, err := s.write(ctx, path, src, o)
	if err != nil {
		return driver.Info{}, driver.Wrap("write", path, err)
	}
	return i, nil
}

func (s *FS) write(ctx context.Context, path string, src io.Reader, o driver.WriteOptions) (driver.Info, error) {
	t, err := tx(ctx)
	if err != nil {
		return driver.Info{}, err
	}
	switch {
	case path == "/":
		return driver.Info{}, driver.ErrIsDir
	case !utf8.ValidString(path): // JSON could not hold the name
		return driver.Info{}, driver.ErrInvalidPath
	}
	i := driver.Info{Path: path, Resolved: path}
	if e, ok := Files.Get(t).m.Get(path); ok {
		i = e.info(path)
	}
	if err := o.Guard.Check(i); err != nil {
		return driver.Info{}, err
	}
	content, err := s.read(ctx, src)
	if err != nil {
		return driver.Info{}, err
	}
	var next *entry
	err = t.Change(func(st state.State) ([]state.Update, error) {
		old, exists := Files.In(st).m.Get(path)
		if err := check(old, exists, o); err != nil {
			return nil, err
		}
		now, base := s.o.Now(), Absent
		d := filedata.New(content, now, s.o.FileFormat)
		if exists {
			d, base = old.With(content, now, s.o.FileFormat), old.version
		}
		next = newEntry(d)
		return []state.Update{Files.Update(Update{{Path: path, File: &next.FileData, Base: base, entry: next}})}, nil
	})
	if err != nil {
		return driver.Info{}, err
	}
	return next.info(path), nil
}

// check compares the file that is replaced with what the writer expects.
func check(old *entry, exists bool, o driver.WriteOptions) error {
	switch {
	case o.CreateOnly && exists:
		return fs.ErrExist
	case o.IfVersion != "" && (!exists || old.version != o.IfVersion):
		return driver.ErrConflict
	case len(o.IfSum) == 0:
		return nil
	case !exists || old.bad != nil:
		return driver.ErrConflict
	}
	if sum := sha256.Sum256([]byte(old.body)); !bytes.Equal(sum[:], o.IfSum) {
		return driver.ErrConflict
	}
	return nil
}

// read reads all of src, as far as the context and the bound allow.
func (s *FS) read(ctx context.Context, src io.Reader) (string, error) {
	var b bytes.Buffer
	if l, ok := src.(interface{ Len() int }); ok && (s.o.MaxSize == 0 || int64(l.Len()) <= s.o.MaxSize) {
		b.Grow(l.Len() + bytes.MinRead)
	}
	var r io.Reader = readerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return src.Read(p)
	})
	if s.o.MaxSize > 0 {
		r = io.LimitReader(r, s.o.MaxSize+1)
	}
	n, err := b.ReadFrom(r)
	switch {
	case err != nil:
		return "", err
	case s.o.MaxSize > 0 && n > s.o.MaxSize:
		return "", fmt.Errorf("%w: a file of this backend holds at most %d bytes", driver.ErrTooLarge, s.o.MaxSize)
	}
	return b.String(), nil
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// Remove removes a file and everything below its path, in one update. The guard sees every file first; one that it denies keeps
// all.
func (*FS) Remove(ctx context.Context, path string, o driver.RemoveOptions) error {
	t, err := tx(ctx)
	if err != nil {
		return driver.Wrap("remove", path, err)
	}
	for {
		seen := Files.Get(t)
		err := remove(ctx, t, seen, path, o.Guard)
		if !errors.Is(err, errChanged) {
			return driver.Wrap("remove", path, err)
		}
	}
}

// errChanged says that files changed while a guard was asked.
var errChanged = errors.New("changed")

func remove(ctx context.Context, t *state.Tx, seen Map, path string, g driver.Guard) error {
	paths := seen.below(path)
	if len(paths) == 0 {
		return fs.ErrNotExist
	}
	if err := checkAll(ctx, seen, path, paths, g); err != nil {
		return err
	}
	return t.Change(func(st state.State) ([]state.Update, error) {
		if Files.In(st) != seen {
			return nil, errChanged
		}
		u := make(Update, len(paths))
		for i, p := range paths {
			u[i] = Change{Path: p, Base: seen.Version(p)}
		}
		return []state.Update{Files.Update(u)}, nil
	})
}

// checkAll asks a guard about a subtree, the directories that it implies included.
func checkAll(ctx context.Context, m Map, top string, paths []string, g driver.Guard) error {
	if g.Empty() {
		return ctx.Err()
	}
	if top == "/" {
		if err := g.Check(dirInfo(top)); err != nil {
			return err
		}
	}
	asked := make(map[string]bool)
	for _, p := range paths {
		if err := ctx.Err(); err != nil {
			return err
		}
		for at := len(top); at < len(p); at++ {
			if dir := p[:at]; p[at] == '/' && dir != "" && !asked[dir] {
				asked[dir] = true
				if err := g.Check(dirInfo(dir)); err != nil {
					return err
				}
			}
		}
		if e, ok := m.m.Get(p); ok {
			if err := g.Check(e.info(p)); err != nil {
				return err
			}
		}
	}
	return nil
}
