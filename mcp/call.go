package mcp

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deepagents-go/deepagents/run"
	"github.com/deepagents-go/deepagents/tool"
)

// call is one tools/call request. [Ask] and [Progress] find it in the context.
type call struct {
	req *sdk.CallToolRequest
	id  string
	// multiRound says that questions go out as the result of the request, to be answered by its repetition.
	multiRound bool
	// cancel ends the call when a question goes out.
	cancel context.CancelCauseFunc
	live   *live

	mu sync.Mutex
	// answers are those that came with earlier repetitions, by question; open are the questions that have none yet.
	answers map[string]*sdk.ElicitResult
	open    sdk.InputRequestMap
	// asked counts the askings of each question.
	asked map[string]int
}

type callKey struct{}

func callFrom(ctx context.Context) (*call, bool) {
	c, ok := ctx.Value(callKey{}).(*call)
	return c, ok
}

// handler returns the handler of a tool's calls.
func (s *server) handler(spec tool.Spec) sdk.ToolHandler {
	return func(ctx context.Context, req *sdk.CallToolRequest) (res *sdk.CallToolResult, err error) {
		defer func() {
			if v := recover(); v != nil {
				s.log.Error("call panicked", "tool", spec.Name, "panic", v, "stack", string(debug.Stack()))
				res, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: fmt.Sprintf("%s: internal error", spec.Name)}
			}
		}()
		return s.serve(ctx, spec, req)
	}
}

func (s *server) serve(ctx context.Context, spec tool.Spec, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := &call{req: req, multiRound: req.ProtocolVersion() >= multiRound, cancel: cancel}
	args := arguments(req.Params)
	if c.multiRound && req.Params.RequestState != "" {
		if err := s.rounds.resume(c, spec.Name, args); err != nil {
			return nil, err
		}
	} else {
		c.id = s.callID()
	}
	if token := req.Params.GetProgressToken(); token != nil {
		c.live = newLive(ctx, req.Session, token)
		defer c.live.close()
	}
	res, err := s.set.Call(context.WithValue(ctx, callKey{}, c), tool.Call{CallID: c.id, Name: spec.Name, Args: args})
	if asked := c.questions(); asked != nil {
		closeBody(res)
		return &sdk.CallToolResult{InputRequests: asked, RequestState: s.rounds.pause(c, spec.Name, args)}, nil
	}
	if ctx.Err() != nil {
		closeBody(res)
		return nil, context.Cause(ctx)
	}
	if err != nil {
		res = tool.Errorf("Error executing tool '%s': %v", spec.Name, err)
	}
	if c.live != nil {
		c.live.close() // progress may not follow the result
	}
	return s.result(spec, res), nil
}

// answer returns what the client answered to a question, or notes that it has to be asked.
func (c *call) answer(kind string, value []byte, form *sdk.ElicitParams) (*sdk.ElicitResult, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := c.key(kind, value)
	if res, ok := c.answers[key]; ok {
		return res, nil
	}
	if c.open == nil {
		c.open = sdk.InputRequestMap{}
	}
	c.open[key] = form
	c.cancel(run.ErrInterrupted)
	return nil, run.ErrInterrupted
}

func (c *call) questions() sdk.InputRequestMap {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open
}
