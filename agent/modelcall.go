package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/run"
	"github.com/deepagents-go/deepagents/state"
	"github.com/deepagents-go/deepagents/thread"
)

// model asks the model and commits its answer.
func (x *execution) model(ctx context.Context) (move, error) {
	x.jumps = 0
	step := x.sp.Step
	if x.waiting(modelTask(step)) {
		return move{status: thread.Waiting}, nil
	}
	if err := x.s.countTurn(); err != nil {
		return move{}, err
	}
	resp, waiting, err := x.askModel(ctx, step)
	if waiting {
		return move{status: thread.Waiting}, nil
	}
	if err != nil {
		return move{}, err
	}
	stamp(resp.Update, x.agent.c.NewID)
	if u := resp.Message.Usage; u != nil {
		x.s.addUsage(*u)
	}
	rec := x.entry(step, &thread.Model{Message: resp.Message, Updates: resp.Update})
	next, err := x.afterAnswer(resp)
	if err != nil {
		return move{}, err
	}
	commit := x.commit(step, nodeModel, next, thread.SourceLoop, rec.ID)
	return move{next: next}, x.s.append(ctx, true, rec, commit)
}

// afterAnswer decides what follows the model, and refuses updates that the state cannot take.
func (x *execution) afterAnswer(resp Response) (string, error) {
	st := x.sp.State
	if len(resp.Update) > 0 {
		var err error
		if st, err = st.Apply(append([]state.Update{state.Append(resp.Message)}, resp.Update...)...); err != nil {
			return "", fmt.Errorf("agent: update of a model wrapper: %w", err)
		}
	}
	switch after := x.agent.nodes.afterModel; {
	case len(after) > 0:
		return after[0].name, nil
	case len(resp.Update) > 0:
		return x.route(st), nil
	case slices.ContainsFunc(resp.Message.Parts, isCall):
		return nodeTools, nil
	}
	return x.agent.nodes.exit(), nil
}

func isCall(p message.Part) bool {
	_, ok := p.(message.ToolCall)
	return ok
}

// modelCall counts the attempts of one turn: each time the innermost layer is reached.
type modelCall struct{ attempt int }

type modelCallKey struct{}

func modelTask(step int) string { return nodeModel + "@" + strconv.Itoa(step) }

// askModel runs the wrappers around the model. When one of them waits for an answer, whatever they return is discarded.
func (x *execution) askModel(ctx context.Context, step int) (resp Response, waiting bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	sc := x.newScope(run.Info{Task: modelTask(step), Step: step}, x.sp.State, cancel)
	defer sc.tx.Close()
	mc := new(modelCall)
	id := x.agent.c.NewID()
	req := Request{
		Request: model.Request{
			System: x.agent.system, Messages: state.Messages.In(x.sp.State).Slice(), Tools: x.agent.tools,
			Settings: x.agent.c.Settings, Agent: x.agent.c.Name,
		},
		Model: x.agent.model, State: x.sp.State,
		OnDelta: func(d model.Delta) { x.delta(id, mc.attempt, d) },
	}
	defer func() {
		if r := recover(); r != nil {
			err = &PanicError{Value: r}
		}
	}()
	resp, err = x.agent.wrap(context.WithValue(run.With(ctx, sc), modelCallKey{}, mc), req)
	switch {
	case sc.isWaiting():
		return resp, true, nil
	case err != nil:
		return resp, false, err
	case sc.refusal() != nil:
		return resp, false, sc.refusal()
	case resp.Message == nil:
		return resp, false, errors.New("agent: a model wrapper returned no message and no error")
	}
	resp.Message = x.stampAnswer(resp.Message, id)
	return resp, false, nil
}

func (x *execution) delta(id string, attempt int, d model.Delta) {
	if d.Reasoning != "" {
		x.s.hub.emit(x.path, ReasoningDelta{MessageID: id, Text: d.Reasoning, Attempt: attempt})
	}
	if d.Text != "" {
		x.s.hub.emit(x.path, MessageDelta{MessageID: id, Text: d.Text, Attempt: attempt})
	}
}

// callModel is the innermost ModelFunc.
func callModel(ctx context.Context, r Request) (Response, error) {
	r.Attempt = 1
	if mc, ok := ctx.Value(modelCallKey{}).(*modelCall); ok {
		mc.attempt++
		r.Attempt = mc.attempt
	}
	var acc model.Accumulator
	for d, err := range r.Model.Stream(ctx, &r.Request) {
		if err != nil {
			return Response{Message: acc.Message()}, err
		}
		acc.Add(d)
		if r.OnDelta != nil {
			r.OnDelta(d)
		}
	}
	if err := ctx.Err(); err != nil {
		return Response{Message: acc.Message()}, context.Cause(ctx)
	}
	if acc.Finish() == "" {
		err := &model.Error{Kind: model.Connection, Err: errors.New("the stream ended before the answer was complete")}
		return Response{Message: acc.Message()}, fmt.Errorf("%s: %w", r.Model.Name(), err)
	}
	return Response{Message: acc.Message()}, nil
}

// stampAnswer gives the answer its id and the agent's name, and its calls ids that are unique in the message: providers leave
// them out or repeat them.
func (x *execution) stampAnswer(m *message.Message, id string) *message.Message {
	m = m.Clone()
	if m.ID != "" && m.ID != id {
		if m.Meta == nil {
			m.Meta = make(map[string]json.RawMessage, 1)
		}
		if raw, err := json.Marshal(m.ID); err == nil {
			m.Meta["provider_id"] = raw
		}
	}
	m.ID, m.Role, m.Name = id, message.Assistant, x.agent.c.Name
	seen := make(map[string]bool, len(m.Parts))
	for i, p := range m.Parts {
		c, ok := p.(message.ToolCall)
		if !ok {
			continue
		}
		if c.ID == "" {
			c.ID = "call_" + strconv.Itoa(i)
		}
		for base, n := c.ID, 2; seen[c.ID]; n++ {
			c.ID = base + "_" + strconv.Itoa(n)
		}
		seen[c.ID] = true
		m.Parts[i] = c
	}
	return m
}

// stamp gives the messages of updates their ids, before they are recorded.
func stamp(us []state.Update, newID func() string) {
	for i := range us {
		us[i] = us[i].Stamped(newID)
	}
}

func (s *session) countTurn() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.limits.Turns > 0 && s.turns >= s.limits.Turns {
		return limitError(s.limits.Turns)
	}
	s.turns++
	return nil
}

func (s *session) addUsage(u message.Usage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.usage = s.usage.Add(u)
}
