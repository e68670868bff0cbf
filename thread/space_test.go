package thread_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/state"
	"github.com/deepagents-go/deepagents/thread"
)

func TestNamespaces(t *testing.T) {
	for _, c := range []struct{ ns, task, child string }{
		{"", "m1.c1", "m1.c1"},
		{"m1.c1", "m2.c2", "m1.c1/m2.c2"},
		{"", "a/b", "a%2Fb"},
		{"x", "50%", "x/50%25"},
		{"x", "%2F", "x/%252F"},
		{"x", "%25/", "x/%2525%2F"},
	} {
		got := thread.Child(c.ns, c.task)
		if got != c.child {
			t.Errorf("Child(%q, %q) = %q, want %q", c.ns, c.task, got, c.child)
		}
		if p := thread.Path(got); p[len(p)-1] != c.task || thread.Parent(got) != c.ns || !thread.Inside(got, c.ns) {
			t.Errorf("%q: path %q, parent %q", got, p, thread.Parent(got))
		}
	}
	if thread.Path("") != nil || thread.Parent("") != "" || thread.Parent("a") != "" {
		t.Error("the main agent's namespace")
	}
	for _, c := range []struct {
		ns, in string
		want   bool
	}{
		{"a", "", true},
		{"", "", false},
		{"a", "a", false},
		{"a/b/c", "a", true},
		{"a/b/c", "a/b", true},
		{"ab", "a", false},
		{"a", "a/b", false},
		{"", "a", false},
	} {
		if thread.Inside(c.ns, c.in) != c.want {
			t.Errorf("Inside(%q, %q): want %v", c.ns, c.in, c.want)
		}
	}
}

// FuzzNamespaces holds that any task ids come back, however they look, and that no two paths share a namespace.
func FuzzNamespaces(f *testing.F) {
	f.Add("m.c", "a/b", "%2F%25", "x")
	f.Add("%", "/", "//", "%%2F")
	f.Fuzz(func(t *testing.T, a, b, c, other string) {
		ns, tasks := "", []string{a, b, c}
		for _, task := range tasks {
			if task == "" {
				t.Skip("a task has an id")
			}
			in := ns
			ns = thread.Child(in, task)
			if thread.Parent(ns) != in || !thread.Inside(ns, in) || thread.Inside(in, ns) {
				t.Fatalf("%q in %q", ns, in)
			}
		}
		if !slices.Equal(thread.Path(ns), tasks) {
			t.Fatalf("%q became %q", tasks, thread.Path(ns))
		}
		if other != "" && (thread.Child(thread.Child("", a), other) == thread.Child(thread.Child("", a), b)) != (other == b) {
			t.Fatalf("%q and %q share a namespace", other, b)
		}
		if other != "" && thread.Child("", a+"/"+other) == thread.Child(thread.Child("", a), other) {
			t.Fatalf("%q and a child %q share a namespace", a+"/"+other, other)
		}
	})
}

// nested starts a sub-agent in a call of the main agent, which has a conversation and values.
func nested(t *testing.T) (l *log, ns string, parent thread.ID) {
	t.Helper()
	l = newLog(t, keys(t))
	m := answer("a", "calls")
	m.Updates = []state.Update{trail.Update("parent"), secret.Update("hidden"), single.Update("s")}
	parent = l.commit("", "tools", l.add("", m)...)
	l.add("", &thread.CallStarted{Task: "a.c", Attempt: 1})
	ns = thread.Child("", "a.c")
	user := message.NewUser("do it")
	user.ID = "u"
	l.commit(ns, "model", l.add(ns, &thread.Input{From: parent, Agent: "sub", Updates: []state.Update{state.Append(user)}})...)
	return l, ns, parent
}

// TestBind has a sub-agent that begins with the public values of its parent, without its conversation, live and after a restart.
func TestBind(t *testing.T) {
	l, ns, parent := nested(t)
	own := state.NewKey("own", func(v, u string) (string, error) { return v + u, nil }, state.Options{Private: true})
	schema := newSchema(t, trail.Field(), secret.Field(), own.Field())
	sp, err := l.live().Bind(ns, schema)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := l.live().Bind(ns, schema); err != nil || again != sp {
		t.Errorf("bound twice: %v", err)
	}
	work := answer("b", "done")
	work.Updates = []state.Update{trail.Update("+child"), own.Update("mine"), secret.Update("x")}
	ids := l.add(ns, work)
	l.commit(ns, thread.NodeEnd, ids...)
	check := func(name string, sp *thread.Space) {
		t.Helper()
		if got := texts(sp.State); got != "u:do it b:done" {
			t.Errorf("%s: messages %q", name, got)
		}
		if trail.In(sp.State) != "parent+child" || secret.In(sp.State) != "x" || own.In(sp.State) != "mine" {
			t.Errorf("%s: trail %q, secret %q, own %q", name, trail.In(sp.State), secret.In(sp.State), own.In(sp.State))
		}
		if sp.Agent != "sub" || sp.From != parent || sp.Next != thread.NodeEnd || sp.Step != 3 {
			t.Errorf("%s: %+v", name, sp)
		}
		if len(sp.Public) != 1 || sp.Public[0].Key != "trail" {
			t.Errorf("%s: public updates %v", name, sp.Public)
		}
	}
	check("live", sp)
	v := l.load()
	if raw := v.Space(ns); trail.In(raw.State) != "" || raw.Head == "" || raw.Empty() {
		t.Error("before it is bound, only its records are known")
	}
	bound, err := v.Bind(ns, schema)
	if err != nil {
		t.Fatal(err)
	}
	check("loaded", bound)
	back, err := v.Root.State.Apply(bound.Public...)
	if err != nil || trail.In(back) != "parent+child" {
		t.Errorf("what it returns gives %q, %v", trail.In(back), err)
	}
	if trail.In(v.Root.State) != "parent" {
		t.Error("the parent's state changed before its commit")
	}
}

func TestBindErrors(t *testing.T) {
	l, ns, _ := nested(t)
	deep := thread.Child(ns, "b.d")
	if _, err := l.load().Bind(deep, keys(t)); err == nil || !strings.Contains(err.Error(), "parent") {
		t.Errorf("a grandchild before its parent: %v", err)
	}
	l.commit(ns, "x", "nobody") // nobody can tell before the keys are known
	if _, err := l.load().Bind(ns, keys(t)); !errors.Is(err, thread.ErrCorrupt) {
		t.Errorf("a record that is missing: %v", err)
	}
	if empty, err := l.load().Bind("never", keys(t)); err != nil || !empty.Empty() || trail.In(empty.State) != "parent" {
		t.Errorf("a namespace without records: %v", err)
	}
}

// TestDropFinishedChildren frees sub-agents with the commit of the calls that ran them, and no others.
func TestDropFinishedChildren(t *testing.T) {
	l, ns, _ := nested(t)
	deep := thread.Child(ns, "b.d")
	l.commit(deep, "x", l.add(deep, updated("h"))...)
	l.commit(ns, "model", l.add(ns, answer("b2", "more"))...)
	for name, v := range map[string]*thread.View{"live": l.live(), "loaded": l.load()} {
		if v.Space(deep).Head != "" || v.Space(ns).Head == "" {
			t.Errorf("%s: the commit of the child drops the grandchild alone", name)
		}
	}
	l.add("", ended("a.c", "result"))
	if l.load().Space(ns).Head == "" {
		t.Error("the child is gone before its parent's commit")
	}
	l.commit("", "model", l.load().Root.Ended["a.c"].ID)
	for name, v := range map[string]*thread.View{"live": l.live(), "loaded": l.load()} {
		if v.Space(ns).Head != "" {
			t.Errorf("%s: the child is still there", name)
		}
	}
}

// TestInner has a call that waits because its sub-agent does.
func TestInner(t *testing.T) {
	l, ns, _ := nested(t)
	deep := thread.Child(ns, "x.y")
	ask := func(id, task string, inner ...string) *thread.Interrupt {
		return &thread.Interrupt{ID: id, Task: task, Kind: "input", Value: json.RawMessage("1"), Inner: inner}
	}
	l.add(ns, ask("q1", "b.1"), ask("q2", "b.2"))
	l.add(deep, ask("q0", "z"))
	l.add("", ask("outer", "a.c", "q1", "q2"), ask("main", "a.d"))
	check := func(waiting bool, want string) {
		t.Helper()
		for name, v := range map[string]*thread.View{"live": l.live(), "loaded": l.load()} {
			var got []string
			for _, o := range v.Open() {
				got = append(got, o.NS+":"+o.ID)
			}
			if s := strings.Join(got, " "); s != want {
				t.Errorf("%s: open %q, want %q", name, s, want)
			}
			if v.Waiting(v.Root, "a.c") != waiting {
				t.Errorf("%s: waiting is %v", name, !waiting)
			}
			if v.Root.Flying["a.c"] {
				t.Errorf("%s: a call that waits is no call without an end", name)
			}
		}
	}
	all := fmt.Sprintf(":main %s:q1 %s:q2 %s:q0", ns, ns, deep)
	check(true, all)
	l.add(ns, &thread.Answer{Interrupt: "q2", Task: "b.2", Value: json.RawMessage("1")})
	check(false, fmt.Sprintf(":main %s:q1 %s:q0", ns, deep))
}
