package thread

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/policy"
	"github.com/deepagents-go/deepagents/state"
)

// Space is one namespace of a thread: the main agent's, or a sub-agent's. It holds the state at its last commit and what came
// after it.
type Space struct {
	NS string
	// State is the state after the last commit. Of a sub-agent it is known only after [View.Bind].
	State state.State
	// Head is the last commit, HeadSeq its Seq, "" and 0 when there is none.
	Head    ID
	HeadSeq int64
	// Step is the number of the next step, Next the node that comes next.
	Step int
	Next string
	// Node is the node of the last commit, Source what it stands for.
	Node   string
	Source Source
	// Agent is the name in the input record of a sub-agent.
	Agent string
	// From is the commit whose state a sub-agent inherited.
	From ID

	// Decisions of hooks about the calls of the last message.
	Answered map[string]*CallEnded
	Replaced map[string]message.ToolCall
	Granted  map[string][]policy.Action

	// Pending writes: records after the last commit.
	Ended   map[string]Entry
	Started map[string]*CallStarted
	// Flying are the started calls whose end, or question, is not recorded: after a crash, their outcome is unknown.
	Flying     map[string]bool
	OnceValues map[string]map[string]json.RawMessage
	Interrupts []*Interrupt
	Answers    map[string]*Answer
	updates    map[ID]Entry

	// Public are the updates on public keys that a sub-agent made, in order.
	Public []state.Update

	bound bool
	// log is kept of an unbound space, so that it can be folded once its keys are known.
	log []Entry
}

func newSpace(ns string) *Space { return &Space{NS: ns, Step: firstStep} }

// firstStep is the step of the first input of a thread, as LangGraph counts.
const firstStep = -1

// Empty reports whether nothing was ever written in the namespace.
func (s *Space) Empty() bool { return s.Head == "" && len(s.updates) == 0 }

// Open returns the questions that have no answer, in the order they were asked.
func (s *Space) Open() []*Interrupt {
	var open []*Interrupt
	for _, i := range s.Interrupts {
		if s.Answers[i.ID] == nil && len(i.Inner) == 0 {
			open = append(open, i)
		}
	}
	return open
}

// Waiting reports whether a task has asked something that has no answer yet.
func (s *Space) Waiting(task string) bool {
	for _, i := range s.Interrupts {
		if i.Task == task && len(i.Inner) == 0 && s.Answers[i.ID] == nil {
			return true
		}
	}
	return false
}

// apply folds an entry of this namespace.
func (s *Space) apply(e Entry) error {
	if !s.bound {
		s.log = append(s.log, e)
	}
	switch b := e.Body.(type) {
	case *Input:
		s.Agent, s.From = b.Agent, b.From
		s.keep(e)
	case *Model, *Update:
		s.keep(e)
	case *CallStarted:
		if s.Started == nil {
			s.Started = make(map[string]*CallStarted, 1)
		}
		s.Started[b.Task] = b
		put(&s.Flying, b.Task, true)
	case *CallEnded:
		delete(s.Flying, b.Task)
		if b.Outcome == Aborted {
			return nil
		}
		s.keep(e)
		if s.Ended == nil {
			s.Ended = make(map[string]Entry, 1)
		}
		s.Ended[b.Task] = e
	case *Once:
		s.once(b)
	case *Interrupt:
		s.interrupt(b)
	case *Answer:
		if s.Answers == nil {
			s.Answers = make(map[string]*Answer, 1)
		}
		s.Answers[b.Interrupt] = b
	case *Commit:
		return s.commit(e, b)
	case *Snapshot:
		return s.snapshot(e, b)
	}
	return nil
}

func (s *Space) keep(e Entry) {
	if s.updates == nil {
		s.updates = make(map[ID]Entry, 2)
	}
	s.updates[e.ID] = e
}

func (s *Space) once(b *Once) {
	if s.OnceValues == nil {
		s.OnceValues = make(map[string]map[string]json.RawMessage, 1)
	}
	if s.OnceValues[b.Task] == nil {
		s.OnceValues[b.Task] = make(map[string]json.RawMessage, 1)
	}
	if _, ok := s.OnceValues[b.Task][b.Name]; !ok {
		s.OnceValues[b.Task][b.Name] = b.Value
	}
}

func (s *Space) interrupt(b *Interrupt) {
	delete(s.Flying, b.Task)
	for i, old := range s.Interrupts {
		if old.ID == b.ID {
			s.Interrupts[i] = b
			return
		}
	}
	s.Interrupts = append(s.Interrupts, b)
}

// commit applies exactly the updates that the commit names, in its order.
func (s *Space) commit(e Entry, c *Commit) error {
	if s.bound {
		step := state.NewStep(s.State)
		for _, id := range c.Applied {
			w, ok := s.updates[id]
			if !ok {
				return fmt.Errorf("commit %s: it applies record %s, which is not there: %w", e.ID, id, ErrCorrupt)
			}
			if err := step.Apply(s.writes(w, c)...); err != nil {
				return fmt.Errorf("commit %s: record %s: %w", e.ID, id, err)
			}
		}
		s.State = step.State()
	}
	s.decide(c)
	s.Head, s.HeadSeq, s.Next, s.Node, s.Source = e.ID, e.Seq, c.Next, c.Node, c.Source
	s.Step = e.Step + 1
	s.clear()
	return nil
}

// writes returns the updates that a record stands for.
func (s *Space) writes(e Entry, c *Commit) []state.Update {
	var us []state.Update
	switch b := e.Body.(type) {
	case *Input:
		return b.Updates // from the parent, so not for the parent
	case *Update:
		us = b.Updates
	case *Model:
		us = append([]state.Update{state.Append(b.Message)}, b.Updates...)
	case *CallEnded:
		if why, ok := c.Dropped[e.ID]; ok {
			return []state.Update{state.Append(failed(b.Message, why))}
		}
		us = append(slices.Clip(b.Updates), state.Append(noted(b.Message, c.Replaced[e.ID])))
	}
	s.collect(us)
	return us
}

// failed is the message of a call whose updates could not be applied.
func failed(m *message.Message, why string) *message.Message {
	m = m.Clone()
	m.Status = message.Error
	m.Parts = message.Parts{message.Text{Text: "Error: " + why}}
	return m
}

// noted is the message of a call that replaced what another call of its step changed.
func noted(m *message.Message, replaced []string) *message.Message {
	if len(replaced) == 0 {
		return m
	}
	m = m.Clone()
	m.Parts = append(m.Parts, message.Text{Text: fmt.Sprintf(
		"[Note: another call of the same message changed this too; the version of this call was kept: %s]", strings.Join(replaced, ", "))})
	return m
}

// collect remembers what a sub-agent changed for its parent.
func (s *Space) collect(us []state.Update) {
	if s.NS == "" {
		return
	}
	for _, u := range us {
		f, ok := s.State.Schema().Field(u.Key)
		if ok && !f.Options().Private && u.Key != state.Messages.Name() {
			s.Public = append(s.Public, u)
		}
	}
}

// decide carries the decisions of hooks from their commit to the commit of the tools.
func (s *Space) decide(c *Commit) {
	for _, id := range c.Applied {
		switch b := s.updates[id].Body.(type) {
		case *Model, *CallEnded, *Input:
			s.Answered, s.Replaced, s.Granted = nil, nil, nil
		case *Update:
			for i := range b.Answered {
				put(&s.Answered, b.Answered[i].Task, &b.Answered[i])
			}
			for _, r := range b.Replaced {
				put(&s.Replaced, r.Task, r.Call)
			}
			for _, g := range b.Granted {
				put(&s.Granted, g.Task, append(slices.Clip(s.Granted[g.Task]), g.Actions...))
			}
		}
	}
}

func put[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = make(map[K]V, 1)
	}
	(*m)[k] = v
}

func (s *Space) clear() {
	s.Started, s.Flying, s.OnceValues, s.Interrupts, s.Answers = nil, nil, nil, nil, nil
	// These two are filled in every step: their room is used again.
	clear(s.Ended)
	clear(s.updates)
}

// snapshot begins a fold; later ones say nothing new.
func (s *Space) snapshot(e Entry, b *Snapshot) error {
	if s.Head != "" || !s.bound {
		return nil
	}
	st, err := s.State.Schema().Decode(b.State)
	if errors.Is(err, state.ErrNewer) {
		return fmt.Errorf("snapshot %s: %w: %w", e.ID, ErrNewer, err)
	}
	if err != nil {
		return fmt.Errorf("snapshot %s: %w", e.ID, err)
	}
	s.State, s.Head, s.HeadSeq, s.Step = st, b.At, e.Base, e.Step+1
	s.Next, s.Node, s.Source = b.Next, b.Node, b.Source
	return nil
}

// Check finds out what happens when the results of calls, after the update of a hook, are applied in order: which updates cannot
// be applied, and which replace what another call changed. It fills in the commit.
func (s *Space) Check(c *Commit, ended []Entry) {
	step := state.NewStep(s.State)
	for _, e := range ended {
		if u, ok := e.Body.(*Update); ok {
			step.Apply(u.Updates...) //nolint:errcheck // they were checked when they were written
			continue
		}
		b, ok := e.Body.(*CallEnded)
		if !ok || len(b.Updates) == 0 {
			continue
		}
		replaced := step.State().Conflicts(b.Updates...)
		if err := step.Apply(b.Updates...); err != nil {
			put(&c.Dropped, e.ID, err.Error())
		} else if len(replaced) > 0 {
			put(&c.Replaced, e.ID, replaced)
		}
	}
}
