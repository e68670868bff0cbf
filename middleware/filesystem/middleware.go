package filesystem

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/deepagents-go/deepagents/backend"
	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/policy"
	"github.com/deepagents-go/deepagents/sandbox"
	"github.com/deepagents-go/deepagents/state"
	"github.com/deepagents-go/deepagents/tool"
)

// The names of the tools.
const (
	lsName      = "ls"
	readName    = "read_file"
	writeName   = "write_file"
	editName    = "edit_file"
	deleteName  = "delete"
	globName    = "glob"
	grepName    = "grep"
	executeName = "execute"
)

// Names returns the names of all tools in the order in which models see them.
func Names() []string {
	return []string{lsName, readName, writeName, editName, deleteName, globName, grepName, executeName}
}

// CompatDeepAgents is the value of [Options.Compat] that gives the exact older forms of Deep Agents.
const CompatDeepAgents = "deepagents-2026-09"

// Defaults of [Options].
const (
	DefaultMaxExecuteTimeout = time.Hour
	DefaultReadLimit         = 80_000
	DefaultGrepMaxCount      = 1000
	DefaultGlobTimeout       = 10 * time.Second
	DefaultGrepTimeout       = 35 * time.Second
)

// maxGlobs is how many globs run at once.
const maxGlobs = 4

// Options configure a [Middleware]. FS is required; the zero value of everything else is the default.
type Options struct {
	// FS serves the files.
	FS *backend.FS
	// Sandbox runs commands. Without one there is no execute tool.
	Sandbox sandbox.Sandbox
	// Tools are the names of the tools to offer; nil means all. read_file must be among them unless AllowNoRead is set.
	Tools       []string
	AllowNoRead bool
	// Descriptions replace the descriptions of tools, by name. An empty text keeps the default.
	Descriptions map[string]string
	// MaxExecuteTimeout bounds the timeout that a model may ask for; default [DefaultMaxExecuteTimeout].
	MaxExecuteTimeout time.Duration
	// ReadLimit is how many characters a read_file result may have; default [DefaultReadLimit], -1 means no limit.
	ReadLimit int
	// GrepMaxCount is how many matches grep collects when a call does not say; default [DefaultGrepMaxCount], -1 means all.
	GrepMaxCount int
	// GlobTimeout and GrepTimeout bound a search that the backend does not end by itself; defaults [DefaultGlobTimeout] and
	// [DefaultGrepTimeout].
	GlobTimeout, GrepTimeout time.Duration
	// PathList is how ls and glob print paths; default [List].
	PathList PathList
	// GrepHidden and GrepNoIgnore make grep search names that begin with a dot, and files that ignore files leave out.
	GrepHidden, GrepNoIgnore bool
	// CreateOnly makes write_file refuse to replace a file.
	CreateOnly bool
	// StaleGuard makes edit_file refuse a file that changed since the same thread read it. It works inside a run only.
	StaleGuard bool
	// BinaryAsBlock makes read_file return a file that is no text as a base64 block instead of an error.
	BinaryAsBlock bool
	// SVGAsImage makes read_file return svg files as images instead of text.
	SVGAsImage bool
	// ArtifactsRoot is the directory below which the results that were too large are kept; default "/".
	ArtifactsRoot string
	// Compat is "" or [CompatDeepAgents].
	Compat string
	// Logger gets recovered panics; nil means silence.
	Logger *slog.Logger
}

// Middleware offers the file tools and the shell. It is safe for concurrent use.
type Middleware struct {
	o     Options
	fs    *backend.FS
	tools []tool.Tool
	globs chan struct{}
	seen  seenKey
}

// New makes the middleware. Unknown names, limits that are not positive and a subset without read_file are refused.
func New(o Options) (*Middleware, error) {
	if err := o.complete(); err != nil {
		return nil, fmt.Errorf("filesystem: %w", err)
	}
	m := &Middleware{o: o, fs: o.FS, globs: make(chan struct{}, maxGlobs), seen: newSeenKey()}
	m.build()
	return m, nil
}

func (o *Options) complete() error {
	if o.FS == nil {
		return errors.New("no file system: set Options.FS")
	}
	if o.Tools == nil {
		o.Tools = Names()
	} else if !o.AllowNoRead && !slices.Contains(o.Tools, readName) {
		return errors.New("read_file must be included in tools; it is required by FilesystemMiddleware")
	}
	for _, name := range o.Tools {
		if !slices.Contains(Names(), name) {
			return fmt.Errorf("unknown tool %q: use any of %s", name, strings.Join(Names(), ", "))
		}
	}
	for name := range o.Descriptions {
		if !slices.Contains(Names(), name) {
			return fmt.Errorf("description of an unknown tool %q: use any of %s", name, strings.Join(Names(), ", "))
		}
	}
	if o.MaxExecuteTimeout < 0 {
		return fmt.Errorf("max_execute_timeout must be positive, got %s", seconds(o.MaxExecuteTimeout))
	}
	if o.GrepMaxCount < -1 {
		return fmt.Errorf("grep_max_count must be positive or None, got %d", o.GrepMaxCount)
	}
	if o.Compat != "" && o.Compat != CompatDeepAgents {
		return fmt.Errorf("unknown Compat %q: use %q or leave it empty", o.Compat, CompatDeepAgents)
	}
	if o.PathList != "" && o.PathList != List && o.PathList != Lines {
		return fmt.Errorf("unknown PathList %q: use %q or %q", o.PathList, List, Lines)
	}
	o.defaults()
	return nil
}

func (o *Options) defaults() {
	setDefault(&o.MaxExecuteTimeout, DefaultMaxExecuteTimeout)
	setDefault(&o.ReadLimit, DefaultReadLimit)
	setDefault(&o.GrepMaxCount, DefaultGrepMaxCount)
	setDefault(&o.GlobTimeout, DefaultGlobTimeout)
	setDefault(&o.GrepTimeout, DefaultGrepTimeout)
	setDefault(&o.PathList, List)
	setDefault(&o.ArtifactsRoot, "/")
	setDefault(&o.Logger, slog.New(slog.DiscardHandler))
}

func setDefault[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

func (m *Middleware) compat() bool { return m.o.Compat == CompatDeepAgents }

// Name returns "filesystem".
func (m *Middleware) Name() string { return "filesystem" }

// Fields returns the state of the stale guard, when it is on.
func (m *Middleware) Fields() []*state.Field {
	if !m.o.StaleGuard {
		return nil
	}
	return []*state.Field{m.seen.Field()}
}

// Tools returns the tools that the backend can serve, in the order of [Names].
func (m *Middleware) Tools() []tool.Tool { return slices.Clone(m.tools) }

// served reports whether a tool is wanted and the backend can do it.
func (m *Middleware) served(name string) bool {
	if !slices.Contains(m.o.Tools, name) {
		return false
	}
	switch name {
	case executeName:
		return m.o.Sandbox != nil
	case deleteName:
		return canDelete(m.fs.Driver())
	}
	return true
}

// canDelete reports whether any part of a driver can delete.
func canDelete(d driver.Driver) bool {
	for _, mount := range driver.Split(d, "/") {
		if r, ok := mount.Driver.(driver.Remover); !ok || r.CanRemove() {
			return true
		}
	}
	return false
}

// Absent answers for a tool that was asked for but that the backend cannot serve, should a model call it anyway. It returns false
// for every other name.
func (m *Middleware) Absent(name string, args json.RawMessage) (tool.Result, bool) {
	if !slices.Contains(m.o.Tools, name) || m.served(name) {
		return tool.Result{}, false
	}
	if name == executeName {
		in, err := decode[executeArgs](args)
		if err == nil {
			if _, refused := m.timeout(in.Timeout); refused != "" {
				return failed(refused), true
			}
		}
		return failed(noExecution), true
	}
	in, err := decode[deleteArgs](args)
	if err != nil {
		return failed("Error: " + err.Error()), true
	}
	path, err := m.clean(in.Path)
	if err != nil {
		return failed(errorText(deleteName, in.Path.s, err)), true
	}
	return failed(fmt.Sprintf(notSupported, path)), true
}

// clean returns the path that an argument names.
func (m *Middleware) clean(arg text) (string, error) {
	if arg.fault != "" {
		return "", &argError{"the path holds " + arg.fault}
	}
	return m.fs.Clean(arg.s)
}

// root returns the path that an optional argument names, else the working directory.
func (m *Middleware) root(arg *text) (string, error) {
	if arg == nil {
		return m.fs.WorkDir(), nil
	}
	return m.clean(*arg)
}

// fileTool is one of the tools. Its functions get arguments that match the schema.
type fileTool struct {
	spec    tool.Spec
	actions func(args json.RawMessage) ([]policy.Action, error)
	call    func(ctx context.Context, args json.RawMessage) (tool.Result, error)
	log     *slog.Logger
}

// Spec describes the tool.
func (t *fileTool) Spec() tool.Spec { return t.spec }

// Actions names the path or the command of a call.
func (t *fileTool) Actions(_ context.Context, c tool.Call) ([]policy.Action, error) {
	return t.actions(c.Args)
}

// Call runs the tool. A panic of the backend is an error result.
func (t *fileTool) Call(ctx context.Context, c tool.Call) (res tool.Result, err error) {
	defer func() {
		if v := recover(); v != nil {
			t.log.ErrorContext(ctx, "tool panicked", "tool", t.spec.Name, "panic", v)
			res, err = fail(ctx, t.spec.Name, pathOf(c.Args), &panicError{v})
		}
	}()
	return t.call(ctx, c.Args)
}

// pathOf is the path in the arguments as the model typed it.
func pathOf(args json.RawMessage) string {
	in, err := decode[struct {
		File string `json:"file_path"`
		Path string `json:"path"`
	}](args)
	if err != nil {
		return ""
	}
	return in.File + in.Path
}
