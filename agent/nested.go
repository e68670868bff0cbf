package agent

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/deepagents-go/deepagents/run"
	"github.com/deepagents-go/deepagents/state"
	"github.com/deepagents-go/deepagents/thread"
	"github.com/deepagents-go/deepagents/tool"
)

// Nested runs the agent as a sub-agent of the call that the context belongs to: in the same log, lease, branch, budget and event
// stream, in a namespace of its own. It inherits the public state of its parent but not the conversation, and its parent's
// policy besides its own. Called again for the same call, after a crash or an answer, it goes on where it stopped.
//
// While the sub-agent waits for an answer, Nested returns [run.ErrInterrupted] and the call waits too. Result.Updates are what
// the sub-agent changed in the public state, for the call's own result. Outside a call of a run the error is [run.ErrOutside].
// Only a tool with Hints.Resumable should call it.
func (a *Agent) Nested(ctx context.Context, in Input) (*Result, error) {
	rs, _ := run.From(ctx)
	sc, ok := rs.(*scope)
	if !ok || sc.info.CallID == "" && sc.info.Tool == "" {
		return nil, fmt.Errorf("agent %s: a sub-agent runs inside a tool call: %w", a.c.Name, run.ErrOutside)
	}
	parent := sc.x
	ns := thread.Child(parent.ns, sc.info.Task+sc.nextNested())
	var sp *thread.Space
	var err error
	parent.s.journal.View(func(v *thread.View) { sp, err = v.Bind(ns, a.schema) })
	if err != nil {
		return nil, err
	}
	judges := append(parent.policy[:len(parent.policy):len(parent.policy)], a.c.Policy...)
	x := &execution{s: parent.s, agent: a, ns: ns, path: thread.Path(ns), sp: sp, policy: judges}
	if sp.Empty() {
		us, err := x.inputUpdates(in)
		if err != nil {
			return nil, err
		}
		input := &thread.Input{From: parent.sp.Head, Agent: a.c.Name, Updates: us}
		if err := x.s.append(ctx, false, x.input(input, sp.Step)...); err != nil {
			return nil, err
		}
	}
	status, err := x.loop(ctx)
	if errors.Is(err, ErrTurnLimit) {
		err = tool.Fatal(err) // the budget is the whole run's
	}
	if err != nil {
		return nil, err
	}
	if status == thread.Waiting {
		return nil, x.suspend(ctx, sc)
	}
	res := &Result{Status: status, State: sp.State, Updates: sp.Public}
	res.Cause, res.ExitCode = causeOf(status, nil, false)
	if m := lastAssistant(state.Messages.In(sp.State)); m != nil {
		res.Message, res.Text = m, m.Text()
	}
	return res, nil
}

// nextNested tells the sub-agents of one call apart: the first has no suffix.
func (s *scope) nextNested() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nested++
	if s.nested == 1 {
		return ""
	}
	return "#" + strconv.Itoa(s.nested)
}

// suspend makes the parent's call wait for the questions of the sub-agent.
func (x *execution) suspend(ctx context.Context, sc *scope) error {
	var inner []string
	x.s.journal.View(func(v *thread.View) {
		for _, o := range v.Open() {
			if o.NS == x.ns || thread.Inside(o.NS, x.ns) {
				inner = append(inner, o.ID)
			}
		}
	})
	if len(inner) == 0 {
		return run.ErrInterrupted // the call itself waits, not the sub-agent
	}
	i := sc.interrupt(run.Question{Kind: "subagent"}, nil)
	i.Inner = inner
	if err := x.s.append(ctx, true, sc.x.entry(sc.info.Step, i)); err != nil {
		return err
	}
	sc.wait()
	return run.ErrInterrupted
}
