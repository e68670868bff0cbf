package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/deepagents-go/deepagents/backend/driver"
)

// Options configure a [Disk]. The zero value is right for most uses.
type Options struct {
	// StateDir holds the records of unfinished writes, in a directory for each root. It must lie outside the root. Empty means a
	// directory in the user's cache, or in the directory for temporary files when there is none.
	StateDir string
	// NoSync leaves out fsync: faster, and a power failure may then lose or damage what was written last. For tests and throwaway
	// directories.
	NoSync bool
}

// RootError says that a root directory cannot be served. [errors.Is] finds [io/fs.ErrNotExist], [driver.ErrNotDir] or
// [io/fs.ErrPermission] in it.
type RootError struct {
	// Root is the directory as it was given.
	Root string
	Err  error
}

// Error names the root as it was given.
func (e *RootError) Error() string { return fmt.Sprintf("root directory '%s': %v", e.Root, e.Err) }

// Unwrap returns the cause.
func (e *RootError) Unwrap() error { return e.Err }

// Disk is a [driver.Driver] for a directory of the host. The path "/" is that directory.
type Disk struct {
	root *os.Root
	// fast is the system's own way to open without links; portable handles are used where it is missing.
	fast *fast
	// names are the host paths of the root: resolved, and as it was given.
	names [2]string
	// prefix is put before the resolved paths that guards see: the resolved root in host path mode, else nothing.
	prefix  string
	journal *journal
	locks   *keyLocks
	noSync  bool
	// folds says that names which differ in case are one file.
	folds bool
}

// New opens a directory in virtual mode: "/" is the root. A root that is missing, no directory or unreadable is a [*RootError].
// What an earlier process left of unfinished writes is removed.
func New(root string, o Options) (*Disk, error) {
	d, err := open(root, o)
	if err != nil {
		return nil, &RootError{Root: root, Err: err}
	}
	return d, nil
}

func open(root string, o Options) (*Disk, error) {
	given, err := filepath.Abs(root)
	if err != nil {
		return nil, bare(err)
	}
	fi, err := os.Stat(given)
	switch {
	case err != nil:
		return nil, bare(err)
	case !fi.IsDir():
		return nil, driver.ErrNotDir
	}
	resolved, err := filepath.EvalSymlinks(given)
	if err != nil {
		return nil, bare(err)
	}
	r, err := os.OpenRoot(resolved)
	if err != nil {
		return nil, bare(err)
	}
	d := &Disk{root: r, names: [2]string{filepath.ToSlash(resolved), filepath.ToSlash(given)}, locks: newKeyLocks(), noSync: o.NoSync, folds: foldsCase(resolved)}
	if err := d.start(o); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

func (d *Disk) start(o Options) error {
	f, err := d.root.Open(".")
	if err != nil {
		return bare(err)
	}
	_, err = f.Readdirnames(1)
	_ = f.Close() // only tried
	if err != nil && errors.Is(err, fs.ErrPermission) {
		return bare(err)
	}
	if d.fast, err = newFast(d.names[0]); err != nil {
		return bare(err)
	}
	if d.journal, err = openJournal(o.StateDir, d.names[0]); err != nil {
		return err
	}
	return d.recover()
}

// Close frees the handles. Readers that are open stay usable.
func (d *Disk) Close() error {
	if d.fast != nil {
		_ = d.fast.close() // a directory handle that was only read through
	}
	if d.journal != nil {
		d.journal.close()
	}
	return d.root.Close()
}

// Locate returns the host path of a path.
func (d *Disk) Locate(p string) (string, bool) {
	return filepath.FromSlash(path.Join(d.names[0], p)), true
}

// WorkDir returns "/".
func (d *Disk) WorkDir() string { return "/" }

// request is a path in its two forms: as the caller knows it, and below the root of this disk.
type request struct{ typed, rel string }

func virtual(p string) request { return request{p, relative(p)} }

// relative makes "." and "a/b" of "/" and "/a/b".
func relative(p string) string {
	if p = strings.TrimPrefix(p, "/"); p == "" {
		return "."
	}
	return p
}

// absolute is the path that guards see for a path below the root.
func (d *Disk) absolute(rel string) string {
	if rel == "." {
		return driver.Join(d.prefix, "/")
	}
	return driver.Join(d.prefix, "/"+rel)
}

const (
	tempPrefix = ".deepagents-"
	tempSuffix = ".tmp"
	tempRandom = 16
)

// isTemp reports whether a name is that of a temporary file of ours. Such files do not exist for callers.
func isTemp(name string) bool {
	return len(name) == len(tempPrefix)+tempRandom+len(tempSuffix) && strings.HasPrefix(name, tempPrefix) && strings.HasSuffix(name, tempSuffix)
}

// bare takes host paths off an error of the standard library.
func bare(err error) error {
	for {
		switch e := err.(type) { //nolint:errorlint // one layer at a time
		case *fs.PathError:
			err = e.Err
		case *os.LinkError:
			err = e.Err
		case *os.SyscallError:
			err = e.Err
		default:
			return err
		}
	}
}

// wrap makes the error of an operation: with the typed path, without host paths, with the sentinels of package driver.
func wrap(op string, q request, err error) error {
	if err == nil {
		return nil
	}
	err = bare(err)
	if s := sentinel(err); s != nil && !errors.As(err, new(throughFile)) {
		err = s
	}
	return driver.Wrap(op, q.typed, err)
}

// Stat describes a path, following links that stay inside the root.
func (d *Disk) Stat(ctx context.Context, p string) (driver.Info, error) {
	q := virtual(p)
	i, err := d.stat(ctx, q)
	return i, wrap("stat", q, err)
}

func (d *Disk) stat(ctx context.Context, q request) (driver.Info, error) {
	if err := ctx.Err(); err != nil {
		return driver.Info{}, err
	}
	if isTemp(path.Base(q.rel)) {
		return driver.Info{}, fs.ErrNotExist
	}
	m, rel, err := follow(d, q.rel, d.statPlain)
	if err != nil {
		return driver.Info{}, missing(err)
	}
	return m.info(q.typed, d.absolute(rel)), nil
}

// missing makes a path through a file one that does not exist; it stays [driver.ErrNotDir] too.
func missing(err error) error {
	if errors.Is(sentinel(bare(err)), driver.ErrNotDir) {
		return throughFile{}
	}
	return err
}

type throughFile struct{}

func (throughFile) Error() string { return driver.ErrNotDir.Error() }
func (throughFile) Is(target error) bool {
	return target == driver.ErrNotDir || target == fs.ErrNotExist
}
