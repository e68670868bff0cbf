package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/deepagents-go/deepagents/policy"
	"github.com/deepagents-go/deepagents/state"
	"github.com/deepagents-go/deepagents/store"
)

// Scope is the run as seen by one call or hook.
type Scope interface {
	Info() Info
	// State is the writer's transaction: it reads the step's state and what this call wrote.
	State() *state.Tx
	// Store is the store of the agent, or nil.
	Store() store.Store
	// Ask returns the answer to a question. Without one it cancels the context with [ErrInterrupted] as the cause and returns
	// [ErrInterrupted]: whatever the caller does then is discarded, and it runs again once there is an answer. Asking the same
	// question again in one call is a new question.
	Ask(ctx context.Context, q Question) (json.RawMessage, error)
	// Allow judges an action as if the call had named it. An error is a [*policy.DeniedError], or [ErrInterrupted] while a
	// person is asked.
	Allow(ctx context.Context, a policy.Action) error
	// Output takes live output of the call, for whoever watches. It is not part of the result and never blocks for long.
	Output() io.Writer
	// Once runs fn and records its result under a name; see [Once].
	Once(ctx context.Context, name string, fn func(context.Context) (json.RawMessage, error)) (json.RawMessage, error)
}

// Info says where code runs.
type Info struct {
	// Agent is the agent's name; Thread and Run are ids. Thread is empty in a Toolset without one.
	Agent, Thread, Run string
	// Namespace is the path of task ids that leads to a sub-agent, "" for the main agent.
	Namespace string
	// Task is the id of the call or hook, CallID the provider's id of the call, Tool the tool's name.
	Task, CallID, Tool string
	// Step counts the steps of the thread.
	Step int
	// Attempt counts the starts of the call, from 1.
	Attempt int
}

// Question is something a person is asked.
type Question struct {
	// Kind tells surfaces how to show it ("approval", "input", ...).
	Kind string `json:"kind"`
	// Value is what the person needs to decide, any JSON.
	Value any `json:"value"`
	// Answer is the JSON Schema of answers. An answer that does not match is refused and the question stays open.
	Answer json.RawMessage `json:"answer,omitempty"`
}

// The sentinels of this package.
var (
	// ErrInterrupted is the cause of a context that ended because a question has no answer yet.
	ErrInterrupted = errors.New("waiting for an answer")
	// ErrOutside says that there is no run in the context.
	ErrOutside = errors.New("not inside a run")
)

type key struct{}

// With returns a context that carries the scope.
func With(ctx context.Context, s Scope) context.Context { return context.WithValue(ctx, key{}, s) }

// From returns the scope of the context.
func From(ctx context.Context) (Scope, bool) {
	s, ok := ctx.Value(key{}).(Scope)
	return s, ok
}

// Interrupt asks a question and decodes the answer. Until there is one it returns [ErrInterrupted]; the caller returns at once.
func Interrupt[T any](ctx context.Context, q Question) (T, error) {
	var v T
	s, ok := From(ctx)
	if !ok {
		return v, fmt.Errorf("run: ask %q: %w", q.Kind, ErrOutside)
	}
	raw, err := s.Ask(ctx, q)
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, fmt.Errorf("run: answer to %q: %w", q.Kind, err)
	}
	return v, nil
}

// Once runs fn at most once for a call, whatever happens to the process between: its result is recorded under the name and
// returned when the call runs again. A crash after the effect and before the record runs fn again, so fn should be idempotent
// or short. An error is not recorded.
func Once[T any](ctx context.Context, name string, fn func(context.Context) (T, error)) (T, error) {
	var v T
	s, ok := From(ctx)
	if !ok {
		return v, fmt.Errorf("run: once %q: %w", name, ErrOutside)
	}
	raw, err := s.Once(ctx, name, func(ctx context.Context) (json.RawMessage, error) {
		v, err := fn(ctx)
		if err != nil {
			return nil, err
		}
		return json.Marshal(v)
	})
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, fmt.Errorf("run: once %q: %w", name, err)
	}
	return v, nil
}
