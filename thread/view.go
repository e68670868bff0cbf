package thread

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/deepagents-go/deepagents/state"
)

// View is a thread folded from its records: what a run, a resume or a person looks at.
type View struct {
	Branch ID
	// Root is the main agent's namespace.
	Root *Space
	// RunID, RunStarted and RunEnded describe the newest run; RunEnded is nil while it runs, or when it crashed.
	RunID      string
	RunStarted *RunStarted
	RunEnded   *RunEnded
	// Seq is the Seq of the last record, EventHigh the last event number in use.
	Seq       int64
	EventHigh int64

	spaces map[string]*Space
	schema *state.Schema
	// written counts bytes for the snapshots of a journal.
	written written
}

// NewView returns the view of an empty thread.
func NewView(schema *state.Schema) *View {
	root := newSpace("")
	root.State, root.bound = schema.New(), true
	return &View{Branch: FirstBranch, Root: root, schema: schema, spaces: map[string]*Space{"": root}}
}

// Exists reports whether the thread has any record.
func (v *View) Exists() bool { return v.Seq > 0 }

// Crashed reports whether the newest run never ended.
func (v *View) Crashed() bool { return v.RunStarted != nil && v.RunEnded == nil }

// Apply folds one more entry.
func (v *View) Apply(e Entry) error {
	v.Seq = max(v.Seq, e.Seq)
	v.written.add(e)
	switch b := e.Body.(type) {
	case *RunStarted:
		v.RunID, v.RunStarted, v.RunEnded = e.RunID, b, nil
	case *RunEnded:
		v.RunEnded = b
		if b.Status == Done {
			v.Root.Next = NodeEnd // hooks at the end that changed nothing left no commit that says so
		}
	}
	s := v.spaces[e.NS]
	if s == nil {
		s = newSpace(e.NS)
		v.spaces[e.NS] = s
	}
	if err := s.apply(e); err != nil {
		return err
	}
	if _, ok := e.Body.(*Commit); ok {
		v.drop(e.NS)
	}
	return nil
}

// drop forgets the sub-agents of calls that a commit has ended.
func (v *View) drop(ns string) {
	if len(v.spaces) == 1 {
		return
	}
	for name := range v.spaces {
		if Inside(name, ns) {
			delete(v.spaces, name)
		}
	}
}

// Space returns a namespace, which is empty when nothing was written in it.
func (v *View) Space(ns string) *Space {
	if s := v.spaces[ns]; s != nil {
		return s
	}
	return newSpace(ns)
}

// Bind folds a sub-agent's namespace with its own keys, on the public state of its parent without the conversation.
func (v *View) Bind(ns string, schema *state.Schema) (*Space, error) {
	old := v.Space(ns)
	if old.bound {
		return old, nil
	}
	parent := v.Space(Parent(ns))
	if !parent.bound {
		return nil, fmt.Errorf("namespace %q: its parent %q has no keys yet", ns, parent.NS)
	}
	base, err := parent.State.Public().As(schema)
	if err != nil {
		return nil, err
	}
	s := newSpace(ns)
	s.State, s.bound = base.Without(state.Messages.Name()), true
	for _, e := range old.log {
		if err := s.apply(e); err != nil {
			return nil, err
		}
	}
	v.spaces[ns] = s
	return s, nil
}

// Open returns all questions without an answer, in the order of the calls that wait for them, those of a sub-agent in the place
// of the call that runs it, and those of one call in the order in which they were asked.
func (v *View) Open() []OpenInterrupt {
	type ranked struct {
		rank []int
		OpenInterrupt
	}
	var all []ranked
	for ns, s := range v.spaces {
		prefix := v.ranks(ns)
		order := s.callOrder()
		for n, i := range s.Open() {
			all = append(all, ranked{append(slices.Clone(prefix), rank(order, i.Task), n), OpenInterrupt{NS: ns, Interrupt: i}})
		}
	}
	slices.SortFunc(all, func(a, b ranked) int {
		return cmp.Or(slices.Compare(a.rank, b.rank), strings.Compare(a.NS, b.NS), strings.Compare(a.ID, b.ID))
	})
	out := make([]OpenInterrupt, len(all))
	for i, r := range all {
		out[i] = r.OpenInterrupt
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// ranks returns, for each task on the way to a namespace, the position of its call.
func (v *View) ranks(ns string) []int {
	var out []int
	at := ""
	for _, task := range Path(ns) {
		out = append(out, rank(v.Space(at).callOrder(), task))
		at = Child(at, task)
	}
	return out
}

// rank is the position of a task among the calls of a message; hooks and unknown tasks come last.
func rank(order map[string]int, task string) int {
	if n, ok := order[task]; ok {
		return n
	}
	return math.MaxInt
}

// callOrder maps the tasks of the last message that calls tools to their positions.
func (s *Space) callOrder() map[string]int {
	if !s.bound {
		return nil
	}
	for _, m := range slices.Backward(state.Messages.In(s.State).Slice()) {
		calls := m.Calls()
		if len(calls) == 0 {
			continue
		}
		order := make(map[string]int, len(calls))
		for i, c := range calls {
			order[m.ID+"."+c.ID] = i
		}
		return order
	}
	return nil
}

// Waiting reports whether a task waits for an answer: its own question has none, or none of the questions of the sub-agent that
// it runs has.
func (v *View) Waiting(s *Space, task string) bool {
	if s.Waiting(task) {
		return true
	}
	var inner []string
	for _, i := range s.Interrupts {
		if i.Task == task {
			inner = append(inner, i.Inner...)
		}
	}
	return len(inner) > 0 && v.allOpen(inner)
}

func (v *View) allOpen(ids []string) bool {
	open := make(map[string]bool)
	for _, o := range v.Open() {
		open[o.ID] = true
	}
	for _, id := range ids {
		if !open[id] {
			return false
		}
	}
	return true
}

// OpenInterrupt is a question without an answer, and the namespace that asks.
type OpenInterrupt struct {
	NS string
	*Interrupt
}

// Load folds a branch; an empty branch means the head. A thread that does not exist gives an empty view.
func Load(ctx context.Context, s Store, thread string, branch ID, schema *state.Schema) (*View, error) {
	v := NewView(schema)
	head, err := s.Head(ctx, thread)
	if errors.Is(err, ErrNotFound) {
		return v, nil
	}
	if err != nil {
		return nil, err
	}
	v.EventHigh = head.EventHigh
	v.Branch = branch
	if branch == "" {
		v.Branch = head.Branch
	}
	q := Query{Branch: v.Branch, Prefix: true, FromSnapshot: true}
	for r, err := range s.Read(ctx, thread, q) {
		if err != nil {
			return nil, err
		}
		b, err := Decode(r)
		if err != nil {
			return nil, fmt.Errorf("thread %s: %w", thread, err)
		}
		if err := v.Apply(Entry{r, b}); err != nil {
			return nil, fmt.Errorf("thread %s: %w", thread, err)
		}
	}
	return v, v.lastRun(ctx, s, thread)
}

// lastRun finds the newest run when it began before the snapshot.
func (v *View) lastRun(ctx context.Context, s Store, thread string) error {
	if v.RunStarted != nil || !v.Exists() {
		return nil
	}
	q := Query{Branch: v.Branch, Kinds: []Kind{KindRunStarted, KindRunEnded}, Reverse: true}
	for r, err := range s.Read(ctx, thread, q) {
		if err != nil {
			return err
		}
		b, err := Decode(r)
		if err != nil {
			return fmt.Errorf("thread %s: %w", thread, err)
		}
		switch b := b.(type) {
		case *RunEnded:
			if v.RunEnded == nil {
				v.RunEnded = b
			}
		case *RunStarted:
			v.RunID, v.RunStarted = r.RunID, b
			return nil
		}
	}
	return nil
}

// Namespaces are task ids joined by "/". A task id holds whatever a provider put into its call id, so "/" is escaped.

// Child returns the namespace of a sub-agent that a task of ns runs.
func Child(ns, task string) string {
	task = strings.NewReplacer("%", "%25", "/", "%2F").Replace(task)
	if ns == "" {
		return task
	}
	return ns + "/" + task
}

// Parent returns the namespace that a sub-agent's namespace lies in.
func Parent(ns string) string {
	i := strings.LastIndexByte(ns, '/')
	if i < 0 {
		return ""
	}
	return ns[:i]
}

// Inside reports whether a namespace lies below another, not whether it is the same.
func Inside(ns, in string) bool {
	if in == "" {
		return ns != ""
	}
	return strings.HasPrefix(ns, in+"/")
}

// Path splits a namespace into task ids.
func Path(ns string) []string {
	if ns == "" {
		return nil
	}
	parts := strings.Split(ns, "/")
	for i, p := range parts {
		parts[i] = strings.NewReplacer("%2F", "/", "%25", "%").Replace(p)
	}
	return parts
}
