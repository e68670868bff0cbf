package filesystem

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"time"

	"github.com/deepagents-go/deepagents/backend"
	"github.com/deepagents-go/deepagents/tool"
)

const (
	tooManyGlobs = "Error: too many glob calls are already running. Try again later with a more specific pattern or a narrower path."
	globCut      = "Note: the search stopped early because it hit its time or size limit. The paths above exist, but there may be more: use a more specific pattern or a narrower path."
	globHoles    = "Note: some directories could not be read, so files below them are missing here. A narrower search will not change that; say so instead of trying again."
)

func (m *Middleware) glob(ctx context.Context, args json.RawMessage) (tool.Result, error) {
	in, err := decode[globArgs](args)
	if err != nil {
		return tool.Result{}, err
	}
	dir, err := m.root(in.Path)
	if err != nil {
		return fail(ctx, globName, in.Path.s, err)
	}
	if in.Pattern.fault != "" {
		return failed("Error: the pattern holds " + in.Pattern.fault), nil
	}
	select {
	case m.globs <- struct{}{}:
	default:
		return failed(tooManyGlobs), nil
	}
	// The place is free again when the search has really ended, not when its caller has gone.
	free := func() { <-m.globs }
	r, err := within(ctx, m.o.GlobTimeout, free, func(ctx context.Context) (backend.GlobResult, error) {
		return m.fs.Glob(ctx, backend.GlobQuery{Pattern: in.Pattern.s, Dir: dir})
	})
	switch {
	case errors.Is(err, fs.ErrNotExist) && m.compat():
		return tool.Text(noFiles), nil
	case errors.Is(err, errDeadline):
		return failed(fmt.Sprintf("Error: glob timed out after %ss. Try a more specific pattern or a narrower path.", tenths(m.o.GlobTimeout))), nil
	case err != nil:
		return fail(ctx, globName, dir, err)
	}
	if m.compat() && len(r.Failed) > 0 {
		return failed("Error: " + reasonOf(r.Failed[0].Err)), nil
	}
	if m.compat() {
		r.Paths = m.resolved(ctx, r.Paths)
	}
	out := m.o.PathList.render(r.Paths)
	if r.Truncated {
		out += "\n\n" + globCut
	}
	if r.Unreadable > 0 {
		out += "\n\n" + globHoles
	}
	out += failedRoutes(r.Failed)
	return tool.Text(out), nil
}

// resolved returns where each path leads, as the older form shows links.
func (m *Middleware) resolved(ctx context.Context, paths []string) []string {
	out := make([]string, len(paths))
	for i, p := range paths {
		out[i] = p
		if info, err := m.fs.Stat(ctx, p); err == nil && info.Resolved != "" {
			out[i] = info.Resolved
		}
	}
	slices.Sort(out)
	return out
}

// tenths prints seconds with at least one digit after the point: "10.0".
func tenths(d time.Duration) string {
	s := seconds(d)
	if d%time.Second == 0 {
		s += ".0"
	}
	return s
}

// seconds prints a duration as seconds: "35", "0.5".
func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }

// within runs a search that has to answer within d. A search that does not is left alone with a context that has ended, and the
// error is errDeadline. free is called when the search has ended.
func within[T any](ctx context.Context, d time.Duration, free func(), search func(context.Context) (T, error)) (T, error) {
	type answer struct {
		v   T
		err error
	}
	limited, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	done := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			if v := recover(); v != nil {
				a.err = &panicError{v}
			}
			free() // before the answer, so that the next call finds the place
			done <- a
		}()
		a.v, a.err = search(limited)
	}()
	var zero T
	select {
	case a := <-done:
		if a.err != nil && limited.Err() != nil && ctx.Err() == nil && errors.Is(a.err, context.DeadlineExceeded) {
			return zero, errDeadline
		}
		return a.v, a.err
	case <-limited.Done():
		if ctx.Err() != nil {
			return zero, ctx.Err()
		}
		return zero, errDeadline
	}
}
