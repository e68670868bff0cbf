package agent

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/policy"
	"github.com/deepagents-go/deepagents/state"
	"github.com/deepagents-go/deepagents/store"
	"github.com/deepagents-go/deepagents/thread"
	"github.com/deepagents-go/deepagents/tool"
)

// Config describes an agent. Only Model is required; a [Toolset] does not even need that.
type Config struct {
	// Name is the agent's name, "main" when empty. It is the Name of the messages its model writes.
	Name  string
	Model model.Model
	// System is the system prompt as parts; Prompt is the same as one text. Give one of them.
	System message.Parts
	Prompt string
	// Tools are added to those of the middleware.
	Tools []tool.Tool
	// Middleware is the stack, the outermost first.
	Middleware []Middleware
	// Fields are more keys of the state.
	Fields []*state.Field
	// Exclude hides tools from the model and refuses them when they are called anyway.
	Exclude []string
	// Policy judges every action of every call; the strictest verdict wins. None allows everything.
	Policy policy.Judges
	// Threads keeps the journals. Without it a run lives in memory and is gone when it ends.
	Threads thread.Store
	// Store is the long-term store that tools find through their scope.
	Store store.Store
	// Limits bound every run.
	Limits Limits
	// Settings are those of every model request.
	Settings model.Settings
	// Logger is silent when nil.
	Logger *slog.Logger
	// Now and NewID replace the clock and the source of ids in tests.
	Now   func() time.Time
	NewID func() string
}

// Limits bound a run. Zero means no limit.
type Limits struct {
	// Turns is the number of model calls of a run, those of sub-agents included.
	Turns int
	// Time is how long a run may take.
	Time time.Duration
}

func (l Limits) validate() error {
	if l.Turns < 0 || l.Time < 0 {
		return fmt.Errorf("agent: limits must not be negative: turns %d, time %s", l.Turns, l.Time)
	}
	return nil
}

// Agent runs threads. It is immutable and safe for concurrent use.
type Agent struct {
	*Toolset
	model  model.Model
	system message.Parts
	tools  []model.Tool
	nodes  nodes
	wrap   ModelFunc
}

// New returns an agent, or the first mistake in its configuration.
func New(c Config) (*Agent, error) {
	if c.Model == nil {
		return nil, errors.New("agent: Config.Model is missing: an agent needs a model (a Toolset does not)")
	}
	if c.Prompt != "" && len(c.System) > 0 {
		return nil, errors.New("agent: give Config.Prompt or Config.System, not both")
	}
	if err := c.Limits.validate(); err != nil {
		return nil, err
	}
	ts, err := newToolset(c)
	if err != nil {
		return nil, err
	}
	a := &Agent{Toolset: ts, model: c.Model, system: c.System, nodes: newNodes(c.Middleware)}
	if c.Prompt != "" {
		a.system = message.Parts{message.Text{Text: c.Prompt}}
	}
	for _, s := range ts.Specs() {
		a.tools = append(a.tools, model.Tool{Name: s.Name, Description: s.Description, Input: s.Input})
	}
	a.wrap = callModel
	for _, m := range slices.Backward(c.Middleware) {
		if w, ok := m.(ModelWrapper); ok {
			a.wrap = w.WrapModel(a.wrap)
		}
	}
	return a, nil
}

// Name returns the agent's name.
func (a *Agent) Name() string { return a.c.Name }

// normalize fills in the defaults.
func (c *Config) normalize() {
	c.Name = cmp.Or(c.Name, "main")
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.NewID == nil {
		c.NewID = newID
	}
}

// checkMiddleware refuses unnamed, doubled and useless middleware.
func checkMiddleware(ms []Middleware) error {
	seen := make(map[string]bool, len(ms))
	for i, m := range ms {
		if m == nil {
			return fmt.Errorf("agent: middleware %d is nil", i)
		}
		name := m.Name()
		if name == "" || strings.ContainsAny(name, ".@/") {
			return fmt.Errorf("agent: middleware %d has the name %q: a name is not empty and holds no '.', '@' or '/'", i, name)
		}
		if seen[name] {
			return fmt.Errorf("agent: two middlewares have the name %q: names are unique in a stack", name)
		}
		seen[name] = true
		switch m.(type) {
		case RunHook, TurnHook, ModelWrapper, ToolWrapper, ToolSource, StateOwner:
		default:
			return fmt.Errorf("agent: middleware %q has none of the middleware interfaces, so it would do nothing", name)
		}
	}
	return nil
}

const hexDigits = "0123456789abcdef"

// newID returns a random UUID (version 4).
func newID() string {
	var b [36]byte
	hi, lo := rand.Uint64(), rand.Uint64()
	hi = hi&^0xf000 | 0x4000
	lo = lo&^(0b11<<62) | 0b10<<62
	j := 0
	for i := range 36 {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			b[i] = '-'
			continue
		}
		v := hi
		if j >= 16 {
			v = lo
		}
		b[i] = hexDigits[v>>(60-4*(j%16))&0xf]
		j++
	}
	return string(b[:])
}
