package backend

import (
	"context"
	"errors"

	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/internal/glob"
)

// Glob returns the files whose path below a directory matches a pattern, sorted. Directories that are links are not entered; a link
// to a file is listed under its own name. When GlobTime ends, what was found so far is returned as truncated. A missing directory is
// [io/fs.ErrNotExist], a Dir that is a file matches nothing, and a refused pattern is an error that says why.
func (f *FS) Glob(ctx context.Context, q GlobQuery) (r GlobResult, err error) {
	err = f.do(ctx, "glob", q.Dir, func(dir string) error {
		m, err := glob.Compile(q.Pattern)
		if err != nil {
			return err
		}
		if err := f.listable(driver.Info{Path: dir}); err != nil {
			return err
		}
		r, err = f.glob(ctx, dir, m, q.Max)
		return err
	})
	if err != nil {
		return GlobResult{}, err
	}
	return r, nil
}

func (f *FS) glob(ctx context.Context, dir string, m *glob.Matcher, max int) (GlobResult, error) {
	limited, cancel := context.WithTimeout(ctx, f.o.GlobTime)
	defer cancel()
	var r GlobResult
	root, err := f.openPlace(limited, dir)
	switch {
	case errors.Is(err, driver.ErrNotDir):
		return r, nil
	case err != nil && limited.Err() != nil && ctx.Err() == nil:
		return GlobResult{Truncated: true}, nil
	case err != nil:
		return r, err
	}
	defer root.release()
	if err := f.listable(driver.Info{Path: dir, Resolved: root.resolved}); err != nil {
		return r, err
	}
	w := &walker{f: f, ctx: limited, root: root, match: m, links: true}
	w.file = func(_ *place, x found) bool {
		if max > 0 && len(r.Paths) == max {
			r.Truncated = true
			return false
		}
		r.Paths = append(r.Paths, x.path)
		return true
	}
	if !w.run() && !r.Truncated {
		if err := ctx.Err(); err != nil {
			return GlobResult{}, driver.Wrap("glob", dir, err)
		}
		r.Truncated = true
	}
	r.Unreadable, r.Failed = w.unreadable, w.failed
	return r, nil
}
