package agent

import (
	"context"
	"encoding/json"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/state"
	"github.com/deepagents-go/deepagents/tool"
)

// Middleware is part of an agent's stack. Beside its name, unique in the stack, it has any of the interfaces below; one that has
// none of them is refused by [New].
type Middleware interface{ Name() string }

// RunHook runs at the start and at the end of a run. AfterRun hooks run in reverse order.
type RunHook interface {
	BeforeRun(ctx context.Context, r *RunState) error
	AfterRun(ctx context.Context, r *RunState) error
}

// TurnHook runs before each model call, and after its answer is journaled. AfterModel hooks run in reverse order. A hook that
// changed the state, or decided about a call, is a step of its own.
type TurnHook interface {
	BeforeModel(ctx context.Context, t *Turn) error
	AfterModel(ctx context.Context, t *Turn) error
}

// ModelWrapper wraps the model call. The first of the stack is the outermost. A wrapper may call next never, once or several
// times; only the Response it returns counts.
type ModelWrapper interface {
	WrapModel(next ModelFunc) ModelFunc
}

// ToolWrapper wraps every tool call. The first of the stack is the outermost.
type ToolWrapper interface {
	WrapTool(next ToolFunc) ToolFunc
}

// ToolSource brings tools.
type ToolSource interface{ Tools() []tool.Tool }

// StateOwner brings keys of the state.
type StateOwner interface{ Fields() []*state.Field }

// AbsentTools answers calls to tools that a middleware could bring and does not, with a text that says why.
type AbsentTools interface {
	Absent(name string, args json.RawMessage) (tool.Result, bool)
}

// ModelFunc asks the model. On a cut it returns the partial message together with the error.
type ModelFunc func(ctx context.Context, r Request) (Response, error)

// ToolFunc runs a tool call.
type ToolFunc func(ctx context.Context, c tool.Call) (tool.Result, error)

// Request is a model call as wrappers see it: a value, changed by changing the copy. The slices in it are shared: replace them,
// do not write into them.
type Request struct {
	model.Request
	// Model is the model that is asked.
	Model model.Model
	// State is the state at the beginning of the step.
	State state.State
	// OnDelta takes the stream, for whoever watches.
	OnDelta func(model.Delta)
}

// Response is the answer to a [Request].
type Response struct {
	Message *message.Message
	// Update changes the state after the message was added.
	Update []state.Update
}
