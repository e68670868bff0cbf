package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/policy"
	"github.com/deepagents-go/deepagents/run"
	"github.com/deepagents-go/deepagents/state"
	"github.com/deepagents-go/deepagents/thread"
)

// execution is one agent at work in a run: the main agent, or a sub-agent in a namespace of its own.
type execution struct {
	s     *session
	agent *Agent
	ns    string
	// policy judges the actions: the agent's, and those of the agents above it.
	policy policy.Judges
	// path is the namespace as events show it.
	path []string
	// sp is the folded namespace. Its maps change under the journal's lock while calls are in flight; the rest changes with
	// commits only, which this execution writes.
	sp *thread.Space
	// jumps counts the jumps to the model since it was last asked.
	jumps int
}

func (x *execution) entry(step int, b thread.Body) thread.Entry {
	return x.s.journal.NewEntry(x.ns, step, b)
}

// move is what a node decides: where to go, or how the run ends.
type move struct {
	next string
	// status, when set, ends the execution.
	status thread.Status
}

// loop runs node after node until the run ends. Every way out leaves a thread that can go on.
func (x *execution) loop(ctx context.Context) (thread.Status, error) {
	n, ok := x.agent.nodes.find(x.sp.Next, x.sp.Node)
	for {
		if !ok {
			return thread.Stopped, fmt.Errorf("thread %s goes on at %q, which this agent does not have", x.s.thread, x.sp.Next)
		}
		if ctx.Err() != nil {
			return x.cut(ctx)
		}
		var m move
		var err error
		switch n.phase {
		case nodeEnd:
			return thread.Done, nil
		case nodeModel:
			m, err = x.model(ctx)
		case nodeTools:
			m, err = x.tools(ctx)
		case phaseRoute:
			m.next = x.route(x.sp.State)
		default:
			m, err = x.hook(ctx, n)
		}
		switch {
		case err != nil && ctx.Err() != nil:
			return x.cut(ctx)
		case err != nil:
			return thread.Stopped, err
		case m.status != "":
			return m.status, nil
		}
		n, ok = x.agent.nodes.find(m.next, "")
	}
}

// cut ends an execution whose context has ended. A sub-agent whose caller waits for an answer is left as it is: it goes on
// together with the caller.
func (x *execution) cut(ctx context.Context) (thread.Status, error) {
	cause := context.Cause(ctx)
	if x.ns != "" && errors.Is(cause, run.ErrInterrupted) {
		return thread.Waiting, nil
	}
	return thread.Stopped, errors.Join(cause, x.close(ctx))
}

// commit makes the commit entry of a step.
func (x *execution) commit(step int, node, next string, source thread.Source, applied ...thread.ID) thread.Entry {
	return x.entry(step, &thread.Commit{Source: source, Node: node, Next: next, Parent: x.sp.Head, Applied: applied})
}

// commitResults makes the commit entry of a step of the tools.
func (x *execution) commitResults(step int, next string, done []thread.Entry, ids []thread.ID) thread.Entry {
	e := x.commit(step, nodeTools, next, thread.SourceLoop, ids...)
	if c, ok := e.Body.(*thread.Commit); ok {
		x.sp.Check(c, done)
	}
	return e
}

// input makes the entries that begin a run with new input, or a sub-agent.
func (x *execution) input(in *thread.Input, step int) []thread.Entry {
	e := x.entry(step, in)
	return []thread.Entry{e, x.commit(step, "", x.agent.nodes.start(), thread.SourceInput, e.ID)}
}

// maxJumps bounds the jumps to the model between two model calls, so that a hook that always jumps is an error and not a hang.
const maxJumps = 100

// hook runs one hook and commits what it changed.
func (x *execution) hook(ctx context.Context, n node) (move, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	step := x.sp.Step
	task := fmt.Sprintf("%s@%d", n.name, step)
	if x.waiting(task) {
		return move{status: thread.Waiting}, nil
	}
	sc := x.newScope(run.Info{Task: task, Step: step}, x.sp.State, cancel)
	t := &Turn{x: x, tx: sc.tx}
	err := callHook(run.With(ctx, sc), n, t)
	us := sc.tx.Close()
	if sc.isWaiting() {
		return move{status: thread.Waiting}, nil
	}
	if err == nil {
		err = sc.refusal()
	}
	if err != nil {
		return move{}, fmt.Errorf("%s: %w", n.name, err)
	}
	switch t.jump {
	case "", JumpEnd:
	case JumpModel:
		if x.jumps++; x.jumps > maxJumps {
			return move{}, fmt.Errorf("%s: %d jumps to the model in a row and the model was never asked: a hook before it jumps every time", n.name, maxJumps)
		}
	default:
		return move{}, fmt.Errorf("%s: jump to %q: use JumpModel or JumpEnd", n.name, t.jump)
	}
	next := x.afterHook(n, t)
	up := &thread.Update{Node: n.name, Updates: us, Answered: t.answered, Replaced: t.replaced, Granted: t.granted}
	var es []thread.Entry
	var applied []thread.ID
	if len(us)+len(t.answered)+len(t.replaced)+len(t.granted) > 0 {
		stamp(us, x.agent.c.NewID)
		e := x.entry(step, up)
		es, applied = append(es, e), append(applied, e.ID)
	}
	if t.jump != "" && n.phase == phaseAfterModel {
		closing := x.closeCalls(t.tx.State(), t.answered, fmt.Sprintf("%s ended the turn before it ran", n.name))
		for _, e := range closing {
			applied = append(applied, e.ID)
		}
		es = append(es, closing...)
	}
	if len(es) > 0 {
		commit := x.commit(step, n.name, next, thread.SourceLoop, applied...)
		if c, ok := commit.Body.(*thread.Commit); ok {
			x.sp.Check(c, es)
		}
		if err := x.s.append(ctx, true, append(es, commit)...); err != nil {
			return move{}, err
		}
	}
	return move{next: next}, nil
}

// waiting reports whether a hook or a model call has asked something that has no answer yet: running it again would only ask
// the same again.
func (x *execution) waiting(task string) (yes bool) {
	x.s.journal.View(func(*thread.View) { yes = x.sp.Waiting(task) })
	return yes
}

// callHook calls the method that belongs to the phase, and turns a panic into an error.
func callHook(ctx context.Context, n node, t *Turn) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &PanicError{Value: r}
		}
	}()
	switch n.phase {
	case phaseBeforeRun:
		return n.hook.(RunHook).BeforeRun(ctx, &RunState{t})
	case phaseAfterRun:
		return n.hook.(RunHook).AfterRun(ctx, &RunState{t})
	case phaseBeforeModel:
		return n.hook.(TurnHook).BeforeModel(ctx, t)
	default:
		return n.hook.(TurnHook).AfterModel(ctx, t)
	}
}

// afterHook decides where a hook leads.
func (x *execution) afterHook(n node, t *Turn) string {
	switch {
	case t.jump == JumpModel:
		return x.agent.nodes.head()
	case t.jump == JumpEnd && n.phase == phaseAfterRun:
		return nodeEnd
	case t.jump == JumpEnd:
		return x.agent.nodes.exit()
	}
	if next := x.agent.nodes.after(n); next != "" {
		return next
	}
	return x.route(t.tx.State())
}

// route decides what follows the model.
func (x *execution) route(st state.State) string {
	msgs := state.Messages.In(st)
	last, calls := pendingCalls(msgs)
	switch {
	case len(calls) > 0:
		return nodeTools
	case last == nil || len(last.Calls()) == 0:
		return x.agent.nodes.exit()
	}
	return x.agent.nodes.head()
}

// pendingCalls returns the last assistant message, and its calls that no tool message after it answers.
func pendingCalls(msgs message.List) (last *message.Message, calls []message.ToolCall) {
	all := msgs.Slice()
	for i, m := range slices.Backward(all) {
		if m.Role != message.Assistant {
			continue
		}
		calls = m.Calls()
		if len(calls) > 0 && i+1 < len(all) {
			done := make(map[string]bool, len(calls))
			for _, r := range all[i+1:] {
				if r.Role == message.Tool {
					done[r.CallID] = true
				}
			}
			calls = slices.DeleteFunc(calls, func(c message.ToolCall) bool { return done[c.ID] })
		}
		return m, calls
	}
	return nil, nil
}

// close ends the step that a cancelled run was in: ended calls keep their results, the others get one that says what is known.
func (x *execution) close(ctx context.Context) error {
	if x.sp.Next != nodeTools {
		return nil
	}
	es := x.closeStep("the run was cancelled before it was done")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
	defer cancel()
	return x.s.journal.Append(ctx, true, es...)
}

// closeStep returns the entries that end a turn whose calls are not all done, or none.
func (x *execution) closeStep(why string) []thread.Entry {
	closing := x.closeCalls(x.sp.State, nil, why)
	if len(closing) == 0 && x.sp.Next != nodeTools {
		return nil
	}
	done, ids := x.stepResults(closing)
	return append(closing, x.commitResults(x.sp.Step, x.agent.nodes.head(), done, ids))
}

// closeCalls returns results for the pending calls that have none: what a hook answered, else what is known.
func (x *execution) closeCalls(st state.State, answered []thread.CallEnded, why string) []thread.Entry {
	last, calls := pendingCalls(state.Messages.In(st))
	var es []thread.Entry
	x.s.journal.View(func(*thread.View) {
		for _, c := range calls {
			task := taskID(last, c)
			if _, ok := x.sp.Ended[task]; ok {
				continue
			}
			d := x.sp.Answered[task]
			for i := range answered {
				if answered[i].Task == task {
					d = &answered[i]
				}
			}
			if d == nil {
				d = x.closed(task, c, why)
			}
			es = append(es, x.entry(x.sp.Step, d))
		}
	})
	return es
}

// closed is the result of a call that nothing is known of but whether its code was started. The start of a call that can be
// repeated is not recorded.
func (x *execution) closed(task string, c message.ToolCall, why string) *thread.CallEnded {
	if x.sp.Flying[task] {
		return x.result(task, c, thread.Unknown, unknownText)
	}
	name := c.Name
	if r, ok := x.sp.Replaced[task]; ok {
		name = r.Name
	}
	e := x.agent.Toolset.tools[name]
	if x.sp.Next == nodeTools && e != nil && e.spec.Hints.Repeatable() && !e.spec.Hints.ReadOnly {
		return x.result(task, c, thread.Cancelled, "Error: the call has no result: "+why+". If it had begun, it may have taken effect.")
	}
	return x.result(task, c, thread.Cancelled, "Error: the call was not executed: "+why+".")
}

// unknownText tells the model about a call that was started and whose end nobody saw (design decision A3).
const unknownText = "Error: the outcome of this call is unknown: it was started, and the process or the run ended before it did. " +
	"It may have taken effect, in part or in full. Look at what is there before you repeat it."

// stepResults returns the results of the pending calls in call order: those that are stored and those about to be.
func (x *execution) stepResults(fresh []thread.Entry) (es []thread.Entry, ids []thread.ID) {
	last, calls := pendingCalls(state.Messages.In(x.sp.State))
	byTask := make(map[string]thread.Entry, len(calls))
	x.s.journal.View(func(*thread.View) { maps.Copy(byTask, x.sp.Ended) })
	for _, e := range fresh {
		byTask[e.Body.(*thread.CallEnded).Task] = e
	}
	for _, c := range calls {
		if e, ok := byTask[taskID(last, c)]; ok {
			es, ids = append(es, e), append(ids, e.ID)
		}
	}
	return es, ids
}

// result makes the result of a call that did not run to its end.
func (x *execution) result(task string, c message.ToolCall, o thread.Outcome, text string) *thread.CallEnded {
	m := message.NewTool(c, message.Error, text)
	m.ID = x.agent.c.NewID()
	return &thread.CallEnded{Task: task, Message: m, Outcome: o}
}

func sortedKeys(m map[string]bool) []string { return slices.Sorted(maps.Keys(m)) }
