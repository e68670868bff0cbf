package deepagents_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/deepagents-go/deepagents"
	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/backend/disk"
	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/backend/statefs"
	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model/script"
	"github.com/deepagents-go/deepagents/policy"
	"github.com/deepagents-go/deepagents/run"
	"github.com/deepagents-go/deepagents/sandbox"
	"github.com/deepagents-go/deepagents/sandbox/host"
	"github.com/deepagents-go/deepagents/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T) (driver.Driver, sandbox.Sandbox) {
	t.Helper()
	d, err := disk.New(t.TempDir(), disk.Options{StateDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.New(d, host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(h.Close(context.Background()), d.Close()); err != nil {
			t.Error(err)
		}
	})
	return d, h
}

// walled is a sandbox that says that it confines commands and enforces rules.
type walled struct{ sandbox.Sandbox }

func (*walled) Policy() sandbox.Policy {
	return sandbox.Policy{Level: "test", Files: true, Network: true, Rules: true}
}

func TestUnsafeCombinationsAreRefused(t *testing.T) {
	d, shell := open(t)
	judge := policy.Judges{policy.JudgeFunc(func(context.Context, policy.Action) policy.Verdict { return policy.Verdict{} })}
	rules := policy.PathRules{{Paths: []string{"/secret/**"}, Decision: policy.Deny}}
	for name, tt := range map[string]struct {
		c    deepagents.Config
		want error
		fix  string
	}{
		"a shell and nothing else":       {deepagents.Config{Sandbox: shell}, deepagents.ErrUngated, "Config.Unattended: true"},
		"a shell in yolo mode":           {deepagents.Config{Sandbox: shell, Mode: policy.Yolo}, deepagents.ErrUngated, `Config.Mode to "plan"`},
		"a shell that asks":              {deepagents.Config{Sandbox: shell, Mode: policy.AskMode}, nil, ""},
		"a shell that edit mode asks of": {deepagents.Config{Sandbox: shell, Mode: policy.EditMode}, nil, ""},
		"a shell with a judge":           {deepagents.Config{Sandbox: shell, Judges: judge}, nil, ""},
		"a shell, unattended":            {deepagents.Config{Sandbox: shell, Unattended: true}, nil, ""},
		"a shell that nobody can use":    {deepagents.Config{Sandbox: shell, Exclude: []string{"execute"}}, nil, ""},
		"a shell within walls":           {deepagents.Config{Sandbox: &walled{shell}}, nil, ""},
		"no shell":                       {deepagents.Config{Backend: d}, nil, ""},
		"rules without a shell":          {deepagents.Config{Backend: d, Rules: rules}, nil, ""},
		"rules beside a shell":           {deepagents.Config{Backend: d, Sandbox: shell, Mode: policy.AskMode, Rules: rules}, deepagents.ErrUnconfined, "/secret/**"},
		"rules that the sandbox keeps":   {deepagents.Config{Sandbox: &walled{shell}, Rules: rules}, nil, ""},
		"advice beside a shell":          {deepagents.Config{Sandbox: shell, Mode: policy.AskMode, Advisory: deepagents.DefaultDenies()}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := deepagents.NewToolset(tt.c, nil)
			if !errors.Is(err, tt.want) || err != nil && tt.want == nil {
				t.Fatalf("error %v, want %v", err, tt.want)
			}
			if err != nil && !strings.Contains(err.Error(), tt.fix) {
				t.Errorf("the error does not name %q: %v", tt.fix, err)
			}
		})
	}
}

// routed serves the state of the thread below /notes, and the directory elsewhere.
type routed struct {
	driver.Driver
	notes driver.Driver
}

func (r *routed) Route(path string) driver.Mount {
	if path == "/notes" || policy.Below(path, "/notes") {
		return driver.Mount{Prefix: "/notes", Driver: r.notes}
	}
	return driver.Mount{Prefix: "/", Driver: r.Driver}
}

func (r *routed) Mounts(under string) []driver.Mount {
	out := []driver.Mount{r.Route(under)}
	if policy.Below("/notes", under) {
		out = append(out, driver.Mount{Prefix: "/notes", Driver: r.notes})
	}
	return out
}

func TestRulesUnderARouteThatTheShellCannotReach(t *testing.T) {
	d, shell := open(t)
	b := &routed{d, statefs.New(statefs.Options{})}
	c := deepagents.Config{Backend: b, Sandbox: shell, Mode: policy.AskMode}
	c.Rules = policy.PathRules{{Paths: []string{"/notes/**", "/notes/{a,b}"}, Decision: policy.Deny}}
	if _, err := deepagents.NewToolset(c, nil); err != nil {
		t.Errorf("rules under the route: %v", err)
	}
	c.Rules = append(c.Rules, policy.PathRule{Paths: []string{"/*/x"}, Decision: policy.Deny})
	if _, err := deepagents.NewToolset(c, nil); !errors.Is(err, deepagents.ErrUnconfined) {
		t.Errorf("a rule that covers more than the route: %v", err)
	}
}

func TestMistakesAreNamed(t *testing.T) {
	d, _ := open(t)
	for name, c := range map[string]deepagents.Config{
		"mode":         {Backend: d, Mode: "sometimes"},
		"Permission":   {Backend: d, Rules: policy.PathRules{{Paths: []string{"relative"}}}},
		"unknown tool": {Backend: d, Exclude: []string{"nope"}},
	} {
		if _, err := deepagents.NewToolset(c, nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := deepagents.New(deepagents.Config{Backend: d}); err == nil || !strings.Contains(err.Error(), "Model") {
		t.Errorf("an agent without a model: %v", err)
	}
}

func call(t *testing.T, ts *agent.Toolset, name, args string) (string, bool) {
	t.Helper()
	res, err := ts.Call(context.Background(), tool.Call{Name: name, Args: json.RawMessage(args)})
	if err != nil {
		t.Fatal(err)
	}
	m := message.Message{Parts: res.Parts}
	return m.Text(), res.Status != message.Error
}

func TestDefaultDenies(t *testing.T) {
	d, _ := open(t)
	files := []string{"/.env", "/app/.env.local", "/h/.ssh/id", "/h/.aws/credentials", "/h/.config/gcloud/x", "/h/.mozilla/p/cookies", "/.git/config", "/.git/hooks/pre-push", "/.deepagents/c"}
	free, err := deepagents.NewToolset(deepagents.Config{Backend: d}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range append(files, "/plain", "/.envoy/x", "/src/.git/HEAD") {
		if out, ok := call(t, free, "write_file", `{"file_path":"`+f+`","content":"sesame"}`); !ok {
			t.Fatalf("%s: %s", f, out)
		}
	}
	for _, tt := range []struct {
		name        string
		rules       policy.PathRules
		reads       bool
		writes      int
		writeDenied []string
	}{
		{"all", deepagents.DefaultDenies(), false, 0, files},
		{"writes", deepagents.DefaultWriteDenies(), true, 0, files[6:]},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ts, err := deepagents.NewToolset(deepagents.Config{Backend: d, Advisory: tt.rules, Mode: policy.EditMode}, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				out, ok := call(t, ts, "read_file", `{"file_path":"`+f+`"}`)
				if ok != tt.reads {
					t.Errorf("read %s: %s", f, out)
				}
				dir := f[:strings.LastIndexByte(f, '/')+1]
				for _, look := range [][2]string{{"ls", `{"path":"` + dir + `"}`}, {"glob", `{"path":"` + dir + `","pattern":"` + f[len(dir):] + `"}`}} {
					if out, ok := call(t, ts, look[0], look[1]); !ok || !strings.Contains(out, f) {
						t.Errorf("%s of %s does not name %s: %s", look[0], dir, f, out)
					}
				}
			}
			for _, f := range tt.writeDenied {
				if out, ok := call(t, ts, "write_file", `{"file_path":"`+f+`","content":"x"}`); ok {
					t.Errorf("write %s: %s", f, out)
				}
				if out, ok := call(t, ts, "delete", `{"file_path":"`+f+`"}`); ok {
					t.Errorf("delete %s: %s", f, out)
				}
			}
			if out, _ := call(t, ts, "grep", `{"pattern":"sesame","path":"/h/.ssh","output_mode":"content"}`); strings.Contains(out, "sesame") != tt.reads {
				t.Errorf("grep in .ssh: %s", out)
			}
			for _, f := range []string{"/plain", "/src/.git/HEAD"} {
				if out, ok := call(t, ts, "write_file", `{"file_path":"`+f+`","content":"sesame"}`); !ok {
					t.Errorf("write %s: %s", f, out)
				}
			}
		})
	}
}

func TestDenialsNameTheFlag(t *testing.T) {
	d, _ := open(t)
	ts, err := deepagents.NewToolset(deepagents.Config{Backend: d, Advisory: deepagents.DefaultDenies(), Mode: policy.EditMode}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if out, _ := call(t, ts, "read_file", `{"file_path":"/.env"}`); !strings.Contains(out, "--mode yolo") {
		t.Errorf("what yolo mode allows: %s", out)
	}
	if out, _ := call(t, ts, "write_file", `{"file_path":"/.git/config","content":"x"}`); strings.Contains(out, "--mode") || !strings.Contains(out, "denied") {
		t.Errorf("what no mode allows: %s", out)
	}
}

// prompts keeps the system messages that a model was asked with.
func TestPrompt(t *testing.T) {
	d, shell := open(t)
	for name, tt := range map[string]struct {
		c    deepagents.Config
		want []string
	}{
		"none":          {deepagents.Config{Backend: d}, nil},
		"given":         {deepagents.Config{Backend: d, Prompt: "Be brief."}, []string{"Be brief."}},
		"paths differ":  {deepagents.Config{Backend: d, Sandbox: shell, Mode: policy.AskMode}, []string{"Shell paths vs. virtual paths"}},
		"both":          {deepagents.Config{Backend: d, Sandbox: shell, Mode: policy.AskMode, Prompt: "Be brief.\n"}, []string{"Be brief.\n\n", "Shell paths vs. virtual paths"}},
		"no shell seen": {deepagents.Config{Backend: d, Sandbox: shell, Exclude: []string{"execute"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var system string
			tt.c.Model = script.New(script.Line{Text: "ok"})
			tt.c.Middleware = []agent.Middleware{spy{&system}}
			a, err := deepagents.New(tt.c)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := a.Run(context.Background(), agent.Input{Text: "hi"}); err != nil {
				t.Fatal(err)
			}
			if (system == "") != (len(tt.want) == 0) {
				t.Errorf("system prompt %q", system)
			}
			for _, w := range tt.want {
				if !strings.Contains(system, w) {
					t.Errorf("system prompt %q does not hold %q", system, w)
				}
			}
		})
	}
}

// spy keeps the system text of a request.
type spy struct{ system *string }

func (spy) Name() string { return "spy" }

func (s spy) WrapModel(next agent.ModelFunc) agent.ModelFunc {
	return func(ctx context.Context, r agent.Request) (agent.Response, error) {
		m := message.Message{Parts: r.System}
		*s.system = m.Text()
		return next(ctx, r)
	}
}

// Without a backend the files are in the thread; what one call writes the next one reads.
func TestStateIsTheDefaultBackend(t *testing.T) {
	ts, err := deepagents.NewToolset(deepagents.Config{}, func(context.Context, run.Question) (json.RawMessage, error) {
		t.Error("somebody was asked")
		return nil, agent.ErrNobody
	})
	if err != nil {
		t.Fatal(err)
	}
	call(t, ts, "write_file", `{"file_path":"/a","content":"kept"}`)
	if out, ok := call(t, ts, "read_file", `{"file_path":"/a"}`); !ok || !strings.Contains(out, "kept") {
		t.Errorf("read: %s", out)
	}
	for _, s := range ts.Specs() {
		if s.Name == "execute" {
			t.Error("there is an execute tool without a sandbox")
		}
	}
}

// TestDenialThroughALink counts a refusal that only the resolved path deserves like any other.
func TestDenialThroughALink(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ".env"), []byte("KEY=1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(".env", filepath.Join(dir, "settings")); err != nil {
		t.Skip("no links here:", err)
	}
	d, err := disk.New(dir, disk.Options{StateDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	a, err := deepagents.New(deepagents.Config{
		Backend: d, Advisory: deepagents.DefaultDenies(), Mode: policy.EditMode,
		Model: script.New(script.Line{ToolCalls: []script.ToolCall{{ID: "1", Name: "read_file", Args: json.RawMessage(`{"file_path":"/settings"}`)}}}, script.Line{Text: "done"}),
	})
	if err != nil {
		t.Fatal(err)
	}
	res, err := a.Run(t.Context(), agent.Input{Text: "go"})
	if err != nil || res.ExitCode != 4 || len(res.Denials) != 1 {
		t.Errorf("%v, exit code %d, denials %+v", err, res.ExitCode, res.Denials)
	}
}
