package disk_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deepagents-go/deepagents/backend"
	"github.com/deepagents-go/deepagents/backend/backendtest"
	"github.com/deepagents-go/deepagents/backend/disk"
	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/policy"
)

// both runs a test with the fast way to open paths and with the portable one.
func both(t *testing.T, run func(t *testing.T, open func(t *testing.T, root string) *disk.Disk)) {
	t.Helper()
	t.Run("fast", func(t *testing.T) {
		run(t, func(t *testing.T, root string) *disk.Disk { return newDisk(t, root) })
	})
	t.Run("portable", func(t *testing.T) { run(t, portable) })
}

func portable(t *testing.T, root string) *disk.Disk {
	t.Helper()
	d := newDisk(t, root)
	if err := disk.ForcePortable(d); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestConformancePortable(t *testing.T) {
	backendtest.Run(t, func(t *testing.T) driver.Driver { return portable(t, t.TempDir()) })
}

// TestConformanceFolding looks up every spelling, which changes nothing where case counts.
func TestConformanceFolding(t *testing.T) {
	backendtest.Run(t, func(t *testing.T) driver.Driver {
		d := portable(t, t.TempDir())
		disk.ForceFolds(d)
		return d
	})
}

func newFS(t testing.TB, d driver.Driver, o backend.Options) *backend.FS {
	t.Helper()
	f, err := backend.New(d, o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// write makes files of the host; a content that begins with "-> " makes a link, a name that ends with a slash a directory.
func write(t testing.TB, root string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		p := filepath.Join(root, name)
		dir := filepath.Dir(p)
		if strings.HasSuffix(name, "/") {
			dir = p
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, ok := strings.CutPrefix(content, "-> "); ok {
			err = os.Symlink(target, p)
		} else if dir != p {
			err = os.WriteFile(p, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func read(t testing.TB, p ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(p...))
	if err != nil {
		t.Error(err)
	}
	return string(b)
}

// fingerprint is everything below a directory.
func fingerprint(t testing.TB, dir string) string {
	t.Helper()
	h := sha256.New()
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		i, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%s %s %s\n", p, i.Mode(), i.ModTime())
		if i.Mode().IsRegular() {
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			h.Write(b)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// TestEscapes is case A01: no link leads out, whatever the tool.
func TestEscapes(t *testing.T) {
	both(t, func(t *testing.T, open func(*testing.T, string) *disk.Disk) {
		base := t.TempDir()
		root, out := filepath.Join(base, "root"), filepath.Join(base, "out")
		write(t, base, map[string]string{
			"out/s.txt": "TOP", "out/dir/t": "TOP", "root/in.txt": "fine", "root/sub/": "", "root/l": "-> " + out + "/s.txt", "root/d": "-> " + out,
			"root/dang": "-> " + out + "/new.txt", "root/ok": "-> in.txt", "root/rel": "-> ../out/s.txt", "root/reldir": "-> ../out",
			"root/sub/up": "-> ../../out", "root/two": "-> d/dir", "root/abs": "-> " + root + "/in.txt", "root/tosub": "-> " + root + "/sub",
			"root/etc": "-> /etc", "root/prefix": "-> " + root + "-other/x", "root-other/x": "TOP", "root/proc": "-> /proc/self/root",
			"root/detour": "-> ../root/in.txt",
		})
		before := fingerprint(t, out) + fingerprint(t, root+"-other")
		f := newFS(t, open(t, root), backend.Options{})
		ctx := t.Context()
		for _, p := range []string{"/l", "/d/s.txt", "/d/x/y/new.txt", "/dang", "/rel", "/reldir/s.txt", "/reldir/n", "/sub/up/s.txt", "/two/t", "/two/n", "/etc/passwd", "/prefix", "/proc/etc/passwd", "/d", "/proc"} {
			refused := func(what string, err error) {
				t.Helper()
				if !errors.Is(err, driver.ErrOutside) {
					t.Errorf("%s %s: %v, want ErrOutside", what, p, err)
				}
				if err != nil && (strings.Contains(err.Error(), base) || strings.Contains(err.Error(), "/etc\"")) {
					t.Errorf("%s %s shows a host path: %v", what, p, err)
				}
			}
			_, err := f.Read(ctx, p, backend.Window{Limit: 9})
			refused("read", err)
			_, err = f.Stat(ctx, p)
			refused("stat", err)
			_, err = f.Write(ctx, p, []byte("x"), backend.WriteOptions{})
			refused("write", err)
			_, err = f.Write(ctx, p, []byte("x"), backend.WriteOptions{CreateOnly: true})
			refused("create", err)
			_, err = f.Edit(ctx, p, backend.Edit{Old: "T", New: "x"})
			refused("edit", err)
			_, err = f.List(ctx, p)
			refused("list", err)
			_, err = f.Glob(ctx, backend.GlobQuery{Pattern: "*", Dir: p})
			refused("glob", err)
			_, err = f.Grep(ctx, backend.GrepQuery{Text: "T", Path: p})
			refused("grep", err)
			for _, tr := range append(f.Download(ctx, []string{p}), f.Upload(ctx, []backend.Transfer{{Path: p}})...) {
				if backend.TransferCode(tr.Err) != "invalid_path" {
					t.Errorf("transfer %s: %v", p, tr.Err)
				}
			}
		}
		for _, p := range []string{"/d/s.txt", "/two/t", "/proc/etc/passwd", "/sub/up/s.txt"} {
			if err := f.Delete(ctx, p); !errors.Is(err, driver.ErrOutside) {
				t.Errorf("delete %s: %v", p, err)
			}
		}
		for _, p := range []string{"/ok", "/abs", "/in.txt", "/detour"} {
			if l, err := f.Read(ctx, p, backend.Window{Limit: 1}); err != nil || l.Text != "fine" || l.Info.Resolved != "/in.txt" {
				t.Errorf("read %s: %+v, %v", p, l, err)
			}
		}
		l, err := f.List(ctx, "/")
		var names []string
		for _, i := range l.Entries {
			names = append(names, i.Path)
		}
		if got := strings.Join(names, " "); err != nil || got != "/abs /detour /in.txt /ok /sub /tosub" {
			t.Errorf("list: %s, %v", got, err)
		}
		g, err := f.Grep(ctx, backend.GrepQuery{Text: "", NoIgnore: true, Hidden: true})
		if err != nil || len(g.Matches) != 1 || g.Matches[0].Path != "/in.txt" {
			t.Errorf("grep: %+v, %v", g, err)
		}
		gl, err := f.Glob(ctx, backend.GlobQuery{Pattern: "*"})
		if got := strings.Join(gl.Paths, " "); err != nil || got != "/abs /detour /in.txt /ok" {
			t.Errorf("glob: %s, %v", got, err)
		}
		for _, p := range []string{"/l", "/d", "/dang", "/proc", "/tosub"} {
			if err := f.Delete(ctx, p); err != nil {
				t.Errorf("delete of the link %s: %v", p, err)
			}
		}
		if _, err := os.Stat(filepath.Join(root, "sub")); err != nil {
			t.Error("deleting a link deleted the directory it leads to")
		}
		if fingerprint(t, out)+fingerprint(t, root+"-other") != before {
			t.Error("something outside changed")
		}
	})
}

func TestLinks(t *testing.T) {
	both(t, func(t *testing.T, open func(*testing.T, string) *disk.Disk) {
		root := t.TempDir()
		write(t, root, map[string]string{
			"a.txt": "old", "d/x": "k\n", "ln": "-> a.txt", "chain": "-> ln", "dang": "-> deep/nope", "loop": "-> loop", "one": "-> two", "two": "-> one",
			"dl": "-> d", "self": "-> .", "d/back": "-> ../d", "file/": "", "through": "-> a.txt/x",
		})
		f := newFS(t, open(t, root), backend.Options{})
		ctx := t.Context()
		if i, err := f.Write(ctx, "/chain", []byte("new"), backend.WriteOptions{}); err != nil || i.Resolved != "/a.txt" {
			t.Errorf("write through links: %+v, %v", i, err)
		}
		if read(t, root, "a.txt") != "new" {
			t.Error("the write did not reach the target")
		}
		if fi, err := os.Lstat(filepath.Join(root, "chain")); err != nil || fi.Mode()&fs.ModeSymlink == 0 {
			t.Error("the link was replaced")
		}
		if _, err := f.Edit(ctx, "/ln", backend.Edit{Old: "new", New: "newer"}); err != nil || read(t, root, "a.txt") != "newer" {
			t.Errorf("edit through a link: %v", err)
		}
		_, err := f.Read(ctx, "/dang", backend.Window{Limit: 1})
		is(t, err, fs.ErrNotExist)
		_, err = f.Edit(ctx, "/dang", backend.Edit{Old: "a", New: "b"})
		is(t, err, fs.ErrNotExist)
		if _, err := f.Write(ctx, "/dang", []byte("made"), backend.WriteOptions{}); err != nil || read(t, root, "deep/nope") != "made" {
			t.Errorf("write through a dangling link: %v", err)
		}
		for _, p := range []string{"/loop", "/one", "/loop/x"} {
			_, err = f.Read(ctx, p, backend.Window{Limit: 1})
			is(t, err, driver.ErrLoop)
			_, err = f.Write(ctx, p, nil, backend.WriteOptions{})
			is(t, err, driver.ErrLoop)
		}
		l, err := f.List(ctx, "/")
		if err != nil || l.Unreadable != 3 {
			t.Errorf("list: %d unreadable, %v, want the three loops", l.Unreadable, err)
		}
		l, err = f.List(ctx, "/dl")
		if err != nil || len(l.Entries) != 2 || l.Entries[1].Path != "/dl/x" || l.Entries[1].Resolved != "/d/x" {
			t.Errorf("list of a link: %+v, %v", l, err)
		}
		g, err := f.Grep(ctx, backend.GrepQuery{Text: "k"})
		if err != nil || len(g.Matches) != 1 || g.Matches[0].Path != "/d/x" {
			t.Errorf("grep: %+v, %v", g, err)
		}
		g, err = f.Grep(ctx, backend.GrepQuery{Text: "k", Path: "/dl"})
		if err != nil || len(g.Matches) != 1 || g.Matches[0].Path != "/dl/x" {
			t.Errorf("grep in a link: %+v, %v", g, err)
		}
		gl, err := f.Glob(ctx, backend.GlobQuery{Pattern: "dl/*"})
		if err != nil || len(gl.Paths) != 0 {
			t.Errorf("glob enters a link: %v, %v", gl.Paths, err)
		}
		for p, stays := range map[string]string{"/ln": "a.txt", "/dl": "d/x", "/loop": "a.txt"} {
			if err := f.Delete(ctx, p); err != nil {
				t.Errorf("delete %s: %v", p, err)
			}
			if _, err := os.Stat(filepath.Join(root, stays)); err != nil {
				t.Errorf("deleting the link %s: %v", p, err)
			}
		}
	})
}

func is(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}

// TestRulesAndLinks checks that rules see what a link leads to.
func TestRulesAndLinks(t *testing.T) {
	both(t, func(t *testing.T, open func(*testing.T, string) *disk.Disk) {
		root := t.TempDir()
		write(t, root, map[string]string{"secret/k": "TOP", "pub/ln": "-> ../secret/k", "pub/dir": "-> ../secret", "pub/a": "TOP", "pub/new": "-> ../secret/new"})
		f := newFS(t, open(t, root), backend.Options{Hooks: backend.Hooks{Rules: policy.PathRules{{Paths: []string{"/secret/**"}, Decision: policy.Deny}}}})
		ctx := t.Context()
		for _, p := range []string{"/pub/ln", "/pub/dir/k", "/secret/k"} {
			_, err := f.Read(ctx, p, backend.Window{Limit: 1})
			is(t, err, policy.ErrDenied)
			_, err = f.Stat(ctx, p)
			is(t, err, policy.ErrDenied)
			_, err = f.Edit(ctx, p, backend.Edit{Old: "T", New: "x"})
			is(t, err, policy.ErrDenied)
			_, err = f.Write(ctx, p, nil, backend.WriteOptions{})
			is(t, err, policy.ErrDenied)
		}
		for _, p := range []string{"/pub/new", "/pub/dir/n", "/pub/dir/deep/n"} {
			_, err := f.Write(ctx, p, nil, backend.WriteOptions{})
			is(t, err, policy.ErrDenied)
		}
		is(t, f.Delete(ctx, "/pub/dir/k"), policy.ErrDenied)
		for _, dir := range []string{"/pub/dir"} {
			l, err := f.List(ctx, dir)
			if err == nil && len(l.Entries) > 0 {
				t.Errorf("list %s: %+v", dir, l)
			}
			g, err := f.Grep(ctx, backend.GrepQuery{Text: "TOP", Path: dir})
			if err == nil {
				t.Errorf("grep %s: %+v", dir, g)
			}
			gl, err := f.Glob(ctx, backend.GlobQuery{Pattern: "*", Dir: dir})
			if err == nil {
				t.Errorf("glob %s: %+v", dir, gl)
			}
		}
		g, err := f.Grep(ctx, backend.GrepQuery{Text: "TOP"})
		if err != nil || len(g.Matches) != 1 || g.Matches[0].Path != "/pub/a" {
			t.Errorf("grep: %+v, %v", g, err)
		}
		if read(t, root, "secret/k") != "TOP" {
			t.Error("the file changed")
		}
	})
}
