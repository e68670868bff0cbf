package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/thread"
)

// AnswerFlags are the flags of resume that answer questions.
type AnswerFlags struct {
	Approve, Reject bool
	Message         string
	// Decisions is a file of answers, "-" for standard input.
	Decisions string
}

// Given reports whether any question is answered.
func (f AnswerFlags) Given() bool { return f.Approve || f.Reject || f.Decisions != "" }

// Answers returns the answers to the open questions. --approve and --reject answer every approval; a file answers those it names.
func (f AnswerFlags) Answers(ctx context.Context, open []thread.OpenInterrupt, stdin io.Reader) ([]agent.Answer, error) {
	n := 0
	for _, given := range []bool{f.Approve, f.Reject, f.Decisions != ""} {
		if given {
			n++
		}
	}
	switch {
	case n > 1:
		return nil, Usagef("give one of --approve, --reject and --decisions")
	case f.Message != "" && !f.Reject:
		return nil, Usagef("--message goes with --reject")
	case n == 0:
		return nil, nil
	case len(open) == 0:
		return nil, Usagef("the thread asks nothing: resume it without an answer")
	case f.Decisions != "":
		return f.file(ctx, stdin)
	}
	d := agent.Decision{Type: "approve"}
	if f.Reject {
		d = agent.Decision{Type: "reject", Message: f.Message}
	}
	var out []agent.Answer
	for _, q := range open {
		if len(q.Inner) > 0 {
			continue
		}
		if q.Kind != agent.KindApproval {
			return nil, Usagef("question %s is of kind %q and needs an answer of its own: use --decisions FILE", q.ID, q.Kind)
		}
		out = append(out, agent.Answer{Interrupt: q.ID, Value: agent.Decisions(d)})
	}
	return out, nil
}

// file reads {"decisions": [...]}, the answer to the only question, or an object of answers by the id of their question.
func (f AnswerFlags) file(ctx context.Context, stdin io.Reader) ([]agent.Answer, error) {
	var raw []byte
	var err error
	if f.Decisions == "-" {
		raw, err = readAll(ctx, "--decisions", stdin, nil)
	} else {
		raw, err = readFile(ctx, "--decisions", f.Decisions)
	}
	if err != nil {
		return nil, err
	}
	var byID map[string]json.RawMessage
	if err := json.Unmarshal(raw, &byID); err != nil {
		return nil, Usagef("--decisions: %s holds no JSON object: %w", f.Decisions, err)
	}
	if len(byID) == 0 {
		return nil, Usagef("--decisions: %s answers nothing", f.Decisions)
	}
	if _, single := byID["decisions"]; single {
		return []agent.Answer{{Value: raw}}, nil
	}
	out := make([]agent.Answer, 0, len(byID))
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		out = append(out, agent.Answer{Interrupt: id, Value: byID[id]})
	}
	return out, nil
}

// Questions describes the open questions for a person, and how they are answered.
func Questions(id string, c Again, open []thread.OpenInterrupt) string {
	var b strings.Builder
	fmt.Fprintf(&b, "thread %s is paused and waits for an answer:\n", id)
	for _, q := range open {
		if len(q.Inner) > 0 {
			continue
		}
		fmt.Fprintf(&b, "  %s  %s\n", q.ID, describe(q))
	}
	fmt.Fprintf(&b, "answer with: %s --approve | --reject [--message TEXT] | --decisions FILE", c.Resume(id))
	return b.String()
}

func describe(q thread.OpenInterrupt) string {
	var v agent.Approval
	if q.Kind != agent.KindApproval || json.Unmarshal(q.Value, &v) != nil || len(v.ActionRequests) == 0 {
		return q.Kind + " " + short(string(q.Value))
	}
	parts := make([]string, len(v.ActionRequests))
	for i, r := range v.ActionRequests {
		parts[i] = Plain(r.Name) + ": " + short(r.Description)
	}
	return strings.Join(parts, "; ")
}

// Pending returns the ids of questions.
func Pending(open []thread.OpenInterrupt) []string {
	var out []string
	for _, q := range open {
		if len(q.Inner) == 0 {
			out = append(out, q.ID)
		}
	}
	return out
}
