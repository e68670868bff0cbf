package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/state"
	"github.com/deepagents-go/deepagents/thread"
)

// Checkpoint is a thread at one of its root commits.
type Checkpoint struct {
	Thread string
	Branch thread.ID
	ID     thread.ID
	Parent thread.ID
	Run    string
	Step   int
	Time   time.Time
	Source thread.Source
	// Node is the node whose work the checkpoint is; Next are the tasks that come next, those that have ended left out.
	Node  string
	Next  []string
	State state.State
	// Tasks are the pending calls, in call order, with what is known of them. Only the head of a branch has them.
	Tasks []Task
	// Crashed says that the newest run never ended.
	Crashed bool
	// RunStarted describes the newest run.
	RunStarted *thread.RunStarted
}

// Task is a pending call.
type Task struct {
	ID, CallID, Name string
	// Result is the call's result, when it has ended.
	Result *message.Message
	// Unknown says that the call was started and its end was not recorded.
	Unknown    bool
	Interrupts []thread.OpenInterrupt
}

// HistoryQuery selects checkpoints.
type HistoryQuery struct {
	// Branch is the branch to read, with its ancestors; empty means the head.
	Branch thread.ID
	// Before leaves out a checkpoint and everything after it.
	Before thread.ID
	// Source selects checkpoints of one source; empty means all.
	Source thread.Source
	// Limit bounds the number of checkpoints; 0 means all.
	Limit int
}

// ErrNoStore says that the agent has no Config.Threads.
var ErrNoStore = errors.New("agent: Config.Threads is missing: nothing is stored")

// State returns the thread at its head, or at a checkpoint of the head's branch. An unknown thread or checkpoint is
// [thread.ErrNotFound].
func (a *Agent) State(ctx context.Context, threadID string, at thread.ID) (Checkpoint, error) {
	if a.c.Threads == nil {
		return Checkpoint{}, ErrNoStore
	}
	if at == "" {
		return a.head(ctx, threadID)
	}
	for c, err := range a.checkpoints(ctx, threadID, "") {
		if err != nil || c.ID == at {
			return c, err
		}
	}
	return Checkpoint{}, fmt.Errorf("thread %s: checkpoint %s: %w", threadID, at, thread.ErrNotFound)
}

func (a *Agent) head(ctx context.Context, threadID string) (Checkpoint, error) {
	v, err := thread.Load(ctx, a.c.Threads, threadID, "", a.schema)
	if err != nil {
		return Checkpoint{}, err
	}
	if !v.Exists() {
		return Checkpoint{}, fmt.Errorf("thread %s: %w", threadID, thread.ErrNotFound)
	}
	c := Checkpoint{
		Thread: threadID, Branch: v.Branch, ID: v.Root.Head, Run: v.RunID, Step: v.Root.Step - 1, Source: v.Root.Source,
		Node: v.Root.Node, State: v.Root.State, Crashed: v.Crashed(), RunStarted: v.RunStarted,
	}
	c.Tasks = tasks(v)
	c.Next = next(v.Root.Next, c.Tasks)
	return c, nil
}

// next leaves out the tools when all their calls have ended.
func next(node string, ts []Task) []string {
	if node == "" || node == nodeEnd {
		return nil
	}
	if node == nodeTools && len(ts) > 0 && !slices.ContainsFunc(ts, func(t Task) bool { return t.Result == nil }) {
		return nil
	}
	return []string{node}
}

// tasks describes the pending calls of the main agent.
func tasks(v *thread.View) []Task {
	if v.Root.Next != nodeTools {
		return hookTasks(v)
	}
	open := v.Open()
	last, calls := pendingCalls(state.Messages.In(v.Root.State))
	out := make([]Task, 0, len(calls))
	for _, c := range calls {
		t := Task{ID: taskID(last, c), CallID: c.ID, Name: c.Name}
		if e, ok := v.Root.Ended[t.ID]; ok {
			t.Result = e.Body.(*thread.CallEnded).Message
		}
		t.Unknown = v.Root.Flying[t.ID]
		ns := thread.Child("", t.ID)
		for _, o := range open {
			if o.NS == "" && o.Task == t.ID || o.NS == ns || o.NS != "" && thread.Inside(o.NS, ns) {
				t.Interrupts = append(t.Interrupts, o)
			}
		}
		out = append(out, t)
	}
	return out
}

// hookTasks describes a hook that waits for answers.
func hookTasks(v *thread.View) []Task {
	open := v.Open()
	if len(open) == 0 {
		return nil
	}
	return []Task{{ID: open[0].Task, Name: v.Root.Next, Interrupts: open}}
}

// History yields the checkpoints of a branch, the newest first.
func (a *Agent) History(ctx context.Context, threadID string, q HistoryQuery) iter.Seq2[Checkpoint, error] {
	return func(yield func(Checkpoint, error) bool) {
		if a.c.Threads == nil {
			yield(Checkpoint{}, ErrNoStore)
			return
		}
		var all []Checkpoint
		for c, err := range a.checkpoints(ctx, threadID, q.Branch) {
			if err != nil {
				yield(Checkpoint{}, err)
				return
			}
			if c.ID == q.Before {
				break
			}
			if q.Source == "" || q.Source == c.Source {
				all = append(all, c)
			}
		}
		if q.Limit > 0 && len(all) > q.Limit {
			all = all[len(all)-q.Limit:]
		}
		for _, c := range slices.Backward(all) {
			if !yield(c, nil) {
				return
			}
		}
	}
}

// checkpoints folds a branch from its first record and yields every root commit, the oldest first.
func (a *Agent) checkpoints(ctx context.Context, threadID string, branch thread.ID) iter.Seq2[Checkpoint, error] {
	return func(yield func(Checkpoint, error) bool) {
		v := thread.NewView(a.schema)
		pruned, err := a.pruned(ctx, threadID, branch)
		if err != nil {
			yield(Checkpoint{}, err)
			return
		}
		for r, err := range a.c.Threads.Read(ctx, threadID, thread.Query{Branch: branch, Prefix: true, FromSnapshot: pruned}) {
			if err != nil {
				yield(Checkpoint{}, err)
				return
			}
			b, err := thread.Decode(r)
			if err == nil {
				err = v.Apply(thread.Entry{Record: r, Body: b})
			}
			if err != nil {
				yield(Checkpoint{}, fmt.Errorf("thread %s: %w", threadID, err))
				return
			}
			commit, ok := b.(*thread.Commit)
			if !ok || r.NS != "" {
				continue
			}
			c := Checkpoint{
				Thread: threadID, Branch: r.Branch, ID: r.ID, Parent: commit.Parent, Run: r.RunID, Step: r.Step, Time: r.Time,
				Source: commit.Source, Node: commit.Node, State: v.Root.State, RunStarted: v.RunStarted,
			}
			c.Tasks = tasks(v)
			c.Next = next(commit.Next, nil)
			if !yield(c, nil) {
				return
			}
		}
	}
}

// pruned reports whether the first records of a branch are gone, so that a fold has to begin with a snapshot.
func (a *Agent) pruned(ctx context.Context, threadID string, branch thread.ID) (bool, error) {
	for r, err := range a.c.Threads.Read(ctx, threadID, thread.Query{Branch: branch, Kinds: []thread.Kind{thread.KindCommit}}) {
		if err != nil {
			return false, err
		}
		b, err := thread.Decode(r)
		if err != nil {
			return false, err
		}
		return b.(*thread.Commit).Parent != "", nil
	}
	return false, nil
}

// UpdateState writes updates as if a node had made them, and returns the new checkpoint. An empty at means the head; another
// checkpoint becomes a fork. An empty node means the node of that checkpoint. The node decides what comes next. A thread in use
// is [thread.ErrBusy], an unknown node an error that names it.
func (a *Agent) UpdateState(ctx context.Context, threadID string, at thread.ID, node string, us ...state.Update) (thread.ID, error) {
	if a.c.Threads == nil {
		return "", ErrNoStore
	}
	if err := thread.ValidThread(threadID); err != nil {
		return "", err
	}
	lease, err := a.c.Threads.Acquire(ctx, threadID, a.c.Name, leaseTTL)
	if err != nil {
		return "", err
	}
	id, err := a.updateState(ctx, threadID, lease, at, node, us)
	return id, errors.Join(err, lease.Release(context.WithoutCancel(ctx)))
}

func (a *Agent) updateState(ctx context.Context, threadID string, lease thread.Lease, at thread.ID, node string, us []state.Update) (thread.ID, error) {
	s := &session{agent: a, id: a.c.NewID(), thread: threadID, store: a.c.Threads, lease: lease}
	v, forked, err := s.load(ctx, at)
	if err != nil {
		return "", err
	}
	s.branch = v.Branch
	s.journal = thread.NewJournal(thread.JournalConfig{
		Store: s.store, Thread: threadID, Lease: lease, RunID: s.id, View: v,
		NewID: func() thread.ID { return thread.ID(a.c.NewID()) }, Now: a.c.Now,
	})
	defer s.journal.Close()
	x := &execution{s: s, agent: a, sp: v.Root}
	if node == "" {
		node = v.Root.Node
	}
	us = slices.Clone(us)
	stamp(us, a.c.NewID)
	step := v.Root.Step
	es, applied, carried := x.carry(step)
	st := v.Root.State
	for _, us := range carried {
		if st, err = st.Apply(us...); err != nil {
			return "", err
		}
	}
	if st, err = st.Apply(us...); err != nil {
		return "", err
	}
	to, err := x.follow(node, st)
	if err != nil {
		return "", err
	}
	up := x.entry(step, &thread.Update{Node: node, Updates: us})
	commit := x.commit(step, node, to, thread.SourceUpdate, append(applied, up.ID)...)
	if err := s.append(ctx, true, append(es, up, commit)...); err != nil {
		return "", err
	}
	return commit.ID, s.enter(ctx, forked)
}

// follow returns what comes after a node on a state.
func (x *execution) follow(node string, st state.State) (string, error) {
	nodes := &x.agent.nodes
	switch node {
	case "":
		return nodes.start(), nil
	case nodeEnd:
		return nodeEnd, nil
	case nodeTools:
		return nodes.head(), nil
	case nodeModel:
		if len(nodes.afterModel) > 0 {
			return nodes.afterModel[0].name, nil
		}
		return x.route(st), nil
	}
	n, ok := nodes.byName[node]
	if !ok {
		return "", fmt.Errorf("Node %s does not exist", node)
	}
	if next := nodes.after(n); next != "" {
		return next, nil
	}
	return x.route(st), nil
}

// carry takes the results of a step that is not finished into the commit of an update, so that no call that has ended runs
// again: the stored ones, and an unknown outcome for each call that was started and has no end. It returns the entries that are
// new, the records to apply and their updates.
func (x *execution) carry(step int) (es []thread.Entry, applied []thread.ID, us [][]state.Update) {
	if x.sp.Next != nodeTools {
		return nil, nil, nil
	}
	last, calls := pendingCalls(state.Messages.In(x.sp.State))
	for _, c := range calls {
		task := taskID(last, c)
		if x.sp.Flying[task] {
			es = append(es, x.entry(step, x.result(task, c, thread.Unknown, unknownText)))
		}
	}
	done, ids := x.stepResults(es)
	for _, e := range done {
		b := e.Body.(*thread.CallEnded)
		us = append(us, append(slices.Clip(b.Updates), state.Append(b.Message)))
	}
	return es, ids, us
}
