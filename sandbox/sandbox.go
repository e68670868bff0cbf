package sandbox

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/deepagents-go/deepagents/backend/driver"
)

// Sandbox is a place with files and a shell. All methods are safe for concurrent use.
type Sandbox interface {
	driver.Driver
	// ID names the sandbox for as long as it exists.
	ID() string
	// Start starts a command and returns as soon as it runs. The context bounds the start only; [Run] kills the command when
	// its context ends. Failures to start are a [*StartError].
	Start(ctx context.Context, c Command) (Process, error)
	// Policy says what is really enforced.
	Policy() Policy
	// Close ends every process that the sandbox started, background children included, and frees what it holds. It is
	// idempotent.
	Close(ctx context.Context) error
}

// NoTimeout as a Timeout means that the command may run for ever.
const NoTimeout time.Duration = -1

// Command is a command line for the sandbox's shell.
type Command struct {
	// Line is the text for the shell, "/bin/sh -c" in most sandboxes.
	Line string
	// Dir is the working directory as the shell names it; empty means the sandbox's own.
	Dir string
	// Env overlays the sandbox's environment.
	Env map[string]string
	// Timeout ends the command with [Timeout]; 0 means the sandbox's default, [NoTimeout] none.
	Timeout time.Duration
	// Stdin keeps standard input open for [Process.Write]. Without it the command reads end of file at once.
	Stdin bool
}

// Process is a started command: the shell and everything it started.
type Process interface {
	ID() string
	// Output yields the output from an offset (in bytes of both streams together), and goes on while the command runs. It ends
	// when the shell has ended and everything it wrote has been yielded. Output older than the sandbox keeps is reported as one
	// chunk with Skipped set. Any number of readers may range at once; a slow reader does not stall the command.
	Output(ctx context.Context, from int64) iter.Seq2[Chunk, error]
	// Write writes to standard input, and closes it when p is nil. Without Command.Stdin it is an error.
	Write(ctx context.Context, p []byte) (int, error)
	// Signal signals the whole process tree of the command.
	Signal(ctx context.Context, s Signal) error
	// Wait returns when the shell has ended; background children may live on ([Exit.Background]).
	Wait(ctx context.Context) (Exit, error)
	// Close kills the whole tree if it still runs, and frees the process. It is idempotent.
	Close(ctx context.Context) error
}

// Stream says where output came from.
type Stream uint8

// The output streams.
const (
	Stdout Stream = iota + 1
	Stderr
)

// Chunk is a piece of output.
type Chunk struct {
	// Offset is where the chunk begins in the output of both streams together.
	Offset int64
	Stream Stream
	Data   []byte
	// Skipped is the number of bytes between Offset and the next chunk that are no longer kept.
	Skipped int64
}

// Signal is what to send to a process tree.
type Signal uint8

// The signals.
const (
	// Interrupt asks to stop, as Ctrl-C does.
	Interrupt Signal = iota + 1
	// Terminate asks to end.
	Terminate
	// Kill ends without asking.
	Kill
)

// Reason says how a command ended.
type Reason string

// The reasons.
const (
	Exited    Reason = "exit"
	Signaled  Reason = "signal"
	TimedOut  Reason = "timeout"
	OutMemory Reason = "memory"
	OutPids   Reason = "pids"
	Cancelled Reason = "cancelled"
	Lost      Reason = "lost"
)

// Exit is how a command ended.
type Exit struct {
	// Code is the exit code of the shell; minus the number of the signal for [Signaled], 124 for [TimedOut], -1 when it is not
	// known ([Lost], [Cancelled]).
	Code   int
	Reason Reason
	// Background counts processes of the command that still run.
	Background int
	// Duration is how long the shell ran.
	Duration time.Duration
}

// Policy is what a sandbox enforces. The zero value enforces nothing.
type Policy struct {
	// Level names the mechanism: "none", "landlock", "namespaces", "gvisor", "remote", ...
	Level string
	// Files says that commands see no files but the sandbox's own.
	Files bool
	// Network says that commands reach no network but what was allowed.
	Network bool
	// Rules says that path rules hold for commands too.
	Rules bool
	// Limits maps each limit that was asked for ("memory", "pids", "cpu", ...) to whether it is enforced.
	Limits map[string]bool
}

// Confined reports whether a command can touch neither foreign files nor the network.
func (p Policy) Confined() bool { return p.Files && p.Network }

// StartKind names why a command could not be started.
type StartKind string

// The kinds of start failures.
const (
	WorkingDirectoryNotFound StartKind = "WorkingDirectoryNotFound"
	PermissionDenied         StartKind = "PermissionDenied"
	InvalidCommand           StartKind = "InvalidCommand"
	StartFailed              StartKind = "StartFailed"
	SandboxLost              StartKind = "SandboxLost"
)

// StartError says why a command could not be started. It never did anything.
type StartError struct {
	Kind StartKind
	Err  error
}

// Error returns "WorkingDirectoryNotFound: ...".
func (e *StartError) Error() string { return fmt.Sprintf("%s: %v", e.Kind, e.Err) }

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }

// ErrClosed is the error of a sandbox or a process that was closed.
var ErrClosed = errors.New("sandbox closed")
