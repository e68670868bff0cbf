package host

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/internal/proc"
	"github.com/deepagents-go/deepagents/sandbox"
)

// Defaults of [Options].
const (
	DefaultShell      = "/bin/sh"
	DefaultTimeout    = 120 * time.Second
	DefaultKeepOutput = 1 << 20
)

// Options are the options of [New]. The zero value is right for a driver on a directory of this machine.
type Options struct {
	// Dir is the working directory of commands. Empty means the driver's own, if it has one ([driver.Located]); a relative one
	// is taken from this program's. It need not exist until a command starts.
	Dir string
	// Shell is the program that gets "-c" and the command line, a path or a name to look up in PATH; empty means [DefaultShell].
	Shell string
	// Timeout is the time limit of commands without one; 0 means [DefaultTimeout], [sandbox.NoTimeout] none.
	Timeout time.Duration
	// Env is set for every command, over what it gets from this program: the names of [sandbox.HostEnv] as far as they are set.
	Env map[string]string
	// InheritEnv passes on this program's whole environment, but for what looks like a secret. It is logged as a warning.
	InheritEnv bool
	// EmptyEnv passes on nothing but Env.
	EmptyEnv bool
	// AllowSecretEnv lists names that may be passed although they look like a secret ([sandbox.LooksSecret]).
	AllowSecretEnv []string
	// MaxOutput is the number of characters of output that a model should see; 0 means [sandbox.DefaultMaxOutput]. It is told by
	// Defaults.
	MaxOutput int
	// KeepOutput is how many bytes a process keeps for Output, half of them from the beginning and half from the end; 0 means
	// [DefaultKeepOutput]. Output of [sandbox.Run] is bounded by its own options.
	KeepOutput int
	// Grace is the time between SIGTERM and SIGKILL at a time limit or a cancel; 0 kills at once.
	Grace time.Duration
	// NoWatchdog leaves out the small shell process, one for each Host that has run a command, that kills its process trees
	// when this program is killed. It exists on Linux only.
	NoWatchdog bool
	// Logger gets warnings; nil is silent.
	Logger *slog.Logger
}

// Host is a [sandbox.Sandbox] without walls: the files of a driver and the shell of this machine. Close it: background processes
// live until then, and no finalizer does it.
type Host struct {
	driver.Driver
	o     Options
	id    string
	env   map[string]string
	marks *proc.Marks

	mu       sync.Mutex
	closed   bool
	n        int
	procs    map[*process]struct{}
	sweepAt  int
	watchdog *proc.Watchdog
	watched  bool
	starting sync.WaitGroup
}

var (
	_ sandbox.Sandbox   = (*Host)(nil)
	_ sandbox.Tapper    = (*Host)(nil)
	_ sandbox.Defaulter = (*Host)(nil)
	_ driver.Unwrapper  = (*Host)(nil)
)

// New makes a Host of a driver. Nothing is started before the first command.
func New(drv driver.Driver, o Options) (*Host, error) {
	if drv == nil {
		return nil, errors.New("host: a driver is needed")
	}
	if err := checkTimeout(o.Timeout); err != nil {
		return nil, err
	}
	switch {
	case o.Grace < 0:
		return nil, fmt.Errorf("host: grace must not be negative, got %s", o.Grace)
	case o.MaxOutput < 0:
		return nil, fmt.Errorf("host: max output must not be negative, got %d", o.MaxOutput)
	case o.KeepOutput < 0:
		return nil, fmt.Errorf("host: kept output must not be negative, got %d", o.KeepOutput)
	case o.InheritEnv && o.EmptyEnv:
		return nil, errors.New("host: InheritEnv and EmptyEnv exclude each other")
	}
	if err := sandbox.CheckEnv(o.Env, o.AllowSecretEnv); err != nil {
		return nil, fmt.Errorf("host: %w", err)
	}
	o.Shell = cmp.Or(o.Shell, DefaultShell)
	if filepath.Base(o.Shell) == o.Shell {
		path, err := exec.LookPath(o.Shell)
		if err != nil {
			return nil, fmt.Errorf("host: shell: %w", err)
		}
		o.Shell = path
	}
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.MaxOutput = cmp.Or(o.MaxOutput, sandbox.DefaultMaxOutput)
	o.KeepOutput = cmp.Or(o.KeepOutput, DefaultKeepOutput)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	dir, err := workDir(drv, o.Dir)
	if err != nil {
		return nil, err
	}
	o.Dir = dir
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	h := &Host{Driver: drv, o: o, id: "local-" + hex.EncodeToString(b[:]), marks: proc.NewMarks(), procs: map[*process]struct{}{}}
	h.env = h.baseEnv()
	return h, nil
}

// checkTimeout accepts 0 (the default), [sandbox.NoTimeout] and everything positive.
func checkTimeout(d time.Duration) error {
	if d < 0 && d != sandbox.NoTimeout {
		return fmt.Errorf("timeout must be positive, got %g", d.Seconds())
	}
	return nil
}

// workDir finds the directory that commands start in.
func workDir(drv driver.Driver, dir string) (string, error) {
	if dir == "" {
		loc, _, _, ok := driver.As[driver.Located](drv, "/")
		if ok {
			dir, ok = loc.Locate(loc.WorkDir())
		}
		if !ok {
			return "", errors.New("host: Dir is needed: the driver has no directory on this machine")
		}
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("host: %w", err)
	}
	return abs, nil
}

// baseEnv is what every command gets, before its own variables.
func (h *Host) baseEnv() map[string]string {
	env := map[string]string{}
	switch {
	case h.o.EmptyEnv:
	case h.o.InheritEnv:
		var dropped []string
		for _, kv := range os.Environ() {
			name, value, ok := strings.Cut(kv, "=")
			switch {
			case !ok || name == "":
			case sandbox.LooksSecret(name, value) && !slices.Contains(h.o.AllowSecretEnv, name):
				dropped = append(dropped, name)
			default:
				env[name] = value
			}
		}
		slices.Sort(dropped)
		h.o.Logger.Warn("commands inherit the environment of this program", "sandbox", h.id, "withheld", dropped)
	default:
		for _, name := range sandbox.HostEnv() {
			if value, ok := os.LookupEnv(name); ok {
				env[name] = value
			}
		}
	}
	maps.Copy(env, h.o.Env)
	return env
}

// Unwrap returns the driver, so that its capabilities are found.
func (h *Host) Unwrap() driver.Driver { return h.Driver }

// ID returns "local-" and eight hexadecimal digits, new for every Host.
func (h *Host) ID() string { return h.id }

// Dir returns the working directory of commands.
func (h *Host) Dir() string { return h.o.Dir }

// Policy says that nothing is enforced.
func (h *Host) Policy() sandbox.Policy { return sandbox.Policy{Level: "none"} }

// Defaults returns the time limit, the grace and the output limit of the options.
func (h *Host) Defaults() sandbox.Defaults {
	return sandbox.Defaults{Timeout: h.o.Timeout, Grace: h.o.Grace, MaxOutput: h.o.MaxOutput}
}

// Start starts a command; see [sandbox.Sandbox]. A relative Command.Dir is taken from the sandbox's own.
func (h *Host) Start(ctx context.Context, c sandbox.Command) (sandbox.Process, error) {
	return h.start(ctx, c, nil)
}

// StartTap starts a command with its output going to tap; see [sandbox.Tapper].
func (h *Host) StartTap(ctx context.Context, c sandbox.Command, tap func(sandbox.Stream, []byte)) (sandbox.Process, error) {
	return h.start(ctx, c, tap)
}

func (h *Host) start(ctx context.Context, c sandbox.Command, tap func(sandbox.Stream, []byte)) (sandbox.Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	spec, err := h.spec(c)
	if err != nil {
		return nil, err
	}
	id, err := h.begin()
	if err != nil {
		return nil, err
	}
	defer h.starting.Done()
	p, err := launch(ctx, h, id, spec, c, tap)
	if err != nil {
		return nil, startError(spec, err)
	}
	h.mu.Lock()
	h.procs[p] = struct{}{}
	h.mu.Unlock()
	p.follow(cmp.Or(c.Timeout, h.o.Timeout))
	return p, nil
}

// begin counts a start in, so that Close waits for it, and gives it a name.
func (h *Host) begin() (string, error) {
	h.sweep()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return "", &sandbox.StartError{Kind: sandbox.SandboxLost, Err: sandbox.ErrClosed}
	}
	if !h.watched && !h.o.NoWatchdog {
		h.watched = true
		w, err := proc.StartWatchdog(h.marks)
		if err != nil {
			h.o.Logger.Warn("commands outlive this program when it is killed", "sandbox", h.id, "error", err)
		}
		h.watchdog = w
	}
	h.n++
	h.starting.Add(1)
	return fmt.Sprintf("%s-%d", h.id, h.n), nil
}

// sweep lets go of commands whose background processes have ended by themselves. It looks only when their number has doubled.
func (h *Host) sweep() {
	h.mu.Lock()
	var idle []*process
	if len(h.procs) > max(2*h.sweepAt, 16) {
		for p := range h.procs {
			if p.tapped() && p.ended() {
				idle = append(idle, p)
			}
		}
	}
	h.mu.Unlock()
	if idle == nil {
		return
	}
	for _, p := range idle {
		if p.tree.Live() == 0 {
			_ = p.Close(context.Background())
		}
	}
	h.mu.Lock()
	h.sweepAt = len(h.procs)
	h.mu.Unlock()
}

func (h *Host) forget(p *process) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.procs, p)
}

// Close kills every process that was started here, background processes too, and waits until they are gone. The driver stays open.
func (h *Host) Close(ctx context.Context) error {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.starting.Wait()
	h.mu.Lock()
	procs := slices.Collect(maps.Keys(h.procs))
	watchdog := h.watchdog
	h.watchdog = nil
	h.mu.Unlock()
	errs := make([]error, len(procs))
	var wg sync.WaitGroup
	for i, p := range procs {
		wg.Go(func() { errs[i] = p.Close(ctx) })
	}
	wg.Wait()
	if watchdog != nil {
		errs = append(errs, watchdog.Stop())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close %s: %w", h.id, err)
	}
	return nil
}
