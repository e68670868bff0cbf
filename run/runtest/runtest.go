package runtest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"slices"
	"sync"

	"github.com/deepagents-go/deepagents/policy"
	"github.com/deepagents-go/deepagents/run"
	"github.com/deepagents-go/deepagents/state"
	"github.com/deepagents-go/deepagents/store"
)

// Scope is a [run.Scope] without an agent. The zero value is a run with an empty state that allows everything and answers
// nothing. The fields are set before use; the methods are safe for concurrent use. A Scope is not copied.
type Scope struct {
	// RunInfo is what Info returns.
	RunInfo run.Info
	// Tx is the state. Without one there is a transaction on the zero state, which owns no key.
	Tx *state.Tx
	// Items is what Store returns.
	Items store.Store
	// Answers are the answers to questions, the first to the first; when they run out, Ask returns [run.ErrInterrupted]. Unlike
	// an agent, it does not end the context then.
	Answers []json.RawMessage
	// Judge decides about actions; nil allows all. [policy.Ask] is [run.ErrInterrupted].
	Judge policy.Judge

	mu        sync.Mutex
	empty     *state.Tx
	questions []run.Question
	allowed   []policy.Action
	denied    []policy.Action
	output    bytes.Buffer
	once      map[string]*result
}

// result is what a name of Once gave; its lock is held while the function runs.
type result struct {
	mu    sync.Mutex
	value json.RawMessage
}

var _ run.Scope = (*Scope)(nil)

// New returns a scope on a state, and the context that carries it.
func New(ctx context.Context, s state.State) (context.Context, *Scope) {
	sc := &Scope{Tx: state.NewTx(s)}
	return run.With(ctx, sc), sc
}

// Info implements [run.Scope].
func (s *Scope) Info() run.Info { return s.RunInfo }

// State implements [run.Scope].
func (s *Scope) State() *state.Tx {
	if s.Tx != nil {
		return s.Tx
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.empty == nil {
		s.empty = state.NewTx(state.State{})
	}
	return s.empty
}

// Store implements [run.Scope].
func (s *Scope) Store() store.Store { return s.Items }

// Ask implements [run.Scope]: it records the question and gives the next answer.
func (s *Scope) Ask(_ context.Context, q run.Question) (json.RawMessage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.questions = append(s.questions, q)
	if len(s.Answers) == 0 {
		return nil, run.ErrInterrupted
	}
	a := s.Answers[0]
	s.Answers = s.Answers[1:]
	return a, nil
}

// Allow implements [run.Scope]: it asks Judge and records the action.
func (s *Scope) Allow(ctx context.Context, a policy.Action) error {
	var v policy.Verdict
	if s.Judge != nil {
		v = s.Judge.Judge(ctx, a)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch v.Decision {
	case policy.Deny:
		s.denied = append(s.denied, a)
		return &policy.DeniedError{Action: a, Verdict: v}
	case policy.Ask:
		return run.ErrInterrupted
	default:
		s.allowed = append(s.allowed, a)
		return nil
	}
}

// Output implements [run.Scope]: what is written is kept for Written.
func (s *Scope) Output() io.Writer { return writer{s} }

type writer struct{ s *Scope }

func (w writer) Write(p []byte) (int, error) {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	return w.s.output.Write(p)
}

// Once implements [run.Scope]: the first result of each name is kept as long as the Scope.
func (s *Scope) Once(ctx context.Context, name string, fn func(context.Context) (json.RawMessage, error)) (json.RawMessage, error) {
	s.mu.Lock()
	if s.once == nil {
		s.once = make(map[string]*result)
	}
	r := s.once[name]
	if r == nil {
		r = new(result)
		s.once[name] = r
	}
	s.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.value != nil {
		return r.value, nil
	}
	v, err := fn(ctx)
	if err != nil {
		return nil, err
	}
	r.value = v
	return v, nil
}

// Questions returns what was asked, in order.
func (s *Scope) Questions() []run.Question {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.questions)
}

// Allowed returns the actions that were allowed, in order.
func (s *Scope) Allowed() []policy.Action {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.allowed)
}

// Denied returns the actions that were refused, in order.
func (s *Scope) Denied() []policy.Action {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.denied)
}

// Written returns what was written to Output so far.
func (s *Scope) Written() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.output.String()
}
