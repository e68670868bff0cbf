package policy_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/deepagents-go/deepagents/policy"
)

func read(p string) policy.Action  { return policy.Action{Kind: policy.Read, Path: p} }
func write(p string) policy.Action { return policy.Action{Kind: policy.Write, Path: p} }
func tree(a policy.Action) policy.Action {
	a.Subtree = true
	return a
}

var execute = policy.Action{Kind: policy.Execute, Command: "make"}

// TestConflicts is design decision F18: a write is exclusive on its path or subtree, a read shared, execute shared on "/".
func TestConflicts(t *testing.T) {
	for _, c := range []struct {
		a, b policy.Action
		want bool
	}{
		{read("/a"), read("/a"), false},
		{tree(read("/")), tree(read("/a")), false},
		{write("/a"), write("/a"), true},
		{write("/a"), read("/a"), true},
		{write("/a"), write("/b"), false},
		{write("/a"), write("/a/b"), false},
		{tree(write("/a")), write("/a/b"), true},
		{tree(write("/a")), read("/a/b/c"), true},
		{tree(write("/a")), write("/ab"), false},
		{tree(write("/a/b")), write("/a"), false},
		{tree(read("/a")), write("/a/b"), true},
		{tree(read("/")), write("/a"), true},
		{tree(write("/a")), tree(write("/a/b")), true},
		{tree(write("/a")), tree(write("/b")), false},
		{execute, execute, false},
		{execute, read("/a"), false},
		{execute, write("/a"), true},
		{execute, write("/"), true},
		{policy.Action{Kind: policy.Network, Host: "x"}, write("/a"), false},
		{policy.Action{Kind: policy.Network, Host: "x"}, policy.Action{Kind: policy.Network, Host: "x"}, false},
		{policy.Action{Kind: policy.Use, Tool: "x"}, execute, false},
		{policy.Action{Kind: policy.Use, Path: "/a"}, write("/a"), false},
	} {
		if c.a.Conflicts(c.b) != c.want || c.b.Conflicts(c.a) != c.want {
			t.Errorf("%s and %s: %v and %v, want %v", c.a, c.b, c.a.Conflicts(c.b), c.b.Conflicts(c.a), c.want)
		}
	}
}

func TestConflictsSymmetric(t *testing.T) {
	action := rapid.Custom(func(t *rapid.T) policy.Action {
		return policy.Action{
			Kind:    rapid.SampledFrom([]policy.Kind{policy.Read, policy.Write, policy.Execute, policy.Network, policy.Use}).Draw(t, "kind"),
			Path:    rapid.SampledFrom([]string{"", "/", "/a", "/ab", "/a/b", "/a/b/c", "/b"}).Draw(t, "path"),
			Subtree: rapid.Bool().Draw(t, "subtree"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := action.Draw(t, "a"), action.Draw(t, "b")
		if a.Conflicts(b) != b.Conflicts(a) {
			t.Fatalf("%+v and %+v: %v, the other way %v", a, b, a.Conflicts(b), b.Conflicts(a))
		}
		if a.Conflicts(b) && a.Kind != policy.Write && b.Kind != policy.Write {
			t.Fatalf("%+v and %+v conflict and none writes", a, b)
		}
		if a.Kind == policy.Write && !a.Conflicts(a) {
			t.Fatalf("%+v does not conflict with itself", a)
		}
	})
}

func TestBelow(t *testing.T) {
	for _, c := range []struct {
		path, dir string
		want      bool
	}{
		{"/a", "/", true},
		{"/", "/", false},
		{"/a/b", "/a", true},
		{"/a", "/a", false},
		{"/ab", "/a", false},
		{"/a", "/a/b", false},
		{"/a/b/c", "/a", true},
		{"/.x", "/", true},
	} {
		if policy.Below(c.path, c.dir) != c.want {
			t.Errorf("Below(%q, %q): want %v", c.path, c.dir, c.want)
		}
	}
}

func TestActionString(t *testing.T) {
	for _, c := range []struct {
		a    policy.Action
		want string
	}{
		{write("/a.txt"), "write /a.txt"},
		{tree(write("/a")), "write /a/**"},
		{tree(read("/")), "read /"},
		{execute, "execute make"},
		{policy.Action{Kind: policy.Network, Host: "go.dev:443"}, "network go.dev:443"},
		{policy.Action{Kind: policy.Use, Tool: "task", Path: "/x"}, "use task"},
		{policy.Action{Kind: policy.Use}, "use"},
	} {
		if got := c.a.String(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// TestModes is the table of surfaces.md 4.1, without the columns that rules and sandboxes decide.
func TestModes(t *testing.T) {
	network, use := policy.Action{Kind: policy.Network}, policy.Action{Kind: policy.Use}
	harmless := policy.Action{Kind: policy.Use, ReadOnly: true}
	for _, c := range []struct {
		mode policy.Mode
		want string
	}{
		{policy.Plan, "allow deny deny deny deny allow"},
		{policy.AskMode, "allow ask ask ask ask allow"},
		{policy.EditMode, "allow allow ask ask ask allow"},
		{policy.Yolo, "allow allow allow allow allow allow"},
		{"", "allow ask ask ask ask allow"},
		{"unknown", "allow ask ask ask ask allow"},
	} {
		var got []string
		for _, a := range []policy.Action{read("/a"), write("/a"), execute, network, use, harmless} {
			v := c.mode.Judge(t.Context(), a)
			got = append(got, v.Decision.String())
			if v.Rule != "mode "+string(c.mode) || (v.Decision == policy.Allow) != (v.Reason == "") || (v.Reason == "") != (v.Fix == "") {
				t.Errorf("%s, %s: %+v", c.mode, a, v)
			}
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %s, want %s", c.mode, s, c.want)
		}
	}
	v := policy.EditMode.Judge(t.Context(), execute)
	if v.Reason != "mode edit asks before commands run" || v.Fix != "--mode yolo" {
		t.Errorf("%+v", v)
	}
	if v := policy.Plan.Judge(t.Context(), write("/a")); v.Reason != "plan mode only reads" || v.Fix != "--mode edit" {
		t.Errorf("%+v", v)
	}
}

func TestParseMode(t *testing.T) {
	for s, want := range map[string]policy.Mode{"plan": policy.Plan, "read": policy.Plan, "ask": policy.AskMode, "edit": policy.EditMode, "yolo": policy.Yolo} {
		if m, err := policy.ParseMode(s); err != nil || m != want {
			t.Errorf("%s: %s, %v", s, m, err)
		}
	}
	for _, s := range []string{"", "Plan", "auto!", " ask"} {
		if _, err := policy.ParseMode(s); err == nil || !strings.Contains(err.Error(), "plan, ask, edit, yolo") {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func TestDecisions(t *testing.T) {
	for text, want := range map[string]policy.Decision{"allow": policy.Allow, "ask": policy.Ask, "interrupt": policy.Ask, "deny": policy.Deny} {
		var d policy.Decision
		if err := json.Unmarshal([]byte(`"`+text+`"`), &d); err != nil || d != want {
			t.Errorf("%s: %s, %v", text, d, err)
		}
		var again policy.Decision
		raw, err := json.Marshal(d)
		if err != nil || json.Unmarshal(raw, &again) != nil || again != d {
			t.Errorf("%s: %s, %v", text, raw, err)
		}
	}
	var d policy.Decision
	if err := json.Unmarshal([]byte(`"Deny"`), &d); err == nil {
		t.Error("Deny: no error")
	}
	for _, bad := range []policy.Decision{-1, 3} {
		if _, err := json.Marshal(bad); err == nil || bad.String() != fmt.Sprintf("decision(%d)", int(bad)) {
			t.Errorf("%d: %v", int(bad), err)
		}
	}
}

// TestJudges has the strictest verdict win, the first of equals, in any nesting.
func TestJudges(t *testing.T) {
	say := func(d policy.Decision, rule string) policy.Judge {
		return policy.JudgeFunc(func(context.Context, policy.Action) policy.Verdict { return policy.Verdict{Decision: d, Rule: rule} })
	}
	for _, c := range []struct {
		js   policy.Judges
		want string
	}{
		{nil, "allow "},
		{policy.Judges{nil, say(policy.Allow, "a")}, "allow "},
		{policy.Judges{say(policy.Ask, "a"), say(policy.Allow, "b"), say(policy.Ask, "c")}, "ask a"},
		{policy.Judges{say(policy.Ask, "a"), say(policy.Deny, "b"), say(policy.Deny, "c")}, "deny b"},
		{policy.Judges{policy.Yolo, policy.Judges{say(policy.Deny, "in"), say(policy.Ask, "x")}}, "deny in"},
		{policy.Judges{policy.Yolo, policy.PathRules{{Name: "r", Paths: []string{"/**"}, Decision: policy.Deny}}}, "deny r"},
	} {
		v := c.js.Judge(t.Context(), read("/a"))
		if got := v.Decision.String() + " " + v.Rule; got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	a, b := policy.Verdict{Decision: policy.Ask, Rule: "a"}, policy.Verdict{Decision: policy.Ask, Rule: "b"}
	if a.Stricter(b) != a || b.Stricter(a) != b {
		t.Error("of two equally strict verdicts the first counts")
	}
}

func TestDenied(t *testing.T) {
	err := fmt.Errorf("write: %w", &policy.DeniedError{Action: write("/a"), Verdict: policy.Verdict{Decision: policy.Deny, Reason: "plan mode only reads", Fix: "--mode edit"}})
	var de *policy.DeniedError
	if !errors.Is(err, policy.ErrDenied) || !errors.As(err, &de) || de.Action.Path != "/a" {
		t.Errorf("%v", err)
	}
	if got, want := de.Error(), "write /a denied: plan mode only reads (--mode edit)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := (&policy.DeniedError{Action: execute}).Error(); got != "execute make denied" {
		t.Errorf("got %q", got)
	}
	if errors.Is(errors.New("denied by policy"), policy.ErrDenied) || !errors.Is(fmt.Errorf("x: %w", policy.ErrDenied), policy.ErrDenied) {
		t.Error("ErrDenied")
	}
}

// TestPathRules is file-tools.md 4.4 with design decision F12: dot names are covered, "X/**" covers X.
func TestPathRules(t *testing.T) {
	for _, c := range []struct{ pattern, yes, no string }{
		{"/secrets/**", "/secrets /secrets/a /secrets/a/b /secrets/.env /secrets/.d/x", "/secret /secretsx /x/secrets /"},
		{"/**", "/ /a /.env /a/.b /.git/config", ""},
		{"/a/*", "/a/b /a/.b", "/a/b/c /a /b"},
		{"/data/{a,b}.txt", "/data/a.txt /data/b.txt", "/data/c.txt /data/{a,b}.txt"},
		{"/**/.env*", "/.env /a/.env /a/b/.env.local", "/env /a/x.env"},
		{"/**/*.key", "/x.key /a/.key /a/b/c.key", "/a/key"},
		{"/x[1]", "/x1", "/x[1] /x2"},
		{`/x\[1\]`, "/x[1]", "/x1"},
		{"/a/?.go", "/a/b.go", "/a/bb.go /a/.go"},
		{"/Docs/**", "/Docs/a", "/docs/a"},
		{"/plain", "/plain", "/plain/a /plainer"},
		{"/plain/", "/plain", "/plain/a"},
		{"/", "/", "/a"},
	} {
		rs := policy.PathRules{{Paths: []string{c.pattern}, Decision: policy.Deny}}
		if err := rs.Validate(); err != nil {
			t.Errorf("%s: %v", c.pattern, err)
		}
		for want, paths := range map[policy.Decision]string{policy.Deny: c.yes, policy.Allow: c.no} {
			for p := range strings.FieldsSeq(paths) {
				if v, _ := rs.Decide(policy.Read, p); v.Decision != want {
					t.Errorf("%s on %s: %s, want %s", c.pattern, p, v.Decision, want)
				}
			}
		}
	}
}

func TestPathRulesOrder(t *testing.T) {
	rs := policy.PathRules{
		{Name: "docs", Kinds: []policy.Kind{policy.Read}, Paths: []string{"/s/doc", "/s/readme"}, Decision: policy.Allow},
		{Kinds: []policy.Kind{policy.Write}, Paths: []string{"/s/ask/**", "/t"}, Decision: policy.Ask},
		{Paths: []string{"/s/**"}, Decision: policy.Deny, Listed: true},
		{Paths: []string{"/s/ask/never"}, Decision: policy.Allow},
	}
	for _, c := range []struct {
		a    policy.Action
		want policy.Verdict
	}{
		{read("/s/doc"), policy.Verdict{Rule: "docs"}},
		{write("/s/doc"), policy.Verdict{Decision: policy.Deny, Rule: "/s/**", Reason: "permission denied for write on /s/doc"}},
		{write("/s/ask/x"), policy.Verdict{Decision: policy.Ask, Rule: "/s/ask/**, /t"}},
		{read("/s/ask/x"), policy.Verdict{Decision: policy.Deny, Rule: "/s/**", Reason: "permission denied for read on /s/ask/x"}},
		{write("/s/ask/never"), policy.Verdict{Decision: policy.Ask, Rule: "/s/ask/**, /t"}},
		{read("/other"), policy.Verdict{}},
		{policy.Action{Kind: policy.Execute, Path: "/s/x"}, policy.Verdict{}},
		{policy.Action{Kind: policy.Use, Path: "/s/x"}, policy.Verdict{}},
	} {
		if d := cmp.Diff(c.want, rs.Judge(t.Context(), c.a)); d != "" {
			t.Errorf("%s: %s", c.a, d)
		}
	}
	if _, r := rs.Decide(policy.Read, "/s/x"); !r.Listed {
		t.Error("the rule that decided is not returned")
	}
	if _, r := rs.Decide(policy.Read, "/other"); r.Paths != nil {
		t.Error("no rule decided")
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		rule policy.PathRule
		want string
	}{
		{policy.PathRule{Paths: []string{"/ok/**", "work/**"}}, "Permission path must start with '/': 'work/**'"},
		{policy.PathRule{Paths: []string{""}}, "Permission path must start with '/': ''"},
		{policy.PathRule{Paths: []string{"/a/../b"}}, "Permission path must not contain '..': '/a/../b'"},
		{policy.PathRule{Paths: []string{`/a\..\b`}}, `Permission path must not contain '..': '/a\..\b'`},
		{policy.PathRule{Paths: []string{"/~/x"}}, "Permission path must not contain '~': '/~/x'"},
		{policy.PathRule{Kinds: []policy.Kind{policy.Execute}, Paths: []string{"/a"}}, `permission kind must be read or write: "execute"`},
		{policy.PathRule{Paths: []string{"/a[b"}}, "permission path '/a[b': invalid pattern"},
		{policy.PathRule{Paths: []string{"/a{b"}}, "permission path '/a{b': invalid pattern"},
		{policy.PathRule{Paths: []string{"/a//b"}}, "permission path '/a//b': write it as '/a/b'"},
		{policy.PathRule{Paths: []string{"/a/./b"}}, "permission path '/a/./b': write it as '/a/b'"},
		{policy.PathRule{Paths: []string{"/a~", "/~a", "/a..b", "/...", "/a/", "/"}, Kinds: []policy.Kind{policy.Read, policy.Write}}, ""},
	} {
		err := policy.PathRules{{Paths: []string{"/fine"}}, c.rule}.Validate()
		if got := fmt.Sprint(err); got != c.want && (err != nil || c.want != "") {
			t.Errorf("%v: got %s, want %s", c.rule.Paths, got, c.want)
		}
	}
}

func TestRulesJSON(t *testing.T) {
	in := `[{"name":"n","kinds":["read"],"paths":["/a/**"],"decision":"interrupt","listed":true},{"paths":["/b"],"decision":"deny"},{"paths":["/c"],"decision":"allow"}]`
	var rs, back policy.PathRules
	if err := json.Unmarshal([]byte(in), &rs); err != nil {
		t.Fatal(err)
	}
	want := policy.PathRules{
		{Name: "n", Kinds: []policy.Kind{policy.Read}, Paths: []string{"/a/**"}, Decision: policy.Ask, Listed: true},
		{Paths: []string{"/b"}, Decision: policy.Deny},
		{Paths: []string{"/c"}},
	}
	if d := cmp.Diff(want, rs); d != "" {
		t.Error(d)
	}
	raw, err := json.Marshal(rs)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(rs, back); d != "" {
		t.Errorf("%s\n%s", d, raw)
	}
	var v policy.Verdict
	raw, err = json.Marshal(policy.Verdict{Decision: policy.Deny, Reason: "r"})
	if err != nil || string(raw) != `{"decision":"deny","reason":"r"}` || json.Unmarshal(raw, &v) != nil || v.Decision != policy.Deny {
		t.Errorf("%s, %v", raw, err)
	}
}
