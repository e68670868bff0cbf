package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/policy"
	"github.com/deepagents-go/deepagents/run"
	"github.com/deepagents-go/deepagents/state"
	"github.com/deepagents-go/deepagents/store"
	"github.com/deepagents-go/deepagents/tool"
)

// Toolset is the tools of a configuration under its policy, wrappers and validation, with no model: what an MCP server and the
// command line use. It keeps one state in memory for its tools. It is safe for concurrent use.
type Toolset struct {
	c      Config
	schema *state.Schema
	tools  map[string]*entry
	specs  []tool.Spec
	absent []AbsentTools
	call   ToolFunc
	ask    AskFunc

	mu    sync.Mutex
	state state.State
	order order
}

// entry is a tool with what is prepared for it.
type entry struct {
	tool tool.Tool
	spec tool.Spec
	args *tool.Validator
	// excluded tools are refused when they are called.
	excluded bool
}

// AskFunc answers a question at once, on behalf of a person who can be reached now. An error is the result of the call.
type AskFunc func(ctx context.Context, q run.Question) (json.RawMessage, error)

// NewToolset returns the tools of a configuration; Config.Model and Config.Threads are not used. Questions go to ask; without
// it they are denied.
func NewToolset(c Config, ask AskFunc) (*Toolset, error) {
	t, err := newToolset(c)
	if err != nil {
		return nil, err
	}
	t.ask = ask
	return t, nil
}

func newToolset(c Config) (*Toolset, error) {
	c.normalize()
	if err := checkMiddleware(c.Middleware); err != nil {
		return nil, err
	}
	t := &Toolset{c: c, tools: make(map[string]*entry)}
	tools := []tool.Tool{}
	fields := append([]*state.Field{state.Messages.Field()}, c.Fields...)
	for _, m := range c.Middleware {
		if s, ok := m.(ToolSource); ok {
			tools = append(tools, s.Tools()...)
		}
		if s, ok := m.(StateOwner); ok {
			fields = append(fields, s.Fields()...)
		}
		if s, ok := m.(AbsentTools); ok {
			t.absent = append(t.absent, s)
		}
	}
	for _, x := range append(tools, c.Tools...) {
		if err := t.add(x); err != nil {
			return nil, err
		}
	}
	for _, name := range c.Exclude {
		if e := t.tools[name]; e != nil {
			e.excluded = true
		} else {
			return nil, fmt.Errorf("agent: Config.Exclude names %q, which no tool has", name)
		}
	}
	t.specs = slices.DeleteFunc(t.specs, func(s tool.Spec) bool { return t.tools[s.Name].excluded })
	var err error
	if t.schema, err = state.NewSchema(fields...); err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	t.state = t.schema.New()
	t.call = invoke
	for _, m := range slices.Backward(c.Middleware) {
		if w, ok := m.(ToolWrapper); ok {
			t.call = w.WrapTool(t.call)
		}
	}
	return t, nil
}

func (t *Toolset) add(x tool.Tool) error {
	if x == nil {
		return errors.New("agent: a tool is nil")
	}
	spec := x.Spec()
	if spec.Name == "" {
		return errors.New("agent: a tool has no name")
	}
	if t.tools[spec.Name] != nil {
		return fmt.Errorf("agent: two tools have the name %q", spec.Name)
	}
	v, err := tool.NewValidator(spec)
	if err != nil {
		return fmt.Errorf("agent: %w", err)
	}
	t.tools[spec.Name] = &entry{tool: x, spec: spec, args: v}
	t.specs = append(t.specs, spec)
	return nil
}

// Specs returns the tools that a model sees, in the order of the stack.
func (t *Toolset) Specs() []tool.Spec { return slices.Clone(t.specs) }

// Schema returns the keys of the state.
func (t *Toolset) Schema() *state.Schema { return t.schema }

// State returns the state that calls have made.
func (t *Toolset) State() state.State {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state
}

// Call runs one call: policy, wrappers and validation as in a run. Calls whose actions conflict run in the order in which they
// came. A tool's error is an error result; the returned error is the context's, or a fatal one.
func (t *Toolset) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	prepared := t.prepare(ctx, c.Name, c.Args)
	if prepared.problem != nil {
		return *prepared.problem, nil
	}
	c.Args = prepared.args
	done, err := t.order.enter(ctx, prepared.actions)
	if err != nil {
		return tool.Result{}, err
	}
	defer done()
	t.mu.Lock()
	tx := state.NewTx(t.state)
	t.mu.Unlock()
	if c.ID == "" {
		c.ID = t.c.NewID()
	}
	s := &soloScope{set: t, call: c, tx: tx}
	res, err := s.run(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	next, err := t.state.Apply(append(tx.Close(), res.Update...)...)
	if err != nil {
		return tool.Errorf("Error: %v", err), nil
	}
	t.state = next
	return res, nil
}

// soloScope is the scope of a call in a Toolset.
type soloScope struct {
	set  *Toolset
	call tool.Call
	tx   *state.Tx
}

func (s *soloScope) run(ctx context.Context) (tool.Result, error) {
	inv := &invocation{set: s.set, policy: s.set.c.Policy, ask: s.Ask}
	res, err := protect(s.set.call)(run.With(withInvocation(ctx, inv), s), s.call)
	if ctx.Err() != nil {
		return tool.Result{}, context.Cause(ctx)
	}
	if err != nil {
		if tool.IsFatal(err) {
			return tool.Result{}, err
		}
		return errorResult(s.call.Name, err), nil
	}
	return res, nil
}

func (s *soloScope) Info() run.Info {
	return run.Info{Agent: s.set.c.Name, Task: s.call.ID, CallID: s.call.CallID, Tool: s.call.Name, Attempt: 1}
}

func (s *soloScope) State() *state.Tx   { return s.tx }
func (s *soloScope) Store() store.Store { return s.set.c.Store }

func (s *soloScope) Ask(ctx context.Context, q run.Question) (json.RawMessage, error) {
	if s.set.ask == nil {
		return nil, ErrNobody
	}
	raw, err := s.set.ask(ctx, q)
	if err != nil {
		return nil, err
	}
	return raw, checkAnswer(q.Answer, raw)
}

func (s *soloScope) Allow(ctx context.Context, a policy.Action) error {
	return s.set.allow(ctx, s, s.set.c.Policy, s.call, a, nil)
}

// Output throws live output away: the caller of a Toolset gets the result.
func (s *soloScope) Output() io.Writer { return io.Discard }

// prepared is a call that is ready to be ordered and run, or the result that says why it cannot be.
type prepared struct {
	entry *entry
	// asked are the arguments as they came, args as the schema wants them.
	asked, args json.RawMessage
	actions     []policy.Action
	problem     *tool.Result
}

// prepare looks a call up, validates its arguments and asks what it is going to do.
func (t *Toolset) prepare(ctx context.Context, name string, args json.RawMessage) prepared {
	e := t.tools[name]
	if e == nil {
		r := t.unknown(name, args)
		return prepared{problem: &r}
	}
	if e.excluded {
		r := tool.Errorf("Error: %s is not available.", name)
		return prepared{problem: &r}
	}
	valid, err := e.args.Args(args)
	if err != nil {
		r := tool.Errorf("%v", err)
		return prepared{problem: &r}
	}
	actions, err := actionsOf(ctx, e, tool.Call{Name: name, Args: valid})
	if err != nil {
		r := errorResult(name, err)
		return prepared{problem: &r}
	}
	return prepared{entry: e, asked: args, args: valid, actions: actions}
}

// actionsOf asks a tool what a call does. A tool that does not say, or cannot, is judged as a use of the tool; one that panics
// must not run, because nobody knows what it would do.
func actionsOf(ctx context.Context, e *entry, c tool.Call) (actions []policy.Action, err error) {
	if a, ok := e.tool.(tool.Actor); ok {
		defer func() {
			if r := recover(); r != nil {
				actions, err = nil, &PanicError{Value: r, Stack: debug.Stack()}
			}
		}()
		if actions, err := a.Actions(ctx, c); err == nil {
			for i := range actions {
				actions[i].Tool = e.spec.Name
			}
			return actions, nil
		}
	}
	return []policy.Action{{Kind: policy.Use, Tool: e.spec.Name, ReadOnly: e.spec.Hints.ReadOnly}}, nil
}

func (t *Toolset) unknown(name string, args json.RawMessage) tool.Result {
	for _, a := range t.absent {
		if r, ok := a.Absent(name, args); ok {
			r.Status = message.Error
			return r
		}
	}
	names := make([]string, 0, len(t.specs))
	for _, s := range t.specs {
		names = append(names, s.Name)
	}
	return tool.Errorf("Error: %s is not a valid tool, try one of [%s].", name, strings.Join(names, ", "))
}

// onceInMemory runs fn: a Toolset has no journal, and a call of it is never run again.
func (s *soloScope) Once(ctx context.Context, _ string, fn func(context.Context) (json.RawMessage, error)) (json.RawMessage, error) {
	return fn(ctx)
}
