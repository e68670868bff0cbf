package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/policy"
	"github.com/deepagents-go/deepagents/run"
	"github.com/deepagents-go/deepagents/state"
	"github.com/deepagents-go/deepagents/thread"
	"github.com/deepagents-go/deepagents/tool"
)

// maxParallel bounds the calls of one message that run at the same time.
const maxParallel = 32

// job is one pending call of a message.
type job struct {
	task string
	// asked is the model's call, call what runs: they differ when a hook replaced it.
	asked message.ToolCall
	call  tool.Call
	// raw is the call that runs, with what is wrong with it.
	raw message.ToolCall
	// ready is the call as it was prepared, nil when its arguments are no JSON.
	ready   *prepared
	actions []policy.Action
	waits   []int
	state   jobState
	// ended is the stored result of a finished call.
	ended thread.Entry
}

type jobState uint8

const (
	jobReady jobState = iota
	jobRunning
	jobEnded
	// jobWaiting waits for an answer, or for a call that does.
	jobWaiting
	// jobFailed ended the run.
	jobFailed
)

// outcome is how a job's goroutine ended: with a result, waiting, or with an error that ends the run.
type outcome struct {
	job     int
	ended   *thread.CallEnded
	entry   thread.Entry // ended, as it is stored
	waiting bool
	err     error
}

// tools runs the pending calls of the last message. Calls that conflict run in call order, the others at the same time; each
// result is stored when it is there, and the commit applies them in call order.
func (x *execution) tools(ctx context.Context) (move, error) {
	t := &toolStep{x: x, step: x.sp.Step, jobs: x.jobs(ctx), results: make(chan outcome)}
	if err := t.run(ctx); err != nil {
		return move{}, err
	}
	switch {
	case t.committed:
		return t.move, nil
	case t.unfinished():
		return move{status: thread.Waiting}, nil
	}
	return t.move, t.finish(nil)
}

// finish commits the step, together with the results that are not stored yet.
func (t *toolStep) finish(last []thread.Entry) error {
	nodes := &t.x.agent.nodes
	ended := make([]thread.Entry, 0, len(t.jobs))
	ids := make([]thread.ID, 0, len(t.jobs))
	direct := len(t.jobs) > 0
	for i := range t.jobs {
		ended = append(ended, t.jobs[i].ended)
		ids = append(ids, t.jobs[i].ended.ID)
		direct = direct && t.jobs[i].ended.Body.(*thread.CallEnded).Direct
	}
	t.move.next = nodes.head()
	if direct {
		t.move.next = nodes.exit()
	}
	commit := t.x.commitResults(t.step, t.move.next, ended, ids)
	t.committed = true
	return t.x.s.append(context.Background(), true, append(last, commit)...)
}

// jobs prepares the pending calls.
func (x *execution) jobs(ctx context.Context) []job {
	last, calls := pendingCalls(state.Messages.In(x.sp.State))
	jobs := make([]job, len(calls))
	actions := make([][]policy.Action, len(calls))
	for i, c := range calls {
		j := &jobs[i]
		j.task, j.asked, j.raw = taskID(last, c), c, c
		if r, ok := x.sp.Replaced[j.task]; ok {
			j.raw = r
		}
		j.call = tool.Call{ID: j.task, CallID: c.ID, Name: j.raw.Name, Args: j.raw.Args}
		if j.raw.Invalid == "" {
			p := x.agent.prepare(ctx, j.call.Name, j.call.Args)
			j.ready, j.actions = &p, p.actions
		}
		actions[i] = j.actions
	}
	x.s.journal.View(func(*thread.View) {
		for i := range jobs {
			if e, ok := x.sp.Ended[jobs[i].task]; ok {
				jobs[i].state, jobs[i].ended = jobEnded, e
			}
		}
	})
	if len(jobs) > 1 {
		for i, w := range waits(actions) {
			jobs[i].waits = w
		}
	}
	return jobs
}

// toolStep is the running of one message's calls. Its methods run in the loop's goroutine.
type toolStep struct {
	x       *execution
	step    int
	jobs    []job
	running int
	results chan outcome
	err     error
	// move is where the step leads, once it is committed.
	move      move
	committed bool
}

// run starts every call as soon as those it waits for have ended, and stores the results as they come.
func (t *toolStep) run(ctx context.Context) error {
	for {
		ready := t.ready()
		if t.err == nil && ctx.Err() == nil {
			if len(ready) == 1 && t.running == 0 {
				t.take(t.runJob(ctx, ready[0], t.base(ready[0])))
				continue
			}
			for _, i := range ready {
				if t.running == maxParallel {
					break
				}
				t.jobs[i].state = jobRunning
				t.running++
				base := t.base(i)
				go func() {
					o := outcome{job: i, err: ErrGoexit}
					defer func() { t.results <- o }() // also when the tool ends this goroutine
					o = t.runJob(ctx, i, base)
				}()
			}
		}
		if t.running == 0 {
			break
		}
		o := <-t.results
		t.running--
		t.take(o)
	}
	if t.err == nil && ctx.Err() != nil && t.unfinished() {
		return context.Cause(ctx)
	}
	return t.err
}

// ready lists the calls that can start. A call behind one that waits for an answer waits too.
func (t *toolStep) ready() []int {
	var out []int
	for i := range t.jobs {
		j := &t.jobs[i]
		if j.state != jobReady {
			continue
		}
		ok := true
		for _, w := range j.waits {
			switch t.jobs[w].state {
			case jobEnded:
			case jobWaiting:
				j.state = jobWaiting
				ok = false
			default:
				ok = false
			}
		}
		if ok {
			out = append(out, i)
		}
	}
	return out
}

// base is the state a call sees: the step's, with the updates of the calls it waited for.
func (t *toolStep) base(i int) state.State {
	st := t.x.sp.State
	for _, w := range t.jobs[i].waits {
		b := t.jobs[w].ended.Body.(*thread.CallEnded)
		if next, err := st.Apply(b.Updates...); err == nil {
			st = next
		}
	}
	return st
}

// take stores what a call came to. The last result of a step is stored together with its commit.
func (t *toolStep) take(o outcome) {
	j := &t.jobs[o.job]
	switch {
	case o.waiting:
		j.state = jobWaiting
	case o.err != nil:
		j.state = jobFailed
		if t.err == nil {
			t.err = o.err
		}
	default:
		j.ended = o.entry
		j.state = jobEnded
		t.x.s.note(j, o.entry.Body.(*thread.CallEnded))
		var err error
		if t.unfinished() {
			err = t.x.s.append(context.Background(), false, j.ended)
		} else {
			err = t.finish([]thread.Entry{j.ended})
		}
		if err != nil && t.err == nil {
			t.err = err
		}
	}
}

func (t *toolStep) unfinished() bool {
	return slices.ContainsFunc(t.jobs, func(j job) bool { return j.state != jobEnded })
}

// runJob runs one call to its outcome. It runs in a goroutine of its own, or in the loop's.
func (t *toolStep) runJob(ctx context.Context, i int, base state.State) outcome {
	x, j := t.x, &t.jobs[i]
	begin := x.agent.c.Now()
	o := x.runCall(ctx, t, i, base)
	o.job = i
	if o.ended != nil {
		o.ended.MS = x.agent.c.Now().Sub(begin).Milliseconds()
		if e := x.agent.Toolset.tools[j.call.Name]; e != nil {
			o.ended.Direct = e.spec.ReturnDirect
		}
		o.entry = x.encoded(t.step, j, o.ended)
	}
	return o
}

// encoded makes the entry of a result. What a tool put into it may be no JSON at all, or panic; that is the call's error, not the
// journal's.
func (x *execution) encoded(step int, j *job, ended *thread.CallEnded) thread.Entry {
	e := x.entry(step, ended)
	err := func() (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = &PanicError{Value: p, Stack: debug.Stack()}
			}
		}()
		return e.Encode()
	}()
	if err != nil {
		x.logPanic(j, err)
		e = x.entry(step, x.result(j.task, j.asked, thread.Failed, fmt.Sprintf("Error executing tool '%s': %v", j.call.Name, err)))
	}
	return e
}

func (x *execution) runCall(ctx context.Context, t *toolStep, i int, base state.State) outcome {
	j := &t.jobs[i]
	var answered *thread.CallEnded
	var flying, waiting bool
	var granted []policy.Action
	attempt := 1
	x.s.journal.View(func(v *thread.View) {
		answered, flying, waiting = x.sp.Answered[j.task], x.sp.Flying[j.task], v.Waiting(x.sp, j.task)
		granted = x.sp.Granted[j.task]
		if s := x.sp.Started[j.task]; s != nil {
			attempt = s.Attempt + 1
		}
	})
	switch {
	case answered != nil:
		ended := *answered
		return outcome{ended: &ended}
	case waiting:
		return outcome{waiting: true}
	case j.raw.Invalid != "":
		return outcome{ended: x.result(j.task, j.raw, thread.Failed, invalidText(j.raw))}
	case flying:
		return outcome{ended: x.result(j.task, j.asked, thread.Unknown, unknownText)}
	case clash(t.jobs, i):
		return outcome{ended: x.result(j.task, j.asked, thread.Failed, parallelText)}
	}
	return x.execute(ctx, t.step, j, base, attempt, granted)
}

// unasked is the error of a run that a question ended: the denial when there is one, since it says more.
func unasked(refused error, d *policy.DeniedError, err error) error {
	if d != nil || errors.As(err, &d) {
		return d
	}
	return refused
}

// parallelText is the text of file-tools.md 4.6.
const parallelText = "Error: parallel file mutations to the same path are not allowed."

// clash reports whether a call removes a directory that another call of the message writes into (design decision F18).
func clash(jobs []job, i int) bool {
	for _, a := range jobs[i].actions {
		if a.Kind != policy.Write || !a.Subtree {
			continue
		}
		for k := range jobs {
			for _, b := range jobs[k].actions {
				if k != i && b.Kind == policy.Write && policy.Below(b.Path, a.Path) {
					return true
				}
			}
		}
	}
	return false
}

func invalidText(c message.ToolCall) string {
	if strings.HasPrefix(c.Invalid, "the arguments were cut off") {
		return fmt.Sprintf("Error: the call of %s was not executed: its arguments were cut off by the output limit. "+
			"Call it again with complete arguments; split large content over several calls.", c.Name)
	}
	return fmt.Sprintf("Error: the call of %s was not executed: %s. Call it again with a valid JSON object.", c.Name, c.Invalid)
}

// execute runs the wrappers and the tool of one call.
func (x *execution) execute(ctx context.Context, step int, j *job, base state.State, attempt int, granted []policy.Action) outcome {
	cctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	info := run.Info{Task: j.task, CallID: j.call.CallID, Tool: j.call.Name, Step: step, Attempt: attempt}
	sc := x.newScope(info, base, cancel)
	sc.call, sc.granted = j.call, granted
	inv := &invocation{set: x.agent.Toolset, policy: x.policy, granted: granted, ask: sc.Ask, ready: j.ready}
	inv.started = func(ctx context.Context, e *entry, c tool.Call) error { return x.recordStart(ctx, step, attempt, e, c) }
	res, err := protect(x.agent.call)(run.With(withInvocation(cctx, inv), sc), j.call)
	us := sc.tx.Close()
	switch {
	case sc.isWaiting():
		closeBody(res)
		return outcome{waiting: true}
	case ctx.Err() != nil && err != nil:
		closeBody(res)
		return outcome{err: context.Cause(ctx)}
	case err != nil && tool.IsFatal(err):
		return x.abort(step, j, err)
	case sc.refusal() != nil:
		closeBody(res)
		x.s.noteDenial(*denial(j, inv.denied, err))
		return x.abort(step, j, unasked(sc.refusal(), inv.denied, err))
	}
	kind, failure := thread.OK, err
	if err != nil {
		closeBody(res)
		x.logPanic(j, err)
		res, us = errorResult(j.call.Name, err), nil
	}
	if res.Status == message.Error {
		kind = thread.Failed
	}
	if inv.denied == nil {
		inv.denied = res.Denied
	}
	if inv.denied != nil || errors.Is(err, policy.ErrDenied) {
		kind = thread.Denied
	}
	res.Update = append(us, res.Update...)
	ended, err := x.ended(j.call, res, kind)
	if err != nil {
		ended = x.result(j.task, j.asked, thread.Failed, fmt.Sprintf("Error executing tool '%s': %v", j.call.Name, err))
	}
	if kind == thread.Denied {
		ended.Denial = denial(j, inv.denied, failure)
	}
	return outcome{ended: ended}
}

// recordStart records that the code of a tool is about to run. Calls that can be repeated need no record: they just tell who
// watches.
func (x *execution) recordStart(ctx context.Context, step, attempt int, e *entry, c tool.Call) error {
	if e.spec.Hints.Repeatable() {
		x.s.hub.emit(x.path, ToolStarted{TaskID: c.ID, ToolCallID: c.CallID, Name: c.Name, Attempt: attempt})
		return nil
	}
	return x.s.append(ctx, true, x.entry(step, &thread.CallStarted{
		Task: c.ID, CallID: c.CallID, Name: c.Name, Args: c.Args, Attempt: attempt,
	}))
}

// abort records that the call's error ended the run, so that it is not taken for a crash.
func (x *execution) abort(step int, j *job, err error) outcome {
	e := x.entry(step, x.result(j.task, j.asked, thread.Aborted, err.Error()))
	if aerr := x.s.append(context.Background(), false, e); aerr != nil {
		err = errors.Join(err, aerr)
	}
	return outcome{err: err}
}

func (x *execution) logPanic(j *job, err error) {
	var p *PanicError
	if errors.As(err, &p) {
		x.agent.c.Logger.Error("tool panicked", "tool", j.call.Name, "panic", p.Value, "stack", string(p.Stack))
	}
}
