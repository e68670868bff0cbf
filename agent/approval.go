package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/deepagents-go/deepagents/policy"
	"github.com/deepagents-go/deepagents/run"
	"github.com/deepagents-go/deepagents/tool"
)

// KindApproval is the kind of the questions that ask whether a call may run. Their value and answer have the form of Deep
// Agents' human in the loop (surfaces.md 3.3).
const KindApproval = "approval"

// The types of decisions.
const (
	decideApprove = "approve"
	decideEdit    = "edit"
	decideReject  = "reject"
	decideRespond = "respond"
)

// Decision is a person's answer to one call.
type Decision struct {
	// Type is "approve", "edit", "reject" or "respond".
	Type string `json:"type"`
	// Message is the reason of a reject, or the result of a respond.
	Message string `json:"message,omitempty"`
	// Edited is the call to run instead, of an edit.
	Edited *EditedAction `json:"edited_action,omitempty"`
}

// EditedAction is a call as a person changed it.
type EditedAction struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

// Decisions returns the answer to an approval question.
func Decisions(ds ...Decision) json.RawMessage {
	raw, err := json.Marshal(map[string]any{"decisions": ds})
	if err != nil {
		return nil // only invalid raw arguments cannot be encoded; the answer is then refused by its schema
	}
	return raw
}

func parseDecisions(raw json.RawMessage) ([]Decision, error) {
	var v struct {
		Decisions []Decision `json:"decisions"`
	}
	err := json.Unmarshal(raw, &v)
	return v.Decisions, err
}

// ErrNobody is the error of a question when there is nobody to ask.
var ErrNobody = errors.New("there is nobody to ask")

// ApprovalRequest is one call in an [Approval]: what the model asks for, why somebody is asked, and what would allow it.
type ApprovalRequest struct {
	Name        string          `json:"name"`
	Args        json.RawMessage `json:"args"`
	Description string          `json:"description"`
	ToolCallID  string          `json:"tool_call_id"`
	Reason      string          `json:"reason,omitempty"`
	Fix         string          `json:"fix,omitempty"`
	Rule        string          `json:"rule,omitempty"`
	Actions     []policy.Action `json:"actions"`
	Decisions   []string        `json:"decisions"`
}

// ReviewConfig says which decisions a call can have.
type ReviewConfig struct {
	ActionName       string   `json:"action_name"`
	AllowedDecisions []string `json:"allowed_decisions"`
	// deep-agents-ui reads the camel-case names.
	ActionNameUI       string   `json:"actionName"`
	AllowedDecisionsUI []string `json:"allowedDecisions"`
}

// Approval is the value of a question of the kind [KindApproval]. Its two lists are parallel.
type Approval struct {
	ActionRequests []ApprovalRequest `json:"action_requests"`
	ReviewConfigs  []ReviewConfig    `json:"review_configs"`
}

var allDecisions = [...]string{decideApprove, decideEdit, decideReject, decideRespond}

// askFor asks whether one call may run.
func (t *Toolset) askFor(ctx context.Context, inv *invocation, p prepared, c tool.Call, v policy.Verdict) (Decision, error) {
	names := allDecisions[:]
	described := make([]string, len(p.actions))
	for i, a := range p.actions {
		described[i] = a.String()
	}
	q := run.Question{Kind: KindApproval, Answer: answerSchema, Value: Approval{
		ActionRequests: []ApprovalRequest{{
			Name: c.Name, Args: c.Args, Description: strings.Join(described, "; "), ToolCallID: c.CallID,
			Reason: v.Reason, Fix: v.Fix, Rule: v.Rule, Actions: p.actions, Decisions: names,
		}},
		ReviewConfigs: []ReviewConfig{{c.Name, names, c.Name, names}},
	}}
	raw, err := inv.ask(ctx, q)
	if errors.Is(err, ErrNobody) {
		v.Decision = policy.Deny
		inv.denied = &policy.DeniedError{Action: firstAction(p.actions, nil), Verdict: v}
		return Decision{}, inv.denied
	}
	if err != nil {
		return Decision{}, err
	}
	ds, err := parseDecisions(raw)
	if err != nil || len(ds) != 1 {
		return Decision{}, fmt.Errorf("approval: the answer holds %d decisions for 1 call", len(ds))
	}
	return ds[0], nil
}

// answerSchema is the schema of answers to a question about one call.
var answerSchema = json.RawMessage(`{"type":"object","required":["decisions"],"properties":{"decisions":{"type":"array","minItems":1,"maxItems":1,` +
	`"items":{"type":"object","required":["type"],"properties":{"type":{"enum":["approve","edit","reject","respond"]},"message":{"type":"string"},` +
	`"edited_action":{"type":"object","required":["name","args"],"properties":{"name":{"type":"string"},"args":{"type":"object"}}}},` +
	`"allOf":[{"if":{"properties":{"type":{"const":"edit"}}},"then":{"required":["edited_action"]}},` +
	`{"if":{"properties":{"type":{"const":"respond"}}},"then":{"required":["message"]}}]}}}}`)

// checkAnswer validates an answer against the schema of its question.
func checkAnswer(schema, answer json.RawMessage) error {
	if !json.Valid(answer) {
		return fmt.Errorf("%w: it is not JSON", ErrAnswer)
	}
	if len(schema) == 0 {
		return nil
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(schema, &s); err != nil {
		return fmt.Errorf("%w: the question's schema cannot be read: %w", ErrAnswer, err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		return fmt.Errorf("%w: the question's schema cannot be read: %w", ErrAnswer, err)
	}
	var v any
	if err := json.Unmarshal(answer, &v); err != nil {
		return fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	if err := r.Validate(v); err != nil {
		return fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	return nil
}

// editedArgs returns the valid arguments of an edited call.
func editedArgs(e *entry, d Decision) (json.RawMessage, error) {
	if d.Edited.Name != e.spec.Name {
		return nil, fmt.Errorf("the reviewer changed the tool to '%s'; only the arguments of '%s' can be edited here", d.Edited.Name, e.spec.Name)
	}
	return e.args.Args(d.Edited.Args)
}

func rejectReason(d Decision) string {
	if d.Message != "" {
		return "rejected: " + d.Message
	}
	return "rejected"
}

// rejectText is the text of harness.md 3.3.
func rejectText(name, callID, message string) string {
	if message != "" {
		return fmt.Sprintf("User rejected the tool call for `%s` with reason: %s", name, message)
	}
	return fmt.Sprintf("User rejected the tool call for `%s` with id %s. The tool was not executed. "+
		"Do not retry this tool call unless the user explicitly requests it.", name, callID)
}

// OnAsk says what happens to a question in a run.
type OnAsk int

// What happens to a question.
const (
	// Pause ends the run as [Waiting]; the answer comes with a later [Input.Answers].
	Pause OnAsk = iota
	// DenyAsks answers every question with a denial; the run goes on.
	DenyAsks
	// FailAsks ends the run with the denial.
	FailAsks
)

// ParseOnAsk returns the value of "pause", "deny" or "fail".
func ParseOnAsk(s string) (OnAsk, error) {
	i := slices.Index([]string{"pause", "deny", "fail"}, s)
	if i < 0 {
		return 0, fmt.Errorf("unknown value %q: use deny, pause or fail", s)
	}
	return OnAsk(i), nil
}
