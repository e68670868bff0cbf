package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/state"
	"github.com/deepagents-go/deepagents/thread"
	"github.com/deepagents-go/deepagents/thread/memory"
)

// Input is what a run begins with. Without messages, updates and answers the run goes on where the thread stopped.
type Input struct {
	// Thread is the thread's id; it is created when it is new. It may be empty only without Config.Threads.
	Thread string
	// Text becomes a user message, after Messages.
	Text     string
	Messages []*message.Message
	// Updates change the state before the first step. Updates of private keys are ignored.
	Updates []state.Update
	// Answers answer open questions. The others stay open.
	Answers []Answer
	// From is a checkpoint to go on from. One that is not the head becomes a fork: a new branch, which is the head from then on.
	From thread.ID
}

// Answer answers one question. An empty Interrupt means the only open one.
type Answer struct {
	Interrupt string
	Value     json.RawMessage
	// By says who answered, for the journal ("user" when empty).
	By string
}

func (in Input) fresh() bool { return in.Text != "" || len(in.Messages) > 0 || len(in.Updates) > 0 }

// RunOption changes one run.
type RunOption func(*runOptions)

type runOptions struct {
	id     string
	owner  string
	meta   map[string]json.RawMessage
	onAsk  OnAsk
	limits *Limits
}

// WithRunID names the run; without it the run gets a random id.
func WithRunID(id string) RunOption { return func(o *runOptions) { o.id = id } }

// WithOwner says who holds the thread's lease, for the errors of others.
func WithOwner(owner string) RunOption { return func(o *runOptions) { o.owner = owner } }

// WithMeta is remembered with the run and shown in its first event.
func WithMeta(meta map[string]json.RawMessage) RunOption {
	return func(o *runOptions) { o.meta = meta }
}

// WithOnAsk says what happens to questions; [Pause] is the default.
func WithOnAsk(a OnAsk) RunOption { return func(o *runOptions) { o.onAsk = a } }

// WithLimits replaces the limits of the configuration.
func WithLimits(l Limits) RunOption { return func(o *runOptions) { o.limits = &l } }

// Run is a run that was started. It goes on whether or not anybody looks at it.
type Run struct {
	s      *session
	before int64
	done   chan struct{}
	result *Result
	err    error
}

// ID returns the run's id, Thread the thread's.
func (r *Run) ID() string     { return r.s.id }
func (r *Run) Thread() string { return r.s.thread }

// Before returns the number of the last event of the thread before this run: the after for [Run.Events] to see this run only.
func (r *Run) Before() int64 { return r.before }

// Events yields the thread's events after a number, past ones first, and ends with the run. Any number of readers may range at
// once; breaking ends only that reader, and a slow one never holds up the run.
func (r *Run) Events(ctx context.Context, after int64) iter.Seq2[Event, error] {
	return r.s.hub.follow(ctx, after)
}

// Cancel ends the run with a cause ([ErrCancelled] when nil), which becomes its error. It returns at once; Wait returns when the
// run has ended.
func (r *Run) Cancel(cause error) {
	if cause == nil {
		cause = ErrCancelled
	}
	r.s.cancel(cause)
}

// Wait returns when the run has ended, its end is stored and its lease released. The error says why a run was [Stopped]; the
// result is there all the same. The context bounds the waiting, not the run.
func (r *Run) Wait(ctx context.Context) (*Result, error) {
	select {
	case <-r.done:
		return r.result, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Run starts a run and waits for it.
func (a *Agent) Run(ctx context.Context, in Input, o ...RunOption) (*Result, error) {
	r, err := a.Start(ctx, in, o...)
	if err != nil {
		return nil, err
	}
	return r.Wait(context.WithoutCancel(ctx))
}

// Stream starts a run and yields its events. Breaking out of the range cancels the run; either way it has ended when the range
// is over. The error of the run comes last.
func (a *Agent) Stream(ctx context.Context, in Input, o ...RunOption) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		r, err := a.Start(ctx, in, o...)
		if err != nil {
			yield(Event{}, err)
			return
		}
		wait := context.WithoutCancel(ctx)
		for ev, err := range r.Events(wait, r.before) {
			if !yield(ev, err) {
				r.Cancel(nil)
				r.Wait(wait) //nolint:errcheck // the reader has left
				return
			}
		}
		if _, err := r.Wait(wait); err != nil {
			yield(Event{}, err)
		}
	}
}

const (
	leaseTTL = 30 * time.Second
	// closeGrace bounds what is written after a run was cancelled.
	closeGrace = 10 * time.Second
)

// session is one run: what all its agents share.
type session struct {
	agent    *Agent
	id       string
	thread   string
	branch   thread.ID
	store    thread.Store
	lease    thread.Lease
	journal  *thread.Journal
	hub      *hub
	onAsk    OnAsk
	limits   Limits
	volatile bool
	started  time.Time
	ctx      context.Context
	cancel   context.CancelCauseFunc

	mu      sync.Mutex
	turns   int
	usage   message.Usage
	denials []thread.Denial
	files   map[string]bool
	failed  error
}

// Start checks the input, takes the thread's lease and starts the run. The context bounds the run: when it ends, the run is
// cancelled. Errors leave the thread as it was: [ErrNoThread], [thread.ErrThreadID], [thread.ErrBusy], [ErrNothingToDo],
// [ErrAnswer], [ErrNoQuestion], [thread.ErrNotFound] for an unknown From.
func (a *Agent) Start(ctx context.Context, in Input, o ...RunOption) (*Run, error) {
	opts := runOptions{id: a.c.NewID(), owner: a.c.Name}
	for _, f := range o {
		f(&opts)
	}
	s := &session{
		agent: a, id: opts.id, thread: in.Thread, store: a.c.Threads, onAsk: opts.onAsk, limits: a.c.Limits,
		started: a.c.Now(), files: make(map[string]bool),
	}
	if opts.limits != nil {
		s.limits = *opts.limits
	}
	if err := s.check(ctx); err != nil {
		return nil, err
	}
	lease, err := s.store.Acquire(ctx, s.thread, opts.owner, leaseTTL)
	if err != nil {
		return nil, err
	}
	s.lease = lease
	r := &Run{s: s, done: make(chan struct{})}
	if err := s.open(ctx, in, opts, r); err != nil {
		return nil, errors.Join(err, lease.Release(context.WithoutCancel(ctx)))
	}
	return r, nil
}

// check validates what does not need the thread.
func (s *session) check(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if err := s.limits.validate(); err != nil {
		return err
	}
	if s.store == nil {
		s.store, s.volatile = memory.New(), true
		if s.thread == "" {
			s.thread = s.agent.c.NewID()
		}
	}
	if s.thread == "" {
		return ErrNoThread
	}
	if err := thread.ValidThread(s.id); err != nil {
		return fmt.Errorf("run id: %w", err)
	}
	return thread.ValidThread(s.thread)
}

// open loads the thread, records the start and starts the loop.
func (s *session) open(ctx context.Context, in Input, opts runOptions, r *Run) error {
	view, forked, err := s.load(ctx, in.From)
	if err != nil {
		return err
	}
	if in.fresh() && len(in.Answers) > 0 {
		return fmt.Errorf("%w: new input drops what waits for an answer: give the answers alone, then the input", ErrAnswer)
	}
	answers, err := s.agent.answers(view, in.Answers)
	if err != nil {
		return err
	}
	if ended := view.RunEnded; ended != nil && !in.fresh() && !forked {
		s.denials = slices.Clone(ended.Denials) // the task goes on: what it was refused before still counts
	}
	root := view.Root
	if !in.fresh() && len(answers) == 0 && !forked && (root.Next == nodeEnd || root.Head == "") {
		return fmt.Errorf("thread %s: %w", s.thread, ErrNothingToDo)
	}
	s.branch = view.Branch
	s.hub = newHub(view.EventHigh)
	s.hub.store, s.hub.fence, s.hub.thread, s.hub.run = s.store, s.lease.Fence(), s.thread, s.id
	s.hub.now, s.hub.log = s.agent.c.Now, s.agent.c.Logger
	r.before = view.EventHigh
	s.journal = thread.NewJournal(thread.JournalConfig{
		Store: s.store, Thread: s.thread, Lease: s.lease, RunID: s.id, View: view,
		NewID: func() thread.ID { return thread.ID(s.agent.c.NewID()) }, Now: s.agent.c.Now,
		Number: s.hub.number, Stored: s.hub.stored,
	})
	x := &execution{s: s, agent: s.agent, policy: s.agent.c.Policy, sp: root}
	if err := s.begin(ctx, x, in, opts, answers, forked); err != nil {
		return err
	}
	if err := s.enter(ctx, forked); err != nil {
		return err
	}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	go s.main(x, r)
	return nil
}

// begin writes the first records of the run in one append.
func (s *session) begin(ctx context.Context, x *execution, in Input, opts runOptions, answers []pendingAnswer, forked bool) error {
	started := &thread.RunStarted{
		Agent: s.agent.c.Name, Model: s.agent.model.Name(), Meta: opts.meta, Resumed: !in.fresh() && x.sp.Head != "",
	}
	for _, t := range s.agent.specs {
		started.Tools = append(started.Tools, t.Name)
	}
	step := x.sp.Step
	es := []thread.Entry{x.entry(step, started)}
	if forked {
		es = append(es, x.commit(step, x.sp.Node, x.sp.Next, thread.SourceFork))
		step++
	}
	for _, a := range answers {
		es = append(es, s.journal.NewEntry(a.ns, step, a.answer))
	}
	if in.fresh() {
		if closing := x.closeStep("a new message came before it was done"); len(closing) > 0 {
			es = append(es, closing...)
			step++
		}
		us, err := x.inputUpdates(in)
		if err != nil {
			return err
		}
		es = append(es, x.input(&thread.Input{Updates: us}, step)...)
	}
	return s.append(ctx, true, es...)
}

// inputUpdates stamps the messages, drops what a caller may not set, and refuses what the state cannot take: once it is stored,
// the thread could not be folded any more.
func (x *execution) inputUpdates(in Input) ([]state.Update, error) {
	a := x.agent
	msgs := slices.Clone(in.Messages)
	if in.Text != "" {
		msgs = append(msgs, message.NewUser(in.Text))
	}
	for i, m := range msgs {
		if m.ID == "" {
			msgs[i] = m.Clone()
			msgs[i].ID = a.c.NewID()
		}
	}
	us := make([]state.Update, 0, len(in.Updates)+1)
	for _, u := range in.Updates {
		f, ok := a.schema.Field(u.Key)
		if !ok || f.Options().Private || f.Options().NoInput {
			a.c.Logger.Warn("input update ignored", "key", u.Key, "thread", in.Thread)
			continue
		}
		us = append(us, u)
	}
	if len(msgs) > 0 {
		us = append(us, state.Append(msgs...))
	}
	if _, err := x.sp.State.Apply(us...); err != nil {
		return nil, fmt.Errorf("input: %w", err)
	}
	return us, nil
}

// append writes records, and ends the run when that fails.
func (s *session) append(ctx context.Context, durable bool, es ...thread.Entry) error {
	if err := s.journal.Append(context.WithoutCancel(ctx), durable, es...); err != nil {
		s.fail(err)
		return err
	}
	return nil
}

func (s *session) fail(err error) {
	s.mu.Lock()
	if s.failed == nil {
		s.failed = err
	}
	s.mu.Unlock()
	if s.cancel != nil {
		s.cancel(err)
	}
}

// main runs the loop and ends the run.
func (s *session) main(x *execution, r *Run) {
	defer close(r.done)
	defer s.cancel(nil)
	stop := s.keepLease()
	ctx := s.ctx
	if s.limits.Time > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, s.limits.Time, fmt.Errorf("after %s: %w", s.limits.Time, ErrTimeLimit))
		defer cancel()
	}
	status, err := x.apart(ctx)
	stop()
	r.result, r.err = s.end(x, status, err)
	s.hub.stopFlushing()
	s.journal.Close()
	release, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), closeGrace)
	defer cancel()
	if err := s.lease.Release(release); err != nil {
		s.agent.c.Logger.Warn("lease is not released", "thread", s.thread, "error", err)
	}
	s.hub.close()
}

// apart runs the loop in a goroutine of its own: when something ends that, the run still has an end and the thread is released.
func (x *execution) apart(ctx context.Context) (status thread.Status, err error) {
	status, err = thread.Stopped, ErrGoexit
	var wg sync.WaitGroup
	wg.Go(func() { status, err = x.loop(ctx) })
	wg.Wait()
	return status, err
}

// keepLease renews the lease until stop is called. Losing it cancels the run.
func (s *session) keepLease() (stop func()) {
	ctx, cancel := context.WithCancel(s.ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		t := time.NewTicker(leaseTTL / 3)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				if err := s.lease.Renew(ctx); errors.Is(err, thread.ErrFenced) {
					s.fail(fmt.Errorf("thread %s: %w", s.thread, err))
					return
				}
			case <-ctx.Done():
				return
			}
		}
	})
	return func() { cancel(); wg.Wait() }
}

// end records the end of the run and makes its result.
func (s *session) end(x *execution, status thread.Status, err error) (*Result, error) {
	s.mu.Lock()
	if s.failed != nil && err != nil {
		err = s.failed
	}
	res := &Result{Status: status, Turns: s.turns, Usage: s.usage, Denials: slices.Clone(s.denials), Files: sortedKeys(s.files)}
	s.mu.Unlock()
	s.journal.View(func(v *thread.View) {
		res.State = v.Root.State
		res.Interrupts = v.Open()
	})
	if m := lastAssistant(state.Messages.In(res.State)); m != nil {
		res.Message, res.Text = m, m.Text()
	}
	res.Cause, res.ExitCode = causeOf(status, err, len(res.Denials) > 0)
	ended := &thread.RunEnded{
		Status: status, Cause: res.Cause, ExitCode: res.ExitCode, Turns: res.Turns, Usage: res.Usage, Denials: res.Denials,
		Files: res.Files, MS: s.agent.c.Now().Sub(s.started).Milliseconds(),
	}
	if status == thread.Done {
		ended.Result = res.Text
	}
	for _, i := range res.Interrupts {
		ended.Pending = append(ended.Pending, i.ID)
	}
	if err != nil {
		ended.Error = err.Error()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), closeGrace)
	defer cancel()
	if aerr := s.journal.Append(ctx, false, x.entry(x.sp.Step, ended)); aerr != nil {
		if err == nil {
			err, res.Status = aerr, thread.Stopped
			res.Cause, res.ExitCode = causeOf(res.Status, err, false)
			ended.Status, ended.Cause, ended.ExitCode, ended.Error = res.Status, res.Cause, res.ExitCode, err.Error()
		}
		s.hub.lastWord(ended)
	}
	return res, err
}

func lastAssistant(l message.List) *message.Message {
	for _, m := range slices.Backward(l.Slice()) {
		if m.Role == message.Assistant {
			return m
		}
	}
	return nil
}
