package composite_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/deepagents-go/deepagents/backend"
	"github.com/deepagents-go/deepagents/backend/composite"
	"github.com/deepagents-go/deepagents/backend/disk"
	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/backend/kv"
	"github.com/deepagents-go/deepagents/policy"
	"github.com/deepagents-go/deepagents/store"
	"github.com/deepagents-go/deepagents/store/memory"
)

func TestNew(t *testing.T) {
	d := newKV(t)
	type values struct{ readOnly }
	for name, c := range map[string]struct {
		o      composite.Options
		prefix string
		want   error
	}{
		"fine":                {composite.Options{Default: d, Routes: routes{"/a/": d, "//b//c": d, "/a/./d": d}, Hidden: map[string]bool{"/a": true}}, "", nil},
		"no default":          {composite.Options{}, "/", composite.ErrDriver},
		"no driver":           {composite.Options{Default: d, Routes: routes{"/a": nil}}, "/a", composite.ErrDriver},
		"root":                {composite.Options{Default: d, Routes: routes{"/": d}}, "/", composite.ErrRoot},
		"root, long":          {composite.Options{Default: d, Routes: routes{"//./": d}}, "//./", composite.ErrRoot},
		"twice":               {composite.Options{Default: d, Routes: routes{"/a": d, "/a/": d}}, "/a/", composite.ErrDuplicate},
		"relative":            {composite.Options{Default: d, Routes: routes{"a": d}}, "a", driver.ErrInvalidPath},
		"empty":               {composite.Options{Default: d, Routes: routes{"": d}}, "", driver.ErrInvalidPath},
		"up":                  {composite.Options{Default: d, Routes: routes{"/a/../b": d}}, "/a/../b", driver.ErrInvalidPath},
		"NUL":                 {composite.Options{Default: d, Routes: routes{"/a\x00": d}}, "/a\x00", driver.ErrInvalidPath},
		"backslash":           {composite.Options{Default: d, Routes: routes{`/a\b`: d}}, `/a\b`, driver.ErrInvalidPath},
		"hidden, no route":    {composite.Options{Default: d, Routes: routes{"/a": d}, Hidden: map[string]bool{"/b": true}}, "/b", composite.ErrNoRoute},
		"hidden, no path":     {composite.Options{Default: d, Hidden: map[string]bool{"b": true}}, "b", driver.ErrInvalidPath},
		"a value of a struct": {composite.Options{Default: d, Routes: routes{"/v": values{}}}, "", nil},
		"not comparable": {composite.Options{Default: d, Routes: routes{"/v": struct {
			driver.Driver
			_ []int
		}{}}}, "/v", composite.ErrDriver},
	} {
		_, err := composite.New(c.o)
		var pe *composite.PrefixError
		if !errors.Is(err, c.want) || c.want != nil && (!errors.As(err, &pe) || pe.Prefix != c.prefix || !strings.Contains(err.Error(), c.prefix)) {
			t.Errorf("%s: %v, want %v at %q", name, err, c.want, c.prefix)
		}
	}
	for in, want := range map[string]string{"": "/", "/": "/", "/work/": "/work", "work": "/work", "//a//b": "/a/b"} {
		c, err := composite.New(composite.Options{Default: d, ArtifactsRoot: in})
		if err != nil || c.ArtifactsRoot() != want {
			t.Errorf("artifacts root %q: %v, want %q", in, err, want)
		}
	}
	if _, err := composite.New(composite.Options{Default: d, ArtifactsRoot: "/a/../b"}); !errors.Is(err, driver.ErrInvalidPath) {
		t.Errorf("artifacts root with ..: %v", err)
	}
}

func TestRoute(t *testing.T) {
	c := mustNew(t, newKV(t), routes{"/mem/": newKV(t), "/mem/deep": newKV(t), "/a/b": newKV(t), "/mem-x": newKV(t)}, "/a/b")
	for p, want := range map[string]string{
		"/": "/", "/x": "/", "/mem": "/mem", "/mem/x": "/mem", "/mem/deep": "/mem/deep", "/mem/deep/x/y": "/mem/deep", "/mem/deeper": "/mem",
		"/memories": "/", "/a": "/", "/a/b": "/a/b", "/a/bc": "/",
	} {
		if got := c.Route(p); got.Prefix != want || got.Hidden != (want == "/a/b") {
			t.Errorf("Route(%s) = %+v, want %s", p, got, want)
		}
	}
	for p, want := range map[string]string{"/": "/ /a/b /mem /mem-x /mem/deep", "/mem": "/mem /mem/deep", "/mem/deep/x": "/mem/deep", "/a": "/ /a/b"} {
		var got []string
		for _, m := range c.Mounts(p) {
			got = append(got, m.Prefix)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("Mounts(%s) = %s, want %s", p, got, want)
		}
	}
}

// TestList checks the merged listings of the driver itself.
func TestList(t *testing.T) {
	ctx := t.Context()
	def := newKV(t)
	fill(ctx, t, def, "/a", "file", "/a/in", "", "/b-", "", "/mem/shadowed", "", "/z", "", "/q/hid/x", "")
	c := mustNew(t, def, routes{"/a/b/c": newKV(t), "/mem": newKV(t), "/mem/n": newKV(t), "/b": newKV(t), "/only/here": newKV(t), "/q/hid": newKV(t)}, "/q/hid")
	for dir, want := range map[string]string{
		"/": "/a /a/ /b/ /b- /mem/ /only/ /q/ /z", "/a": "/a/b/ /a/in", "/a/b": "/a/b/c/", "/only": "/only/here/", "/mem": "/mem/n/", "/b": "", "/q": "",
	} {
		if got := ls(ctx, c, dir); got != want {
			t.Errorf("List(%s) = %s, want %s", dir, got, want)
		}
		l, err := newFS(t, c, backend.Options{}).List(ctx, dir)
		var got []string
		for _, i := range l.Entries {
			got = append(got, i.Path+map[bool]string{true: "/"}[i.IsDir()])
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("FS.List(%s) = %s, %v, want %s", dir, got, err, want)
		}
	}
	for p, kind := range map[string]driver.FileKind{"/only": driver.Dir, "/mem": driver.Dir, "/a/b": driver.Dir, "/z": driver.Regular} {
		if i, err := c.Stat(ctx, p); err != nil || i.Kind != kind || i.Path != p || i.Resolved != p {
			t.Errorf("Stat(%s) = %+v, %v", p, i, err)
		}
	}
	if _, err := c.Stat(ctx, "/mem/shadowed"); !errors.Is(err, fs.ErrNotExist) || err.Error() != "stat /mem/shadowed: file does not exist" {
		t.Errorf("a shadowed file: %v", err)
	}
	for range c.List(ctx, "/", driver.ListOptions{}) {
		break
	}
}

// TestErrors checks that errors name the path that the caller knows.
func TestErrors(t *testing.T) {
	ctx := t.Context()
	d := newDisk(t, t.TempDir())
	fill(ctx, t, d, "/dir/f", "x")
	c := mustNew(t, newKV(t), routes{"/m": mustNew(t, newKV(t), routes{"/n": d})})
	_, open := openErr(ctx, c, "/m/n/nope")
	_, conflict := c.Write(ctx, "/m/n/dir/f", strings.NewReader(""), driver.WriteOptions{IfVersion: "0"})
	_, denied := c.Write(ctx, "/m/n/dir/f", strings.NewReader(""), driver.WriteOptions{Guard: driver.Guard{Action: policy.Write, Rules: policy.PathRules{{Paths: []string{"/m/n/dir/**"}, Decision: policy.Deny}}}})
	_, exists := c.Write(ctx, "/m/n/dir/f", strings.NewReader(""), driver.WriteOptions{CreateOnly: true})
	_, dir := c.Write(ctx, "/m/n/dir", strings.NewReader(""), driver.WriteOptions{})
	mounted := c.Remove(ctx, "/m/n", driver.RemoveOptions{})
	for _, e := range []struct {
		err  error
		is   error
		text string
	}{
		{open, fs.ErrNotExist, "open /m/n/nope: "},
		{conflict, driver.ErrConflict, "write /m/n/dir/f: file changed since it was read"},
		{denied, policy.ErrDenied, "/m/n/dir/f"},
		{exists, fs.ErrExist, "write /m/n/dir/f: file "},
		{dir, driver.ErrIsDir, "write /m/n/dir: is a directory"},
		{c.Remove(ctx, "/m/n/nope", driver.RemoveOptions{}), fs.ErrNotExist, "remove /m/n/nope: "},
		{mounted, errors.ErrUnsupported, "remove /m/n: it holds the mounted /m/n"},
		{c.Remove(ctx, "/m", driver.RemoveOptions{}), errors.ErrUnsupported, "remove /m: it holds the mounted /m"},
	} {
		var de *driver.Error
		if !errors.Is(e.err, e.is) || !errors.As(e.err, &de) || !strings.HasPrefix(de.Path, "/m") || !strings.Contains(e.err.Error(), e.text) {
			t.Errorf("got %v, want %s", e.err, e.text)
		}
	}
	var held *composite.MountedError
	if !errors.As(c.Remove(ctx, "/m", driver.RemoveOptions{}), &held) || !slices.Equal(held.Routes, []string{"/m"}) {
		t.Errorf("routes: %v", held)
	}
}

func openErr(ctx context.Context, d driver.Driver, p string) (driver.Info, error) {
	rc, i, err := d.Open(ctx, p, driver.OpenOptions{})
	if err == nil {
		_ = rc.Close()
	}
	return i, err
}

// torn is a driver whose files cannot be read to their end.
type torn struct{ driver.Driver }

type tornReader struct{ io.ReadCloser }

func (tornReader) Read([]byte) (int, error) {
	return 0, fmt.Errorf("try 2: %w", &driver.Error{Op: "read", Path: "/f", Err: errors.New("torn")})
}

func (d *torn) Open(ctx context.Context, p string, o driver.OpenOptions) (io.ReadCloser, driver.Info, error) {
	rc, i, err := d.Driver.Open(ctx, p, o)
	return tornReader{rc}, i, err
}

func TestReadError(t *testing.T) {
	ctx := t.Context()
	c := mustNew(t, newKV(t), routes{"/m": &torn{newKV(t)}})
	fill(ctx, t, c, "/m/f", "x")
	if got := get(ctx, c, "/m/f"); got != "read /m/f: torn" {
		t.Error(got)
	}
}

// TestLinks checks that a link does not lead around a route, and that rules see where it leads on the whole tree.
func TestLinks(t *testing.T) {
	ctx, root, inner := t.Context(), t.TempDir(), t.TempDir()
	for _, dir := range []string{root + "/mem", root + "/real", inner + "/s"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		root + "/ln": "mem/covered", root + "/dl": "mem", root + "/ok": "real/f", root + "/okdir": "real", inner + "/ls": "s/f", inner + "/lsd": "s",
	} {
		if err := os.Symlink(target, link); err != nil {
			t.Skipf("links: %v", err)
		}
	}
	for _, f := range []string{root + "/mem/covered", root + "/real/f", inner + "/s/f"} {
		if err := os.WriteFile(f, []byte("k"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c := mustNew(t, newDisk(t, root), routes{"/mem": newDisk(t, inner)})
	if got := ls(ctx, c, "/"); got != "/mem/ /ok /okdir/ /real/" {
		t.Error(got)
	}
	if got := get(ctx, c, "/ok") + get(ctx, c, "/okdir/f") + get(ctx, c, "/mem/ls"); got != "kkk" {
		t.Error(got)
	}
	for _, p := range []string{"/ln", "/dl/covered", "/dl"} {
		_, stat := c.Stat(ctx, p)
		if !errors.Is(stat, driver.ErrOutside) {
			t.Errorf("Stat(%s): %v", p, stat)
		}
	}
	for _, p := range []string{"/ln", "/dl/covered"} {
		if _, err := openErr(ctx, c, p); !errors.Is(err, driver.ErrOutside) {
			t.Errorf("Open(%s): %v", p, err)
		}
		if _, err := c.Write(ctx, p, strings.NewReader("changed"), driver.WriteOptions{}); !errors.Is(err, driver.ErrOutside) {
			t.Errorf("Write(%s): %v", p, err)
		}
	}
	if err := c.Remove(ctx, "/dl/covered", driver.RemoveOptions{}); !errors.Is(err, driver.ErrOutside) {
		t.Errorf("Remove: %v", err)
	}
	if b, err := os.ReadFile(filepath.Join(root, "mem/covered")); err != nil || string(b) != "k" {
		t.Errorf("the covered file: %q, %v", b, err)
	}
	f := newFS(t, c, backend.Options{Hooks: backend.Hooks{Rules: policy.PathRules{{Paths: []string{"/mem/s/**"}, Decision: policy.Deny}}}})
	if _, err := f.Grep(ctx, backend.GrepQuery{Text: "k", Path: "/dl"}); !errors.Is(err, driver.ErrOutside) {
		t.Errorf("grep from a link into a covered directory: %v", err)
	}
	for _, p := range []string{"/mem/ls", "/mem/lsd/f", "/mem/s/f"} {
		if _, err := f.Read(ctx, p, backend.Window{Limit: 1}); !errors.Is(err, policy.ErrDenied) {
			t.Errorf("read %s: %v", p, err)
		}
	}
	r, err := f.Grep(ctx, backend.GrepQuery{Text: "k", Path: "/"})
	if err != nil || len(r.Matches) != 1 || r.Matches[0].Path != "/real/f" {
		t.Errorf("grep: %+v, %v", r, err)
	}
}

// TestNested checks that a composite in a composite shows, searches and finds capabilities as one tree.
func TestNested(t *testing.T) {
	ctx := t.Context()
	d := newDisk(t, t.TempDir())
	c := mustNew(t, newKV(t), routes{"/x/y": mustNew(t, newKV(t), routes{"/d/e": d, "/f": newKV(t)})})
	fill(ctx, t, c, "/top", "k", "/x/y/in", "k", "/x/y/d/e/deep", "k", "/x/y/f/g", "k", "/x/side", "k")
	f := newFS(t, c, backend.Options{})
	g, err := f.Glob(ctx, backend.GlobQuery{Pattern: "*", Dir: "/"})
	if want := []string{"/top", "/x/side", "/x/y/d/e/deep", "/x/y/f/g", "/x/y/in"}; err != nil || !slices.Equal(g.Paths, want) {
		t.Errorf("glob = %v, %v", g, err)
	}
	r, err := f.Grep(ctx, backend.GrepQuery{Text: "k", Path: "/x/y", Max: 2})
	if err != nil || !r.Truncated || len(r.Matches) != 2 || r.Matches[0].Path != "/x/y/d/e/deep" || r.Matches[1].Path != "/x/y/f/g" {
		t.Errorf("grep = %+v, %v", r, err)
	}
	if got := ls(ctx, c, "/x/y"); got != "/x/y/d/ /x/y/f/ /x/y/in" {
		t.Error(got)
	}
	l, m, rel, ok := driver.As[driver.Located](c, "/x/y/d/e/deep")
	if !ok || l != driver.Located(d) || m.Prefix != "/x/y/d/e" || rel != "/deep" {
		t.Errorf("As[Located] = %v %+v %s %v", l, m, rel, ok)
	}
	if _, _, _, ok := driver.As[driver.Located](c, "/x/y/in"); ok {
		t.Error("a key-value file has a place on the host")
	}
	var refused *backend.RefusedError
	if err := f.Delete(ctx, "/x/y/d"); !errors.As(err, &refused) || !slices.Equal(refused.Routes, []string{"/x/y/d/e"}) {
		t.Errorf("delete: %v", err)
	}
	if _, err := f.Edit(ctx, "/x/y/d/e/deep", backend.Edit{Old: "k", New: "kk"}); err != nil || get(ctx, d, "/deep") != "kk" {
		t.Errorf("edit: %v", err)
	}
}

// TestOneDriverTwice checks that the names of one driver share its locks, and that edits through both are lost by neither.
func TestOneDriverTwice(t *testing.T) {
	ctx := t.Context()
	d := newDisk(t, t.TempDir())
	c := mustNew(t, newKV(t), routes{"/a": d, "/b/c": d})
	fill(ctx, t, c, "/a/f", strings.Repeat("x\n", 40))
	l, _, rel, _ := driver.As[driver.Locker](c, "/a/f")
	unlock, err := l.Lock(ctx, rel)
	if err != nil {
		t.Fatal(err)
	}
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	f := newFS(t, c, backend.Options{})
	if _, err := f.Edit(stopped, "/b/c/f", backend.Edit{Old: "x", New: "y", All: true}); !errors.Is(err, context.Canceled) {
		t.Errorf("edit of a locked file: %v", err)
	}
	unlock()
	var wg sync.WaitGroup
	for i := range 20 {
		p := []string{"/a/f", "/b/c/f"}[i%2]
		wg.Go(func() {
			if _, err := f.Edit(ctx, p, backend.Edit{Old: strings.Repeat("x\n", 40), New: fmt.Sprintf("%d\n", i) + strings.Repeat("x\n", 40)}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := strings.Count(get(ctx, d, "/f"), "\n"); got != 60 {
		t.Errorf("%d lines after 20 edits, want 60", got)
	}
	r, err := f.Read(ctx, "/a/f", backend.Window{Limit: 1})
	fill(ctx, t, d, "/f", "new\n")
	again, err2 := f.Read(ctx, "/b/c/f", backend.Window{Limit: 1})
	if err != nil || err2 != nil || r.Text == again.Text || again.Text != "new" {
		t.Errorf("%q %v, %q %v", r.Text, err, again.Text, err2)
	}
}

// TestTwoRoutesOneStore has the case B150: two routes on one store, each in a namespace of its own.
func TestTwoRoutesOneStore(t *testing.T) {
	ctx, s := t.Context(), memory.New(memory.Options{})
	in := func(name string) driver.Driver {
		d, err := kv.New(kv.Options{Store: s, Namespace: kv.Fixed(name)})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	c := mustNew(t, newKV(t), routes{"/m": in("m"), "/s": in("s")})
	fill(ctx, t, c, "/m/a", "hit")
	r, err := newFS(t, c, backend.Options{}).Grep(ctx, backend.GrepQuery{Text: "hit", Path: "/"})
	if err != nil || len(r.Matches) != 1 || ls(ctx, c, "/s") != "" {
		t.Errorf("%+v, %v, /s holds %q", r, err, ls(ctx, c, "/s"))
	}
	if _, err := s.Get(ctx, store.Namespace{"m"}, "/a", store.GetOptions{}); err != nil {
		t.Errorf("the key is not the path below the route: %v", err)
	}
}

// TestTransfers checks that files of one driver are transferred together and answered in the order in which they were given.
func TestTransfers(t *testing.T) {
	ctx := t.Context()
	log := &plain{}
	at := func(p string) *noted { return &noted{plain{Driver: newKV(t)}, p, log} }
	m := at("m")
	f := newFS(t, mustNew(t, at("d"), routes{"/m": m, "/again": m, "/ro": &readOnly{}}), backend.Options{})
	up := f.Upload(ctx, []backend.Transfer{
		{Path: "/m/1", Content: []byte("1")},
		{Path: "/2", Content: []byte("2")},
		{Path: "~x"},
		{Path: "/again/3", Content: []byte("3")},
		{Path: "/ro/4", Content: []byte("4")},
		{Path: "/m", Content: []byte("5")},
		{Path: "/m/1", Content: []byte("last")},
	})
	var got []string
	for _, x := range up {
		got = append(got, x.Path+" "+backend.TransferCode(x.Err))
	}
	want := []string{"/m/1 ", "/2 ", "~x invalid_path", "/again/3 ", "/ro/4 write /ro/4: unsupported operation", "/m is_directory", "/m/1 "}
	if !slices.Equal(got, want) {
		t.Errorf("upload\n got %q\nwant %q", got, want)
	}
	if want := []string{"m /1", "m /3", "m /", "m /1", "d /2"}; !slices.Equal(log.calls, want) {
		t.Errorf("order of the calls: %q, want %q", log.calls, want)
	}
	got = nil
	for _, x := range f.Download(ctx, []string{"/m/1", "/2", "/m/nope", "/again/1", "/m", "/ro/x", "/a/../b"}) {
		got = append(got, x.Path+" "+string(x.Content)+backend.TransferCode(x.Err))
	}
	want = []string{"/m/1 last", "/2 2", "/m/nope file_not_found", "/again/1 last", "/m is_directory", "/ro/x file_not_found", "/a/../b invalid_path"}
	if !slices.Equal(got, want) {
		t.Errorf("download\n got %q\nwant %q", got, want)
	}
}

// noted notes writes in the order of all drivers.
type noted struct {
	plain
	name string
	log  *plain
}

func (d *noted) Write(ctx context.Context, p string, src io.Reader, o driver.WriteOptions) (driver.Info, error) {
	d.log.calls = append(d.log.calls, d.name+" "+p)
	return d.Driver.Write(ctx, p, src, o)
}

// TestHostPaths checks that a root of the host is judged under all its names below a route, too.
func TestHostPaths(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.MkdirAll(base+"/real/s", 0o755), os.WriteFile(base+"/real/s/f", []byte("k"), 0o644)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(base+"/real", base+"/given"); err != nil {
		t.Skipf("links: %v", err)
	}
	h, err := disk.NewHost([]string{base + "/given"}, disk.Options{NoSync: true, StateDir: t.TempDir()})
	if err != nil {
		t.Skipf("host paths: %v", err)
	}
	t.Cleanup(func() { _ = h.(io.Closer).Close() })
	for prefix, c := range map[string]driver.Driver{"": mustNew(t, h, routes{"/mem": newKV(t)}), "/h": mustNew(t, newKV(t), routes{"/h": h})} {
		for _, denied := range []string{"/real/s/**", "/given/s/**"} {
			f := newFS(t, c, backend.Options{Hooks: backend.Hooks{Rules: policy.PathRules{{Paths: []string{prefix + base + denied}, Decision: policy.Deny}}}})
			for _, p := range []string{"/real/s/f", "/given/s/f"} {
				if _, err := f.Read(t.Context(), prefix+base+p, backend.Window{Limit: 1}); !errors.Is(err, policy.ErrDenied) {
					t.Errorf("%s denied, read %s: %v", denied, prefix+base+p, err)
				}
			}
		}
		if got := get(t.Context(), c, prefix+base+"/given/s/f"); got != "k" {
			t.Error(got)
		}
	}
}

func TestRouteRootIsNoFile(t *testing.T) {
	c := mustNew(t, newKV(t), routes{"/m": newKV(t), "/x/y/z": newKV(t)})
	for _, p := range []string{"/", "/m", "/x", "/x/y", "/x/y/z"} {
		if _, err := c.Write(t.Context(), p, strings.NewReader("x"), driver.WriteOptions{}); !errors.Is(err, driver.ErrIsDir) {
			t.Errorf("Write(%s): %v", p, err)
		}
		if _, err := openErr(t.Context(), c, p); !errors.Is(err, driver.ErrIsDir) {
			t.Errorf("Open(%s): %v", p, err)
		}
	}
}

// TestCancelled checks that the end of the context is the error, not a route that failed.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := mustNew(t, newKV(t), routes{"/m": newKV(t)})
	fill(ctx, t, c, "/m/f", "k", "/f", "k")
	f := newFS(t, c, backend.Options{Hooks: backend.Hooks{Before: func(context.Context, string, string) error { cancel(); return nil }}})
	_, list := f.List(ctx, "/")
	_, glob := f.Glob(ctx, backend.GlobQuery{Pattern: "*"})
	_, grep := f.Grep(ctx, backend.GrepQuery{Text: "k"})
	for name, err := range maps.All(map[string]error{"list": list, "glob": glob, "grep": grep}) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCoveredMount checks that a route inside the default is gone where a route of the outer composite covers it.
func TestCoveredMount(t *testing.T) {
	ctx := t.Context()
	inner := mustNew(t, newKV(t), routes{"/a/b/c": newKV(t), "/a/d": newKV(t)})
	fill(ctx, t, inner, "/a/b/c/f", "k", "/a/d/f", "k")
	c := mustNew(t, inner, routes{"/a/b": newKV(t)})
	fill(ctx, t, c, "/a/b/g", "k")
	var got []string
	for _, m := range driver.Split(c, "/") {
		got = append(got, m.Prefix)
	}
	if want := []string{"/", "/a/d", "/a/b"}; !slices.Equal(got, want) {
		t.Errorf("Split = %q, want %q", got, want)
	}
	f := newFS(t, c, backend.Options{})
	l, err := f.List(ctx, "/a/b")
	if err != nil || len(l.Entries) != 1 || l.Entries[0].Path != "/a/b/g" {
		t.Errorf("%+v, %v", l, err)
	}
	g, err := f.Glob(ctx, backend.GlobQuery{Pattern: "*", Dir: "/"})
	if want := []string{"/a/b/g", "/a/d/f"}; err != nil || !slices.Equal(g.Paths, want) || g.Unreadable != 0 || g.Failed != nil {
		t.Errorf("%+v, %v", g, err)
	}
}
