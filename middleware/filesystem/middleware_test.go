package filesystem_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deepagents-go/deepagents/backend"
	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/middleware/filesystem"
	"github.com/deepagents-go/deepagents/policy"
	"github.com/deepagents-go/deepagents/sandbox/host"
	"github.com/deepagents-go/deepagents/tool"
)

func readOnlyFS(t testing.TB) *backend.FS {
	t.Helper()
	fs, err := backend.New(driver.FromFS(fstest.MapFS{"a.txt": {Data: []byte("k\n")}}), backend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return fs
}

func TestNewRefuses(t *testing.T) {
	fs := readOnlyFS(t)
	for _, c := range []struct {
		o    filesystem.Options
		want string
	}{
		{filesystem.Options{}, "no file system: set Options.FS"},
		{filesystem.Options{FS: fs, Tools: []string{"ls"}}, "read_file must be included in tools; it is required by FilesystemMiddleware"},
		{filesystem.Options{FS: fs, Tools: []string{"read_file", "rm"}}, `unknown tool "rm": use any of ls, read_file, write_file, edit_file, delete, glob, grep, execute`},
		{filesystem.Options{FS: fs, Descriptions: map[string]string{"rm": "x"}}, `description of an unknown tool "rm": use any of ls, read_file, write_file, edit_file, delete, glob, grep, execute`},
		{filesystem.Options{FS: fs, MaxExecuteTimeout: -time.Second}, "max_execute_timeout must be positive, got -1"},
		{filesystem.Options{FS: fs, GrepMaxCount: -2}, "grep_max_count must be positive or None, got -2"},
		{filesystem.Options{FS: fs, Compat: "v0"}, `unknown Compat "v0": use "deepagents-2026-09" or leave it empty`},
		{filesystem.Options{FS: fs, PathList: "csv"}, `unknown PathList "csv": use "list" or "lines"`},
	} {
		if _, err := filesystem.New(c.o); err == nil || err.Error() != "filesystem: "+c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

func names(m *filesystem.Middleware) []string {
	var out []string
	for _, t := range m.Tools() {
		out = append(out, t.Spec().Name)
	}
	return out
}

func TestToolsThatAreServed(t *testing.T) {
	all := filesystem.Names()
	disk := newWorld(t, onDisk, nil, defaults)
	shell := shellWorld(t, host.Options{}, defaults)
	for _, c := range []struct {
		name string
		m    func() *filesystem.Middleware
		want []string
	}{
		{"disk", func() *filesystem.Middleware { return disk.m }, all[:7]},
		{"disk and shell", func() *filesystem.Middleware { return shell.m }, all},
		{"read-only", func() *filesystem.Middleware { return mustNew(t, filesystem.Options{FS: readOnlyFS(t)}) }, slices.DeleteFunc(slices.Clone(all[:7]), func(s string) bool { return s == "delete" })},
		{"subset", func() *filesystem.Middleware {
			return mustNew(t, filesystem.Options{FS: disk.fs, Tools: []string{"execute", "grep", "read_file"}})
		}, []string{"read_file", "grep"}},
		{"subset without read_file", func() *filesystem.Middleware {
			return mustNew(t, filesystem.Options{FS: disk.fs, Tools: []string{"ls"}, AllowNoRead: true})
		}, []string{"ls"}},
	} {
		if d := cmp.Diff(c.want, names(c.m())); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}

func mustNew(t testing.TB, o filesystem.Options) *filesystem.Middleware {
	t.Helper()
	m, err := filesystem.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// F16: a tool that the backend cannot serve still answers.
func TestAbsent(t *testing.T) {
	const noExecution = "[err] Error: Execution not available. This agent's backend does not support command execution (SandboxBackendProtocol). To use the execute tool, provide a backend that implements SandboxBackendProtocol."
	m := mustNew(t, filesystem.Options{FS: readOnlyFS(t)})
	for _, c := range []struct{ name, args, want string }{
		{"execute", `{"command":"x"}`, noExecution},
		{"execute", `{"command":"x","timeout":0}`, noExecution},
		{"execute", `{"command":"x","timeout":-1}`, "[err] Error: timeout must be non-negative, got -1."},
		{"execute", `{"command":"x","timeout":3601}`, "[err] Error: timeout 3601s exceeds maximum allowed (3600s)."},
		{"delete", `{"file_path":"x"}`, "[err] Error: deletion is not supported for '/x'."},
		{"delete", `{"file_path":"../x"}`, traversal + "../x"},
		{"read_file", `{}`, ""},
		{"rm", `{}`, ""},
	} {
		res, ok := m.Absent(c.name, json.RawMessage(c.args))
		if ok != (c.want != "") || ok && textOf(res) != c.want {
			t.Errorf("%s %s: got %q %v", c.name, c.args, textOf(res), ok)
		}
	}
	excluded := mustNew(t, filesystem.Options{FS: readOnlyFS(t), Tools: []string{"read_file"}})
	if _, ok := excluded.Absent("execute", json.RawMessage(`{}`)); ok {
		t.Error("answered for a tool that was not asked for")
	}
}

// A backend that finds out only when asked says the same.
func TestDeleteUnsupported(t *testing.T) {
	w := brokenWorld(t, defaults, func(context.Context) error { return nil })
	w.use(&keeper{broken{do: func(context.Context) error { return nil }}}, nil, defaults)
	if got := w.call("delete", `{"file_path":"/x"}`); got != "[err] Error: deletion is not supported for '/x'." {
		t.Errorf("got %q", got)
	}
}

// keeper cannot remove and does not say so beforehand.
type keeper struct{ broken }

func (*keeper) CanRemove() bool { return true }

func TestActions(t *testing.T) {
	w := shellWorld(t, host.Options{}, defaults)
	for _, c := range []struct {
		tool, args string
		want       policy.Action
	}{
		{"ls", `{"path":"src/"}`, policy.Action{Kind: policy.Read, Path: "/src", Subtree: true}},
		{"read_file", `{"file_path":"//a.txt"}`, policy.Action{Kind: policy.Read, Path: "/a.txt"}},
		{"write_file", `{"file_path":"a.txt","content":""}`, policy.Action{Kind: policy.Write, Path: "/a.txt"}},
		{"edit_file", `{"file_path":"/./a.txt","old_string":"a","new_string":"b"}`, policy.Action{Kind: policy.Write, Path: "/a.txt"}},
		{"delete", `{"file_path":"/d/"}`, policy.Action{Kind: policy.Write, Path: "/d", Subtree: true}},
		{"glob", `{"pattern":"*"}`, policy.Action{Kind: policy.Read, Path: "/", Subtree: true}},
		{"glob", `{"pattern":"*","path":"/d"}`, policy.Action{Kind: policy.Read, Path: "/d", Subtree: true}},
		{"grep", `{"pattern":"x","path":null}`, policy.Action{Kind: policy.Read, Path: "/", Subtree: true}},
		{"execute", `{"command":"rm -rf x"}`, policy.Action{Kind: policy.Execute, Command: "rm -rf x"}},
	} {
		got, err := w.tool(c.tool).(tool.Actor).Actions(w.ctx, tool.Call{Args: json.RawMessage(c.args)})
		if d := cmp.Diff([]policy.Action{c.want}, got); d != "" || err != nil {
			t.Errorf("%s %s: %v %s", c.tool, c.args, err, d)
		}
	}
	for _, c := range []struct{ tool, args string }{
		{"ls", `{"path":"../x"}`},
		{"read_file", `{"file_path":"~"}`},
		{"write_file", `{"file_path":"/\ud800","content":""}`},
		{"grep", `{"pattern":"x","path":"C:/"}`},
		{"delete", `{"file_path":1}`},
	} {
		if got, err := w.tool(c.tool).(tool.Actor).Actions(w.ctx, tool.Call{Args: json.RawMessage(c.args)}); err == nil {
			t.Errorf("%s %s: actions %v", c.tool, c.args, got)
		}
	}
}

func TestHints(t *testing.T) {
	look := tool.Hints{ReadOnly: true, Idempotent: true}
	want := map[string]tool.Hints{
		"ls": look, "read_file": look, "glob": look, "grep": look,
		"write_file": {Idempotent: true, Destructive: true}, "edit_file": {Destructive: true}, "delete": {Destructive: true}, "execute": {Destructive: true, OpenWorld: true},
	}
	for _, tl := range shellWorld(t, host.Options{}, defaults).m.Tools() {
		s := tl.Spec()
		if d := cmp.Diff(want[s.Name], s.Hints); d != "" {
			t.Errorf("%s: %s", s.Name, d)
		}
	}
	w := newWorld(t, onDisk, nil, filesystem.Options{CreateOnly: true})
	if w.tool("write_file").Spec().Hints.Repeatable() {
		t.Error("a write that only creates cannot be repeated")
	}
}

// What the models see stays the same bytes until somebody decides otherwise: go test -update rewrites the file.
func TestGoldenSpecs(t *testing.T) {
	var b strings.Builder
	add := func(title string, m *filesystem.Middleware, visible []string) {
		fmt.Fprintf(&b, "# %s\n", title)
		see := func(name string) bool { return slices.Contains(visible, name) }
		for _, name := range visible {
			fmt.Fprintf(&b, "\n## %s\n%s\n", name, m.Description(name, see))
		}
		b.WriteByte('\n')
	}
	w := shellWorld(t, host.Options{}, defaults)
	all := filesystem.Names()
	add("all tools, paths of the shell differ", w.m, all)
	add("without a shell", mustNew(t, filesystem.Options{FS: w.fs, ArtifactsRoot: "/w"}), all[:7])
	add("create only", mustNew(t, filesystem.Options{FS: w.fs, CreateOnly: true}), []string{"write_file"})
	for _, o := range []filesystem.Options{{GrepHidden: true}, {GrepNoIgnore: true}, {GrepHidden: true, GrepNoIgnore: true}} {
		o.FS = w.fs
		add(fmt.Sprintf("hidden searched %v, ignored searched %v", o.GrepHidden, o.GrepNoIgnore), mustNew(t, o), []string{"grep"})
	}
	add("shell with grep only", w.m, []string{"grep", "execute"})
	add("shell with glob only", w.m, []string{"glob", "execute"})
	add("shell alone", w.m, []string{"execute"})
	b.WriteString("# system prompt\n\n" + w.m.Prompt(func(string) bool { return true }) + "\n\n# schemas\n")
	for _, tl := range w.m.Tools() {
		s := tl.Spec()
		fmt.Fprintf(&b, "\n## %s (%s)\n%s\n", s.Name, s.Title, s.Input)
		if s.Output != nil {
			fmt.Fprintf(&b, "%s\n", s.Output)
		}
	}
	got := strings.ReplaceAll(b.String(), w.root, "/host/root")
	const golden = "testdata/specs.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Error(d)
	}
}

// Every argument is described, and the schema is one that validators understand.
func TestSchemas(t *testing.T) {
	for _, tl := range shellWorld(t, host.Options{}, defaults).m.Tools() {
		s := tl.Spec()
		if _, err := tool.NewValidator(s); err != nil {
			t.Error(err)
		}
		var in struct {
			Properties map[string]struct{ Type, Description string }
			Required   []string
		}
		if err := json.Unmarshal(s.Input, &in); err != nil {
			t.Fatal(err)
		}
		for name, p := range in.Properties {
			if p.Type == "" || p.Description == "" {
				t.Errorf("%s.%s has no type or no description", s.Name, name)
			}
		}
		for _, name := range in.Required {
			if _, ok := in.Properties[name]; !ok {
				t.Errorf("%s requires %s, which it does not have", s.Name, name)
			}
		}
		if s.Output != nil && !json.Valid(s.Output) {
			t.Errorf("%s: output schema", s.Name)
		}
	}
}

func TestOwnDescriptions(t *testing.T) {
	m := mustNew(t, filesystem.Options{FS: readOnlyFS(t), Descriptions: map[string]string{"ls": "mine", "grep": ""}})
	for _, tl := range m.Tools() {
		s := tl.Spec()
		if own := s.Description == "mine"; own != (s.Name == "ls") || s.Description == "" {
			t.Errorf("%s: %q", s.Name, s.Description)
		}
	}
}

// located is a driver whose files the shell sees under another name, or not at all.
type located struct {
	driver.Driver
	at string
}

func (l *located) WorkDir() string { return "/" }

func (l *located) Locate(p string) (string, bool) { return driver.Join(l.at, p), l.at != "" }

// routes is a driver made of others, the longest prefix first.
type routes struct {
	driver.Driver
	mounts []driver.Mount
}

func (r *routes) Route(p string) driver.Mount {
	for _, m := range r.mounts {
		if m.Prefix == "/" || p == m.Prefix || policy.Below(p, m.Prefix) {
			return m
		}
	}
	return driver.Mount{}
}

func (r *routes) Mounts(string) []driver.Mount {
	out := slices.Clone(r.mounts)
	slices.Reverse(out)
	return out
}

func TestPrompt(t *testing.T) {
	base := driver.FromFS(fstest.MapFS{})
	at := func(p string) driver.Driver { return &located{base, p} }
	see := func(string) bool { return true }
	hh, err := host.New(base, host.Options{Dir: "/"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hh.Close(context.Background()) })
	for _, c := range []struct {
		name  string
		d     driver.Driver
		shell bool
		has   []string
	}{
		{"no shell", at("/data"), false, nil},
		{"the shell agrees", at("/"), true, nil},
		{"the shell differs", at("/data"), true, []string{"## Shell paths vs. virtual paths", "Host path mappings:\n- `/` -> `/data/` (e.g. `/notes.txt` is `/data/notes.txt` in the shell)"}},
		{"routes", &routes{base, []driver.Mount{{Prefix: "/common/deep", Driver: at("/x")}, {Prefix: "/common", Driver: at("/data")}, {Prefix: "/mem", Driver: base}, {Prefix: "/", Driver: at("/")}}}, true, []string{
			"- `/common/deep/` -> `/x/`", "- `/common/` -> `/data/`", "\n\nVirtual mounts without a host path mapping (not accessible from the shell):\n- `/mem/`",
		}},
	} {
		fs, err := backend.New(c.d, backend.Options{})
		if err != nil {
			t.Fatal(err)
		}
		o := filesystem.Options{FS: fs}
		if c.shell {
			o.Sandbox = hh
		}
		got := mustNew(t, o).Prompt(see)
		if c.has == nil && got != "" {
			t.Errorf("%s: got %q", c.name, got)
		}
		at := 0
		for _, part := range c.has {
			i := strings.Index(got[at:], part)
			if i < 0 {
				t.Fatalf("%s: %q is missing or out of order in %q", c.name, part, got)
			}
			at += i
		}
		if p := mustNew(t, o).Prompt(func(name string) bool { return name != "execute" }); p != "" {
			t.Errorf("%s: speaks of a shell that the model does not see", c.name)
		}
	}
}

// Denied files leak through no tool (case A15).
func TestDeniedFiles(t *testing.T) {
	w := newWorld(t, onDisk, map[string]string{
		"secret/.env": "KEY=1", "secret/a": "KEY=0", "pub/a": "KEY=2", "pub/ln -> ../secret": "", "pub/f -> ../secret/a": "",
	}, defaults)
	fs, err := backend.New(w.fs.Driver(), backend.Options{Hooks: backend.Hooks{Rules: policy.PathRules{{Paths: []string{"/secret/**"}, Decision: policy.Deny}}}})
	if err != nil {
		t.Fatal(err)
	}
	w.fs, w.m = fs, mustNew(t, filesystem.Options{FS: fs})
	for _, c := range []struct{ tool, args, want string }{
		{"read_file", `{"file_path":"/secret/a"}`, "[err] Error: permission denied for read on /secret/a"},
		{"read_file", `{"file_path":"//secret/./a"}`, "[err] Error: permission denied for read on /secret/a"},
		{"read_file", `{"file_path":"/secret/.env"}`, "[err] Error: permission denied for read on /secret/.env"},
		{"read_file", `{"file_path":"/secret"}`, "[err] Error: permission denied for read on /secret"},
		{"read_file", `{"file_path":"/secret/missing"}`, "[err] Error: permission denied for read on /secret/missing"},
		{"read_file", `{"file_path":"/pub/ln/a"}`, "[err] Error: permission denied for read on /pub/ln/a"},
		{"read_file", `{"file_path":"/pub/f"}`, "[err] Error: permission denied for read on /pub/f"},
		{"write_file", `{"file_path":"/secret/a","content":""}`, "[err] Error: permission denied for write on /secret/a"},
		{"write_file", `{"file_path":"/pub/f","content":""}`, "[err] Error: permission denied for write on /pub/f"},
		{"edit_file", `{"file_path":"/pub/ln/a","old_string":"KEY","new_string":""}`, "[err] Error: permission denied for write on /pub/ln/a"},
		{"edit_file", `{"file_path":"/secret/a","old_string":"NO","new_string":""}`, "[err] Error: permission denied for write on /secret/a"},
		{"delete", `{"file_path":"/secret"}`, "[err] Error: permission denied for write on /secret"},
		{"ls", `{"path":"/secret"}`, "[err] Error: permission denied for read on /secret"},
		{"ls", `{"path":"/"}`, "['/pub/']"},
		{"glob", `{"pattern":"**/*"}`, "['/pub/a']"},
		{"glob", `{"pattern":"*","path":"/secret"}`, "[err] Error: permission denied for read on /secret"},
		{"grep", `{"pattern":"KEY"}`, "/pub/a"},
		{"grep", `{"pattern":"KEY","path":"/secret/a"}`, "[err] Error: permission denied for read on /secret/a"},
	} {
		if got := w.call(c.tool, c.args); got != c.want {
			t.Errorf("%s %s: got %q, want %q", c.tool, c.args, got, c.want)
		}
	}
	if got := w.onDiskBytes("secret/a"); got != "KEY=0" {
		t.Errorf("the secret is now %q", got)
	}
}

// A question that waits, and an error that ends the run, are not texts for the model.
func TestErrorsThatAreNotForTheModel(t *testing.T) {
	fatal := tool.Fatal(errors.New("the disk burns"))
	w := brokenWorld(t, defaults, func(context.Context) error { return fatal })
	if _, err := w.tool("read_file").Call(w.ctx, tool.Call{Args: []byte(`{"file_path":"/x"}`)}); !tool.IsFatal(err) {
		t.Errorf("got %v", err)
	}
}
