package backendtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"reflect"
	"slices"
	"testing"

	"github.com/deepagents-go/deepagents/backend"
	"github.com/deepagents-go/deepagents/backend/driver"
)

// Trait is what a driver does not have. The tests that need it are left out.
type Trait int

// The traits.
const (
	// ImplicitDirs: directories are what longer paths imply. Listing a file or a directory that is not there may yield nothing.
	ImplicitDirs Trait = iota + 1
	// NoVersions: Info.Version stays empty.
	NoVersions
	// NoRemove: nothing can be removed.
	NoRemove
	// Sequential: methods work inside one run only, so that the tests of many writers at once do not apply.
	Sequential
)

// Run tests the drivers that mk makes. Each test asks for an empty driver of its own; mk cleans up with t.Cleanup.
func Run(t *testing.T, mk func(t *testing.T) driver.Driver, lacks ...Trait) {
	t.Helper()
	s := &suite{mk: mk, lacks: lacks, ctx: func(t *testing.T) context.Context { return t.Context() }}
	s.run(t)
}

// RunContext is [Run] for drivers that work only inside a context of their own, such as that of a run. ctx is called once for each
// test, with the context of that test.
func RunContext(t *testing.T, mk func(t *testing.T) driver.Driver, ctx func(t *testing.T) context.Context, lacks ...Trait) {
	t.Helper()
	s := &suite{mk: mk, lacks: lacks, ctx: ctx}
	s.run(t)
}

type suite struct {
	mk    func(t *testing.T) driver.Driver
	ctx   func(t *testing.T) context.Context
	lacks []Trait
}

// env is what one test works with.
type env struct {
	*testing.T
	s   *suite
	d   driver.Driver
	ctx context.Context
}

func (s *suite) run(t *testing.T) {
	t.Run("driver", func(t *testing.T) {
		s.group(t, map[string]func(*env){
			"comparable": (*env).comparable, "missing": (*env).missing, "roundtrip": (*env).roundtrip, "ranges": (*env).ranges,
			"kinds": (*env).kinds, "create-only": (*env).createOnly, "versions": (*env).versions, "sums": (*env).sums,
			"failing-source": (*env).failingSource, "list": (*env).list, "remove": (*env).remove, "guards": (*env).guards,
			"names": (*env).names, "cancelled": (*env).cancelled, "early-stop": (*env).earlyStop, "capabilities": (*env).capabilities,
		})
	})
	t.Run("fs", func(t *testing.T) {
		s.group(t, map[string]func(*env){
			"read": (*env).fsRead, "paging": (*env).fsPaging, "long-lines": (*env).fsLongLines, "binary": (*env).fsBinary,
			"edit": (*env).fsEdit, "edit-errors": (*env).fsEditErrors, "edit-version": (*env).fsEditVersion, "list": (*env).fsList,
			"glob": (*env).fsGlob, "grep": (*env).fsGrep, "ignore": (*env).fsIgnore, "line-numbers": (*env).fsLineNumbers,
			"rules": (*env).fsRules, "transfers": (*env).fsTransfers, "delete": (*env).fsDelete, "paths": (*env).fsPaths,
		})
	})
	t.Run("concurrent", func(t *testing.T) {
		if s.has(Sequential) {
			t.Skip("the driver works inside one run only")
		}
		s.group(t, map[string]func(*env){
			"edits": (*env).concurrentEdits, "create": (*env).concurrentCreate, "readers": (*env).concurrentReaders,
		})
	})
}

func (s *suite) group(t *testing.T, tests map[string]func(*env)) {
	names := make([]string, 0, len(tests))
	for n := range tests {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		t.Run(n, func(t *testing.T) {
			tests[n](&env{T: t, s: s, d: s.mk(t), ctx: s.ctx(t)})
		})
	}
}

func (s *suite) has(tr Trait) bool { return slices.Contains(s.lacks, tr) }

// fs makes an FS of the driver.
func (e *env) fs(o backend.Options) *backend.FS {
	e.Helper()
	f, err := backend.New(e.d, o)
	if err != nil {
		e.Fatalf("backend.New: %v", err)
	}
	return f
}

// put writes a file or fails.
func (e *env) put(path, content string) driver.Info {
	e.Helper()
	i, err := e.d.Write(e.ctx, path, bytes.NewReader([]byte(content)), driver.WriteOptions{})
	if err != nil {
		e.Fatalf("Write(%q): %v", path, err)
	}
	return i
}

func (e *env) putAll(files map[string]string) {
	e.Helper()
	paths := make([]string, 0, len(files))
	for p := range files {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	for _, p := range paths {
		e.put(p, files[p])
	}
}

// get reads a file through the driver.
func (e *env) get(path string) (string, error) {
	rc, _, err := e.d.Open(e.ctx, path, driver.OpenOptions{})
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(rc)
	return string(b), errors.Join(err, rc.Close())
}

// holds checks the content of a file.
func (e *env) holds(path, want string) {
	e.Helper()
	got, err := e.get(path)
	if err != nil {
		e.Errorf("reading %q: %v", path, err)
		return
	}
	if got != want {
		e.Errorf("%q holds %s, want %s", path, short(got), short(want))
	}
}

// gone checks that a path does not exist.
func (e *env) gone(path string) {
	e.Helper()
	if _, err := e.d.Stat(e.ctx, path); !errors.Is(err, fs.ErrNotExist) {
		e.Errorf("Stat(%q) = %v, want fs.ErrNotExist", path, err)
	}
}

func (e *env) is(what string, err, want error) {
	e.Helper()
	if !errors.Is(err, want) {
		e.Errorf("%s: error %v, want %v", what, err, want)
	}
}

func (e *env) same(what string, got, want any) {
	e.Helper()
	if !reflect.DeepEqual(got, want) {
		e.Errorf("%s:\n got %#v\nwant %#v", what, got, want)
	}
}

func short(s string) string {
	if len(s) > 200 {
		return string([]byte(s[:100])) + "…" + s[len(s)-100:]
	}
	return s
}

// paths are the paths that a listing of the driver yields.
func (e *env) paths(dir string) []string {
	e.Helper()
	var out []string
	for i, err := range e.d.List(e.ctx, dir, driver.ListOptions{}) {
		if err != nil {
			e.Errorf("List(%q): %v", dir, err)
			return out
		}
		p := i.Path
		if i.IsDir() {
			p += "/"
		}
		out = append(out, p)
	}
	return out
}
