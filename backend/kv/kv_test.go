package kv_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/backend/kv"
	"github.com/deepagents-go/deepagents/policy"
	"github.com/deepagents-go/deepagents/run"
	"github.com/deepagents-go/deepagents/run/runtest"
	"github.com/deepagents-go/deepagents/store"
	"github.com/deepagents-go/deepagents/store/memory"
)

// TestItems checks what is stored: the fields of F15, those of others kept, created_at kept.
func TestItems(t *testing.T) {
	const stamps = `,"created_at":"2026-01-01T00:00:00+00:00","modified_at":"2026-01-01T00:00:00+00:00"`
	for _, c := range []struct{ name, old, path, content, want string }{
		{"new", ``, "/a.md", "x\n", `{"content":"x\n","encoding":"utf-8","created_at":"2026-09-01T10:00:00Z","modified_at":"2026-09-01T10:00:00Z","mimeType":"text/plain","v":1}`},
		{"new binary", ``, "/a.png", "\x89PNG\r\n\x1a\n\xff", `{"content":"iVBORw0KGgr/","encoding":"base64","created_at":"2026-09-01T10:00:00Z","modified_at":"2026-09-01T10:00:00Z","mimeType":"image/png","v":1}`},
		{
			"replaced", `{"content":"old","encoding":"base64","mimeType":"x/y","owner":{"id":7}` + stamps + `}`, "/f", "new",
			`{"content":"new","encoding":"utf-8","created_at":"2026-01-01T00:00:00+00:00","modified_at":"2026-09-01T10:00:00Z","mimeType":"text/plain","owner":{"id":7},"v":1}`,
		},
		{
			"lines", `{"content":["a","b"]` + stamps + `}`, "/f", "new",
			`{"content":"new","encoding":"utf-8","created_at":"2026-01-01T00:00:00+00:00","modified_at":"2026-09-01T10:00:00Z","mimeType":"text/plain","v":1}`,
		},
		{
			"somebody's v", `{"content":"a","v":"x"}`, "/f", "new",
			`{"content":"new","encoding":"utf-8","modified_at":"2026-09-01T10:00:00Z","mimeType":"text/plain","v":"x"}`,
		},
		{"no file", `{"other":1}`, "/f", "new", `{"content":"new","encoding":"utf-8","created_at":"2026-09-01T10:00:00Z","modified_at":"2026-09-01T10:00:00Z","mimeType":"text/plain","v":1}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			items := map[string]string{}
			if c.old != "" {
				items[c.path] = c.old
			}
			d, s := with(t, items)
			i := write(t.Context(), t, d, c.path, c.content)
			got := value(t, s, c.path)
			if got != c.want {
				t.Errorf("stored\n got %s\nwant %s", got, c.want)
			}
			if i.Size != int64(len(c.content)) || i.ModTime.IsZero() {
				t.Errorf("Write returned %+v", i)
			}
			if back := get(t.Context(), d, c.path, driver.OpenOptions{}); back != c.content {
				t.Errorf("read back %q", back)
			}
			if value(t, s, c.path) != got {
				t.Error("reading changed the item")
			}
		})
	}
}

func TestV1(t *testing.T) {
	s := memory.New(memory.Options{})
	d := newKV(t, kv.Options{Store: s, Now: day(), FileFormat: kv.V1})
	item(t, s, space, "/a", `{"content":"x","encoding":"utf-8","mimeType":"text/plain"}`)
	write(t.Context(), t, d, "/a", "one\ntwo\n")
	if got := value(t, s, "/a"); got != `{"content":["one","two",""],"modified_at":"2026-09-01T10:00:00Z","v":1}` {
		t.Errorf("stored %s", got)
	}
	write(t.Context(), t, d, "/b", "\xff")
	if got := get(t.Context(), d, "/a", driver.OpenOptions{}) + get(t.Context(), d, "/b", driver.OpenOptions{}); got != "one\ntwo\n\xff" {
		t.Errorf("read %q", got)
	}
	if _, err := kv.New(kv.Options{Store: s, Namespace: kv.Fixed("a"), FileFormat: 3}); err == nil {
		t.Error("format 3 is taken")
	}
}

// TestNoFiles has the items that are no files: listings skip them, reading says why, writing replaces and removing removes them.
func TestNoFiles(t *testing.T) {
	for _, c := range []struct{ name, value, text string }{
		{"no content", `{"b":1,"a":2}`, "Store item does not contain valid content field. Got: a, b"},
		{"nothing", `{}`, "Store item does not contain valid content field. Got: no fields"},
		{"number", `{"content":5}`, "File content must be a string or a legacy list of strings, got number."},
		{"null", `{"content":null}`, "File content must be a string or a legacy list of strings, got null."},
		{"list of numbers", `{"content":["a",1]}`, "File content must be a string or a legacy list of strings, got a list with number."},
		{"encoding", `{"content":"a","encoding":"utf-16"}`, `unknown encoding "utf-16" of a file, want utf-8 or base64`},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, s := with(t, map[string]string{"/d/bad": c.value, "/d/ok": `{"content":"x"}`, "/only/bad": c.value})
			ctx := t.Context()
			if got := ls(ctx, t, d, "/") + ls(ctx, t, d, "/d") + walk(ctx, t, d, "/"); got != "/d//d/ok/d/ok" {
				t.Errorf("listed %s", got)
			}
			_, _, err := d.Open(ctx, "/d/bad", driver.OpenOptions{})
			if !errors.Is(err, driver.ErrContent) || !strings.HasSuffix(err.Error(), ": "+c.text) {
				t.Errorf("Open: %v, want %s", err, c.text)
			}
			denied := driver.Guard{Action: policy.Read, Rules: policy.PathRules{{Paths: []string{"/d/bad"}, Decision: policy.Deny}}}
			if _, _, err := d.Open(ctx, "/d/bad", driver.OpenOptions{Guard: denied}); !errors.Is(err, policy.ErrDenied) || strings.Contains(err.Error(), c.text) {
				t.Errorf("Open of what is denied: %v", err)
			}
			write(ctx, t, d, "/d/bad", "good")
			if got := get(ctx, d, "/d/bad", driver.OpenOptions{}); got != "good" {
				t.Errorf("after writing: %q", got)
			}
			if err := d.Remove(ctx, "/only", driver.RemoveOptions{}); err != nil {
				t.Error(err)
			}
			if _, err := s.Get(ctx, space, "/only/bad", store.GetOptions{}); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("after removing: %v", err)
			}
		})
	}
}

// TestUnreadable has files whose content cannot be read: they are listed, and one of a newer program is not replaced.
func TestUnreadable(t *testing.T) {
	newer := `{"content":"x","v":2}`
	d, s := with(t, map[string]string{"/broken": `{"content":"%%%","encoding":"base64"}`, "/newer": newer})
	ctx := t.Context()
	if got := ls(ctx, t, d, "/"); got != "/broken /newer" {
		t.Errorf("listed %s", got)
	}
	if got := get(ctx, d, "/broken", driver.OpenOptions{}); !strings.Contains(got, "not valid base64") {
		t.Error(got)
	}
	if got := get(ctx, d, "/newer", driver.OpenOptions{}); !strings.Contains(got, "has version 2") {
		t.Error(got)
	}
	if _, err := d.Write(ctx, "/newer", strings.NewReader("y"), driver.WriteOptions{}); !errors.Is(err, driver.ErrContent) {
		t.Errorf("Write over a newer item: %v", err)
	}
	if got := value(t, s, "/newer"); got != newer {
		t.Errorf("it was changed: %s", got)
	}
	write(ctx, t, d, "/broken", "whole")
}

// TestNamespaces has the texts of file-tools.md 3.5, checked on every call of every method.
func TestNamespaces(t *testing.T) {
	for _, c := range []struct {
		ns   []string
		text string
	}{
		{nil, "Namespace tuple must not be empty."},
		{[]string{"a", ""}, "Namespace component at index 1 must not be empty."},
		{[]string{"a", "b c"}, `Namespace component at index 1 holds characters that are not allowed: "b c".`},
		{[]string{"*"}, "Namespace component at index 0 holds characters"},
		{[]string{"é"}, "Namespace component at index 0 holds characters"},
		{[]string{"a", "b/c"}, "Namespace component at index 1 holds characters"},
		{[]string{"a.b"}, "Namespace labels cannot contain periods ('.')."},
		{[]string{"langgraph"}, `Root label for namespace cannot be "langgraph".`},
	} {
		d := newKV(t, kv.Options{Store: memory.New(memory.Options{}), Namespace: kv.Fixed(c.ns...)})
		for name, err := range all(t.Context(), d) {
			if !errors.Is(err, store.ErrNamespace) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%s in %q: %v, want %s", name, c.ns, err, c.text)
			}
		}
	}
	d := newKV(t, kv.Options{Store: memory.New(memory.Options{}), Namespace: kv.Fixed("aZ09-_@+:~", "user@host")})
	write(t.Context(), t, d, "/f", "x")
}

// all calls every method and returns the errors.
func all(ctx context.Context, d *kv.FS) map[string]error {
	errs := map[string]error{}
	_, errs["Stat"] = d.Stat(ctx, "/f")
	_, _, errs["Open"] = d.Open(ctx, "/f", driver.OpenOptions{})
	_, errs["Write"] = d.Write(ctx, "/f", strings.NewReader("x"), driver.WriteOptions{})
	errs["Remove"] = d.Remove(ctx, "/f", driver.RemoveOptions{})
	errs["List"], errs["Walk"] = nil, nil
	for _, err := range d.List(ctx, "/", driver.ListOptions{}) {
		errs["List"] = err
	}
	for _, err := range d.Walk(ctx, "/") {
		errs["Walk"] = err
	}
	return errs
}

// TestStores says where the store and the namespace come from.
func TestStores(t *testing.T) {
	ofRun, own := memory.New(memory.Options{}), memory.New(memory.Options{})
	inside := func(agent string, s store.Store) context.Context {
		sc := &runtest.Scope{Items: s}
		sc.RunInfo.Agent = agent
		return run.With(t.Context(), sc)
	}
	d := newKV(t, kv.Options{Namespace: kv.PerAgent})
	for name, err := range all(t.Context(), d) {
		if !errors.Is(err, run.ErrOutside) || !strings.Contains(err.Error(), "kv.Options.Store") {
			t.Errorf("%s outside a run: %v", name, err)
		}
	}
	for name, err := range all(inside("a", nil), d) {
		if !errors.Is(err, kv.ErrNoStore) {
			t.Errorf("%s without a store: %v", name, err)
		}
	}
	write(inside("bot", ofRun), t, d, "/f", "x")
	if _, err := ofRun.Get(t.Context(), store.Namespace{"files", "bot"}, "/f", store.GetOptions{}); err != nil {
		t.Error(err)
	}
	if got := ls(inside("other", ofRun), t, d, "/"); got != "" {
		t.Errorf("another agent sees %s", got)
	}
	d = newKV(t, kv.Options{Namespace: kv.PerAgent, Store: own})
	for name, err := range all(t.Context(), d) {
		if !errors.Is(err, run.ErrOutside) || !strings.Contains(err.Error(), "kv.Fixed") {
			t.Errorf("%s without an agent: %v", name, err)
		}
	}
	write(inside("bot", ofRun), t, d, "/g", "x")
	if _, err := own.Get(t.Context(), store.Namespace{"files", "bot"}, "/g", store.GetOptions{}); err != nil {
		t.Errorf("the store of the options does not win: %v", err)
	}
	boom := errors.New("boom")
	d = newKV(t, kv.Options{Store: own, Namespace: func(context.Context, run.Info) ([]string, error) { return nil, boom }})
	for name, err := range all(t.Context(), d) {
		if !errors.Is(err, boom) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := kv.New(kv.Options{Store: own}); err == nil {
		t.Error("a driver without a namespace is made")
	}
}

// TestOthers checks that items of other namespaces, and keys that are no paths, do not show and are not removed.
func TestOthers(t *testing.T) {
	d, s := with(t, map[string]string{
		"/d/a": `{"content":"x"}`, "/d//b": `{"content":"x"}`, "/d/../e": `{"content":"x"}`, "/d/": `{"content":"x"}`, "d/f": `{"content":"x"}`,
		"/": `{"content":"x"}`,
	})
	ctx := t.Context()
	for _, ns := range []store.Namespace{{"files"}, {"files", "tester", "deep"}, {"files", "tester2"}} {
		item(t, s, ns, "/d/leak", `{"content":"x"}`)
		item(t, s, ns, "/leak/x", `{"content":"x"}`)
	}
	if got := ls(ctx, t, d, "/") + " " + ls(ctx, t, d, "/d") + " " + walk(ctx, t, d, "/"); got != "/d/ /d/a /d/a" {
		t.Errorf("listed %s", got)
	}
	if _, err := d.Stat(ctx, "/leak"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Stat: %v", err)
	}
	if err := d.Remove(ctx, "/leak", driver.RemoveOptions{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Remove: %v", err)
	}
	if err := d.Remove(ctx, "/d", driver.RemoveOptions{}); err != nil {
		t.Error(err)
	}
	items, err := s.Search(ctx, nil, store.Query{Limit: 100})
	if err != nil || len(items) != 11 {
		t.Errorf("%d items are left, %v, want 11", len(items), err)
	}
}

// TestMany goes over several pages.
func TestMany(t *testing.T) {
	d, s := with(t, nil)
	ctx := t.Context()
	want := ""
	for i := range 1250 {
		item(t, s, space, fmt.Sprintf("/d/%04d", i), `{"content":"x"}`)
		want += fmt.Sprintf(" /d/%04d", i)
	}
	item(t, s, append(space[:2:2], "deep"), "/d/x", `{"content":"x"}`)
	item(t, s, space, "/e", `{"content":"x"}`)
	if got := walk(ctx, t, d, "/d"); got != want[1:] {
		t.Errorf("walked %d bytes of names, want %d", len(got), len(want)-1)
	}
	if got := ls(ctx, t, d, "/"); got != "/d/ /e" {
		t.Errorf("listed %s", got)
	}
	keep := driver.Guard{Action: policy.Write, Rules: policy.PathRules{{Paths: []string{"/d/1249"}, Decision: policy.Deny}}}
	if err := d.Remove(ctx, "/d", driver.RemoveOptions{Guard: keep}); !errors.Is(err, policy.ErrDenied) {
		t.Errorf("Remove: %v", err)
	}
	if got := walk(ctx, t, d, "/d"); got != want[1:] {
		t.Error("a denied removal removed something")
	}
	if err := d.Remove(ctx, "/d", driver.RemoveOptions{}); err != nil {
		t.Error(err)
	}
	if got := walk(ctx, t, d, "/"); got != "/e" {
		t.Errorf("left %s", got)
	}
}

// moving is a store in which something happens after a search.
type moving struct {
	store.Store
	after func(n int)
	n     int
}

func (m *moving) Search(ctx context.Context, ns store.Namespace, q store.Query) ([]store.Item, error) {
	out, err := m.Store.Search(ctx, ns, q)
	m.n++
	m.after(m.n)
	return out, err
}

// TestMoving removes and adds items between the pages of a listing: what is there all the time is listed once.
func TestMoving(t *testing.T) {
	for _, add := range []bool{false, true} {
		s := memory.New(memory.Options{})
		want := ""
		for i := range 700 {
			item(t, s, space, fmt.Sprintf("/b/%03d", i), `{"content":"x"}`)
			if i >= 300 {
				want += fmt.Sprintf(" /b/%03d", i)
			}
		}
		m := &moving{Store: s}
		m.after = func(n int) {
			for i := range 100 {
				switch {
				case n > 3:
				case add:
					item(t, s, space, fmt.Sprintf("/b/%03d-%d", i, n), `{"content":"x"}`)
				default:
					if err := s.Delete(t.Context(), space, fmt.Sprintf("/b/%03d", (n-1)*100+i)); err != nil {
						t.Error(err)
					}
				}
			}
		}
		got := walk(t.Context(), t, newKV(t, kv.Options{Store: m}), "/b")
		if !strings.HasSuffix(got, want) || strings.Count(got, "/b/500") != 1 {
			t.Errorf("add %v: walked %d bytes of names that do not end with the %d wanted", add, len(got), len(want))
		}
	}
}

// faulty is a store whose batches fail after some operations.
type faulty struct {
	store.Store
	after int
	err   error
}

func (f *faulty) Batch(ctx context.Context, ops []store.Op) ([]store.Outcome, error) {
	out, err := f.Store.Batch(ctx, ops[:min(f.after, len(ops))])
	f.after -= len(out)
	for len(out) < len(ops) {
		out = append(out, store.Outcome{Err: f.err})
	}
	return out, err
}

// TestPartialRemove checks that a removal that breaks off says so.
func TestPartialRemove(t *testing.T) {
	s := memory.New(memory.Options{})
	boom := errors.New("boom")
	d := newKV(t, kv.Options{Store: &faulty{s, 130, boom}})
	for i := range 250 {
		item(t, s, space, fmt.Sprintf("/d/%03d", i), `{"content":"x"}`)
	}
	err := d.Remove(t.Context(), "/d", driver.RemoveOptions{})
	if !errors.Is(err, boom) || !strings.Contains(err.Error(), "130 of 250 files were removed") {
		t.Error(err)
	}
}

func TestIndex(t *testing.T) {
	for _, index := range []bool{false, true} {
		s := memory.New(memory.Options{})
		d := newKV(t, kv.Options{Store: s, Index: index})
		write(t.Context(), t, d, "/f", "zebra")
		items, err := s.Search(t.Context(), nil, store.Query{Text: "zebra"})
		if err != nil || len(items) != 1 || (items[0].Score > 0) != index {
			t.Errorf("index %v: %+v, %v", index, items, err)
		}
	}
}

func TestMaxSize(t *testing.T) {
	d := newKV(t, kv.Options{Store: memory.New(memory.Options{}), MaxSize: 10})
	write(t.Context(), t, d, "/f", "0123456789")
	if _, err := d.Write(t.Context(), "/f", strings.NewReader("0123456789a"), driver.WriteOptions{}); !errors.Is(err, driver.ErrTooLarge) {
		t.Error(err)
	}
	if _, err := d.Write(t.Context(), "/a\xff", strings.NewReader("x"), driver.WriteOptions{}); !errors.Is(err, driver.ErrInvalidPath) {
		t.Error(err)
	}
	if got := get(t.Context(), d, "/f", driver.OpenOptions{}); got != "0123456789" {
		t.Error(got)
	}
}

// FuzzItem reads and rewrites any item without a panic; what is written reads back, and unknown fields stay.
func FuzzItem(f *testing.F) {
	for _, s := range []string{`{"content":"a"}`, `{"content":["a","b"],"x":1}`, `{"content":"AAE=","encoding":"base64"}`, `{}`, `{"v":9,"content":""}`, `{"content":{}}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, v string) {
		s := memory.New(memory.Options{})
		if _, err := s.Put(t.Context(), space, "/f", json.RawMessage(v), store.PutOptions{}); err != nil {
			t.Skip()
		}
		d := newKV(t, kv.Options{Store: s})
		_ = get(t.Context(), d, "/f", driver.OpenOptions{})
		_ = walk(t.Context(), t, d, "/")
		if _, err := d.Write(t.Context(), "/f", strings.NewReader("new"), driver.WriteOptions{}); err != nil {
			if !errors.Is(err, driver.ErrContent) || value(t, s, "/f") != v {
				t.Fatal(err)
			}
			return
		}
		if got := get(t.Context(), d, "/f", driver.OpenOptions{}); got != "new" {
			t.Fatalf("read back %q", got)
		}
	})
}

// TestTree walks the view that searches use, with more content than it keeps.
func TestTree(t *testing.T) {
	d, _ := with(t, map[string]string{"/d/x/deep": `{"content":"deep"}`, "/d/bad": `{"content":"%","encoding":"base64"}`, "/d/none": `{}`, "/d/x": `{"content":"both"}`})
	ctx := t.Context()
	big := strings.Repeat("0123456789abcdef", 1<<20)
	for _, p := range []string{"/d/a", "/d/b", "/d/c"} {
		write(ctx, t, d, p, big)
	}
	h, i, err := d.OpenDir(ctx, "/d")
	if err != nil || i.Resolved != "/d" {
		t.Fatalf("%+v, %v", i, err)
	}
	entries, err := h.Entries(ctx)
	if err != nil || len(entries) != 6 {
		t.Errorf("%+v, %v", entries, err)
	}
	for _, name := range []string{"a", "b", "c"} {
		rc, i, err := h.Open(name)
		if err != nil || i.Path != "/d/"+name || i.Size != int64(len(big)) {
			t.Fatalf("%+v, %v", i, err)
		}
		if b, err := io.ReadAll(rc); err != nil || string(b) != big {
			t.Errorf("%s has %d bytes, %v", name, len(b), err)
		}
	}
	if _, _, err := h.Open("bad"); !errors.Is(err, driver.ErrContent) {
		t.Errorf("Open of a broken file: %v", err)
	}
	for _, name := range []string{"none", "nope"} {
		if _, _, err := h.Open(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Open of %s: %v", name, err)
		}
	}
	x, err := h.Dir("x")
	if err != nil {
		t.Fatal(err)
	}
	if rc, _, err := x.Open("deep"); err != nil || rc.Close() != nil {
		t.Error(err)
	}
	for dir, want := range map[string]error{"/d/x": driver.ErrNotDir, "/nope": fs.ErrNotExist, "/": nil} {
		if _, _, err := d.OpenDir(ctx, dir); !errors.Is(err, want) {
			t.Errorf("OpenDir(%s): %v, want %v", dir, err, want)
		}
	}
}
