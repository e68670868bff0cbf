package agent

import (
	"slices"
	"strings"

	"github.com/deepagents-go/deepagents/thread"
)

// The nodes of the loop. A hook's node is "<middleware>.<phase>", as LangGraph names them.
const (
	nodeModel = "model"
	nodeTools = "tools"
	nodeEnd   = thread.NodeEnd

	phaseBeforeRun   = "before_agent"
	phaseBeforeModel = "before_model"
	phaseAfterModel  = "after_model"
	phaseAfterRun    = "after_agent"
	// phaseRoute is the decision after the model; it is no node of its own.
	phaseRoute = "route"
)

// node is a place in the loop.
type node struct {
	name  string
	phase string
	hook  Middleware
}

// nodes are the hooks of a stack by phase, in the order they run.
type nodes struct {
	beforeRun, beforeModel, afterModel, afterRun []node
	byName                                       map[string]node
}

func newNodes(ms []Middleware) nodes {
	n := nodes{byName: map[string]node{
		nodeModel: {name: nodeModel, phase: nodeModel},
		nodeTools: {name: nodeTools, phase: nodeTools},
		nodeEnd:   {name: nodeEnd, phase: nodeEnd},
	}}
	add := func(to *[]node, m Middleware, phase string) {
		x := node{name: m.Name() + "." + phase, phase: phase, hook: m}
		*to = append(*to, x)
		n.byName[x.name] = x
	}
	for _, m := range ms {
		if _, ok := m.(RunHook); ok {
			add(&n.beforeRun, m, phaseBeforeRun)
			add(&n.afterRun, m, phaseAfterRun)
		}
		if _, ok := m.(TurnHook); ok {
			add(&n.beforeModel, m, phaseBeforeModel)
			add(&n.afterModel, m, phaseAfterModel)
		}
	}
	slices.Reverse(n.afterModel)
	slices.Reverse(n.afterRun)
	return n
}

// start is the node after the input.
func (n *nodes) start() string {
	if len(n.beforeRun) > 0 {
		return n.beforeRun[0].name
	}
	return n.head()
}

// head is where a turn begins.
func (n *nodes) head() string {
	if len(n.beforeModel) > 0 {
		return n.beforeModel[0].name
	}
	return nodeModel
}

// exit is where a run goes to end.
func (n *nodes) exit() string {
	if len(n.afterRun) > 0 {
		return n.afterRun[0].name
	}
	return nodeEnd
}

// list returns the hooks of a phase and what follows them; of after_model the route decides what follows.
func (n *nodes) list(phase string) (hooks []node, then string) {
	switch phase {
	case phaseBeforeRun:
		return n.beforeRun, n.head()
	case phaseBeforeModel:
		return n.beforeModel, nodeModel
	case phaseAfterModel:
		return n.afterModel, ""
	case phaseAfterRun:
		return n.afterRun, nodeEnd
	}
	return nil, ""
}

// after returns the node that follows a hook, "" when the route decides.
func (n *nodes) after(x node) string {
	hooks, then := n.list(x.phase)
	i := slices.IndexFunc(hooks, func(h node) bool { return h.name == x.name })
	if i >= 0 && i+1 < len(hooks) {
		return hooks[i+1].name
	}
	return then
}

// find returns the node of that name. A hook that is no longer in the stack is replaced by the next one of its phase: the one
// after last, the node of the last commit, or the first. Without any, what follows the phase comes next.
func (n *nodes) find(name, last string) (x node, ok bool) {
	if x, ok = n.byName[name]; ok {
		return x, true
	}
	phase := name[strings.LastIndexByte(name, '.')+1:]
	hooks, then := n.list(phase)
	if i := slices.IndexFunc(hooks, func(h node) bool { return h.name == last }); i >= 0 {
		hooks = hooks[i+1:]
	}
	switch {
	case len(hooks) > 0:
		return hooks[0], true
	case then != "":
		return n.byName[then], true
	case phase == phaseAfterModel:
		return node{phase: phaseRoute}, true
	}
	return node{}, false
}
