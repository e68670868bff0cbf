package kv_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"testing"

	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/backend/kv"
	"github.com/deepagents-go/deepagents/middleware/filesystem"
	"github.com/deepagents-go/deepagents/policy"
	"github.com/deepagents-go/deepagents/store"
	"github.com/deepagents-go/deepagents/store/memory"
)

// routes serves drivers at prefixes: the default "/" first, longer prefixes later.
type routes struct{ mounts []driver.Mount }

func (r *routes) Route(p string) driver.Mount {
	var best driver.Mount
	for _, m := range r.mounts {
		if m.Prefix == "/" || p == m.Prefix || policy.Below(p, m.Prefix) {
			best = m
		}
	}
	return best
}

func (r *routes) Mounts(under string) []driver.Mount {
	out := []driver.Mount{r.Route(under)}
	for _, m := range r.mounts {
		if policy.Below(m.Prefix, under) {
			out = append(out, m)
		}
	}
	return out
}

func (r *routes) at(p string) (driver.Driver, string, func(driver.Info) driver.Info) {
	m := r.Route(p)
	return m.Driver, driver.Rel(p, m.Prefix), func(i driver.Info) driver.Info {
		i.Path, i.Resolved = driver.Join(m.Prefix, i.Path), driver.Join(m.Prefix, i.Resolved)
		return i
	}
}

func (r *routes) Stat(ctx context.Context, p string) (driver.Info, error) {
	d, rel, back := r.at(p)
	i, err := d.Stat(ctx, rel)
	return back(i), err
}

func (r *routes) Open(ctx context.Context, p string, o driver.OpenOptions) (io.ReadCloser, driver.Info, error) {
	d, rel, back := r.at(p)
	rc, i, err := d.Open(ctx, rel, o)
	return rc, back(i), err
}

func (r *routes) Write(ctx context.Context, p string, src io.Reader, o driver.WriteOptions) (driver.Info, error) {
	d, rel, back := r.at(p)
	i, err := d.Write(ctx, rel, src, o)
	return back(i), err
}

func (r *routes) Remove(ctx context.Context, p string, o driver.RemoveOptions) error {
	d, rel, _ := r.at(p)
	return d.Remove(ctx, rel, o)
}

func (r *routes) List(ctx context.Context, p string, o driver.ListOptions) iter.Seq2[driver.Info, error] {
	d, rel, back := r.at(p)
	return func(yield func(driver.Info, error) bool) {
		for i, err := range d.List(ctx, rel, o) {
			if i.Path != "" {
				i = back(i)
			}
			if !yield(i, err) {
				return
			}
		}
	}
}

// TestRoutes has the cases C(...; /mem/=T) of file-tools.md 5, without those that composite decides alone.
func TestRoutes(t *testing.T) {
	s := memory.New(memory.Options{})
	one := newKV(t, kv.Options{Store: s, Namespace: kv.Fixed("one")})
	two := newKV(t, kv.Options{Store: s, Namespace: kv.Fixed("two")})
	def := newKV(t, kv.Options{Store: s, Namespace: kv.Fixed("default")})
	write(t.Context(), t, def, "/t.py", "k\n")
	write(t.Context(), t, one, "/n.py", "k\n")
	write(t.Context(), t, two, "/x", "deep\n")
	x := newTools(t, &routes{[]driver.Mount{{Prefix: "/", Driver: def}, {Prefix: "/mem", Driver: one}, {Prefix: "/mem/deep", Driver: two}}}, filesystem.Options{})
	for _, c := range []struct{ tool, args, want string }{
		{"read_file", `{"file_path":"/mem/deep/x"}`, "@@ lines 1-1 of 1 @@\ndeep"},
		{"write_file", `{"file_path":"/mem/n","content":"x"}`, "Updated file /mem/n"},
		{"read_file", `{"file_path":"/mem/nope"}`, "[err] Error: File '/mem/nope' not found"},
		{"glob", `{"pattern":"*.py"}`, "['/mem/n.py', '/t.py']"},
		{"glob", `{"pattern":"/mem/**/*.py"}`, "['/mem/n.py']"},
		{"glob", `{"pattern":"/*.py"}`, "['/t.py']"},
		{"grep", `{"pattern":"k"}`, "/mem/n.py\n/t.py"},
		{"grep", `{"pattern":"k","path":"/mem"}`, "/mem/n.py"},
		{"delete", `{"file_path":"/mem/n"}`, "Deleted /mem/n"},
		{"delete", `{"file_path":"/mem"}`, "[err] Error: …"},
	} {
		if got := x.call(c.tool, c.args); !matches(got, c.want) {
			t.Errorf("%s %s\n got %q\nwant %q", c.tool, c.args, got, c.want)
		}
	}
	if _, err := s.Get(t.Context(), store.Namespace{"one"}, "/n.py", store.GetOptions{}); err != nil {
		t.Errorf("the route's root was removed: %v", err)
	}
	write(t.Context(), t, one, "/n", "x")
	if _, err := s.Get(t.Context(), store.Namespace{"one"}, "/n", store.GetOptions{}); err != nil {
		t.Errorf("the key is not the path below the route: %v", err)
	}
}

// broken is a store that fails.
type broken struct {
	store.Store
	err error
}

func (b broken) Search(context.Context, store.Namespace, store.Query) ([]store.Item, error) {
	return nil, b.err
}

// TestBrokenStore has the cases in which T errors "boom".
func TestBrokenStore(t *testing.T) {
	boom := errors.New("boom")
	d := newKV(t, kv.Options{Store: broken{memory.New(memory.Options{}), boom}})
	x := newTools(t, d, filesystem.Options{})
	for _, c := range []struct{ tool, args, want string }{
		{"glob", `{"pattern":"*.py"}`, "[err] Error: glob failed: boom"},
		{"grep", `{"pattern":"k"}`, "[err] boom"},
		{"ls", `{"path":"/"}`, "[err] Error: Listing of '/' aborted: boom"},
		{"delete", `{"file_path":"/d"}`, "[err] Error deleting '/d': boom"},
	} {
		if got := x.call(c.tool, c.args); got != c.want {
			t.Errorf("%s %s\n got %q\nwant %q", c.tool, c.args, got, c.want)
		}
	}
}
