package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/deepagents-go/deepagents/agent"
)

// Serve serves the tools until the client closes its side or the context ends, and returns when nothing of it runs any more:
// calls in flight are cancelled, which kills their process trees. The end of the client is no error; the end of the context is
// its cause. One second is given to answer what was asked before the client closed its side.
//
// A line that is no message is answered with an error and does no harm. The toolset and what it uses are not closed.
func Serve(ctx context.Context, ts *agent.Toolset, o Options) error {
	if (o.In == nil) != (o.Out == nil) {
		return errors.New("mcp: give Options.In and Options.Out, or none of them")
	}
	srv, err := NewServer(ts, o)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	in, out := o.In, o.Out
	if in == nil {
		std, err := takeStdio()
		if err != nil {
			return fmt.Errorf("mcp: standard input and output: %w", err)
		}
		defer std.release()
		in, out = std.in(), std.out()
	}
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	c := newConn(in, out, log)
	stop := context.AfterFunc(ctx, func() { c.Close() }) //nolint:errcheck,gosec // it has no error
	defer stop()
	ss, err := srv.Connect(context.WithoutCancel(ctx), c, nil)
	if err == nil {
		err = ss.Wait()
	}
	c.Close() //nolint:errcheck,gosec // it has no error
	c.join()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("mcp: connection: %w", err)
	}
	return nil
}
