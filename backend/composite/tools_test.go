package composite_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/deepagents-go/deepagents"
	"github.com/deepagents-go/deepagents/backend"
	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/middleware/filesystem"
	"github.com/deepagents-go/deepagents/policy"
	"github.com/deepagents-go/deepagents/sandbox"
	"github.com/deepagents-go/deepagents/sandbox/host"
)

// capNote is what grep says when it stopped at the cap.
const capNote = "\n\nNote: the search stopped early (it hit its time limit or the maximum match count). The matches above are valid, but there may be more: use a narrower path or glob, or a higher max_count."

// TestCases has the cases C(...) of file-tools.md 5.
func TestCases(t *testing.T) {
	type files = []string
	for _, g := range []struct {
		name  string
		def   string // "state" or "disk"
		paths []string
		files files
		calls [][3]string
	}{
		{"two routes", "state", files{"/mem/", "/mem/deep/"}, files{"/t", "k", "/mem/n", "k", "/mem/deep/x", "deep", "/memories", "mine"}, [][3]string{
			{"ls", `{"path":"/"}`, "['/mem/', '/memories', '/t']"},
			{"ls", `{"path":"/mem"}`, "['/mem/deep/', '/mem/n']"},
			{"ls", `{"path":"/mem/"}`, "['/mem/deep/', '/mem/n']"},
			{"ls", `{"path":"//mem"}`, "['/mem/deep/', '/mem/n']"},
			{"read_file", `{"file_path":"/mem/x"}`, "[err] Error: File '/mem/x' not found"},
			{"read_file", `{"file_path":"/mem/deep/x"}`, "@@ lines 1-1 of 1 | no final newline @@\ndeep"},
			{"read_file", `{"file_path":"/memories"}`, "@@ lines 1-1 of 1 | no final newline @@\nmine"},
			{"read_file", `{"file_path":"/mem"}`, "[err] Error: File '/mem' not found"},
			{"grep", `{"pattern":"k"}`, "/mem/n\n/t"},
			{"grep", `{"pattern":"k","max_count":1}`, "/mem/n" + capNote},
			{"grep", `{"pattern":"k","path":"/mem"}`, "/mem/n"},
			{"grep", `{"pattern":"k","path":"/mem/n"}`, "/mem/n"},
			{"write_file", `{"file_path":"/mem/n","content":"new"}`, "Updated file /mem/n"},
			{"edit_file", `{"file_path":"/mem/n","old_string":"new","new_string":"newer"}`, "Successfully replaced 1 instance(s) of the string in '/mem/n'"},
			{"edit_file", `{"file_path":"/mem/nope","old_string":"a","new_string":"b"}`, "[err] Error: File '/mem/nope' not found"},
			{"write_file", `{"file_path":"/mem","content":"x"}`, "[err] Error writing file '/mem': is a directory"},
			{"delete", `{"file_path":"/mem/n"}`, "Deleted /mem/n"},
			{"delete", `{"file_path":"/mem/n"}`, "[err] Error: '/mem/n' not found"},
			{"delete", `{"file_path":"/mem"}`, "[err] Error: '/mem' cannot be deleted: it holds the mounted /mem, /mem/deep. Delete what lies below it instead."},
			{"delete", `{"file_path":"/"}`, "[err] Error: '/' cannot be deleted: it holds the mounted /mem, /mem/deep. Delete what lies below it instead."},
			{"ls", `{"path":"/mem/deep"}`, "['/mem/deep/x']"},
		}},
		{"shadowed", "disk", files{"/mem"}, files{"/mem/n", "k"}, [][3]string{
			{"ls", `{"path":"/"}`, "['/mem/', '/top']"},
			{"ls", `{"path":"/mem"}`, "['/mem/n']"},
			{"glob", `{"pattern":"*"}`, "['/mem/n', '/top']"},
			{"grep", `{"pattern":"covered"}`, "No matches found"},
			{"read_file", `{"file_path":"/mem/old"}`, "[err] Error: File '/mem/old' not found"},
		}},
		{"below", "state", files{"/a/b/"}, files{"/a/b/k", "x"}, [][3]string{
			{"ls", `{"path":"/a"}`, "['/a/b/']"},
			{"ls", `{"path":"/"}`, "['/a/']"},
			{"glob", `{"pattern":"*","path":"/a"}`, "['/a/b/k']"},
			{"grep", `{"pattern":"x","path":"/a"}`, "/a/b/k"},
			{"write_file", `{"file_path":"/a","content":"x"}`, "[err] Error writing file '/a': is a directory"},
			{"read_file", `{"file_path":"/a"}`, "[err] Error: File '/a' not found"},
			{"delete", `{"file_path":"/a"}`, "[err] Error: '/a' cannot be deleted: it holds the mounted /a/b. Delete what lies below it instead."},
		}},
		{"patterns", "state", files{"/mem"}, files{"/t.py", "k", "/mem/n.py", "k", "/mem/src/a.py", "k", "/src/b.py", "k"}, [][3]string{
			{"glob", `{"pattern":"*.py"}`, "['/mem/n.py', '/mem/src/a.py', '/src/b.py', '/t.py']"},
			{"glob", `{"pattern":"/mem/**/*.py"}`, "['/mem/n.py', '/mem/src/a.py']"},
			{"glob", `{"pattern":"/*.py"}`, "['/t.py']"},
			{"glob", `{"pattern":"src/*.py"}`, "['/src/b.py']"},
			{"glob", `{"pattern":"src/*.py","path":"/mem"}`, "['/mem/src/a.py']"},
			{"glob", `{"pattern":"/*.py","path":"/mem"}`, "['/mem/n.py']"},
			{"grep", `{"pattern":"k","glob":"/*.py"}`, "/t.py"},
			{"grep", `{"pattern":"k","glob":"mem/src/*.py"}`, "/mem/src/a.py"},
		}},
	} {
		t.Run(g.name, func(t *testing.T) {
			ctx, def, r := inRun(t), driver.Driver(inState), routes{}
			if g.def == "disk" {
				def = newDisk(t, t.TempDir())
				fill(ctx, t, def, "/mem/old", "covered", "/top", "")
			}
			for _, p := range g.paths {
				r[p] = newKV(t)
			}
			c := mustNew(t, def, r)
			fill(ctx, t, c, g.files...)
			x := newTools(ctx, t, newFS(t, c, backend.Options{}), filesystem.Options{})
			for _, call := range g.calls {
				if got := x.call(call[0], call[1]); got != call[2] {
					t.Errorf("%s %s\n got %q\nwant %q", call[0], call[1], got, call[2])
				}
			}
		})
	}
}

// TestReadOnlyRoute has the case of a route that cannot delete.
func TestReadOnlyRoute(t *testing.T) {
	x := newTools(inRun(t), t, newFS(t, mustNew(t, inState, routes{"/ro": readOnly{}}), backend.Options{}), filesystem.Options{})
	if got := x.call("delete", `{"file_path":"/ro/x"}`); got != "[err] Error: deletion is not supported for '/ro/x'." {
		t.Error(got)
	}
	if got := x.call("write_file", `{"file_path":"/ro/x","content":"c"}`); !strings.HasPrefix(got, "[err] Error writing file '/ro/x': ") {
		t.Error(got)
	}
}

// TestFailingRoute has the cases in which one part errors "boom": the others answer, and a note says what is missing.
func TestFailingRoute(t *testing.T) {
	boom := errors.New("boom")
	const none = "\n\nNote: not searched: 0 hidden, 0 ignored, 0 binary, 0 unreadable (a skipped directory counts as one)."
	compat := filesystem.Options{Compat: filesystem.CompatDeepAgents}
	for _, c := range []struct {
		broken     string
		o          filesystem.Options
		tool, args string
		want       string
	}{
		{"/mem", filesystem.Options{}, "glob", `{"pattern":"*.py"}`, "['/t.py', '/z/n.py']\n\nNote: route /mem failed: boom."},
		{"/mem", filesystem.Options{}, "glob", `{"pattern":"/*.py"}`, "['/t.py']"},
		{"/mem", filesystem.Options{}, "glob", `{"pattern":"*.py","path":"/mem"}`, "[err] Error: glob failed: boom"},
		{"/mem", filesystem.Options{}, "glob", `{"pattern":"*.py","path":"/z"}`, "['/z/n.py']"},
		{"/mem", compat, "glob", `{"pattern":"*.py"}`, "[err] Error: boom"},
		{"/mem", filesystem.Options{}, "grep", `{"pattern":"k"}`, "/t.py\n/z/n.py\n\nNote: route /mem failed: boom."},
		{"/mem", filesystem.Options{}, "grep", `{"pattern":"k","path":"/mem"}`, "[err] boom"},
		{"/mem", compat, "grep", `{"pattern":"k"}`, "[err] boom"},
		{"/mem", filesystem.Options{}, "ls", `{"path":"/"}`, "['/mem/', '/t.py', '/z/']"},
		{"/mem", filesystem.Options{}, "ls", `{"path":"/mem"}`, "[err] Error: Listing of '/mem' aborted: boom"},
		{"/mem", filesystem.Options{}, "read_file", `{"file_path":"/mem/n"}`, "[err] Error: Error reading file '/mem/n': boom"},
		{"/mem", filesystem.Options{}, "read_file", `{"file_path":"/t.py"}`, "@@ lines 1-1 of 1 | no final newline @@\nk"},
		{"/", filesystem.Options{}, "glob", `{"pattern":"*.py"}`, "['/mem/n.py', '/z/n.py']\n\nNote: route / failed: boom."},
		{"/", filesystem.Options{}, "grep", `{"pattern":"k"}`, "/mem/n.py\n/z/n.py\n\nNote: route / failed: boom."},
		{"/", filesystem.Options{}, "ls", `{"path":"/"}`, "['/mem/', '/z/']\n\nNote: route / failed: boom."},
		{"/", compat, "ls", `{"path":"/"}`, "[err] Error: Listing of '/' aborted: boom"},
		{"/", filesystem.Options{}, "ls", `{"path":"/other"}`, "[err] Error: Listing of '/other' aborted: boom"},
		{"all", filesystem.Options{}, "glob", `{"pattern":"*.py"}`, "No files found\n\nNote: route / failed: boom.\n\nNote: route /mem failed: boom.\n\nNote: route /z failed: boom."},
	} {
		// drivers with five methods fail when they are listed, others when they are opened
		for _, tree := range []bool{false, true} {
			ctx := inRun(t)
			parts := map[string]*plain{"/": {Driver: newKV(t)}, "/mem": {Driver: newKV(t)}, "/z": {Driver: newKV(t)}}
			as := func(p string) driver.Driver {
				if tree {
					return &treed{parts[p]}
				}
				return parts[p]
			}
			d := mustNew(t, as("/"), routes{"/mem": as("/mem"), "/z": as("/z")})
			fill(ctx, t, d, "/t.py", "k", "/mem/n.py", "k", "/z/n.py", "k")
			for p := range parts {
				if c.broken == p || c.broken == "all" {
					parts[p].err = boom
				}
			}
			x := newTools(ctx, t, newFS(t, d, backend.Options{}), c.o)
			if got := x.call(c.tool, c.args); got != c.want && got != c.want+none {
				t.Errorf("%s broken, tree %v: %s %s\n got %q\nwant %q", c.broken, tree, c.tool, c.args, got, c.want)
			}
		}
	}
}

// TestScope checks that an operation asks only the drivers that hold a part of its directory (B083).
func TestScope(t *testing.T) {
	ctx := t.Context()
	for dir, want := range map[string]string{"/work": "/", "/mem": "/mem", "/": "/ /mem /skills", "/mem/x": "/mem"} {
		parts := map[string]*plain{"/": {Driver: newKV(t)}, "/mem": {Driver: newKV(t)}, "/skills": {Driver: newKV(t)}}
		f := newFS(t, mustNew(t, parts["/"], routes{"/mem": parts["/mem"], "/skills": parts["/skills"]}), backend.Options{})
		fill(ctx, t, parts["/"].Driver, "/work/f", "k")
		fill(ctx, t, parts["/mem"].Driver, "/x/f", "k")
		if _, err := f.Grep(ctx, backend.GrepQuery{Text: "k", Path: dir}); err != nil {
			t.Error(err)
		}
		if _, err := f.Glob(ctx, backend.GlobQuery{Pattern: "*", Dir: dir}); err != nil {
			t.Error(err)
		}
		var asked []string
		for p, d := range parts {
			if len(d.calls) > 0 {
				asked = append(asked, p)
			}
		}
		slices.Sort(asked)
		if got := strings.Join(asked, " "); got != want {
			t.Errorf("a search of %s asks %s, want %s", dir, got, want)
		}
	}
}

// TestHidden checks that a hidden route is served when it is named and nowhere else.
func TestHidden(t *testing.T) {
	ctx := t.Context()
	c := mustNew(t, newKV(t), routes{"/large": newKV(t), "/x/hid": newKV(t), "/m": mustNew(t, newKV(t), routes{"/in": newKV(t)}, "/in")}, "/large/", "//x/hid")
	fill(ctx, t, c, "/f", "k", "/large/f", "k", "/x/hid/f", "k", "/m/in/f", "k", "/m/f", "k")
	x := newTools(ctx, t, newFS(t, c, backend.Options{}), filesystem.Options{})
	for _, call := range [][3]string{
		{"ls", `{"path":"/"}`, "['/f', '/m/']"},
		{"glob", `{"pattern":"**"}`, "['/f', '/m/f']"},
		{"grep", `{"pattern":"k"}`, "/f\n/m/f"},
		{"ls", `{"path":"/large"}`, "['/large/f']"},
		{"grep", `{"pattern":"k","path":"/x/hid"}`, "/x/hid/f"},
		{"glob", `{"pattern":"*","path":"/m/in"}`, "['/m/in/f']"},
		{"read_file", `{"file_path":"/large/f"}`, "@@ lines 1-1 of 1 | no final newline @@\nk"},
		{"delete", `{"file_path":"/x"}`, "[err] Error: '/x' cannot be deleted: it holds the mounted /x/hid. Delete what lies below it instead."},
	} {
		if got := x.call(call[0], call[1]); got != call[2] {
			t.Errorf("%s %s\n got %q\nwant %q", call[0], call[1], got, call[2])
		}
	}
}

// TestRules checks that rules are judged on the paths of the whole tree.
func TestRules(t *testing.T) {
	ctx := t.Context()
	c := mustNew(t, newKV(t), routes{"/m": newDisk(t, t.TempDir())})
	fill(ctx, t, c, "/s/a", "k", "/m/s/a", "k", "/m/open", "k")
	deny := backend.Hooks{Rules: policy.PathRules{{Paths: []string{"/m/s/**"}, Decision: policy.Deny}}}
	x := newTools(ctx, t, newFS(t, c, backend.Options{Hooks: deny}), filesystem.Options{})
	for _, call := range [][3]string{
		{"read_file", `{"file_path":"/s/a"}`, "@@ lines 1-1 of 1 | no final newline @@\nk"},
		{"read_file", `{"file_path":"/m/s/a"}`, "[err] Error: permission denied for read on /m/s/a"},
		{"write_file", `{"file_path":"/m/s/b","content":""}`, "[err] Error: permission denied for write on /m/s/b"},
		{"grep", `{"pattern":"k"}`, "/m/open\n/s/a"},
		{"glob", `{"pattern":"*"}`, "['/m/open', '/s/a']"},
		{"ls", `{"path":"/m"}`, "['/m/open']"},
		{"delete", `{"file_path":"/s"}`, "Deleted /s"},
	} {
		if got := x.call(call[0], call[1]); got != call[2] {
			t.Errorf("%s %s\n got %q\nwant %q", call[0], call[1], got, call[2])
		}
	}
}

// walled is a sandbox whose commands see no files but its own.
type walled struct{ sandbox.Sandbox }

func (walled) Policy() sandbox.Policy  { return sandbox.Policy{Files: true} }
func (w walled) Unwrap() driver.Driver { return w.Sandbox }

// TestShell has the cases C(LS; ...) of execute and of the system message.
func TestShell(t *testing.T) {
	root, data := t.TempDir(), t.TempDir()
	open := func() sandbox.Sandbox {
		h, err := host.New(newDisk(t, root), host.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = h.Close(context.Background()) })
		return h
	}
	for name, c := range map[string]struct {
		box       sandbox.Sandbox
		has, lack string
	}{
		"host":  {open(), "- `/common/` -> `" + data + "/`", "- `/common/`\n"},
		"apart": {walled{open()}, "- `/common/`\n- `/mem/`", "- `/common/` -> "},
	} {
		t.Run(name, func(t *testing.T) {
			d := mustNew(t, c.box, routes{"/common/": newDisk(t, data), "/mem": newKV(t), "/hid": newKV(t)}, "/hid")
			x := newTools(inRun(t), t, newFS(t, d, backend.Options{}), filesystem.Options{Sandbox: c.box})
			if got := x.call("execute", `{"command":"pwd"}`); !strings.HasPrefix(got, root+"\n") {
				t.Errorf("pwd: %q", got)
			}
			got := x.m.Prompt(func(string) bool { return true }) + "\n"
			if !strings.Contains(got, c.has) || strings.Contains(got, c.lack) || !strings.Contains(got, "- `/` -> `"+root+"/`") || strings.Contains(got, "/hid") {
				t.Error(got)
			}
			if !strings.Contains(got, "(not accessible from the shell):\n") || !strings.Contains(got, "- `/mem/`") {
				t.Error(got)
			}
		})
	}
	d := mustNew(t, open(), routes{"/m": newKV(t)})
	rule := func(p ...string) policy.PathRules { return policy.PathRules{{Paths: p, Decision: policy.Deny}} }
	for _, c := range []struct {
		rules policy.PathRules
		want  error
	}{{rule("/m/**"), nil}, {rule("/m"), nil}, {rule("/m/**", "/x"), deepagents.ErrUnconfined}, {rule("/m2/**"), deepagents.ErrUnconfined}, {rule("/**"), deepagents.ErrUnconfined}} {
		_, err := deepagents.NewToolset(deepagents.Config{Backend: d, Sandbox: open(), Mode: policy.AskMode, Rules: c.rules}, nil)
		if !errors.Is(err, c.want) {
			t.Errorf("rules %v beside a shell: %v, want %v", c.rules, err, c.want)
		}
	}
}
