package backendtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/deepagents-go/deepagents/backend"
	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/policy"
)

// ReadOnly tests a driver that serves content of its own and refuses every change. files are the files that it must hold, all of
// them, by path; they are texts. [Run] is for drivers that can be written.
func ReadOnly(t *testing.T, d driver.Driver, files map[string]string) {
	t.Helper()
	r := &readOnly{files: files, paths: slices.Sorted(maps.Keys(files))}
	if len(files) == 0 {
		t.Fatal("ReadOnly needs files")
	}
	r.dirs = dirsOf(r.paths)
	s := &suite{mk: func(*testing.T) driver.Driver { return d }, ctx: func(t *testing.T) context.Context { return t.Context() }}
	s.group(t, map[string]func(*env){
		"comparable": (*env).comparable, "stat": r.stat, "list": r.list, "open": r.open, "missing": r.missing, "guard": r.guard,
		"refuses": r.refuses, "cancelled": r.cancelled, "fs": r.fs,
	})
}

type readOnly struct {
	files map[string]string
	paths []string
	dirs  map[string][]string // the entries of each directory, sorted; directories end in "/"
}

func dirsOf(paths []string) map[string][]string {
	dirs := map[string][]string{"/": nil}
	for _, p := range paths {
		for name := p; ; {
			dir := path.Dir(strings.TrimSuffix(name, "/"))
			if !slices.Contains(dirs[dir], name) {
				dirs[dir] = append(dirs[dir], name)
			}
			if dir == "/" {
				break
			}
			name = dir + "/"
		}
	}
	for _, entries := range dirs {
		slices.SortFunc(entries, func(a, b string) int { return strings.Compare(strings.TrimSuffix(a, "/"), strings.TrimSuffix(b, "/")) })
	}
	return dirs
}

func (r *readOnly) stat(e *env) {
	for _, p := range r.paths {
		i, err := e.d.Stat(e.ctx, p)
		if err != nil || i.Path != p || i.Kind != driver.Regular || i.Size != int64(len(r.files[p])) {
			e.Errorf("Stat(%q) = %+v, %v, want a file of %d bytes", p, i, err, len(r.files[p]))
		}
	}
	for p := range r.dirs {
		if i, err := e.d.Stat(e.ctx, p); err != nil || i.Kind != driver.Dir || i.Size != 0 {
			e.Errorf("Stat(%q) = %+v, %v, want a directory", p, i, err)
		}
	}
}

func (r *readOnly) list(e *env) {
	for dir, want := range r.dirs {
		e.same("List("+dir+")", e.paths(dir), want)
		for i, err := range e.d.List(e.ctx, dir, driver.ListOptions{Stat: true}) {
			if err == nil && i.Kind == driver.Regular && i.Size != int64(len(r.files[i.Path])) {
				e.Errorf("List(Stat) says %d bytes of %q", i.Size, i.Path)
			}
		}
		for range e.d.List(e.ctx, dir, driver.ListOptions{}) {
			break // must neither panic nor go on
		}
	}
	err := errors.New("nothing")
	for _, err = range e.d.List(e.ctx, r.paths[0], driver.ListOptions{}) {
		break
	}
	e.is("List of a file", err, driver.ErrNotDir)
}

func (r *readOnly) open(e *env) {
	for _, p := range r.paths {
		want := r.files[p]
		e.holds(p, want)
		n := int64(len(want))
		for _, c := range [][2]int64{{n / 2, 0}, {0, n/2 + 1}, {n / 3, n/3 + 1}, {n, 0}, {n + 9, 5}} {
			rc, i, err := e.d.Open(e.ctx, p, driver.OpenOptions{Offset: c[0], Length: c[1]})
			if err != nil {
				e.Fatalf("Open(%q) at %d: %v", p, c[0], err)
			}
			b, err := io.ReadAll(rc)
			from, to := min(c[0], n), n
			if c[1] > 0 {
				to = min(from+c[1], n)
			}
			if err := errors.Join(err, rc.Close()); err != nil || string(b) != want[from:to] || i.Size != n {
				e.Errorf("Open(%q) at %d for %d = %q of %d bytes, %v, want %q of %d", p, c[0], c[1], b, i.Size, err, want[from:to], n)
			}
		}
		_, _, err := e.d.Open(e.ctx, p, driver.OpenOptions{IfVersion: "another version"})
		e.is("Open with another version", err, driver.ErrConflict)
	}
	for dir := range r.dirs {
		_, _, err := e.d.Open(e.ctx, dir, driver.OpenOptions{})
		e.is("Open of a directory", err, driver.ErrIsDir)
	}
}

func (r *readOnly) missing(e *env) {
	const none = "/no-such-name"
	_, err := e.d.Stat(e.ctx, none)
	e.is("Stat", err, fs.ErrNotExist)
	_, _, err = e.d.Open(e.ctx, none, driver.OpenOptions{})
	e.is("Open", err, fs.ErrNotExist)
	err = nil
	for _, err = range e.d.List(e.ctx, none, driver.ListOptions{}) {
		break
	}
	e.is("List", err, fs.ErrNotExist)
}

func (r *readOnly) guard(e *env) {
	p := r.paths[0]
	g := driver.Guard{Action: policy.Read, Rules: policy.PathRules{{Paths: []string{p}, Decision: policy.Deny}}}
	rc, _, err := e.d.Open(e.ctx, p, driver.OpenOptions{Guard: g})
	if err == nil {
		_ = rc.Close()
	}
	var denied *policy.DeniedError
	if !errors.As(err, &denied) {
		e.Errorf("Open of a denied path: %v, want a *policy.DeniedError", err)
	}
}

func (r *readOnly) refuses(e *env) {
	for _, p := range []string{r.paths[0], "/new"} {
		_, err := e.d.Write(e.ctx, p, bytes.NewReader([]byte("x")), driver.WriteOptions{})
		e.is("Write", err, errors.ErrUnsupported)
		e.is("Remove", e.d.Remove(e.ctx, p, driver.RemoveOptions{}), errors.ErrUnsupported)
	}
	e.holds(r.paths[0], r.files[r.paths[0]])
	e.gone("/new")
}

func (r *readOnly) cancelled(e *env) {
	ctx, cancel := context.WithCancel(e.ctx)
	cancel()
	_, err := e.d.Stat(ctx, r.paths[0])
	e.is("Stat", err, context.Canceled)
	_, _, err = e.d.Open(ctx, r.paths[0], driver.OpenOptions{})
	e.is("Open", err, context.Canceled)
}

// fs looks at the driver as the tools do.
func (r *readOnly) fs(e *env) {
	f := e.fs(backend.Options{})
	for _, p := range r.paths {
		text, _, _ := strings.Cut(r.files[p], "\n")
		text = strings.TrimSuffix(text, "\r")
		l, err := f.Read(e.ctx, p, backend.Window{Limit: 1})
		if err != nil || l.Text != text {
			e.Errorf("Read of the first line of %q = %q, %v, want %q", p, l.Text, err, text)
		}
		if text == "" {
			continue
		}
		g, err := f.Grep(e.ctx, backend.GrepQuery{Text: text, Path: p})
		if err != nil || len(g.Matches) == 0 || g.Matches[0].Path != p {
			e.Errorf("Grep of the first line of %q = %+v, %v", p, g.Matches, err)
		}
	}
	if _, err := f.Edit(e.ctx, r.paths[0], backend.Edit{Old: "no such text", New: "x"}); err == nil {
		e.Error("an edit succeeds")
	}
	for _, p := range r.paths {
		g, err := f.Glob(e.ctx, backend.GlobQuery{Pattern: path.Base(p), Dir: path.Dir(p)})
		if err != nil || !slices.Contains(g.Paths, p) {
			e.Errorf("Glob of %q = %q, %v", p, g.Paths, err)
		}
	}
}
