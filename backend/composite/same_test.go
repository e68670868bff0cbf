package composite_test

import (
	"fmt"
	"math/rand/v2"
	"path"
	"reflect"
	"slices"
	"testing"

	"github.com/deepagents-go/deepagents/backend"
	"github.com/deepagents-go/deepagents/backend/composite"
	"github.com/deepagents-go/deepagents/backend/driver"
)

// TestSameAsOneDriver checks on random trees that a composite answers as one driver that holds the files which no route covers.
func TestSameAsOneDriver(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { sameAsOne(t, rand.New(rand.NewPCG(seed, 7))) })
	}
}

// somePath is a random path in a small tree, so that they meet.
func somePath(r *rand.Rand, names string, depth int) string {
	p := ""
	for range 1 + r.IntN(depth) {
		p += "/" + string(names[r.IntN(len(names))])
	}
	return p
}

// parts makes the drivers of a composite: some walk by handles, some by listings, some are composites.
func parts(t *testing.T, r *rand.Rand, depth int) driver.Driver {
	switch n := r.IntN(4); {
	case n == 0:
		return newDisk(t, t.TempDir())
	case n == 1:
		return &plain{Driver: newKV(t)}
	case n == 2 && depth > 0:
		return someComposite(t, r, depth-1)
	}
	return newKV(t)
}

func someComposite(t *testing.T, r *rand.Rand, depth int) *composite.Composite {
	o := composite.Options{Default: parts(t, r, depth), Routes: routes{}}
	for range 1 + r.IntN(3) {
		o.Routes[somePath(r, "abc", 3)] = parts(t, r, depth)
	}
	c, err := composite.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func sameAsOne(t *testing.T, r *rand.Rand) {
	ctx := t.Context()
	c, one := someComposite(t, r, 2), newKV(t)
	dirs := []string{"/", "/a", "/b", "/a/b", "/a/a/a", "/c"}
	// what lies under a route is there in the default, too, and must not be seen
	for _, m := range driver.All(c) {
		dirs = append(dirs, m.Prefix)
		if m.Prefix != "/" {
			fill(ctx, t, c, m.Prefix+"/x.txt", "k in x\n")
			fill(ctx, t, one, m.Prefix+"/x.txt", "k in x\n")
		}
	}
	for _, m := range c.Mounts("/")[1:] {
		outer := c.Route(path.Dir(m.Prefix))
		fill(ctx, t, outer.Driver, driver.Rel(m.Prefix, outer.Prefix)+"/covered.txt", "k\n")
	}
	for i := range 12 {
		p := somePath(r, "abcd", 4) + []string{".txt", ".go", "-"}[r.IntN(3)]
		content := fmt.Sprintf("line %d\nk %d\n", i, i)
		fill(ctx, t, c, p, content)
		fill(ctx, t, one, p, content)
	}
	got, want := newFS(t, c, backend.Options{}), newFS(t, one, backend.Options{})
	slices.Sort(dirs)
	for _, dir := range slices.Compact(dirs) {
		if _, err := one.Stat(ctx, dir); err != nil {
			continue
		}
		same(t, "ls "+dir, listed(t, got, dir), listed(t, want, dir))
		for _, pattern := range []string{"*", "**", "*.go", "/*.txt", "a/**", "**/b/*", "{a,b}/*.txt"} {
			for _, max := range []int{0, 1, 3} {
				q := backend.GlobQuery{Pattern: pattern, Dir: dir, Max: max}
				a, err := got.Glob(ctx, q)
				b, err2 := want.Glob(ctx, q)
				same(t, fmt.Sprint("glob ", q, err, err2), a, b)
				g := backend.GrepQuery{Text: "k", Path: dir, Glob: pattern, Max: max}
				x, err := got.Grep(ctx, g)
				y, err2 := want.Grep(ctx, g)
				same(t, fmt.Sprint("grep ", g, err, err2), x, y)
			}
		}
	}
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s\n got %+v\nwant %+v", what, got, want)
	}
}

func listed(t *testing.T, f *backend.FS, dir string) []string {
	t.Helper()
	l, err := f.List(t.Context(), dir)
	if err != nil || l.Failed != nil {
		t.Fatal(err, l.Failed)
	}
	var out []string
	for _, i := range l.Entries {
		out = append(out, fmt.Sprint(i.Path, i.Kind, i.Size))
	}
	return out
}
