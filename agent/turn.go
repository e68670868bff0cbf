package agent

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/policy"
	"github.com/deepagents-go/deepagents/state"
	"github.com/deepagents-go/deepagents/thread"
	"github.com/deepagents-go/deepagents/tool"
)

// Jump is where a hook sends the run.
type Jump string

// The jumps.
const (
	// JumpModel begins the next turn.
	JumpModel Jump = "model"
	// JumpEnd ends the run; AfterRun hooks still run.
	JumpEnd Jump = "end"
)

// Turn is a turn as a [TurnHook] sees it. What it changes is committed when the hook returns without an error.
type Turn struct {
	x        *execution
	tx       *state.Tx
	answered []thread.CallEnded
	replaced []thread.Replaced
	granted  []thread.Granted
	jump     Jump
}

// RunState is the run as a [RunHook] sees it.
type RunState struct{ t *Turn }

// State is the hook's transaction.
func (r *RunState) State() *state.Tx { return r.t.tx }

// Jump sends the run elsewhere when the hook returns.
func (r *RunState) Jump(to Jump) { r.t.jump = to }

// State is the hook's transaction.
func (t *Turn) State() *state.Tx { return t.tx }

// Jump sends the run elsewhere when the hook returns. Calls that wait are closed: those that have not run get a result that says
// so.
func (t *Turn) Jump(to Jump) { t.jump = to }

// Calls returns the calls of the last message that wait for a result, in order, as they will run: replaced calls in their new
// form. Calls with invalid arguments are left out; the model is told about them.
func (t *Turn) Calls() []tool.Call {
	last, calls := pendingCalls(state.Messages.Get(t.tx))
	var out []tool.Call
	for _, c := range calls {
		task := taskID(last, c)
		if r, ok := t.replacement(task); ok {
			c = r
		}
		if c.Invalid != "" || t.isAnswered(task) {
			continue
		}
		out = append(out, tool.Call{ID: task, CallID: c.ID, Name: c.Name, Args: c.Args})
	}
	return out
}

func (t *Turn) replacement(task string) (message.ToolCall, bool) {
	for _, r := range t.replaced {
		if r.Task == task {
			return r.Call, true
		}
	}
	c, ok := t.x.sp.Replaced[task]
	return c, ok
}

func (t *Turn) isAnswered(task string) bool {
	for _, a := range t.answered {
		if a.Task == task {
			return true
		}
	}
	return t.x.sp.Answered[task] != nil
}

func (t *Turn) find(id string) (tool.Call, error) {
	for _, c := range t.Calls() {
		if c.ID == id {
			return c, nil
		}
	}
	return tool.Call{}, fmt.Errorf("agent: no call %q waits for a result in this turn", id)
}

// Tool returns the tool of that name.
func (t *Turn) Tool(name string) (tool.Tool, bool) {
	e := t.x.agent.Toolset.tools[name]
	if e == nil || e.excluded {
		return nil, false
	}
	return e.tool, true
}

// Actions returns what a call is going to do. A call that cannot be prepared (an unknown tool, wrong arguments) has none.
func (t *Turn) Actions(ctx context.Context, id string) ([]policy.Action, error) {
	c, err := t.find(id)
	if err != nil {
		return nil, err
	}
	return t.x.agent.prepare(ctx, c.Name, c.Args).actions, nil
}

// Answer gives a call its result: it will not run. The result joins those of the other calls, in call order.
func (t *Turn) Answer(id string, r tool.Result) error {
	c, err := t.find(id)
	if err != nil {
		return err
	}
	kind := thread.OK
	if r.Status == message.Error {
		kind = thread.Failed
	}
	ended, err := t.x.ended(c, r, kind)
	if err != nil {
		return err
	}
	t.answered = append(t.answered, *ended)
	return nil
}

// Replace makes another call run in the place of one, under the same id.
func (t *Turn) Replace(id, name string, args json.RawMessage) error {
	c, err := t.find(id)
	if err != nil {
		return err
	}
	if t.x.agent.Toolset.tools[name] == nil {
		return fmt.Errorf("agent: call %q cannot become a call of %q: there is no such tool", id, name)
	}
	t.replaced = append(t.replaced, thread.Replaced{Task: id, Call: message.ParseCall(c.CallID, name, string(args))})
	return nil
}

// Grant says that these actions of a call need no further approval. What a rule denies stays denied.
func (t *Turn) Grant(id string, actions []policy.Action) error {
	if _, err := t.find(id); err != nil {
		return err
	}
	t.granted = append(t.granted, thread.Granted{Task: id, Actions: actions})
	return nil
}
