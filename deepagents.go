package deepagents

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/backend"
	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/backend/statefs"
	"github.com/deepagents-go/deepagents/middleware/filesystem"
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/policy"
	"github.com/deepagents-go/deepagents/sandbox"
	"github.com/deepagents-go/deepagents/state"
	"github.com/deepagents-go/deepagents/store"
	"github.com/deepagents-go/deepagents/thread"
	"github.com/deepagents-go/deepagents/tool"
)

// Config describes a deep agent. Only Model is required, and not even that by [NewToolset].
type Config struct {
	// Name is the agent's name, "main" when empty.
	Name  string
	Model model.Model
	// Prompt is the system prompt. Without one there is no system message, unless the shell and the file tools name files
	// differently: how to translate is always told.
	Prompt string

	// Backend serves the files. Empty means the Sandbox, and without one the state of the thread.
	Backend driver.Driver
	// Sandbox runs commands. Without one there is no execute tool.
	Sandbox sandbox.Sandbox
	// Unattended says that commands may run on a machine without walls although nothing asks before them.
	Unattended bool

	// Mode is the approval mode. Empty means that everything is allowed that nothing else denies or asks about.
	Mode policy.Mode
	// Rules are path rules; the first that covers a path decides. They bind the file tools, so they are refused beside a shell that
	// could get at the same files without them.
	Rules policy.PathRules
	// Advisory are more path rules, judged after Rules, which are not refused beside such a shell: they keep an honest model from
	// mistakes and hold back nobody else. See [DefaultDenies].
	Advisory policy.PathRules
	// Judges judge every action too. The strictest verdict of all wins.
	Judges policy.Judges

	// Files are the options of the file tools. FS and Sandbox are filled in.
	Files filesystem.Options
	// Tools and Middleware are added to the stack, after the file tools.
	Tools      []tool.Tool
	Middleware []agent.Middleware
	// Exclude hides tools from the model and refuses them when they are called anyway.
	Exclude []string

	// Threads keeps the journals of the runs; without it a run is gone when it ends. Store is the long-term store.
	Threads thread.Store
	Store   store.Store
	// Limits bound every run, Settings are those of every model request.
	Limits   agent.Limits
	Settings model.Settings
	// Logger is silent when nil.
	Logger *slog.Logger
	// Now and NewID replace the clock and the source of ids in tests.
	Now   func() time.Time
	NewID func() string
}

// New returns an agent with the default stack, or the first mistake in its configuration. [ErrUngated] and [ErrUnconfined] are
// combinations that would be unsafe.
func New(c Config) (*agent.Agent, error) {
	ac, err := c.assemble()
	if err != nil {
		return nil, err
	}
	return agent.New(ac)
}

// NewToolset returns the tools of the default stack under their policy, with no model; Model, Prompt and Threads are not used.
// Questions go to ask; without it they are denied.
func NewToolset(c Config, ask agent.AskFunc) (*agent.Toolset, error) {
	ac, err := c.assemble()
	if err != nil {
		return nil, err
	}
	return agent.NewToolset(ac, ask)
}

// ErrUngated says that commands would run on a machine without walls and without anybody being asked.
var ErrUngated = errors.New("the sandbox confines nothing, and nothing asks before a command runs")

// ErrUnconfined says that path rules would stand beside a shell that does not obey them.
var ErrUnconfined = errors.New("path rules do not bind the commands of this sandbox")

func (c Config) assemble() (agent.Config, error) {
	fail := func(err error) (agent.Config, error) { return agent.Config{}, fmt.Errorf("deepagents: %w", err) }
	if c.Mode != "" {
		if _, err := policy.ParseMode(string(c.Mode)); err != nil {
			return fail(err)
		}
	}
	if err := c.gate(); err != nil {
		return fail(err)
	}
	c.backend()
	if err := c.confine(); err != nil {
		return fail(err)
	}
	rules := slices.Concat(c.Rules, c.Advisory)
	fs, err := backend.New(c.Backend, backend.Options{Hooks: backend.Hooks{Rules: rules}})
	if err != nil {
		return fail(err)
	}
	c.Files.FS, c.Files.Sandbox = fs, c.Sandbox
	if c.Files.Logger == nil {
		c.Files.Logger = c.Logger
	}
	files, err := filesystem.New(c.Files)
	if err != nil {
		return fail(err)
	}
	return agent.Config{
		Name: c.Name, Model: c.Model, Prompt: c.prompt(files), Tools: c.Tools, Exclude: c.Exclude,
		Middleware: append([]agent.Middleware{files}, c.Middleware...), Fields: stateFields(c.Backend),
		Policy: c.judges(rules), Threads: c.Threads, Store: c.Store, Limits: c.Limits, Settings: c.Settings,
		Logger: c.Logger, Now: c.Now, NewID: c.NewID,
	}, nil
}

func (c *Config) backend() {
	switch {
	case c.Backend != nil:
	case c.Sandbox != nil:
		c.Backend = c.Sandbox
	default:
		c.Backend = statefs.New(statefs.Options{})
	}
}

// gate refuses a shell without walls that nobody watches (design decision X4).
func (c *Config) gate() error {
	if c.Sandbox == nil || c.Unattended || c.Sandbox.Policy().Confined() || slices.Contains(c.Exclude, "execute") {
		return nil
	}
	if (c.Mode != "" && c.Mode != policy.Yolo) || len(c.Judges) > 0 {
		return nil
	}
	return fmt.Errorf("%w: set Config.Mode to %q, %q or %q, give Config.Judges, or say Config.Unattended: true",
		ErrUngated, policy.Plan, policy.AskMode, policy.EditMode)
}

// confine refuses path rules that commands could walk around (design decision X5).
func (c *Config) confine() error {
	if c.Sandbox == nil || c.Sandbox.Policy().Rules || len(c.Rules) == 0 || slices.Contains(c.Exclude, "execute") {
		return nil
	}
	for _, r := range c.Rules {
		for _, p := range r.Paths {
			if shellReaches(c.Backend, fixedPart(p)) {
				return fmt.Errorf("%w: the rule on %s would not hold for execute: take Config.Sandbox or Config.Rules away, use a "+
					"sandbox that enforces rules, or put the files under a route that the shell cannot reach", ErrUnconfined, p)
			}
		}
	}
	return nil
}

// shellReaches reports whether a path may have a name on the machine of the shell.
func shellReaches(d driver.Driver, path string) bool {
	_, m, _, ok := driver.As[driver.Located](d, path)
	return ok || m.Prefix == "/"
}

// fixedPart is the directory of a pattern before its first wildcard.
func fixedPart(pattern string) string {
	if i := strings.IndexAny(pattern, `*?[{\`); i >= 0 {
		pattern = pattern[:i]
		pattern = pattern[:strings.LastIndexByte(pattern, '/')]
	}
	if pattern == "" {
		return "/"
	}
	return pattern
}

// stateFields returns the keys of the state that parts of a backend keep their files in.
func stateFields(d driver.Driver) []*state.Field {
	var out []*state.Field
	for _, m := range driver.All(d) {
		if s, ok := m.Driver.(interface{ Fields() []*state.Field }); ok {
			for _, f := range s.Fields() {
				if !slices.Contains(out, f) {
					out = append(out, f)
				}
			}
		}
	}
	return out
}

// prompt adds what the file tools must say about paths.
func (c *Config) prompt(files *filesystem.Middleware) string {
	tools := files.Tools()
	paths := files.Prompt(func(name string) bool {
		return !slices.Contains(c.Exclude, name) && slices.ContainsFunc(tools, func(t tool.Tool) bool { return t.Spec().Name == name })
	})
	if c.Prompt == "" || paths == "" {
		return c.Prompt + paths
	}
	return strings.TrimRight(c.Prompt, "\n") + "\n\n" + paths
}
