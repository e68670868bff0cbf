package backendtest_test

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
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/goleak"

	"github.com/deepagents-go/deepagents/backend"
	"github.com/deepagents-go/deepagents/backend/backendtest"
	"github.com/deepagents-go/deepagents/backend/driver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// mem is the smallest driver: a map of contents, with neither directories nor modes, links, versions or times.
type mem struct {
	mu    sync.Mutex
	files map[string]string
}

func newMem() *mem { return &mem{files: map[string]string{}} }

func (m *mem) look(ctx context.Context, p string) (string, driver.Info, error) {
	if err := ctx.Err(); err != nil {
		return "", driver.Info{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if s, ok := m.files[p]; ok {
		return s, driver.Info{Path: p, Resolved: p, Size: int64(len(s))}, nil
	}
	for f := range m.files {
		if p == "/" || strings.HasPrefix(f, p+"/") {
			return "", driver.Info{Path: p, Resolved: p, Kind: driver.Dir}, nil
		}
	}
	if p == "/" {
		return "", driver.Info{Path: p, Resolved: p, Kind: driver.Dir}, nil
	}
	return "", driver.Info{}, fs.ErrNotExist
}

func (m *mem) Stat(ctx context.Context, p string) (driver.Info, error) {
	_, i, err := m.look(ctx, p)
	return i, driver.Wrap("stat", p, err)
}

func (m *mem) keys() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []string
	for k := range m.files {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func (m *mem) List(ctx context.Context, dir string, _ driver.ListOptions) iter.Seq2[driver.Info, error] {
	return func(yield func(driver.Info, error) bool) {
		seen := map[string]bool{}
		var paths []string
		for _, k := range m.keys() {
			rest, ok := strings.CutPrefix(k, strings.TrimSuffix(dir, "/")+"/")
			if name, _, _ := strings.Cut(rest, "/"); ok && !seen[name] {
				seen[name] = true
				paths = append(paths, driver.Join(dir, "/"+name))
			}
		}
		slices.Sort(paths)
		for _, p := range paths {
			i, err := m.Stat(ctx, p)
			if !yield(i, err) || err != nil {
				return
			}
		}
	}
}

func (m *mem) Open(ctx context.Context, p string, o driver.OpenOptions) (io.ReadCloser, driver.Info, error) {
	s, i, err := m.look(ctx, p)
	if err != nil {
		return nil, i, driver.Wrap("open", p, err)
	}
	return driver.Opened(io.NopCloser(strings.NewReader(s)), i, o)
}

func (m *mem) Write(ctx context.Context, p string, src io.Reader, o driver.WriteOptions) (driver.Info, error) {
	_, i, err := m.look(ctx, p)
	if err == nil && i.Kind == driver.Dir {
		return i, driver.Wrap("write", p, driver.ErrIsDir)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return i, driver.Wrap("write", p, err)
	}
	if err := o.Guard.Check(driver.Info{Path: p, Resolved: p}); err != nil {
		return i, driver.Wrap("write", p, err)
	}
	b, err := io.ReadAll(src)
	if err != nil {
		return i, driver.Wrap("write", p, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	old, exists := m.files[p]
	sum := sha256.Sum256([]byte(old))
	switch {
	case o.CreateOnly && exists:
		return i, driver.Wrap("write", p, fs.ErrExist)
	case o.IfVersion != "" || o.IfSum != nil && (!exists || !bytes.Equal(sum[:], o.IfSum)):
		return i, driver.Wrap("write", p, driver.ErrConflict)
	}
	m.files[p] = string(b)
	return driver.Info{Path: p, Resolved: p, Size: int64(len(b))}, nil
}

func (m *mem) Remove(ctx context.Context, p string, o driver.RemoveOptions) error {
	if _, _, err := m.look(ctx, p); err != nil {
		return driver.Wrap("remove", p, err)
	}
	var gone []string
	for _, k := range m.keys() {
		if k == p || strings.HasPrefix(k, p+"/") {
			if err := o.Guard.Check(driver.Info{Path: k, Resolved: k}); err != nil {
				return driver.Wrap("remove", p, err)
			}
			gone = append(gone, k)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, k := range gone {
		delete(m.files, k)
	}
	return nil
}

func TestMap(t *testing.T) {
	backendtest.Run(t, func(*testing.T) driver.Driver { return newMem() }, backendtest.ImplicitDirs, backendtest.NoVersions)
}

// walkMem lists everything at once, as key-value stores do.
type walkMem struct{ *mem }

func (w *walkMem) Walk(ctx context.Context, dir string) iter.Seq2[driver.Info, error] {
	return func(yield func(driver.Info, error) bool) {
		for _, k := range w.keys() {
			if dir != "/" && !strings.HasPrefix(k, dir+"/") {
				continue
			}
			i, err := w.Stat(ctx, k)
			if !yield(i, err) {
				return
			}
		}
	}
}

func TestWalker(t *testing.T) {
	backendtest.Run(t, func(*testing.T) driver.Driver { return &walkMem{newMem()} }, backendtest.ImplicitDirs, backendtest.NoVersions)
}

// slow is a driver whose reads wait, and whose walk ignores the context.
type slow struct {
	*mem
	wait time.Duration
}

func (s *slow) Open(ctx context.Context, p string, o driver.OpenOptions) (io.ReadCloser, driver.Info, error) {
	time.Sleep(s.wait)
	return s.mem.Open(ctx, p, o)
}

func (s *slow) List(ctx context.Context, dir string, o driver.ListOptions) iter.Seq2[driver.Info, error] {
	return func(yield func(driver.Info, error) bool) {
		for i, err := range s.mem.List(ctx, dir, o) {
			time.Sleep(s.wait)
			if !yield(i, err) {
				return
			}
		}
	}
}

// TestTime checks that a search whose time ends returns what it has, and that one whose context ends returns that error (B081).
func TestTime(t *testing.T) {
	m := newMem()
	for i := range 300 {
		m.files[fmt.Sprintf("/d/f%03d", i)] = "needle\n"
	}
	f, err := backend.New(&slow{m, 2 * time.Millisecond}, backend.Options{GlobTime: 80 * time.Millisecond, GrepTime: 80 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	g, err := f.Glob(t.Context(), backend.GlobQuery{Pattern: "*"})
	if err != nil || !g.Truncated || len(g.Paths) > 299 {
		t.Errorf("Glob = %d paths, truncated %v, %v", len(g.Paths), g.Truncated, err)
	}
	r, err := f.Grep(t.Context(), backend.GrepQuery{Text: "needle"})
	if err != nil || !r.Truncated || len(r.Matches) > 299 {
		t.Errorf("Grep = %d matches, truncated %v, %v", len(r.Matches), r.Truncated, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := f.Grep(ctx, backend.GrepQuery{Text: "needle"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Grep under a context that ends: %v", err)
	}
	if _, err := f.Glob(ctx, backend.GlobQuery{Pattern: "*"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Glob under a context that ended: %v", err)
	}
}

func TestFromFS(t *testing.T) {
	fsys := fstest.MapFS{
		"a.txt": {Data: []byte("one\ntwo\n"), ModTime: time.Unix(1, 0)}, "d/b.py": {Data: []byte("two\n")}, "d/ln": {Data: []byte("../a.txt"), Mode: fs.ModeSymlink},
	}
	f, err := backend.New(driver.FromFS(fsys), backend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	l, err := f.Read(ctx, "/a.txt", backend.Window{Offset: 1, Limit: 5})
	if err != nil || l.Text != "two" || l.Info.Version == "" {
		t.Errorf("Read = %+v, %v", l, err)
	}
	r, err := f.Grep(ctx, backend.GrepQuery{Text: "two"})
	if err != nil || len(r.Matches) != 2 || r.Matches[1].Path != "/d/b.py" {
		t.Errorf("Grep = %+v, %v", r, err)
	}
	ls, err := f.List(ctx, "/d")
	if err != nil || len(ls.Entries) != 1 {
		t.Errorf("List = %+v, %v", ls, err)
	}
	_, err = f.List(ctx, "/a.txt")
	if !errors.Is(err, driver.ErrNotDir) {
		t.Errorf("List of a file: %v", err)
	}
	_, err = f.Read(ctx, "/d/ln", backend.Window{Limit: 1})
	if !errors.Is(err, driver.ErrNotRegular) {
		t.Errorf("Read of a link: %v", err)
	}
	_, err = f.Write(ctx, "/x", nil, backend.WriteOptions{})
	if !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Write: %v", err)
	}
	if err = f.Delete(ctx, "/a.txt"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Delete: %v", err)
	}
	_, err = f.Read(ctx, "/nope", backend.Window{})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Read of a missing file: %v", err)
	}
}

type byValue struct {
	driver.Driver
	_ []int
}

func TestNewRefuses(t *testing.T) {
	if _, err := backend.New(byValue{Driver: newMem()}, backend.Options{}); err == nil {
		t.Error("a driver that is not comparable is accepted")
	}
	if _, err := backend.New(nil, backend.Options{}); err == nil {
		t.Error("no driver is accepted")
	}
	if _, err := backend.New(newMem(), backend.Options{WorkDir: "rel"}); err == nil {
		t.Error("a relative working directory is accepted")
	}
}

// router mounts drivers.
type router struct {
	driver.Driver
	mounts []driver.Mount // sorted, the default first
}

func (r *router) Route(p string) driver.Mount {
	best := r.mounts[0]
	for _, m := range r.mounts {
		if p == m.Prefix || strings.HasPrefix(p, m.Prefix+"/") {
			best = m
		}
	}
	return best
}

func (r *router) Mounts(under string) []driver.Mount {
	out := []driver.Mount{r.Route(under)}
	for _, m := range r.mounts {
		if under == "/" && m.Prefix != "/" || strings.HasPrefix(m.Prefix, under+"/") {
			out = append(out, m)
		}
	}
	return out
}

func (r *router) Stat(ctx context.Context, p string) (driver.Info, error) {
	m := r.Route(p)
	i, err := m.Driver.Stat(ctx, driver.Rel(p, m.Prefix))
	i.Path, i.Resolved = p, p
	return i, err
}

func (r *router) Open(ctx context.Context, p string, o driver.OpenOptions) (io.ReadCloser, driver.Info, error) {
	m := r.Route(p)
	rc, i, err := m.Driver.Open(ctx, driver.Rel(p, m.Prefix), o)
	i.Path, i.Resolved = p, p
	return rc, i, err
}

func (r *router) List(ctx context.Context, dir string, o driver.ListOptions) iter.Seq2[driver.Info, error] {
	return func(yield func(driver.Info, error) bool) {
		m := r.Route(dir)
		for i, err := range m.Driver.List(ctx, driver.Rel(dir, m.Prefix), o) {
			i.Path = driver.Join(m.Prefix, i.Path)
			i.Resolved = i.Path
			if !yield(i, err) {
				return
			}
		}
	}
}

func TestRoutes(t *testing.T) {
	root, mount, hidden := newMem(), &walkMem{newMem()}, newMem()
	root.files = map[string]string{"/t.py": "k", "/a/x": "k", "/a/b/shadowed": "k", "/z": "k", "/hid/below": "k", "/.gitignore": "n.py\n"}
	mount.files = map[string]string{"/n.py": "k", "/d/e": "k"}
	hidden.files = map[string]string{"/secret": "k"}
	r := &router{Driver: root, mounts: []driver.Mount{{Prefix: "/", Driver: root}, {Prefix: "/a/b", Driver: mount}, {Prefix: "/hid", Driver: hidden, Hidden: true}}}
	f, err := backend.New(r, backend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	grep := func(path string) string {
		g, err := f.Grep(ctx, backend.GrepQuery{Text: "k", Path: path})
		if err != nil {
			t.Errorf("Grep(%s): %v", path, err)
		}
		var l []string
		for _, m := range g.Matches {
			l = append(l, m.Path)
		}
		return strings.Join(l, " ")
	}
	for path, want := range map[string]string{
		"/": "/a/b/d/e /a/b/n.py /a/x /t.py /z", "/a": "/a/b/d/e /a/b/n.py /a/x", "/a/b": "/a/b/d/e /a/b/n.py", "/a/b/d": "/a/b/d/e", "/hid": "/hid/secret", "/a/b/n.py": "/a/b/n.py",
	} {
		if got := grep(path); got != want {
			t.Errorf("Grep(%s) = %s, want %s", path, got, want)
		}
	}
	g, err := f.Glob(ctx, backend.GlobQuery{Pattern: "/*.py"})
	if err != nil || strings.Join(g.Paths, " ") != "/t.py" {
		t.Errorf("Glob(/*.py) = %v, %v", g.Paths, err)
	}
	g, err = f.Glob(ctx, backend.GlobQuery{Pattern: "a/b/*"})
	if err != nil || strings.Join(g.Paths, " ") != "/a/b/n.py" {
		t.Errorf("Glob(a/b/*) = %v, %v", g.Paths, err)
	}
	l, err := f.List(ctx, "/a")
	if err != nil || len(l.Entries) != 2 || l.Entries[0].Path != "/a/b" || !l.Entries[0].IsDir() {
		t.Errorf("List(/a) = %+v, %v", l, err)
	}
	l, err = f.List(ctx, "/")
	if err != nil || len(l.Entries) != 4 {
		t.Errorf("List(/) = %+v, %v", l, err)
	}
	for path, want := range map[string]string{"/a": "/a/b", "/a/b": "/a/b", "/hid": "/hid", "/": "/a/b, /hid"} {
		err := f.Delete(ctx, path)
		var refused *backend.RefusedError
		if !errors.As(err, &refused) || strings.Join(refused.Routes, ", ") != want {
			t.Errorf("Delete(%s): %v", path, err)
		}
	}
}

func TestReadOnly(t *testing.T) {
	files := map[string]string{"/a.txt": "one\ntwo\n", "/d/b.py": "two\r\n", "/d/e/c": "", "/d-f/g.md": "# G\n"}
	fsys := fstest.MapFS{}
	for p, text := range files {
		fsys[p[1:]] = &fstest.MapFile{Data: []byte(text), ModTime: time.Unix(1, 0)}
	}
	backendtest.ReadOnly(t, driver.FromFS(fsys), files)
}
