package kv

import (
	"context"
	"io"
	"io/fs"
	"strings"

	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/store"
)

// keepBytes bounds the contents that a search keeps from its listing. What is beyond is read again when it is opened.
const keepBytes = 32 << 20

var _ driver.Tree = (*FS)(nil)

// OpenDir reads the files below a directory at once, contents included, so that a search costs a few round trips and not one for
// each file.
func (d *FS) OpenDir(ctx context.Context, dir string) (driver.DirHandle, driver.Info, error) {
	h, err := d.openDir(ctx, dir)
	if err != nil {
		return nil, driver.Info{}, driver.Wrap("search", dir, err)
	}
	return h, dirInfo(dir), nil
}

func (d *FS) openDir(ctx context.Context, dir string) (*node, error) {
	a, err := d.area(ctx)
	if err != nil {
		return nil, err
	}
	if dir != "/" {
		switch _, ok, err := a.get(ctx, dir, store.GetOptions{KeepTTL: true}); {
		case err != nil:
			return nil, err
		case ok:
			return nil, driver.ErrNotDir
		}
	}
	root := &node{reopen: func(p string) (io.ReadCloser, driver.Info, error) { return d.Open(ctx, p, driver.OpenOptions{}) }}
	kept, found := 0, false
	for f, err := range a.files(ctx, dir) {
		if err != nil {
			return nil, err
		}
		found = true
		keep := f.bad == nil && kept+len(f.body) <= keepBytes
		if keep {
			kept += len(f.body)
		}
		root.add(driver.Rel(f.Path, dir)[1:], f, keep)
	}
	if !found && dir != "/" {
		return nil, fs.ErrNotExist
	}
	return root, nil
}

// node is a directory of a tree.
type node struct {
	files  map[string]*leaf
	dirs   map[string]*node
	reopen func(p string) (io.ReadCloser, driver.Info, error)
}

// leaf is a file of a tree; one that is not kept has no body here.
type leaf struct {
	info driver.Info
	body string
	kept bool
}

func (n *node) add(rel string, f entry, keep bool) {
	for {
		name, rest, deeper := strings.Cut(rel, "/")
		if !deeper {
			break
		}
		next := n.dirs[name]
		if next == nil {
			next = &node{reopen: n.reopen}
			if n.dirs == nil {
				n.dirs = make(map[string]*node)
			}
			n.dirs[name] = next
		}
		n, rel = next, rest
	}
	l := &leaf{info: f.Info, kept: keep}
	if keep {
		l.body = f.body
	}
	if n.files == nil {
		n.files = make(map[string]*leaf)
	}
	n.files[rel] = l
}

// Entries implements [driver.DirHandle].
func (n *node) Entries(ctx context.Context) ([]driver.Info, error) {
	out := make([]driver.Info, 0, len(n.files)+len(n.dirs))
	for name := range n.files {
		out = append(out, driver.Info{Path: name, Kind: driver.Regular})
	}
	for name := range n.dirs {
		out = append(out, driver.Info{Path: name, Kind: driver.Dir})
	}
	return out, ctx.Err()
}

// Dir implements [driver.DirHandle].
func (n *node) Dir(name string) (driver.DirHandle, error) {
	if d := n.dirs[name]; d != nil {
		return d, nil
	}
	return nil, fs.ErrNotExist
}

// Open implements [driver.DirHandle].
func (n *node) Open(name string) (io.ReadCloser, driver.Info, error) {
	l := n.files[name]
	switch {
	case l == nil:
		return nil, driver.Info{}, fs.ErrNotExist
	case l.kept:
		return body{strings.NewReader(l.body)}, l.info, nil
	}
	return n.reopen(l.info.Path)
}

// Close implements [driver.DirHandle].
func (*node) Close() error { return nil }
