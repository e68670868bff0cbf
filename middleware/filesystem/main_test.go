package filesystem_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/deepagents-go/deepagents/backend"
	"github.com/deepagents-go/deepagents/backend/disk"
	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/backend/statefs"
	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/middleware/filesystem"
	"github.com/deepagents-go/deepagents/policy"
	"github.com/deepagents-go/deepagents/run"
	"github.com/deepagents-go/deepagents/state"
	"github.com/deepagents-go/deepagents/store"
	"github.com/deepagents-go/deepagents/tool"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) {
	flag.Parse()
	goleak.VerifyTestMain(m)
}

// scope is a run with nothing but a state and live output.
type scope struct {
	tx   *state.Tx
	live bytes.Buffer
}

func (s *scope) Info() run.Info     { return run.Info{Agent: "main", Thread: "t"} }
func (s *scope) State() *state.Tx   { return s.tx }
func (s *scope) Store() store.Store { return nil }
func (s *scope) Output() io.Writer  { return &s.live }

func (s *scope) Ask(context.Context, run.Question) (json.RawMessage, error) {
	return nil, run.ErrInterrupted
}

func (s *scope) Allow(context.Context, policy.Action) error { return nil }

func (s *scope) Once(ctx context.Context, _ string, fn func(context.Context) (json.RawMessage, error)) (json.RawMessage, error) {
	return fn(ctx)
}

// world is a backend with files in it and the tools on top.
type world struct {
	t     testing.TB
	ctx   context.Context
	scope *scope
	m     *filesystem.Middleware
	fs    *backend.FS
	// root is the directory of a disk backend.
	root string
}

// kind is a backend to test on.
type kind string

const (
	onDisk  kind = "disk"
	onState kind = "state"
)

// newWorld makes a backend with these files: a name that ends with "/" is an empty directory, one with " -> " in it a link.
func newWorld(t testing.TB, k kind, files map[string]string, o filesystem.Options) *world {
	t.Helper()
	w := &world{t: t, scope: &scope{}}
	var d driver.Driver
	var fields []*state.Field
	switch k {
	case onDisk:
		w.root = t.TempDir()
		fill(t, w.root, files)
		dd, err := disk.New(w.root, disk.Options{NoSync: true, StateDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = dd.Close() })
		d = dd
	case onState:
		sf := statefs.New(statefs.Options{})
		d, fields = sf, sf.Fields()
	}
	w.use(d, fields, o)
	if k == onState {
		for name, content := range files {
			if _, err := w.fs.Write(w.ctx, "/"+strings.TrimPrefix(name, "/"), []byte(content), backend.WriteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return w
}

// use puts the tools on a driver.
func (w *world) use(d driver.Driver, fields []*state.Field, o filesystem.Options) {
	w.t.Helper()
	fs, err := backend.New(d, backend.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	w.fs, o.FS = fs, fs
	if w.m, err = filesystem.New(o); err != nil {
		w.t.Fatal(err)
	}
	schema, err := state.NewSchema(append(fields, w.m.Fields()...)...)
	if err != nil {
		w.t.Fatal(err)
	}
	w.scope.tx = state.NewTx(schema.New())
	w.ctx = run.With(context.Background(), w.scope)
}

func fill(t testing.TB, root string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		link, target, isLink := strings.Cut(name, " -> ")
		p := filepath.Join(root, link)
		var err error
		if err = os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		switch {
		case isLink:
			err = os.Symlink(target, p)
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(p, 0o755)
		default:
			err = os.WriteFile(p, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func (w *world) tool(name string) tool.Tool {
	w.t.Helper()
	for _, t := range w.m.Tools() {
		if t.Spec().Name == name {
			return t
		}
	}
	w.t.Fatalf("no tool %s", name)
	return nil
}

// result calls a tool with arguments as JSON text, after the validation that the agent does, and applies its updates.
func (w *world) result(name, args string) tool.Result {
	w.t.Helper()
	t := w.tool(name)
	v, err := tool.NewValidator(t.Spec())
	if err != nil {
		w.t.Fatal(err)
	}
	raw, err := v.Args(json.RawMessage(args))
	var bad *tool.ArgsError
	if errors.As(err, &bad) {
		return tool.Errorf("%s", strings.Join(bad.Problems, "; "))
	}
	if err != nil {
		w.t.Fatal(err)
	}
	res, err := t.Call(w.ctx, tool.Call{ID: "m.c", CallID: "c", Name: name, Args: raw})
	if err != nil {
		w.t.Fatalf("%s %s: %v", name, args, err)
	}
	if err := w.scope.tx.Write(res.Update...); err != nil {
		w.t.Fatal(err)
	}
	return res
}

// call returns the text of a result, with "[err] " in front when its status is an error.
func (w *world) call(name, args string) string {
	w.t.Helper()
	return textOf(w.result(name, args))
}

func textOf(r tool.Result) string {
	s := (&message.Message{Parts: r.Parts}).Text()
	if r.Status == message.Error {
		return "[err] " + s
	}
	return s
}

// args encodes arguments.
func args(t testing.TB, pairs ...any) string {
	t.Helper()
	m := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// onDiskBytes returns the bytes of a file of a disk world.
func (w *world) onDiskBytes(name string) string {
	w.t.Helper()
	b, err := os.ReadFile(filepath.Join(w.root, name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(b)
}

// row is one line of a table: what a call answers, and the file it leaves.
type row struct {
	name  string
	files map[string]string
	o     filesystem.Options
	// kinds are the backends; none means disk and state.
	kinds []kind
	tool  string
	args  string
	want  string
	// prefix says that want is only the beginning.
	prefix bool
	// file and content are checked afterwards, when file is set.
	file, content string
}

var threeLines = map[string]string{"a.txt": "one\ntwo\nthree\n"}

const (
	all3  = "@@ lines 1-3 of 3 @@\none\ntwo\nthree"
	empty = "System reminder: File exists but has empty contents"
)

func runRows(t *testing.T, rows []row) {
	t.Helper()
	for _, r := range rows {
		kinds := r.kinds
		if kinds == nil {
			kinds = []kind{onDisk, onState}
		}
		for _, k := range kinds {
			t.Run(string(k)+"/"+r.name, func(t *testing.T) {
				w := newWorld(t, k, r.files, r.o)
				got := w.call(r.tool, r.args)
				if r.prefix && strings.HasPrefix(got, r.want) {
					got = r.want
				}
				if got != r.want {
					t.Errorf("%s %s\n got %q\nwant %q", r.tool, r.args, got, r.want)
				}
				if r.file == "" {
					return
				}
				b, _, err := w.fs.ReadAll(w.ctx, r.file, 0)
				if err != nil {
					t.Fatal(err)
				}
				if string(b) != r.content {
					t.Errorf("%s holds %q, want %q", r.file, b, r.content)
				}
			})
		}
	}
}

var diskOnly, stateOnly = []kind{onDisk}, []kind{onState}
