package backend

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"math/rand/v2"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/internal/textio"
	"github.com/deepagents-go/deepagents/policy"
)

const (
	// MaxEdit is the size of the largest file that is edited; a larger one is [driver.ErrTooLarge].
	MaxEdit = 256 << 20
	// editTries bounds how often an edit starts again because another writer was faster.
	editTries = 200
)

// Write creates a file or replaces its content, with missing parent directories.
func (f *FS) Write(ctx context.Context, path string, content []byte, o WriteOptions) (i driver.Info, err error) {
	err = f.do(ctx, "write", path, func(p string) error {
		i, err = f.write(ctx, p, content, driver.WriteOptions{CreateOnly: o.CreateOnly, IfVersion: o.IfVersion})
		return err
	})
	if err != nil {
		return driver.Info{}, err
	}
	return i, nil
}

func (f *FS) write(ctx context.Context, p string, content []byte, o driver.WriteOptions) (driver.Info, error) {
	if err := f.allowed(policy.Write, p); err != nil {
		return driver.Info{}, err
	}
	if f.o.Hooks.Content != nil {
		if err := f.o.Hooks.Content(ctx, p, content); err != nil {
			return driver.Info{}, err
		}
	}
	o.Guard = f.guard(policy.Write)
	return f.d.Write(ctx, p, bytes.NewReader(content), o)
}

// Edit replaces an exact text in a text file and leaves every other byte as it is. Line ends in Old match any line end, those in New
// become what the file uses there. Without a single match it returns a [*MatchError] and changes nothing. An edit that changes no
// byte does not write. When another writer changes the file meanwhile, the edit is computed again on the new content.
func (f *FS) Edit(ctx context.Context, path string, e Edit) (r EditResult, err error) {
	err = f.do(ctx, "edit", path, func(p string) error {
		r, err = f.edit(ctx, p, e)
		return err
	})
	if err != nil {
		return EditResult{}, err
	}
	return r, nil
}

func (f *FS) edit(ctx context.Context, p string, e Edit) (EditResult, error) {
	if e.Old == "" {
		return EditResult{}, ErrEmptyOld
	}
	if err := f.allowed(policy.Write, p); err != nil {
		return EditResult{}, err
	}
	if l, m, rel, ok := driver.As[driver.Locker](f.d, p); ok {
		unlock, err := l.Lock(ctx, rel)
		if err != nil {
			return EditResult{}, driver.Wrap("edit", p, driver.ErrorUnder(m.Prefix, err))
		}
		defer unlock()
	}
	for try := range editTries {
		r, err := f.editOnce(ctx, p, e)
		if !errors.Is(err, driver.ErrConflict) || e.IfVersion != "" {
			return r, err
		}
		if err := pause(ctx, try); err != nil {
			return EditResult{}, driver.Wrap("edit", p, err)
		}
	}
	return EditResult{}, driver.Wrap("edit", p, ErrBusy)
}

// pause waits a little longer after each lost race, at random so that the writers part.
func pause(ctx context.Context, try int) error {
	t := time.NewTimer(rand.N(time.Duration(min(try+1, 20)) * time.Millisecond))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

func (f *FS) editOnce(ctx context.Context, p string, e Edit) (EditResult, error) {
	b, i, err := f.readAll(ctx, p, MaxEdit, policy.Write)
	if err != nil {
		return EditResult{}, err
	}
	if e.IfVersion != "" && e.IfVersion != i.Version {
		return EditResult{}, driver.Wrap("edit", p, driver.ErrConflict)
	}
	if textio.Binary(b, true) {
		return EditResult{}, &BinaryError{Path: p, Size: i.Size, MIME: textio.MIME(p, b[:min(len(b), textio.HeadSize)])}
	}
	r := textio.Replace(b, e.Old, e.New, e.All)
	if r.Content == nil {
		return EditResult{}, f.noMatch(i, b, e, r.Count)
	}
	out := EditResult{Info: i, Count: r.Count, Added: r.Added, Removed: r.Removed}
	if bytes.Equal(r.Content, b) {
		return out, nil
	}
	o := driver.WriteOptions{IfVersion: i.Version}
	if i.Version == "" || i.Racy {
		sum := sha256.Sum256(b)
		o.IfSum = sum[:]
	}
	out.Info, err = f.write(ctx, p, r.Content, o)
	return out, err
}

// noMatch explains why an edit found no single place. The closest line is shown only to a caller who may read the file.
func (f *FS) noMatch(i driver.Info, b []byte, e Edit, count int) error {
	if count == 0 && strings.ContainsRune(e.Old, utf8.RuneError) && !utf8.Valid(b) {
		return ErrReplacementChar
	}
	m := &MatchError{Old: e.Old, Count: count}
	if count > 0 {
		return m
	}
	m.WithoutNewline = textio.WithoutNewline(b, e.Old)
	if f.guard(policy.Read).Check(i) == nil {
		m.Line, m.Text = textio.Closest(b, e.Old)
	}
	return m
}

// Delete removes a file, a link itself, or a directory with everything below it. The root directory, the root of a route and a
// directory that holds one are a [*RefusedError].
func (f *FS) Delete(ctx context.Context, path string) error {
	return f.do(ctx, "delete", path, func(p string) error {
		if err := f.allowed(policy.Write, p); err != nil {
			return err
		}
		var routes []string
		for _, m := range f.mounts(p) {
			routes = append(routes, m.prefix)
		}
		if p == "/" || len(routes) > 0 {
			return &RefusedError{Path: p, Routes: routes}
		}
		return f.d.Remove(ctx, p, driver.RemoveOptions{Guard: f.guard(policy.Write)})
	})
}
