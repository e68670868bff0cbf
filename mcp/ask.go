package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/policy"
	"github.com/deepagents-go/deepagents/run"
)

// The choices of the form.
const (
	choiceApprove = "approve"
	choiceReject  = "reject"
)

// form is the schema of the answer: flat, as clients want it.
var form = json.RawMessage(`{"type":"object","properties":{` +
	`"decision":{"type":"string","title":"Decision","description":"Whether this may happen.","enum":["approve","reject"]},` +
	`"reason":{"type":"string","title":"Reason","description":"What the model should know when you reject it. Optional."}` +
	`},"required":["decision"]}`)

var _ agent.AskFunc = Ask

// Ask answers the approval questions of a toolset by asking the person in front of the MCP client whose call is in the context,
// with a form: the decision, and a reason. The message shows what is about to happen. Declining the form is a rejection.
//
// Everything else denies the call: a form that is dismissed or answered in another way, a client that cannot ask (the denial
// names the flag that allows the action without asking), a question of another kind or outside of a call ([agent.ErrNobody]).
func Ask(ctx context.Context, q run.Question) (json.RawMessage, error) {
	c, ok := callFrom(ctx)
	if !ok {
		return nil, fmt.Errorf("mcp: %w: the call came from no MCP client", agent.ErrNobody)
	}
	if q.Kind != agent.KindApproval {
		return nil, fmt.Errorf("mcp: %w: questions of the kind %q have no form", agent.ErrNobody, q.Kind)
	}
	value, err := json.Marshal(q.Value)
	if err != nil {
		return nil, fmt.Errorf("mcp: question: %w", err)
	}
	a, err := parseApproval(value)
	if err != nil {
		return nil, err
	}
	if !canAsk(c.req.ClientCapabilities()) {
		return nil, a.denied("and this MCP client cannot ask anybody (it has no elicitation)")
	}
	params := &sdk.ElicitParams{Mode: "form", Message: a.message(), RequestedSchema: form}
	var res *sdk.ElicitResult
	if c.multiRound {
		res, err = c.answer(q.Kind, value, params)
	} else {
		res, err = c.req.Session.Elicit(ctx, params)
	}
	switch {
	case errors.Is(err, run.ErrInterrupted):
		return nil, err
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, a.denied(fmt.Sprintf("and asking failed: %v", err))
	}
	return a.decide(res)
}

// canAsk reports whether a client shows forms. One that says neither form nor URL means forms.
func canAsk(caps *sdk.ClientCapabilities) bool {
	return caps != nil && caps.Elicitation != nil && (caps.Elicitation.Form != nil || caps.Elicitation.URL == nil)
}

// decide turns a filled-in form into decisions, one for each call of the question. Only the exact word approves.
func (a approval) decide(res *sdk.ElicitResult) (json.RawMessage, error) {
	d := agent.Decision{Type: choiceReject}
	switch res.Action {
	case "accept":
		d.Type, _ = res.Content["decision"].(string)
		reason, _ := res.Content["reason"].(string)
		switch d.Type {
		case choiceApprove:
		case choiceReject:
			d.Message = reason
		default:
			return nil, a.denied("and the answer holds no decision")
		}
	case "decline":
	default:
		return nil, a.denied("and the question was dismissed without an answer")
	}
	ds := make([]agent.Decision, len(a.ActionRequests))
	for i := range ds {
		ds[i] = d
	}
	return agent.Decisions(ds...), nil
}

// denied is the error of a question that nobody answered; why goes on from the reason of the asking.
func (a approval) denied(why string) error {
	r := a.ActionRequests[0]
	v := policy.Verdict{Decision: policy.Deny, Reason: why, Rule: r.Rule, Fix: r.Fix}
	if r.Reason != "" {
		v.Reason = r.Reason + ", " + why
	}
	d := &policy.DeniedError{Verdict: v}
	if len(r.Actions) > 0 {
		d.Action = r.Actions[0]
	}
	return d
}
