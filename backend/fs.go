package backend

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"

	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/policy"
)

// FS gives any driver the semantics of files that the tools show: windows of lines, exact edits, globs, searches and transfers.
// It is safe for concurrent use. Paths of its methods are those of a caller and go through [FS.Clean].
type FS struct {
	d       driver.Driver
	o       Options
	workDir string
	index   *indexCache
}

// New makes an FS of a driver. A driver that is nil or not comparable is refused, as is a WorkDir that is no clean absolute path.
func New(d driver.Driver, o Options) (*FS, error) {
	if d == nil {
		return nil, errors.New("backend: no driver")
	}
	if !reflect.ValueOf(d).Comparable() {
		return nil, fmt.Errorf("backend: driver %T is not comparable: use a pointer", d)
	}
	if err := o.Hooks.Rules.Validate(); err != nil {
		return nil, fmt.Errorf("backend: %w", err)
	}
	f := &FS{d: d, o: o, workDir: "/", index: newIndexCache()}
	switch l, m, _, ok := driver.As[driver.Located](d, "/"); {
	case o.WorkDir != "":
		f.workDir = o.WorkDir
	case ok && l.WorkDir() != "":
		f.workDir = driver.Join(m.Prefix, l.WorkDir())
	}
	clean, relative, err := cleanPath(f.workDir)
	if err != nil || relative {
		return nil, fmt.Errorf("backend: the working directory must be an absolute path: '%s'", f.workDir)
	}
	f.workDir = clean
	if f.o.GlobTime <= 0 {
		f.o.GlobTime = DefaultGlobTime
	}
	if f.o.GrepTime <= 0 {
		f.o.GrepTime = DefaultGrepTime
	}
	return f, nil
}

// Driver returns the driver.
func (f *FS) Driver() driver.Driver { return f.d }

// WorkDir returns the directory where relative paths start.
func (f *FS) WorkDir() string { return f.workDir }

// do runs one operation under the hooks.
func (f *FS) do(ctx context.Context, op, path string, run func(path string) error) error {
	clean, err := f.Clean(path)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return driver.Wrap(op, clean, err)
	}
	if f.o.Hooks.Before != nil {
		err = f.o.Hooks.Before(ctx, op, clean)
	}
	if err == nil {
		err = run(clean)
	}
	if f.o.Hooks.After != nil {
		f.o.Hooks.After(ctx, op, clean, err)
	}
	return err
}

func (f *FS) guard(k policy.Kind) driver.Guard {
	g := driver.Guard{Action: k, Rules: f.o.Hooks.Rules}
	a, _, _, ok := driver.As[driver.Aliaser](f.d, "/")
	if !ok || len(g.Rules) == 0 {
		return g
	}
	rules := driver.Guard{Action: k, Rules: g.Rules}
	g.Func = func(i driver.Info) error {
		for _, p := range names(a, i) {
			if err := rules.Check(driver.Info{Path: p}); err != nil {
				return err
			}
		}
		return nil
	}
	return g
}

// names are all names of a file: as typed, resolved, and what these are called otherwise.
func names(a driver.Aliaser, i driver.Info) []string {
	var out []string
	for _, p := range [2]string{i.Path, i.Resolved} {
		if p == "" {
			continue
		}
		out = append(out, p)
		if a != nil {
			out = append(out, a.Aliases(p)...)
		}
	}
	return out
}

// allowed judges the typed path, before a driver is asked.
func (f *FS) allowed(k policy.Kind, path string) error {
	return f.guard(k).Check(driver.Info{Path: path})
}

// listable refuses a directory whose names the rules hide. A Listed rule keeps only contents back.
func (f *FS) listable(i driver.Info) error {
	for _, p := range [2]string{i.Path, i.Resolved} {
		if p == "" || len(f.o.Hooks.Rules) == 0 {
			continue
		}
		if _, rule := f.o.Hooks.Rules.Decide(policy.Read, p); rule.Listed {
			continue
		}
		if err := f.allowed(policy.Read, p); err != nil {
			return err
		}
	}
	return nil
}

// shows reports whether a name may appear in a listing: rules may hide it, and so may the Visible hook.
func (f *FS) shows(i driver.Info) bool {
	if len(f.o.Hooks.Rules) == 0 {
		return f.o.Hooks.Visible == nil || f.o.Hooks.Visible(i)
	}
	a, _, _, _ := driver.As[driver.Aliaser](f.d, "/")
	for _, p := range names(a, i) {
		if v, rule := f.o.Hooks.Rules.Decide(policy.Read, p); v.Decision == policy.Deny && !rule.Listed {
			return false
		}
	}
	return f.o.Hooks.Visible == nil || f.o.Hooks.Visible(i)
}

// Stat describes a path, following links. A missing one is [io/fs.ErrNotExist].
func (f *FS) Stat(ctx context.Context, path string) (i driver.Info, err error) {
	err = f.do(ctx, "stat", path, func(p string) error {
		if err := f.allowed(policy.Read, p); err != nil {
			return err
		}
		if i, err = f.d.Stat(ctx, p); err != nil {
			return err
		}
		return f.guard(policy.Read).Check(i)
	})
	if err != nil {
		return driver.Info{}, err
	}
	return i, nil
}

// ReadAll returns the content of a file of at most max bytes, whatever it is; 0 means no bound. A larger file is
// [driver.ErrTooLarge], with the Info that tells its size.
func (f *FS) ReadAll(ctx context.Context, path string, max int64) (b []byte, i driver.Info, err error) {
	err = f.do(ctx, "read", path, func(p string) error {
		b, i, err = f.readAll(ctx, p, max, policy.Read)
		return err
	})
	return b, i, err
}

func (f *FS) readAll(ctx context.Context, p string, max int64, k policy.Kind) ([]byte, driver.Info, error) {
	if err := f.allowed(k, p); err != nil {
		return nil, driver.Info{}, err
	}
	rc, i, err := f.d.Open(ctx, p, driver.OpenOptions{Guard: f.guard(k)})
	if err != nil {
		return nil, i, err
	}
	defer func() { _ = rc.Close() }() // read only
	if max > 0 && i.Size > max {
		return nil, i, &driver.Error{Op: "read", Path: p, Err: driver.ErrTooLarge}
	}
	var r io.Reader = ctxReader{ctx, rc}
	if max > 0 {
		r = io.LimitReader(r, max+1)
	}
	b, err := io.ReadAll(r)
	if err == nil && max > 0 && int64(len(b)) > max {
		err = driver.ErrTooLarge
	}
	if err != nil {
		return nil, i, driver.Wrap("read", p, err)
	}
	return b, i, nil
}

// ctxReader stops a long read when its context ends.
type ctxReader struct {
	ctx context.Context
	r   io.Reader
}

func (r ctxReader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(b)
}
