package backend

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/deepagents-go/deepagents/backend/driver"
)

// List returns the entries of a directory: files, directories and links that lead to one of them. What cannot be described is
// counted, what rules or the Visible hook hide is left out. A file is [driver.ErrNotDir].
func (f *FS) List(ctx context.Context, dir string) (l Listing, err error) {
	err = f.do(ctx, "list", dir, func(p string) error {
		if err := f.listable(driver.Info{Path: p}); err != nil {
			return err
		}
		l, err = f.list(ctx, p)
		return err
	})
	if err != nil {
		return Listing{}, err
	}
	return l, nil
}

func (f *FS) list(ctx context.Context, dir string) (Listing, error) {
	var l Listing
	show, covered := children(f.mounts(dir), dir)
	for i, err := range f.d.List(ctx, dir, driver.ListOptions{Stat: true}) {
		if ctx.Err() != nil {
			break
		}
		switch {
		case err != nil && i.Path == "" && errors.Is(err, fs.ErrNotExist) && len(show) > 0:
			// a directory that only holds mounts
		case err != nil && i.Path == "" && len(show) > 0 && partial(ctx, err):
			l.Failed = append(l.Failed, RouteError{dir, err})
		case err != nil && i.Path == "":
			return Listing{}, err
		case err != nil:
			if f.shows(i) {
				l.Unreadable++
			}
		case covered[i.Path[strings.LastIndexByte(i.Path, '/')+1:]]:
		case i.Kind == driver.Other, i.Kind == driver.Link && i.TargetKind == driver.Other:
		case f.shows(i):
			l.Entries = append(l.Entries, i)
		}
	}
	if err := ctx.Err(); err != nil {
		return Listing{}, driver.Wrap("list", dir, err)
	}
	for name := range show {
		p := driver.Join(dir, "/"+name)
		i := driver.Info{Path: p, Resolved: p, Kind: driver.Dir}
		known := slices.ContainsFunc(l.Entries, func(e driver.Info) bool { return e.Path == p && e.IsDir() })
		if !known && f.shows(i) {
			l.Entries = append(l.Entries, i)
		}
	}
	slices.SortStableFunc(l.Entries, func(a, b driver.Info) int { return strings.Compare(a.Path, b.Path) })
	return l, nil
}
