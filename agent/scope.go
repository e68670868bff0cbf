package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/deepagents-go/deepagents/policy"
	"github.com/deepagents-go/deepagents/run"
	"github.com/deepagents-go/deepagents/state"
	"github.com/deepagents-go/deepagents/store"
	"github.com/deepagents-go/deepagents/thread"
	"github.com/deepagents-go/deepagents/tool"
)

// scope is the run as one call, hook or model call sees it.
type scope struct {
	x    *execution
	info run.Info
	call tool.Call
	tx   *state.Tx
	// cancel ends the context of the call.
	cancel context.CancelCauseFunc

	mu sync.Mutex
	// asked counts the askings of each question; waiting says that one of them has no answer.
	asked   map[string]int
	waiting bool
	// refused is the error of the first question that ends the run.
	refused error
	// nested counts the sub-agents of the call.
	nested  int
	granted []policy.Action
}

func (x *execution) newScope(info run.Info, base state.State, cancel context.CancelCauseFunc) *scope {
	info.Agent, info.Thread, info.Run, info.Namespace = x.agent.c.Name, x.s.thread, x.s.id, x.ns
	return &scope{x: x, info: info, tx: state.NewTx(base), cancel: cancel}
}

func (s *scope) Info() run.Info     { return s.info }
func (s *scope) State() *state.Tx   { return s.tx }
func (s *scope) Store() store.Store { return s.x.agent.c.Store }

// Ask finds the answer in the journal, or records the question and cancels the caller.
func (s *scope) Ask(ctx context.Context, q run.Question) (json.RawMessage, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	value, err := json.Marshal(q.Value)
	if err != nil {
		return nil, fmt.Errorf("question %q: %w", q.Kind, err)
	}
	i := s.interrupt(q, value)
	var answer *thread.Answer
	s.x.s.journal.View(func(v *thread.View) { answer = v.Space(s.x.ns).Answers[i.ID] })
	if answer != nil {
		return answer.Value, nil
	}
	if s.x.s.onAsk != Pause {
		return nil, s.refuse(q)
	}
	if s.x.s.volatile {
		return nil, s.stop(fmt.Errorf("%s asks %q, but the agent has no Config.Threads, so that nobody could answer later: set one", s.info.Task, q.Kind))
	}
	if err := s.x.s.append(ctx, true, s.x.entry(s.info.Step, i)); err != nil {
		return nil, tool.Fatal(err)
	}
	s.wait()
	return nil, run.ErrInterrupted
}

// refuse is the error of a question that is not put to anybody.
func (s *scope) refuse(q run.Question) error {
	if s.x.s.onAsk == FailAsks {
		s.stop(fmt.Errorf("question %q: %w", q.Kind, ErrNobody)) //nolint:errcheck // the caller gets the sentinel
	}
	return ErrNobody
}

// stop ends the run with an error, whatever the caller makes of it.
func (s *scope) stop(err error) error {
	s.mu.Lock()
	if s.refused == nil {
		s.refused = err
	}
	s.mu.Unlock()
	s.cancel(err)
	return err
}

func (s *scope) refusal() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused
}

// wait marks the call as waiting and cancels it.
func (s *scope) wait() {
	s.mu.Lock()
	s.waiting = true
	s.mu.Unlock()
	s.cancel(run.ErrInterrupted)
}

func (s *scope) isWaiting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting
}

// interrupt gives a question its id: a hash of where it is asked, what is asked, and how often this call asked it before.
func (s *scope) interrupt(q run.Question, value json.RawMessage) *thread.Interrupt {
	what := q.Kind + "\x00" + string(value) + "\x00" + string(q.Answer)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked == nil {
		s.asked = make(map[string]int, 1)
	}
	n := s.asked[what]
	s.asked[what] = n + 1
	h := sha256.New()
	for _, part := range []string{string(s.x.s.branch), s.x.ns, s.info.Task, what} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	fmt.Fprintf(h, "#%d", n)
	return &thread.Interrupt{
		ID: hex.EncodeToString(h.Sum(nil)[:16]), Task: s.info.Task, CallID: s.info.CallID, Name: s.info.Tool, N: n,
		Kind: q.Kind, Value: value, Schema: q.Answer,
	}
}

// Allow judges an action that the call names while it runs.
func (s *scope) Allow(ctx context.Context, a policy.Action) error {
	a.Tool = s.info.Tool
	return s.x.agent.allow(ctx, s, s.x.policy, s.call, a, s.granted)
}

// Output streams live output as events.
func (s *scope) Output() io.Writer { return outputWriter{s} }

type outputWriter struct{ s *scope }

// Write publishes a piece of output. Bytes that are no UTF-8 are replaced in the event only.
func (w outputWriter) Write(p []byte) (int, error) {
	s := w.s
	s.x.s.hub.emit(s.x.path, ToolOutput{TaskID: s.info.Task, ToolCallID: s.info.CallID, Text: string(p)})
	return len(p), nil
}

// Once returns the recorded result, or runs fn and records what it returned before it is used.
func (s *scope) Once(ctx context.Context, name string, fn func(context.Context) (json.RawMessage, error)) (json.RawMessage, error) {
	var value json.RawMessage
	s.x.s.journal.View(func(v *thread.View) { value = v.Space(s.x.ns).OnceValues[s.info.Task][name] })
	if value != nil {
		return value, nil
	}
	value, err := fn(ctx)
	if err != nil {
		return nil, err
	}
	e := s.x.entry(s.info.Step, &thread.Once{Task: s.info.Task, Name: name, Value: value})
	if err := s.x.s.append(context.WithoutCancel(ctx), true, e); err != nil {
		return nil, tool.Fatal(err)
	}
	return value, nil
}
