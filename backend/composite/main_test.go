package composite_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/deepagents-go/deepagents/backend"
	"github.com/deepagents-go/deepagents/backend/composite"
	"github.com/deepagents-go/deepagents/backend/disk"
	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/backend/kv"
	"github.com/deepagents-go/deepagents/backend/statefs"
	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/middleware/filesystem"
	"github.com/deepagents-go/deepagents/run/runtest"
	"github.com/deepagents-go/deepagents/state"
	"github.com/deepagents-go/deepagents/store/memory"
	"github.com/deepagents-go/deepagents/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// routes are drivers by prefix.
type routes = map[string]driver.Driver

// inState is the driver of the files in the state of the run.
var inState = statefs.New(statefs.Options{})

// inRun returns a context in a run with an empty state.
func inRun(t testing.TB) context.Context {
	t.Helper()
	schema, err := state.NewSchema(inState.Fields()...)
	if err != nil {
		t.Fatal(err)
	}
	ctx, _ := runtest.New(t.Context(), schema.New())
	return ctx
}

// newKV is an empty key-value driver with a store of its own.
func newKV(t testing.TB) *kv.FS {
	t.Helper()
	d, err := kv.New(kv.Options{Store: memory.New(memory.Options{}), Namespace: kv.Fixed("test")})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func newDisk(t testing.TB, root string) *disk.Disk {
	t.Helper()
	d, err := disk.New(root, disk.Options{NoSync: true, StateDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func mustNew(t testing.TB, def driver.Driver, r routes, hidden ...string) *composite.Composite {
	t.Helper()
	o := composite.Options{Default: def, Routes: r, Hidden: map[string]bool{}}
	for _, p := range hidden {
		o.Hidden[p] = true
	}
	c, err := composite.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func newFS(t testing.TB, d driver.Driver, o backend.Options) *backend.FS {
	t.Helper()
	f, err := backend.New(d, o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// fill writes files: path, content, path, content.
func fill(ctx context.Context, t testing.TB, d driver.Driver, files ...string) {
	t.Helper()
	for i := 0; i < len(files); i += 2 {
		if _, err := d.Write(ctx, files[i], strings.NewReader(files[i+1]), driver.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// get returns the content of a file, or the error as text.
func get(ctx context.Context, d driver.Driver, p string) string {
	rc, _, err := d.Open(ctx, p, driver.OpenOptions{})
	if err != nil {
		return err.Error()
	}
	defer func() { _ = rc.Close() }()
	b, err := io.ReadAll(rc)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// ls returns the paths of a directory, directories with a slash, and an error as text.
func ls(ctx context.Context, d driver.Driver, dir string) string {
	var out []string
	for i, err := range d.List(ctx, dir, driver.ListOptions{Stat: true}) {
		switch {
		case err != nil:
			out = append(out, err.Error())
		case i.IsDir():
			out = append(out, i.Path+"/")
		default:
			out = append(out, i.Path)
		}
	}
	return strings.Join(out, " ")
}

// tools calls file tools in a run.
type tools struct {
	t   testing.TB
	ctx context.Context
	m   *filesystem.Middleware
}

func newTools(ctx context.Context, t testing.TB, f *backend.FS, o filesystem.Options) *tools {
	t.Helper()
	o.FS = f
	m, err := filesystem.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return &tools{t, ctx, m}
}

// call returns the text of a result, with "[err] " in front when its status is an error.
func (x *tools) call(name, args string) string {
	x.t.Helper()
	i := slices.IndexFunc(x.m.Tools(), func(t tool.Tool) bool { return t.Spec().Name == name })
	if i < 0 {
		x.t.Fatalf("no tool %s", name)
	}
	res, err := x.m.Tools()[i].Call(x.ctx, tool.Call{ID: "m.c", CallID: "c", Name: name, Args: json.RawMessage(args)})
	if err != nil {
		return fmt.Sprintf("[go] %v", err)
	}
	s := (&message.Message{Parts: res.Parts}).Text()
	if res.Status == message.Error {
		return "[err] " + s
	}
	return s
}

// plain is a driver with nothing but the five methods. It fails when err is set, and notes what it is asked.
type plain struct {
	driver.Driver
	err   error
	mu    sync.Mutex // of calls: a search asks from several goroutines
	calls []string
}

func (p *plain) note(op, path string) error {
	p.mu.Lock()
	p.calls = append(p.calls, op+" "+path)
	p.mu.Unlock()
	if p.err != nil {
		return &driver.Error{Op: op, Path: path, Err: p.err}
	}
	return nil
}

func (p *plain) Stat(ctx context.Context, path string) (driver.Info, error) {
	if err := p.note("stat", path); err != nil {
		return driver.Info{}, err
	}
	return p.Driver.Stat(ctx, path)
}

func (p *plain) List(ctx context.Context, dir string, o driver.ListOptions) iter.Seq2[driver.Info, error] {
	if err := p.note("list", dir); err != nil {
		return func(yield func(driver.Info, error) bool) { yield(driver.Info{}, err) }
	}
	return p.Driver.List(ctx, dir, o)
}

func (p *plain) Open(ctx context.Context, path string, o driver.OpenOptions) (io.ReadCloser, driver.Info, error) {
	if err := p.note("open", path); err != nil {
		return nil, driver.Info{}, err
	}
	return p.Driver.Open(ctx, path, o)
}

func (p *plain) Write(ctx context.Context, path string, src io.Reader, o driver.WriteOptions) (driver.Info, error) {
	if err := p.note("write", path); err != nil {
		return driver.Info{}, err
	}
	return p.Driver.Write(ctx, path, src, o)
}

// treed is a plain driver that can be walked.
type treed struct{ *plain }

func (d *treed) OpenDir(ctx context.Context, dir string) (driver.DirHandle, driver.Info, error) {
	if err := d.note("search", dir); err != nil {
		return nil, driver.Info{}, err
	}
	return d.Driver.(driver.Tree).OpenDir(ctx, dir)
}

// readOnly is an empty driver that cannot be changed.
type readOnly struct{ driver.ReadOnly }

func (readOnly) Stat(_ context.Context, p string) (driver.Info, error) {
	if p == "/" {
		return driver.Info{Path: p, Resolved: p, Kind: driver.Dir}, nil
	}
	return driver.Info{}, &driver.Error{Op: "stat", Path: p, Err: fs.ErrNotExist}
}

func (readOnly) List(context.Context, string, driver.ListOptions) iter.Seq2[driver.Info, error] {
	return func(func(driver.Info, error) bool) {}
}

func (readOnly) Open(_ context.Context, p string, _ driver.OpenOptions) (io.ReadCloser, driver.Info, error) {
	return nil, driver.Info{}, &driver.Error{Op: "open", Path: p, Err: fs.ErrNotExist}
}
