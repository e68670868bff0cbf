package statefs_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/backend/statefs"
	"github.com/deepagents-go/deepagents/policy"
	"github.com/deepagents-go/deepagents/run"
	"github.com/deepagents-go/deepagents/run/runtest"
	"github.com/deepagents-go/deepagents/state"
)

var _ driver.Walker = (*statefs.FS)(nil)

func names(ps ...string) map[string]string {
	m := make(map[string]string, len(ps))
	for _, p := range ps {
		m[p] = "x"
	}
	return m
}

// TestList has the cases S of file-tools.md 5.2.
func TestList(t *testing.T) {
	for _, c := range []struct {
		files map[string]string
		dir   string
		want  string
	}{
		{names("/a/b/c.txt", "/a/d.txt"), "/a", "/a/b/ /a/d.txt"},
		{names("/a.txt"), "/a.txt", ""},
		{names(), "/nope", ""},
		{names(), "/", ""},
		{names("/a/x", "/b"), "/", "/a/ /b"},
		{names("/a/x", "/a/y/z", "/a-b", "/a", "/a0", "/b"), "/", "/a /a/ /a-b /a0 /b"},
		{names("/B", "/a", "/Z/x"), "/", "/B /Z/ /a"},
		{names("/.env", "/.git/x"), "/", "/.env /.git/"},
		{names("/a/x/1", "/a/x/2", "/a/x0", "/a/y/1", "/ab/z"), "/a", "/a/x/ /a/x0 /a/y/"},
	} {
		d, ctx, _ := with(t, c.files)
		if got := ls(ctx, t, d, c.dir); got != c.want {
			t.Errorf("%v: ls %s: %q, want %q", slices.Sorted(maps.Keys(c.files)), c.dir, got, c.want)
		}
	}
}

func TestStat(t *testing.T) {
	d, ctx, _ := with(t, nil)
	w := put(ctx, t, d, "/a/b.txt", "héllo")
	i, err := d.Stat(ctx, "/a/b.txt")
	want := driver.Info{
		Path: "/a/b.txt", Resolved: "/a/b.txt", Size: 6, Mode: 0o644, ModTime: time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC), Version: w.Version,
	}
	if d := cmp.Diff(want, i); d != "" || err != nil || i.Version == "" {
		t.Errorf("%v %s", err, d)
	}
	if d := cmp.Diff(want, w); d != "" {
		t.Errorf("Write returned something else: %s", d)
	}
	for _, dir := range []string{"/", "/a"} {
		if i, err := d.Stat(ctx, dir); err != nil || i.Kind != driver.Dir || i.Path != dir || i.Resolved != dir || !i.Mode.IsDir() {
			t.Errorf("%s: %+v, %v", dir, i, err)
		}
	}
	for _, p := range []string{"/a/b", "/a/b.txt/x", "/nope"} {
		_, err := d.Stat(ctx, p)
		var de *driver.Error
		if !errors.Is(err, fs.ErrNotExist) || !errors.As(err, &de) || de.Op != "stat" || de.Path != p {
			t.Errorf("%s: %v", p, err)
		}
	}
}

func TestOpen(t *testing.T) {
	d, ctx, _ := with(t, map[string]string{"/d/a": "0123456789", "/e": ""})
	i, err := d.Stat(ctx, "/d/a")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path string
		o    driver.OpenOptions
		want string
	}{
		{"/d/a", driver.OpenOptions{}, "0123456789"},
		{"/d/a", driver.OpenOptions{Offset: 3, Length: 4}, "3456"},
		{"/d/a", driver.OpenOptions{Offset: 8, Length: 4}, "89"},
		{"/d/a", driver.OpenOptions{Offset: 99}, ""},
		{"/d/a", driver.OpenOptions{IfVersion: i.Version}, "0123456789"},
		{"/d/a", driver.OpenOptions{IfVersion: "old"}, "open /d/a: file changed since it was read"},
		{"/e", driver.OpenOptions{}, ""},
		{"/d", driver.OpenOptions{}, "open /d: is a directory"},
		{"/", driver.OpenOptions{}, "open /: is a directory"},
		{"/nope", driver.OpenOptions{}, "open /nope: file does not exist"},
	} {
		if got := get(ctx, d, c.path, c.o); got != c.want {
			t.Errorf("%s %+v: %q, want %q", c.path, c.o, got, c.want)
		}
	}
	r, _, err := d.Open(ctx, "/d/a", driver.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	put(ctx, t, d, "/d/a", "new")
	if b, err := io.ReadAll(r); string(b) != "0123456789" || err != nil {
		t.Errorf("a write changed what an open reader sees: %q, %v", b, err)
	}
	if _, ok := r.(io.Seeker); !ok {
		t.Error("the reader cannot seek")
	}
}

func TestWrite(t *testing.T) {
	d, ctx, tx := with(t, nil)
	one := put(ctx, t, d, "/a", "v1")
	two := put(ctx, t, d, "/a", "v2")
	if one.Version == two.Version || !two.ModTime.After(one.ModTime) {
		t.Errorf("%+v then %+v", one, two)
	}
	f, _ := statefs.Files.Get(tx).Get("/a")
	want := statefs.FileData{Content: "v2", Encoding: "utf-8", CreatedAt: "2026-09-01T10:00:00Z", ModifiedAt: "2026-09-01T11:00:00Z"}
	if d := cmp.Diff(want, f, cmp.AllowUnexported(f)); d != "" {
		t.Error(d)
	}
	old := sha256.Sum256([]byte("v1"))
	cur := sha256.Sum256([]byte("v2"))
	for _, c := range []struct {
		name, path string
		o          driver.WriteOptions
		want       error
	}{
		{"create only", "/a", driver.WriteOptions{CreateOnly: true}, fs.ErrExist},
		{"old version", "/a", driver.WriteOptions{IfVersion: one.Version}, driver.ErrConflict},
		{"version of a missing file", "/b", driver.WriteOptions{IfVersion: two.Version}, driver.ErrConflict},
		{"old sum", "/a", driver.WriteOptions{IfSum: old[:]}, driver.ErrConflict},
		{"sum of a missing file", "/b", driver.WriteOptions{IfSum: old[:]}, driver.ErrConflict},
		{"the root", "/", driver.WriteOptions{}, driver.ErrIsDir},
		{"a name that JSON cannot hold", "/\xff", driver.WriteOptions{}, driver.ErrInvalidPath},
		{
			"a rule", "/a",
			driver.WriteOptions{Guard: driver.Guard{Action: policy.Write, Rules: policy.PathRules{{Paths: []string{"/a"}, Decision: policy.Deny}}}},
			policy.ErrDenied,
		},
		{"a guard", "/a", driver.WriteOptions{Guard: driver.Guard{Func: func(i driver.Info) error {
			if i.Version != two.Version {
				t.Errorf("the guard sees %+v", i)
			}
			return fs.ErrPermission
		}}}, fs.ErrPermission},
	} {
		_, err := d.Write(ctx, c.path, strings.NewReader("new"), c.o)
		var de *driver.Error
		if !errors.Is(err, c.want) || !errors.As(err, &de) || de.Op != "write" || de.Path != c.path {
			t.Errorf("%s: error %v, want %v", c.name, err, c.want)
		}
	}
	if _, err := d.Write(ctx, "/a", iotest.ErrReader(io.ErrUnexpectedEOF), driver.WriteOptions{}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("broken source: %v", err)
	}
	if got := ls(ctx, t, d, "/") + get(ctx, d, "/a", driver.OpenOptions{}); got != "/av2" {
		t.Errorf("a refused write left %q", got)
	}
	for _, o := range []driver.WriteOptions{{IfVersion: two.Version}, {IfSum: cur[:]}} {
		if _, err := d.Write(ctx, "/a", strings.NewReader("v2"), o); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := d.Write(ctx, "/b", strings.NewReader(""), driver.WriteOptions{CreateOnly: true}); err != nil {
		t.Error(err)
	}
}

func TestMaxSize(t *testing.T) {
	_, ctx, _ := with(t, nil)
	d := statefs.New(statefs.Options{MaxSize: 3})
	put(ctx, t, d, "/a", "abc")
	if _, err := d.Write(ctx, "/a", strings.NewReader("abcd"), driver.WriteOptions{}); !errors.Is(err, driver.ErrTooLarge) {
		t.Errorf("error %v", err)
	}
	if got := get(ctx, d, "/a", driver.OpenOptions{}); got != "abc" {
		t.Errorf("left %q", got)
	}
}

// TestBytes: what is no text comes back byte for byte (case upload FF 00 of file-tools.md 5.10).
func TestBytes(t *testing.T) {
	d, ctx, tx := with(t, nil)
	for _, content := range []string{"\xff\x00", "\x89PNG\r\n", "a\x00b", "", "\ufeffhi\r\n", "\u2028<&>"} {
		i := put(ctx, t, d, "/f", content)
		if got := get(ctx, d, "/f", driver.OpenOptions{}); got != content || i.Size != int64(len(content)) {
			t.Errorf("%q came back as %q of %d bytes", content, got, i.Size)
		}
		raw, err := tx.State().Encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := schema(t).Decode(raw)
		if err != nil {
			t.Fatal(err)
		}
		ctx2, _ := in(t, back)
		if got := get(ctx2, d, "/f", driver.OpenOptions{IfVersion: i.Version}); got != content {
			t.Errorf("%q came back from a snapshot as %q", content, got)
		}
	}
}

// TestRemove has the cases S of file-tools.md 5.6.
func TestRemove(t *testing.T) {
	for _, c := range []struct {
		files map[string]string
		path  string
		left  string
	}{
		{names("/d/a", "/d/b", "/dx", "/d-x"), "/d", "/d-x /dx"},
		{names("/d", "/d/a"), "/d", ""},
		{names("/d", "/d/a"), "/d/a", "/d"},
		{names("/a", "/b/c"), "/", ""},
	} {
		d, ctx, tx := with(t, c.files)
		before := len(tx.Updates())
		if err := d.Remove(ctx, c.path, driver.RemoveOptions{}); err != nil {
			t.Fatal(err)
		}
		if got := walk(ctx, t, d, "/"); got != c.left {
			t.Errorf("%s: %q is left, want %q", c.path, got, c.left)
		}
		if n := len(tx.Updates()) - before; n != 1 {
			t.Errorf("%d updates, want 1", n)
		}
	}
	d, ctx, _ := with(t, names("/dx"))
	if err := d.Remove(ctx, "/d", driver.RemoveOptions{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}

func TestRemoveGuard(t *testing.T) {
	d, ctx, _ := with(t, names("/d/a", "/d/s/k", "/d/s/l"))
	for _, pattern := range []string{"/d", "/d/s", "/d/s/l", "/**/k"} {
		g := driver.Guard{Action: policy.Write, Rules: policy.PathRules{{Paths: []string{pattern}, Decision: policy.Deny}}}
		if err := d.Remove(ctx, "/d", driver.RemoveOptions{Guard: g}); !errors.Is(err, policy.ErrDenied) {
			t.Errorf("%s: error %v", pattern, err)
		}
	}
	if got := walk(ctx, t, d, "/"); got != "/d/a /d/s/k /d/s/l" {
		t.Errorf("a denied remove left %q", got)
	}
	var asked []string
	g := driver.Guard{Func: func(i driver.Info) error {
		if len(asked) == 0 {
			put(ctx, t, d, "/d/new", "written while the guard is asked")
		}
		asked = append(asked, i.Path)
		return nil
	}}
	if err := d.Remove(ctx, "/d", driver.RemoveOptions{Guard: g}); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(asked, "/d/new") || walk(ctx, t, d, "/") != "" {
		t.Errorf("asked about %q, left %q", asked, walk(ctx, t, d, "/"))
	}
}

func TestOpenGuard(t *testing.T) {
	d, ctx, _ := with(t, names("/secrets/.env"))
	g := driver.Guard{Action: policy.Read, Rules: policy.PathRules{{Paths: []string{"/secrets/**"}, Decision: policy.Deny}}}
	if _, _, err := d.Open(ctx, "/secrets/.env", driver.OpenOptions{Guard: g}); !errors.Is(err, policy.ErrDenied) {
		t.Errorf("error %v", err)
	}
}

// TestOutside: every method says what to do.
func TestOutside(t *testing.T) {
	d := statefs.New(statefs.Options{})
	other, err := state.NewSchema(state.Messages.Field())
	if err != nil {
		t.Fatal(err)
	}
	namesake := state.Last[int]("files", state.Options{})
	taken, err := state.NewSchema(namesake.Field())
	if err != nil {
		t.Fatal(err)
	}
	ctxOther, _ := in(t, other.New())
	ctxTaken, _ := in(t, taken.New())
	ctxFine, cancel := context.WithCancel(ctxOther)
	cancel()
	for _, c := range []struct {
		ctx  context.Context
		want error
		text string
	}{
		{t.Context(), run.ErrOutside, "tool or a hook"},
		{ctxOther, statefs.ErrNoFiles, "statefs.Files.Field()"},
		{ctxTaken, statefs.ErrNoFiles, "statefs.Files.Field()"},
		{run.With(t.Context(), &noState{}), statefs.ErrNoFiles, ""},
		{ctxFine, context.Canceled, ""},
	} {
		errs := map[string]error{"remove": d.Remove(c.ctx, "/x", driver.RemoveOptions{})}
		_, errs["stat"] = d.Stat(c.ctx, "/x")
		_, _, errs["open"] = d.Open(c.ctx, "/x", driver.OpenOptions{})
		_, errs["write"] = d.Write(c.ctx, "/x", strings.NewReader(""), driver.WriteOptions{})
		for _, errs["list"] = range d.List(c.ctx, "/x", driver.ListOptions{}) {
		}
		for _, errs["walk"] = range d.Walk(c.ctx, "/x") {
		}
		for op, err := range errs {
			var de *driver.Error
			if !errors.Is(err, c.want) || !errors.As(err, &de) || de.Op != op || de.Path != "/x" || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%s: error %v, want %v", op, err, c.want)
			}
		}
	}
}

func TestAfterTheCall(t *testing.T) {
	d, ctx, tx := with(t, names("/a"))
	tx.Close()
	if _, err := d.Write(ctx, "/a", strings.NewReader("y"), driver.WriteOptions{}); !errors.Is(err, state.ErrClosed) {
		t.Errorf("write: %v", err)
	}
	if err := d.Remove(ctx, "/a", driver.RemoveOptions{}); !errors.Is(err, state.ErrClosed) {
		t.Errorf("remove: %v", err)
	}
}

// TestCancelInTheMiddle: listings and sources stop when the context ends.
func TestCancelInTheMiddle(t *testing.T) {
	d, base, _ := with(t, names("/a", "/b", "/c"))
	for name, seq := range map[string]func(context.Context) func(func(driver.Info, error) bool){
		"list": func(c context.Context) func(func(driver.Info, error) bool) {
			return d.List(c, "/", driver.ListOptions{})
		},
		"walk": func(c context.Context) func(func(driver.Info, error) bool) { return d.Walk(c, "/") },
	} {
		ctx, cancel := context.WithCancel(base)
		defer cancel()
		n := 0
		var last error
		for _, err := range seq(ctx) {
			n++
			last = err
			cancel()
		}
		if n != 2 || !errors.Is(last, context.Canceled) {
			t.Errorf("%s: %d entries, then %v", name, n, last)
		}
	}
	ctx, cancel := context.WithCancel(base)
	defer cancel()
	endless := iotest.OneByteReader(readerFunc(func(p []byte) (int, error) { cancel(); return len(p), nil }))
	if _, err := d.Write(ctx, "/z", endless, driver.WriteOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("write: %v", err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestBreak: a reader that leaves early is asked no more.
func TestBreak(t *testing.T) {
	d, ctx, _ := with(t, names("/a", "/b"))
	for i, err := range d.List(ctx, "/", driver.ListOptions{}) {
		if err != nil || i.Path != "/a" {
			t.Errorf("first: %+v, %v", i, err)
		}
		break
	}
	for i, err := range d.Walk(ctx, "/") {
		if err != nil || i.Path != "/a" {
			t.Errorf("first: %+v, %v", i, err)
		}
		break
	}
}

// TestConcurrentCompareAndSet: of writers that saw the same version one wins, and nothing is lost.
func TestConcurrentCompareAndSet(t *testing.T) {
	d, ctx, _ := with(t, map[string]string{"/n": ""})
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for {
				r, i, err := d.Open(ctx, "/n", driver.OpenOptions{})
				if err != nil {
					t.Error(err)
					return
				}
				b, err := io.ReadAll(r)
				if err != nil {
					t.Error(err)
					return
				}
				_, err = d.Write(ctx, "/n", strings.NewReader(string(b)+fmt.Sprintf("[%d]", w)), driver.WriteOptions{IfVersion: i.Version})
				if err == nil {
					return
				}
				if !errors.Is(err, driver.ErrConflict) {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	got := get(ctx, d, "/n", driver.OpenOptions{})
	for w := range 8 {
		if !strings.Contains(got, fmt.Sprintf("[%d]", w)) {
			t.Errorf("writer %d is lost: %q", w, got)
		}
	}
}

// TestAgainstAMap compares with the simplest thing that could be right.
func TestAgainstAMap(t *testing.T) {
	sch := schema(t)
	rapid.Check(t, func(rt *rapid.T) {
		d := statefs.New(statefs.Options{Now: day()})
		tx := state.NewTx(sch.New())
		ctx := run.With(context.Background(), &runtest.Scope{Tx: tx})
		model := map[string]string{}
		path := rapid.StringMatching(`(/[ab0-]{1,2}){1,3}`)
		rt.Repeat(map[string]func(*rapid.T){
			"write": func(rt *rapid.T) {
				p, c := path.Draw(rt, "path"), rapid.SampledFrom([]string{"", "text\n", "\xff"}).Draw(rt, "content")
				if _, err := d.Write(ctx, p, strings.NewReader(c), driver.WriteOptions{}); err != nil {
					rt.Fatal(err)
				}
				model[p] = c
			},
			"remove": func(rt *rapid.T) {
				p := path.Draw(rt, "path")
				n := len(model)
				maps.DeleteFunc(model, func(k, _ string) bool { return k == p || strings.HasPrefix(k, p+"/") })
				if err := d.Remove(ctx, p, driver.RemoveOptions{}); (err != nil) != (n == len(model)) {
					rt.Fatalf("remove %s: %v", p, err)
				}
			},
			"stored": func(rt *rapid.T) {
				raw, err := tx.State().Encode()
				if err != nil {
					rt.Fatal(err)
				}
				s, err := sch.Decode(raw)
				if err != nil {
					rt.Fatal(err)
				}
				tx = state.NewTx(s)
				ctx = run.With(context.Background(), &runtest.Scope{Tx: tx})
			},
			"": func(rt *rapid.T) {
				want := strings.Join(slices.Sorted(maps.Keys(model)), " ")
				if got := walk(ctx, t, d, "/"); got != want {
					rt.Fatalf("walk %q, want %q", got, want)
				}
				for p, c := range model {
					if got := get(ctx, d, p, driver.OpenOptions{}); got != c {
						rt.Fatalf("%s: %q, want %q", p, got, c)
					}
				}
				dir := rapid.SampledFrom([]string{"/", "/a", "/a-", "/b/0"}).Draw(rt, "dir")
				if got, want := ls(ctx, t, d, dir), listModel(model, dir); got != want {
					rt.Fatalf("ls %s: %q, want %q", dir, got, want)
				}
			},
		})
	})
}

func listModel(files map[string]string, dir string) string {
	prefix := strings.TrimSuffix(dir, "/") + "/"
	set := map[string]bool{}
	for p := range files {
		if rest, ok := strings.CutPrefix(p, prefix); ok {
			name, _, deeper := strings.Cut(rest, "/")
			if deeper {
				name += "/"
			}
			set[prefix+name] = true
		}
	}
	return strings.Join(slices.SortedFunc(maps.Keys(set), func(a, b string) int {
		return strings.Compare(strings.TrimSuffix(a, "/")+"\x00"+a, strings.TrimSuffix(b, "/")+"\x00"+b)
	}), " ")
}
