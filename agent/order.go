package agent

import (
	"context"
	"slices"
	"sync"

	"github.com/deepagents-go/deepagents/policy"
)

// conflict reports whether two calls must run one after the other (design decision F18): a write is exclusive on its path or
// subtree, a read is shared, a command reads everything. A call without actions conflicts with nothing.
func conflict(a, b []policy.Action) bool {
	for _, x := range a {
		for _, y := range b {
			if x.Conflicts(y) {
				return true
			}
		}
	}
	return false
}

// waits returns for each call of a message the earlier calls it waits for, in call order.
func waits(actions [][]policy.Action) [][]int {
	out := make([][]int, len(actions))
	for i := range actions {
		// A call sees what those it waits for have seen, so it waits for theirs as well.
		need := make([]bool, i)
		for j := range i {
			if !conflict(actions[j], actions[i]) {
				continue
			}
			need[j] = true
			for _, k := range out[j] {
				need[k] = true
			}
		}
		for j, ok := range need {
			if ok {
				out[i] = append(out[i], j)
			}
		}
	}
	return out
}

// order makes conflicting calls run in the order in which they came.
type order struct {
	mu     sync.Mutex
	flying []*flight
}

type flight struct {
	actions []policy.Action
	done    chan struct{}
}

// enter waits for the earlier calls that conflict. The caller calls done when it has ended.
func (o *order) enter(ctx context.Context, actions []policy.Action) (done func(), err error) {
	f := &flight{actions, make(chan struct{})}
	o.mu.Lock()
	var before []*flight
	for _, g := range o.flying {
		if conflict(g.actions, actions) {
			before = append(before, g)
		}
	}
	o.flying = append(o.flying, f)
	o.mu.Unlock()
	leave := func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.flying = slices.DeleteFunc(o.flying, func(g *flight) bool { return g == f })
		close(f.done)
	}
	for _, g := range before {
		select {
		case <-g.done:
		case <-ctx.Done():
			leave()
			return nil, context.Cause(ctx)
		}
	}
	return leave, nil
}
