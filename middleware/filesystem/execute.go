package filesystem

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/run"
	"github.com/deepagents-go/deepagents/sandbox"
	"github.com/deepagents-go/deepagents/tool"
)

const (
	notAvailable = "Error: Execution not available. "
	noExecution  = notAvailable + "This agent's backend does not support command execution (SandboxBackendProtocol). To use the execute tool, provide a backend that implements SandboxBackendProtocol."

	cutLine = "[Output was truncated due to size limits]"
)

func (m *Middleware) execute(ctx context.Context, args json.RawMessage) (tool.Result, error) {
	in, err := decode[executeArgs](args)
	if err != nil {
		return tool.Result{}, err
	}
	limit, refused := m.timeout(in.Timeout)
	if refused != "" {
		return failed(refused), nil
	}
	if in.Command.fault != "" {
		return failed("Error: Invalid parameter. command holds " + in.Command.fault), nil
	}
	if in.Command.s == "" {
		return m.notStarted(ctx, &sandbox.StartError{Kind: sandbox.InvalidCommand, Err: sandbox.ErrEmptyCommand})
	}
	o := sandbox.RunOptions{}
	if s, ok := run.From(ctx); ok {
		o.Live = s.Output()
	}
	r, err := sandbox.Run(ctx, m.o.Sandbox, sandbox.Command{Line: in.Command.s, Timeout: limit}, o)
	if ctx.Err() != nil {
		return tool.Result{}, context.Cause(ctx)
	}
	if err != nil && r.Exit.Reason != sandbox.Lost && r.Exit.Reason != sandbox.Exited {
		return m.notStarted(ctx, err)
	}
	return m.commandResult(r), nil
}

// timeout turns the argument into a time limit, or says why it is refused. No argument means the sandbox's default.
func (m *Middleware) timeout(arg *int) (limit time.Duration, refused string) {
	if arg == nil {
		return 0, ""
	}
	n := *arg
	switch {
	case n < 0:
		return 0, fmt.Sprintf("Error: timeout must be non-negative, got %d.", n)
	case time.Duration(n) > m.o.MaxExecuteTimeout/time.Second:
		return 0, fmt.Sprintf("Error: timeout %ds exceeds maximum allowed (%ss).", n, seconds(m.o.MaxExecuteTimeout))
	case m.o.Sandbox == nil:
		return 0, ""
	case n == 0 && m.compat() && m.o.Sandbox.Policy().Level == "remote":
		return sandbox.NoTimeout, ""
	case n == 0:
		return 0, "Error: Invalid parameter. timeout must be positive, got 0"
	}
	return time.Duration(n) * time.Second, ""
}

// notStarted answers for a command that never ran. What names its cause is told like a command that failed.
func (m *Middleware) notStarted(ctx context.Context, err error) (tool.Result, error) {
	text, ok := sandbox.FormatError(err)
	if !ok {
		return fail(ctx, executeName, "", err)
	}
	res := tool.Text(text)
	code := 1
	a := tool.Artifact{ExitCode: &code}
	var start *sandbox.StartError
	if errors.As(err, &start) {
		a.Reason = string(start.Kind)
	}
	res.Artifact = a
	return res, nil
}

// commandResult is the result of a command that ran, whatever came of it.
func (m *Middleware) commandResult(r sandbox.Result) tool.Result {
	o := sandbox.FormatOptions{Compat: m.compat()}
	if d, ok := m.o.Sandbox.(sandbox.Defaulter); ok {
		o.Max = d.Defaults().MaxOutput
	}
	res := tool.Text(sandbox.Format(r, o))
	a := tool.Artifact{}
	if r.Exit.Reason != sandbox.Lost && r.Exit.Reason != sandbox.Cancelled {
		a.ExitCode = &r.Exit.Code
	}
	if r.Exit.Reason != sandbox.Exited {
		a.Reason = string(r.Exit.Reason)
	}
	if r.Exit.Reason == sandbox.Lost {
		res.Status = message.Error // whether it took effect is not known
	}
	if t, ok := res.Parts[0].(message.Text); ok {
		a.Truncated = strings.HasSuffix(t.Text, cutLine)
	}
	res.Artifact = a
	return res
}
