package host

import (
	"context"
	"iter"

	"github.com/deepagents-go/deepagents/sandbox"
)

// Output yields the output from an offset; see [sandbox.Process].
func (p *process) Output(ctx context.Context, from int64) iter.Seq2[sandbox.Chunk, error] {
	if p.log == nil {
		return func(func(sandbox.Chunk, error) bool) {}
	}
	return p.log.Chunks(ctx, from)
}
