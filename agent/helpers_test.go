package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/script"
	"github.com/deepagents-go/deepagents/policy"
	"github.com/deepagents-go/deepagents/state"
	"github.com/deepagents-go/deepagents/thread"
	"github.com/deepagents-go/deepagents/thread/memory"
	"github.com/deepagents-go/deepagents/tool"
)

// patience bounds a wait for something that must happen; nothing is measured with it.
const patience = 20 * time.Second

// probe is a model that remembers what it was asked and complains about requests that a provider would refuse.
type probe struct {
	model.Model
	mu   sync.Mutex
	reqs []model.Request
	bad  []string
}

func newProbe(m model.Model) *probe { return &probe{Model: m} }

func (p *probe) Stream(ctx context.Context, r *model.Request) iter.Seq2[model.Delta, error] {
	p.mu.Lock()
	c := *r
	c.Messages = slices.Clone(r.Messages)
	p.reqs = append(p.reqs, c)
	if err := validRequest(r.Messages); err != nil {
		p.bad = append(p.bad, fmt.Sprintf("request %d of %s: %v", len(p.reqs), r.Agent, err))
	}
	p.mu.Unlock()
	return p.Model.Stream(ctx, r)
}

func (p *probe) requests() []model.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.reqs)
}

func (p *probe) check(t testing.TB) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range p.bad {
		t.Error(b)
	}
}

// validRequest reports a call without exactly one result right after it, or a result without a call.
func validRequest(ms []*message.Message) error {
	for i := 0; i < len(ms); i++ {
		switch ms[i].Role {
		case message.Tool:
			return fmt.Errorf("message %d is a result of %q that no call asks for: %s", i, ms[i].CallID, outline(ms))
		case message.Assistant:
			open := make(map[string]bool)
			for _, c := range ms[i].Calls() {
				if c.ID == "" || open[c.ID] {
					return fmt.Errorf("message %d has the call id %q twice, or none", i, c.ID)
				}
				open[c.ID] = true
			}
			for i+1 < len(ms) && ms[i+1].Role == message.Tool {
				i++
				if !open[ms[i].CallID] {
					return fmt.Errorf("message %d is a second result of %q, or nobody's: %s", i, ms[i].CallID, outline(ms))
				}
				delete(open, ms[i].CallID)
			}
			if len(open) > 0 {
				return fmt.Errorf("%d calls before message %d have no result: %s", len(open), i+1, outline(ms))
			}
		}
	}
	return nil
}

// outline shows a conversation in short: "user assistant(a,b) tool:a=ok tool:b=error".
func outline(ms []*message.Message) string {
	var out []string
	for _, m := range ms {
		switch {
		case m.Role == message.Tool:
			out = append(out, fmt.Sprintf("%s=%s", m.CallID, m.Status))
		case len(m.Calls()) > 0:
			ids := []string{}
			for _, c := range m.Calls() {
				ids = append(ids, c.ID)
			}
			out = append(out, fmt.Sprintf("assistant(%s)", strings.Join(ids, ",")))
		default:
			out = append(out, string(m.Role))
		}
	}
	return strings.Join(out, " ")
}

// lines makes a scripted model; each is one answer.
func lines(ls ...script.Line) *script.Model { return script.New(ls...) }

func say(text string) script.Line { return script.Line{Text: text} }

func calls(cs ...script.ToolCall) script.Line { return script.Line{ToolCalls: cs} }

func call(id, name string, args ...any) script.ToolCall {
	c := script.ToolCall{ID: id, Name: name}
	if len(args) > 0 {
		if s, ok := args[0].(string); ok {
			c.Args = json.RawMessage(s)
		} else {
			c.Args = mustJSON(args[0])
		}
	}
	return c
}

func as(name string, l script.Line) script.Line { l.Agent = name; return l }

func mustJSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

func mustNew(t testing.TB, c agent.Config) *agent.Agent {
	t.Helper()
	a, err := agent.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// rig is an agent on a memory store with a probe as its model.
type rig struct {
	t     testing.TB
	store thread.Store
	model *probe
	agent *agent.Agent
}

func newRig(t testing.TB, c agent.Config, ls ...script.Line) *rig {
	t.Helper()
	if c.Model == nil {
		c.Model = lines(ls...)
	}
	if c.Threads == nil {
		s := memory.New()
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		c.Threads = s
	}
	p := newProbe(c.Model)
	c.Model = p
	t.Cleanup(func() { p.check(t) })
	return &rig{t, c.Threads, p, mustNew(t, c)}
}

// run runs to the end; a run that stops with an error ends the test.
func (r *rig) run(in agent.Input, o ...agent.RunOption) *agent.Result {
	r.t.Helper()
	if in.Thread == "" {
		in.Thread = "t"
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	res, err := r.agent.Run(ctx, in, o...)
	if err != nil {
		r.t.Fatalf("run: %v (%+v)", err, res)
	}
	return res
}

// try runs and returns the error.
func (r *rig) try(in agent.Input, o ...agent.RunOption) (*agent.Result, error) {
	if in.Thread == "" {
		in.Thread = "t"
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return r.agent.Run(ctx, in, o...)
}

// records returns all records of the thread's head branch.
func (r *rig) records() []thread.Record { return records(r.t, r.store, "t") }

func records(t testing.TB, s thread.Store, id string, kinds ...thread.Kind) []thread.Record {
	t.Helper()
	var out []thread.Record
	for rec, err := range s.Read(context.Background(), id, thread.Query{Prefix: true, Kinds: kinds}) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, rec)
	}
	return out
}

// kinds are the kinds of records, "ns:kind" below the root.
func kindsOf(rs []thread.Record) []string {
	var out []string
	for _, r := range rs {
		k := string(r.Kind)
		if r.NS != "" {
			k = "sub:" + k
		}
		out = append(out, k)
	}
	return out
}

func messages(res *agent.Result) []*message.Message { return state.Messages.In(res.State).Slice() }

// results are the texts of the tool messages, in order.
func results(res *agent.Result) []string {
	var out []string
	for _, m := range messages(res) {
		if m.Role == message.Tool {
			out = append(out, m.CallID+": "+m.Text())
		}
	}
	return out
}

// resultOf returns the newest result of a call.
func resultOf(t testing.TB, res *agent.Result, callID string) *message.Message {
	t.Helper()
	for _, m := range slices.Backward(messages(res)) {
		if m.Role == message.Tool && m.CallID == callID {
			return m
		}
	}
	t.Fatalf("call %s has no result: %s", callID, outline(messages(res)))
	return nil
}

// fn makes a tool that takes any arguments.
func fn(name string, h tool.Hints, f func(ctx context.Context, args map[string]any) (tool.Result, error)) tool.Tool {
	return tool.New(tool.Spec{Name: name, Hints: h, Input: json.RawMessage(`{"type":"object"}`)}, f)
}

// textTool answers its name.
func textTool(name string) tool.Tool {
	return fn(name, tool.Hints{ReadOnly: true}, func(context.Context, map[string]any) (tool.Result, error) { return tool.Text(name), nil })
}

// acts makes the actions of a tool from the arguments "write", "tree" (a subtree write), "read" and "exec".
func acts(t tool.Tool) tool.Tool {
	return tool.WithActions(t, func(_ context.Context, c tool.Call) ([]policy.Action, error) {
		var a struct{ Write, Read, Tree, Exec string }
		if err := json.Unmarshal(c.Args, &a); err != nil {
			return nil, err
		}
		var out []policy.Action
		if a.Write != "" {
			out = append(out, policy.Action{Kind: policy.Write, Path: a.Write})
		}
		if a.Tree != "" {
			out = append(out, policy.Action{Kind: policy.Write, Path: a.Tree, Subtree: true})
		}
		if a.Read != "" {
			out = append(out, policy.Action{Kind: policy.Read, Path: a.Read})
		}
		if a.Exec != "" {
			out = append(out, policy.Action{Kind: policy.Execute, Command: a.Exec})
		}
		return out, nil
	})
}

// log collects lines from many goroutines.
type log struct {
	mu sync.Mutex
	l  []string
}

func (l *log) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.l = append(l.l, fmt.Sprintf(format, args...))
}

func (l *log) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.l)
}

func (l *log) count(line string) int {
	n := 0
	for _, x := range l.all() {
		if x == line {
			n++
		}
	}
	return n
}

// mw is a middleware made of functions; its wrappers and hooks do nothing when they are nil.
type mw struct {
	name                    string
	before, after           func(context.Context, *agent.RunState) error
	beforeModel, afterModel func(context.Context, *agent.Turn) error
	wrapModel               func(agent.ModelFunc) agent.ModelFunc
	wrapTool                func(agent.ToolFunc) agent.ToolFunc
	tools                   []tool.Tool
	fields                  []*state.Field
}

func (m *mw) Name() string { return m.name }

func (m *mw) BeforeRun(ctx context.Context, r *agent.RunState) error {
	if m.before == nil {
		return nil
	}
	return m.before(ctx, r)
}

func (m *mw) AfterRun(ctx context.Context, r *agent.RunState) error {
	if m.after == nil {
		return nil
	}
	return m.after(ctx, r)
}

func (m *mw) BeforeModel(ctx context.Context, t *agent.Turn) error {
	if m.beforeModel == nil {
		return nil
	}
	return m.beforeModel(ctx, t)
}

func (m *mw) AfterModel(ctx context.Context, t *agent.Turn) error {
	if m.afterModel == nil {
		return nil
	}
	return m.afterModel(ctx, t)
}

func (m *mw) WrapModel(next agent.ModelFunc) agent.ModelFunc {
	if m.wrapModel == nil {
		return next
	}
	return m.wrapModel(next)
}

func (m *mw) WrapTool(next agent.ToolFunc) agent.ToolFunc {
	if m.wrapTool == nil {
		return next
	}
	return m.wrapTool(next)
}

func (m *mw) Tools() []tool.Tool     { return m.tools }
func (m *mw) Fields() []*state.Field { return m.fields }

func equal[T comparable](t testing.TB, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}

// recv waits for something that must come.
func recv[T any](t testing.TB, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("%s did not come", what)
		panic("unreachable")
	}
}

func wait(t testing.TB, r *agent.Run) (*agent.Result, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	res, err := r.Wait(ctx)
	if res == nil {
		t.Fatalf("the run did not end: %v", err)
	}
	return res, err
}
