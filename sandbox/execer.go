package sandbox

import (
	"context"
	"time"
)

// Execer is all that a remote provider must write: run one command to its end. No standard input is promised, and output may be
// text only. sandbox/over makes a [Sandbox] of it.
type Execer interface {
	Exec(ctx context.Context, c Command) (Result, error)
}

// Result is a command that has ended, with its output in memory.
type Result struct {
	Exit Exit
	// Output is stdout and stderr in the order they arrived, without what was not kept.
	Output []byte
	// Spans divide Output into its streams and say where bytes are missing. Nil means that all of Output is stdout, and that
	// the Truncated bytes are missing at its end.
	Spans []Span
	// Truncated is the number of bytes of output that were not kept.
	Truncated int64
	// Spilled is the number of bytes that were written to RunOptions.Spill: everything from the first byte, up to its bound.
	Spilled int64
	// SpillErr says why spilling stopped early.
	SpillErr error
	// Limit is the time limit that the command had (0 means none is known), and Custom says that the command brought it itself.
	Limit  time.Duration
	Custom bool
}

// Span is a run of bytes of one stream in Result.Output.
type Span struct {
	Stream Stream
	Len    int
	// Skipped is the number of bytes of this stream that are missing after the run.
	Skipped int64
}

// Stdout returns what was kept of standard output.
func (r Result) Stdout() []byte { return r.stream(Stdout) }

// Stderr returns what was kept of standard error.
func (r Result) Stderr() []byte { return r.stream(Stderr) }

func (r Result) stream(s Stream) []byte {
	if r.Spans == nil {
		if s == Stdout {
			return r.Output
		}
		return nil
	}
	var out []byte
	at := 0
	for _, sp := range r.Spans {
		if sp.Stream == s {
			out = append(out, r.Output[at:at+sp.Len]...)
		}
		at += sp.Len
	}
	return out
}
