package sandbox

import "context"

// Execer is all that a remote provider must write: run one command to its end. No standard input is promised, and output may be
// text only. sandbox/over makes a [Sandbox] of it.
type Execer interface {
	Exec(ctx context.Context, c Command) (Result, error)
}

// Result is a command that has ended, with its output in memory.
type Result struct {
	Exit Exit
	// Output is stdout and stderr in the order they arrived.
	Output []byte
	// Truncated is the number of bytes of output that were not kept.
	Truncated int64
}
