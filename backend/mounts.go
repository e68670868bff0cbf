package backend

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/policy"
)

// mount is where another driver begins.
type mount struct {
	prefix string
	hidden bool
}

// mounts returns the mounts at or below a directory, hidden ones too, sorted. The root is none.
func (f *FS) mounts(dir string) []mount {
	var out []mount
	collect(f.d, "/", dir, false, 32, &out)
	slices.SortFunc(out, func(a, b mount) int { return strings.Compare(a.prefix, b.prefix) })
	return slices.CompactFunc(out, func(a, b mount) bool { return a.prefix == b.prefix })
}

func collect(d driver.Driver, base, dir string, hidden bool, depth int, out *[]mount) {
	if depth == 0 {
		return
	}
	switch v := d.(type) {
	case driver.Router:
		for _, m := range v.Mounts(dir) {
			below := policy.Below(m.Prefix, dir) || m.Prefix == dir
			if below && m.Prefix != "/" {
				*out = append(*out, mount{driver.Join(base, m.Prefix), hidden || m.Hidden})
			}
			inner := "/"
			if !below {
				inner = driver.Rel(dir, m.Prefix)
			}
			var nested []mount
			collect(m.Driver, driver.Join(base, m.Prefix), inner, hidden || m.Hidden, depth-1, &nested)
			for _, x := range nested {
				if v.Route(driver.Rel(x.prefix, base)).Prefix == m.Prefix { // else another mount covers it
					*out = append(*out, x)
				}
			}
		}
	case driver.Unwrapper:
		collect(v.Unwrap(), base, dir, hidden, depth-1, out)
	}
}

// children tells what the mounts below a directory add to its listing: names of directories to show, and names that mounts cover.
func children(ms []mount, dir string) (show, covered map[string]bool) {
	show, covered = map[string]bool{}, map[string]bool{}
	for _, m := range ms {
		if !policy.Below(m.prefix, dir) {
			continue
		}
		rest := strings.TrimPrefix(driver.Rel(m.prefix, dir), "/")
		name, _, more := strings.Cut(rest, "/")
		if !more {
			covered[name] = true
		}
		if !m.hidden {
			show[name] = true
		}
	}
	return show, covered
}

// partial reports whether a search or a listing goes on without the part of a backend that failed. A refusal is no failure.
func partial(ctx context.Context, err error) bool {
	return ctx.Err() == nil && !errors.Is(err, policy.ErrDenied) && !errors.Is(err, driver.ErrOutside)
}

// leaf returns the mount that serves a path, through nested routers.
func leaf(d driver.Driver, path string) driver.Mount {
	if all := driver.Split(d, path); len(all) > 0 {
		return all[0]
	}
	return driver.Mount{Prefix: "/", Driver: d}
}

// below returns the mounts that lie strictly below a directory.
func below(ms []mount, dir string) []mount {
	return slices.DeleteFunc(slices.Clone(ms), func(m mount) bool { return !policy.Below(m.prefix, dir) })
}
