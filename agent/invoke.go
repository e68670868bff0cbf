package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/policy"
	"github.com/deepagents-go/deepagents/run"
	"github.com/deepagents-go/deepagents/tool"
)

// invocation is what the innermost layer of a tool call needs; the wrappers around it do not see it.
type invocation struct {
	set     *Toolset
	policy  policy.Judges
	granted []policy.Action
	ask     func(ctx context.Context, q run.Question) (json.RawMessage, error)
	// started records that the tool's code is about to run. It is nil where nothing is journaled.
	started func(ctx context.Context, e *entry, c tool.Call) error
	// ready is the call as it was prepared before the wrappers, which mostly leave it as it is.
	ready *prepared
	// denied and executed tell the run what happened inside.
	denied   *policy.DeniedError
	rejected *Decision
	executed *tool.Call
}

type invocationKey struct{}

func withInvocation(ctx context.Context, inv *invocation) context.Context {
	return context.WithValue(ctx, invocationKey{}, inv)
}

// invoke is the innermost ToolFunc: it looks the tool up again, because a wrapper may have changed the call, validates, judges,
// records the start and runs the tool's code.
func invoke(ctx context.Context, c tool.Call) (tool.Result, error) {
	inv, ok := ctx.Value(invocationKey{}).(*invocation)
	if !ok {
		return tool.Result{}, errors.New("agent: a tool wrapper replaced the context: pass on the one it was given")
	}
	// A wrapper may call again after an error: what the earlier try came to is void.
	inv.denied, inv.rejected, inv.executed = nil, nil, nil
	for {
		p := inv.prepare(ctx, c)
		if p.problem != nil {
			return *p.problem, nil
		}
		c.Args = p.args
		edited, err := inv.set.approve(ctx, inv, p, c)
		if err != nil {
			return tool.Result{}, err
		}
		if inv.rejected != nil {
			return answered(c, *inv.rejected), nil
		}
		if edited != nil {
			c = *edited
			inv.executed = edited
			continue
		}
		if inv.started != nil {
			if err := inv.started(ctx, p.entry, c); err != nil {
				return tool.Result{}, tool.Fatal(err)
			}
		}
		res, err := p.entry.tool.Call(ctx, c)
		if err == nil && inv.executed != nil {
			res = noteEdit(res, *inv.executed)
		}
		return res, err
	}
}

func (inv *invocation) prepare(ctx context.Context, c tool.Call) prepared {
	if r := inv.ready; r != nil && r.entry != nil && r.entry.spec.Name == c.Name && bytes.Equal(r.asked, c.Args) {
		return *r
	}
	return inv.set.prepare(ctx, c.Name, c.Args)
}

// protect turns a panic into an error.
func protect(f ToolFunc) ToolFunc {
	return func(ctx context.Context, c tool.Call) (res tool.Result, err error) {
		defer func() {
			if r := recover(); r != nil {
				err = &PanicError{Value: r, Stack: debug.Stack()}
			}
		}()
		return f(ctx, c)
	}
}

// PanicError is the error of code that panicked.
type PanicError struct {
	Value any
	Stack []byte
}

// Error returns the panic's value. The stack is for logs.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// errorResult is the result of a call whose code returned an error.
func errorResult(name string, err error) tool.Result {
	var d *policy.DeniedError
	if errors.As(err, &d) {
		return tool.Errorf("Error: %v", d)
	}
	return tool.Errorf("Error executing tool '%s': %v", name, err)
}

// approve judges the actions of a call. It returns nil when the call may run, the edited call when a person changed it, and
// sets inv.rejected when a person answered in its place.
func (t *Toolset) approve(ctx context.Context, inv *invocation, p prepared, c tool.Call) (edited *tool.Call, err error) {
	v, asked := judge(ctx, inv.policy, p.actions)
	if v.Decision == policy.Allow || v.Decision == policy.Ask && covered(asked, inv.granted) {
		return nil, nil
	}
	if v.Decision == policy.Deny {
		inv.denied = &policy.DeniedError{Action: firstAction(asked, p.actions), Verdict: v}
		return nil, inv.denied
	}
	d, err := t.askFor(ctx, inv, p, c, v)
	if err != nil {
		return nil, err
	}
	switch d.Type {
	case decideApprove:
		// The approval is for the call: a wrapper that tries it again does not ask again.
		inv.granted = append(slices.Clip(inv.granted), asked...)
		return nil, nil
	case decideEdit:
		args, err := editedArgs(p.entry, d)
		if err != nil {
			return nil, err
		}
		c.Args = args
		// The person has seen exactly these arguments: what they do is granted, unless something denies it.
		actions, err := actionsOf(ctx, p.entry, c)
		if err != nil {
			return nil, err
		}
		inv.granted = append(slices.Clip(inv.granted), actions...)
		return &c, nil
	}
	if d.Type == decideReject {
		inv.denied = &policy.DeniedError{
			Action:  firstAction(asked, p.actions),
			Verdict: policy.Verdict{Decision: policy.Deny, Reason: rejectReason(d), Rule: "user"},
		}
	}
	inv.rejected = &d
	return nil, nil
}

// judge returns the strictest verdict on some actions, and the actions that have it.
func judge(ctx context.Context, js policy.Judges, actions []policy.Action) (v policy.Verdict, strict []policy.Action) {
	for _, a := range actions {
		w := js.Judge(ctx, a)
		switch {
		case w.Decision > v.Decision || len(strict) == 0:
			v, strict = w, []policy.Action{a}
		case w.Decision == v.Decision:
			strict = append(strict, a)
		}
	}
	return v, strict
}

// allow judges actions that a tool names while it runs.
func (t *Toolset) allow(ctx context.Context, s run.Scope, js policy.Judges, c tool.Call, a policy.Action, granted []policy.Action) error {
	actions := []policy.Action{a}
	v, asked := judge(ctx, js, actions)
	if v.Decision == policy.Allow || v.Decision == policy.Ask && covered(asked, granted) {
		return nil
	}
	denied := &policy.DeniedError{Action: firstAction(asked, actions), Verdict: v}
	if v.Decision == policy.Deny {
		return denied
	}
	inv := &invocation{set: t, policy: js, ask: s.Ask}
	d, err := t.askFor(ctx, inv, prepared{entry: t.tools[c.Name], actions: actions}, c, v)
	if err != nil {
		return err
	}
	if d.Type == decideApprove {
		return nil
	}
	denied.Verdict = policy.Verdict{Decision: policy.Deny, Reason: rejectReason(d), Rule: "user"}
	return denied
}

func covered(actions, granted []policy.Action) bool {
	for _, a := range actions {
		if !slices.Contains(granted, a) {
			return false
		}
	}
	return true
}

func firstAction(first, rest []policy.Action) policy.Action {
	if len(first) > 0 {
		return first[0]
	}
	if len(rest) > 0 {
		return rest[0]
	}
	return policy.Action{}
}

// answered is the result of a call that a person answered instead of letting it run.
func answered(c tool.Call, d Decision) tool.Result {
	if d.Type == decideRespond {
		return tool.Text(d.Message)
	}
	r := tool.Text(rejectText(c.Name, c.CallID, d.Message))
	r.Status = message.Error
	return r
}

// noteEdit tells the model that a person changed the call before it ran.
func noteEdit(res tool.Result, c tool.Call) tool.Result {
	note := fmt.Sprintf("A person changed this call before it ran, on purpose; do not repeat the original one.\n"+
		"Executed instead: %s with arguments %s.\n\nTool response:", c.Name, c.Args)
	res.Parts = append(message.Parts{message.Text{Text: note}}, res.Parts...)
	return res
}
