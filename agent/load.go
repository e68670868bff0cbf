package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/deepagents-go/deepagents/thread"
)

// load folds the thread: at its head, or at an earlier checkpoint on a new branch, which is not the head yet.
func (s *session) load(ctx context.Context, from thread.ID) (v *thread.View, forked bool, err error) {
	v, err = thread.Load(ctx, s.store, s.thread, "", s.agent.schema)
	if err != nil || from == "" || from == v.Root.Head {
		return v, false, err
	}
	high := v.EventHigh
	branch, err := s.store.Fork(ctx, s.thread, s.lease.Fence(), from)
	if err != nil {
		return nil, false, fmt.Errorf("checkpoint %s: %w", from, err)
	}
	v, err = thread.Load(ctx, s.store, s.thread, branch, s.agent.schema)
	if err != nil {
		return nil, false, err
	}
	if v.Root.Head != from {
		return nil, false, fmt.Errorf("checkpoint %s: %w: it is a record, but no checkpoint", from, thread.ErrNotFound)
	}
	v.EventHigh = max(v.EventHigh, high)
	return v, true, nil
}

// enter makes a branch that was forked the head, once its first records are there: what is refused before leaves the thread as
// it was.
func (s *session) enter(ctx context.Context, forked bool) error {
	if !forked {
		return nil
	}
	return s.store.SetHead(context.WithoutCancel(ctx), s.thread, s.lease.Fence(), s.branch)
}

// pendingAnswer is an answer that was checked, and the namespace that asked.
type pendingAnswer struct {
	ns     string
	answer *thread.Answer
}

// answers checks every answer before anything is stored: its question is open, its value fits.
func (a *Agent) answers(v *thread.View, in []Answer) ([]pendingAnswer, error) {
	if len(in) == 0 {
		return nil, nil
	}
	open := v.Open()
	byID := make(map[string]thread.OpenInterrupt, len(open))
	for _, i := range open {
		byID[i.ID] = i
	}
	out := make([]pendingAnswer, 0, len(in))
	for _, ans := range in {
		q, err := question(open, byID, ans.Interrupt)
		if err != nil {
			return nil, err
		}
		delete(byID, q.ID)
		var value bytes.Buffer
		if err := json.Compact(&value, ans.Value); err != nil {
			return nil, fmt.Errorf("question %s: %w: it is not JSON: %w", q.ID, ErrAnswer, err)
		}
		if err := a.fits(q, value.Bytes()); err != nil {
			return nil, fmt.Errorf("question %s: %w", q.ID, err)
		}
		by := ans.By
		if by == "" {
			by = "user"
		}
		out = append(out, pendingAnswer{q.NS, &thread.Answer{
			Interrupt: q.ID, Task: q.Task, CallID: q.CallID, Kind: q.Kind, Value: value.Bytes(), By: by,
		}})
	}
	return out, nil
}

func question(open []thread.OpenInterrupt, byID map[string]thread.OpenInterrupt, id string) (thread.OpenInterrupt, error) {
	if id != "" {
		q, ok := byID[id]
		if !ok {
			return q, fmt.Errorf("%w: %s", ErrNoQuestion, id)
		}
		return q, nil
	}
	switch len(open) {
	case 0:
		return thread.OpenInterrupt{}, fmt.Errorf("%w: nothing is being asked", ErrNoQuestion)
	case 1:
		return question(open, byID, open[0].ID)
	}
	ids := make([]string, len(open))
	for i, q := range open {
		ids[i] = q.ID
	}
	return thread.OpenInterrupt{}, fmt.Errorf("%w: %d questions are open, so the answer must name one: %s", ErrAnswer, len(open), strings.Join(ids, ", "))
}

// fits checks an answer against the schema of its question, and an edited call against the schema of its tool.
func (a *Agent) fits(q thread.OpenInterrupt, value json.RawMessage) error {
	if err := checkAnswer(q.Schema, value); err != nil {
		return err
	}
	if q.Kind != KindApproval {
		return nil
	}
	ds, err := parseDecisions(value)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrAnswer, err)
	}
	for _, d := range ds {
		e := a.Toolset.tools[q.Name]
		if d.Type != decideEdit || e == nil || q.NS != "" {
			continue
		}
		if _, err := editedArgs(e, d); err != nil {
			return fmt.Errorf("%w: %w", ErrAnswer, err)
		}
	}
	return nil
}
