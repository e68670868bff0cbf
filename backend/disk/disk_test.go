package disk_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/deepagents-go/deepagents/backend"
	"github.com/deepagents-go/deepagents/backend/backendtest"
	"github.com/deepagents-go/deepagents/backend/disk"
	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/policy"
)

func TestMain(m *testing.M) {
	if what := os.Getenv("DISK_TEST_CHILD"); what != "" {
		child(what)
		return
	}
	goleak.VerifyTestMain(m)
}

// newDisk opens a directory for a test.
func newDisk(t testing.TB, root string) *disk.Disk {
	t.Helper()
	return newDiskIn(t, root, t.TempDir())
}

func newDiskIn(t testing.TB, root, state string) *disk.Disk {
	t.Helper()
	d, err := disk.New(root, disk.Options{StateDir: state})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func TestConformance(t *testing.T) {
	backendtest.Run(t, func(t *testing.T) driver.Driver { return newDisk(t, t.TempDir()) })
}

// TestTwoDrivers lets two drivers on one directory edit one file: the lock of the directory makes them exclude each other.
func TestTwoDrivers(t *testing.T) {
	root := t.TempDir()
	write(t, root, map[string]string{"f": eightLines()})
	one, two := newFS(t, newDisk(t, root), backend.Options{}), newFS(t, newDisk(t, root), backend.Options{})
	backendtest.Edits(t, []*backend.FS{one, two}, "/f")
	noTemps(t, root)
}

func eightLines() string {
	var sb strings.Builder
	for i := range 8 {
		fmt.Fprintf(&sb, "line %d of 8\n", i)
	}
	return sb.String()
}

// noTemps checks that no temporary file is left in a tree.
func noTemps(t testing.TB, root string) {
	t.Helper()
	err := filepath.WalkDir(root, func(p string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(p, ".tmp") {
			t.Errorf("a temporary file is left: %s", p)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestRoots(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"file": "x", "real/a": "a", "link": "-> real", "dangling": "-> nope"})
	for root, want := range map[string]error{"nope": fs.ErrNotExist, "file": driver.ErrNotDir, "file/x": driver.ErrNotDir, "dangling": fs.ErrNotExist} {
		root = filepath.Join(dir, root)
		_, err := disk.New(root, disk.Options{StateDir: t.TempDir()})
		var re *disk.RootError
		if !errors.As(err, &re) || re.Root != root || want == fs.ErrNotExist && !errors.Is(err, want) {
			t.Errorf("New(%s): %v, want %v", root, err, want)
		}
	}
	_, err := disk.New(filepath.Join(dir, "real"), disk.Options{StateDir: filepath.Join(dir, "real", "state")})
	if err == nil {
		t.Error("a state directory inside the root is accepted")
	}
	d := newDisk(t, filepath.Join(dir, "link"))
	f := newFS(t, d, backend.Options{})
	if l, err := f.Read(t.Context(), "a", backend.Window{Limit: 1}); err != nil || l.Text != "a" {
		t.Errorf("read below a root that is a link: %+v, %v", l, err)
	}
	if p, ok := d.Locate("/a"); !ok || p != filepath.Join(resolved(t, dir), "real", "a") {
		t.Errorf("Locate = %s, %v", p, ok)
	}
}

func resolved(t testing.TB, p string) string {
	t.Helper()
	r, err := filepath.EvalSymlinks(p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestHostRules checks that a rule holds whichever name of a root it was written for, and whichever is used.
func TestHostRules(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("host path mode is not supported here")
	}
	base := resolved(t, t.TempDir())
	real, given := filepath.Join(base, "real"), filepath.Join(base, "given")
	write(t, base, map[string]string{"real/s/k": "TOP", "real/ok": "TOP", "given": "-> real", "real/ln": "-> s/k"})
	for _, rule := range []string{real + "/s/**", given + "/s/**"} {
		d, err := disk.NewHost([]string{given}, disk.Options{StateDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		f := newFS(t, d, backend.Options{Hooks: backend.Hooks{Rules: policy.PathRules{{Paths: []string{rule}, Decision: policy.Deny}}}})
		for _, root := range []string{real, given} {
			for _, p := range []string{root + "/s/k", root + "/ln"} {
				_, err := f.Read(t.Context(), p, backend.Window{Limit: 1})
				is(t, err, policy.ErrDenied)
				_, err = f.Write(t.Context(), p, nil, backend.WriteOptions{})
				is(t, err, policy.ErrDenied)
			}
			_, err = f.List(t.Context(), root+"/s")
			is(t, err, policy.ErrDenied)
			is(t, f.Delete(t.Context(), root+"/s"), policy.ErrDenied)
			g, err := f.Grep(t.Context(), backend.GrepQuery{Text: "TOP", Path: root})
			if err != nil || len(g.Matches) != 1 || g.Matches[0].Path != root+"/ok" {
				t.Errorf("rule %s: grep %s: %+v, %v", rule, root, g, err)
			}
			gl, err := f.Glob(t.Context(), backend.GlobQuery{Pattern: "*", Dir: root})
			if err != nil || strings.Join(gl.Paths, " ") != root+"/ok" {
				t.Errorf("rule %s: glob %s: %v, %v", rule, root, gl.Paths, err)
			}
		}
		if err := d.(*disk.Host).Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no permission bits here")
	}
	both(t, func(t *testing.T, open func(*testing.T, string) *disk.Disk) {
		root := t.TempDir()
		write(t, root, map[string]string{"w": "old", "x": "old", "ro": "old", "b": "old"})
		chmod(t, root, map[string]fs.FileMode{"w": 0o600, "x": 0o751, "ro": 0o444})
		if err := os.Link(filepath.Join(root, "b"), filepath.Join(root, "c")); err != nil {
			t.Fatal(err)
		}
		f := newFS(t, open(t, root), backend.Options{})
		for name, mode := range map[string]fs.FileMode{"w": 0o600, "x": 0o751} {
			if _, err := f.Write(t.Context(), name, []byte("new"), backend.WriteOptions{}); err != nil {
				t.Errorf("write %s: %v", name, err)
			}
			fi, err := os.Stat(filepath.Join(root, name))
			if err != nil || fi.Mode().Perm() != mode {
				t.Errorf("%s has mode %v, want %v (%v)", name, fi.Mode(), mode, err)
			}
		}
		_, err := f.Write(t.Context(), "ro", []byte("new"), backend.WriteOptions{})
		is(t, err, fs.ErrPermission)
		_, err = f.Edit(t.Context(), "ro", backend.Edit{Old: "old", New: "new"})
		is(t, err, fs.ErrPermission)
		if read(t, root, "ro") != "old" {
			t.Error("a read-only file was written")
		}
		if _, err := f.Edit(t.Context(), "b", backend.Edit{Old: "old", New: "newer"}); err != nil || read(t, root, "c") != "newer" || read(t, root, "b") != "newer" {
			t.Errorf("edit of a file with two names: %v", err)
		}
		if _, err := f.Write(t.Context(), "c", []byte("s"), backend.WriteOptions{}); err != nil || read(t, root, "b") != "s" {
			t.Errorf("shrinking a file with two names: %v", err)
		}
		noTemps(t, root)
	})
}

func chmod(t testing.TB, root string, modes map[string]fs.FileMode) {
	t.Helper()
	for name, mode := range modes {
		if err := os.Chmod(filepath.Join(root, name), mode); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTempNames checks that temporary files do not exist for callers.
func TestTempNames(t *testing.T) {
	both(t, func(t *testing.T, open func(*testing.T, string) *disk.Disk) {
		root := t.TempDir()
		const temp = ".deepagents-0123456789abcdef.tmp"
		write(t, root, map[string]string{"d/" + temp: "needle", "d/.deepagents-x.tmp": "needle"})
		d := open(t, root)
		f := newFS(t, d, backend.Options{})
		_, err := f.Read(t.Context(), "/d/"+temp, backend.Window{Limit: 1})
		is(t, err, fs.ErrNotExist)
		_, err = f.Write(t.Context(), "/d/"+temp, nil, backend.WriteOptions{})
		is(t, err, driver.ErrInvalidPath)
		is(t, f.Delete(t.Context(), "/d/"+temp), fs.ErrNotExist)
		l, err := f.List(t.Context(), "/d")
		if err != nil || len(l.Entries) != 1 {
			t.Errorf("list: %+v, %v", l, err)
		}
		g, err := f.Grep(t.Context(), backend.GrepQuery{Text: "needle", Hidden: true, NoIgnore: true})
		if err != nil || len(g.Matches) != 1 {
			t.Errorf("grep: %+v, %v", g, err)
		}
		if err := f.Delete(t.Context(), "/d"); err != nil {
			t.Errorf("delete of a directory that holds one: %v", err)
		}
	})
}

func TestHost(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("host path mode is not supported here")
	}
	base := resolved(t, t.TempDir())
	a, b, given := filepath.Join(base, "a"), filepath.Join(base, "b"), filepath.Join(base, "given")
	write(t, base, map[string]string{
		"a/x": "ax\n", "b/y": "by\n", "given": "-> " + b, "a/tob": "-> " + b + "/y", "a/rel": "-> ../b/y", "a/dir": "-> " + b, "a/out": "-> " + base + "/c/z",
		"c/z": "TOP", "b/toa": "-> " + a, "a/ping": "-> " + b + "/pong", "b/pong": "-> " + a + "/ping", "a/new": "-> " + b + "/made",
	})
	d, err := disk.NewHost([]string{a, given}, disk.Options{StateDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	h := d.(*disk.Host)
	defer func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}()
	f := newFS(t, d, backend.Options{})
	ctx := t.Context()
	if f.WorkDir() != a {
		t.Errorf("WorkDir = %s", f.WorkDir())
	}
	for p, want := range map[string][2]string{
		"x": {"ax", a + "/x"}, a + "/x": {"ax", a + "/x"}, b + "/y": {"by", b + "/y"}, given + "/y": {"by", b + "/y"}, a + "/tob": {"by", b + "/y"},
		"rel": {"by", b + "/y"}, a + "/dir/y": {"by", b + "/y"}, given + "/toa/x": {"ax", a + "/x"}, a + "/dir/toa/dir/y": {"by", b + "/y"},
	} {
		l, err := f.Read(ctx, p, backend.Window{Limit: 1})
		if err != nil || l.Text != want[0] || l.Info.Resolved != want[1] {
			t.Errorf("read %s: %q, %s, %v, want %q", p, l.Text, l.Info.Resolved, err, want)
		}
	}
	for _, p := range []string{a + "/out", base + "/c/z", "/etc/passwd", "/", base, a + "/ping", a + "-other/x"} {
		_, err := f.Read(ctx, p, backend.Window{Limit: 1})
		is(t, err, driver.ErrOutside)
		_, err = f.Write(ctx, p, nil, backend.WriteOptions{})
		is(t, err, driver.ErrOutside)
		_, err = f.Grep(ctx, backend.GrepQuery{Text: "T", Path: p})
		is(t, err, driver.ErrOutside)
	}
	if i, err := f.Write(ctx, a+"/new", []byte("m"), backend.WriteOptions{}); err != nil || i.Path != a+"/new" || i.Resolved != b+"/made" || read(t, b, "made") != "m" {
		t.Errorf("write through a link to another root: %+v, %v", i, err)
	}
	if _, err := f.Edit(ctx, a+"/rel", backend.Edit{Old: "by", New: "by2"}); err != nil || read(t, b, "y") != "by2\n" {
		t.Errorf("edit through a link to another root: %v", err)
	}
	l, err := f.List(ctx, a)
	var names []string
	for _, i := range l.Entries {
		names = append(names, filepath.Base(i.Path))
	}
	if got := strings.Join(names, " "); err != nil || got != "dir new rel tob x" {
		t.Errorf("list: %s, %v", got, err)
	}
	g, err := f.Glob(ctx, backend.GlobQuery{Pattern: "*", Dir: given})
	if got := strings.Join(g.Paths, " "); err != nil || got != given+"/made "+given+"/y" {
		t.Errorf("glob: %s, %v", got, err)
	}
	gr, err := f.Grep(ctx, backend.GrepQuery{Text: "by2"})
	if err != nil || len(gr.Matches) != 1 || gr.Matches[0].Path != a+"/rel" && gr.Matches[0].Path != a+"/tob" {
		t.Errorf("grep: %+v, %v", gr, err)
	}
	var refused *backend.RefusedError
	for _, p := range []string{a, b, given, base, "/"} {
		if err := f.Delete(ctx, p); !errors.As(err, &refused) {
			t.Errorf("delete %s: %v", p, err)
		}
	}
	if err := f.Delete(ctx, a+"/dir"); err != nil {
		t.Errorf("delete of a link to another root: %v", err)
	}
	if err := f.Delete(ctx, given+"/toa/x"); err != nil {
		t.Errorf("delete below a link to another root: %v", err)
	}
	if _, err := os.Stat(filepath.Join(a, "x")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the file is still there")
	}
	if _, err := disk.NewHost(nil, disk.Options{}); err == nil {
		t.Error("no roots are accepted")
	}
	if _, err := disk.NewHost([]string{a, filepath.Join(base, "none")}, disk.Options{StateDir: t.TempDir()}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing root: %v", err)
	}
}
