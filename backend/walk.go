package backend

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/internal/glob"
	"github.com/deepagents-go/deepagents/internal/ignore"
	"github.com/deepagents-go/deepagents/policy"
)

// maxDepth bounds how deep a walk goes, since each level keeps a descriptor open. Deeper directories count as unreadable.
const maxDepth = 512

// found is a file that a walk came by.
type found struct {
	name string
	path string
	// link says that the file is reached through a link and must be opened by its path.
	link bool
}

// walker goes through a subtree in the order of the paths.
type walker struct {
	f   *FS
	ctx context.Context
	// root is where the walk starts.
	root *place
	// match chooses files by their path below root; nil takes all.
	match *glob.Matcher
	// hidden and ignored say what is left out.
	skipHidden, skipIgnored bool
	// links says whether links to files are found, wherever they lead; else only those that lead out of root.
	links bool
	// file is called for each file; it returns false to stop. left is called when a directory has been left.
	file func(at *place, x found) bool
	left func()

	seen                        map[string]bool
	hidden, ignored, unreadable int
	failed                      []RouteError
}

// run walks. It returns false when file stopped it or the context ended.
func (w *walker) run() bool {
	if w.root.failed != nil {
		w.fail(w.root.failed)
	}
	return w.dir(w.root, w.above(), 0)
}

// below is a path relative to the root of the walk.
func (w *walker) below(path string) string {
	if w.root.path == "/" {
		return path[1:]
	}
	return path[len(w.root.path)+1:]
}

// order is the order of the paths below: a directory sorts as if its name ended with a slash.
func order(a, b driver.Info) int {
	x, y := a.Path, b.Path
	n := min(len(x), len(y))
	if c := strings.Compare(x[:n], y[:n]); c != 0 {
		return c
	}
	if a.Kind == driver.Dir {
		x += "/"
	}
	if b.Kind == driver.Dir {
		y += "/"
	}
	return strings.Compare(x, y)
}

func (w *walker) dir(at *place, chain *ignore.Chain, depth int) bool {
	entries, err := at.h.Entries(w.ctx)
	if w.ctx.Err() != nil {
		return false
	}
	if err != nil && !w.fail(err) {
		w.unreadable++
		return true
	}
	slices.SortFunc(entries, order)
	if w.skipIgnored {
		chain = w.push(at, entries, chain)
	}
	for _, e := range entries {
		name := e.Path
		e.Path = at.child(name)
		if e.Kind != driver.Link {
			e.Resolved = e.Path
			if at.resolved != at.path {
				e.Resolved = driver.Join(at.resolved, "/"+name)
			}
		}
		switch e.Kind {
		case driver.Dir:
			if w.enters(e, name, chain) && !w.enter(at, e, name, chain, depth) {
				return false
			}
		case driver.Regular:
			if w.takes(e, name, chain) && !w.file(at, found{name: name, path: e.Path}) {
				return false
			}
		case driver.Link:
			if !w.link(at, e, name, chain) {
				return false
			}
		case driver.Other:
		}
		if w.ctx.Err() != nil {
			return false
		}
	}
	return true
}

// enter walks a directory inside another.
func (w *walker) enter(at *place, e driver.Info, name string, chain *ignore.Chain, depth int) bool {
	if depth == maxDepth {
		w.unreadable++
		return true
	}
	h, err := at.h.Dir(name)
	if err != nil {
		if w.ctx.Err() == nil && !w.fail(err) {
			w.unreadable++
		}
		return w.ctx.Err() == nil
	}
	next := &place{h: h, path: e.Path, resolved: e.Resolved}
	if m, ok := h.(mountRoot); ok {
		next.resolved = m.at.resolved
		if m.at.failed != nil {
			w.fail(m.at.failed)
		}
		chain = nil
	}
	next.hold()
	defer next.release()
	if w.left != nil {
		w.left()
		defer w.left()
	}
	return w.dir(next, chain, depth+1)
}

// fail notes that a part of the backend could not answer. It returns false for every other error.
func (w *walker) fail(err error) bool {
	var r *RouteError
	if !errors.As(err, &r) {
		return false
	}
	if w.f.shows(driver.Info{Path: r.Path}) {
		w.failed = append(w.failed, *r)
	}
	return true
}

// link takes a link that leads to a file. A file is found once: by its own name when that lies below the root of the walk.
func (w *walker) link(at *place, e driver.Info, name string, chain *ignore.Chain) bool {
	if !w.takes(driver.Info{Path: e.Path, Kind: driver.Link}, name, chain) {
		return true
	}
	i, err := w.f.d.Stat(w.ctx, e.Path)
	if err != nil || i.Kind != driver.Regular || !w.readable(i) {
		return true // it leads out, nowhere, or to a directory, which is not entered
	}
	if !w.links {
		if i.Resolved == "" || policy.Below(i.Resolved, w.root.resolved) || w.seen[i.Resolved] {
			return true
		}
		if w.seen == nil {
			w.seen = map[string]bool{}
		}
		w.seen[i.Resolved] = true
	}
	return w.file(at, found{name: name, path: e.Path, link: true})
}

// enters decides about a directory.
func (w *walker) enters(e driver.Info, name string, chain *ignore.Chain) bool {
	if w.match != nil && !w.match.Below(w.below(e.Path)) {
		return false
	}
	named := w.match != nil && !w.match.Bare() // no wildcard enters a hidden directory: the pattern names it
	if w.skipHidden && name[0] == '.' && !named {
		w.hidden++
		return false
	}
	if w.skipIgnored && (name == ".git" && !named || chain.Ignored(e.Path[1:], true)) {
		w.ignored++
		return false
	}
	return w.f.o.Hooks.Visible == nil || w.f.o.Hooks.Visible(e)
}

// takes decides about a file.
func (w *walker) takes(e driver.Info, name string, chain *ignore.Chain) bool {
	if w.match != nil && !w.match.Match(w.below(e.Path)) {
		return false
	}
	if !w.readable(e) {
		return false
	}
	if w.skipHidden && name[0] == '.' && w.match == nil {
		w.hidden++
		return false
	}
	if w.skipIgnored && chain.Ignored(e.Path[1:], false) {
		w.ignored++
		return false
	}
	return true
}

// readable leaves out what rules deny and the Visible hook hides, without a word.
func (w *walker) readable(i driver.Info) bool {
	if w.links { // names only
		return w.f.shows(i)
	}
	if len(w.f.o.Hooks.Rules) > 0 && w.f.guard(policy.Read).Check(i) != nil {
		return false
	}
	return w.f.o.Hooks.Visible == nil || w.f.o.Hooks.Visible(i)
}

// push adds the ignore files of a directory.
func (w *walker) push(at *place, entries []driver.Info, chain *ignore.Chain) *ignore.Chain {
	var git, ign *ignore.File
	for _, e := range entries {
		if e.Kind != driver.Regular {
			continue
		}
		switch e.Path {
		case ".gitignore":
			git = readIgnore(at.h.Open(e.Path))
		case ".ignore":
			ign = readIgnore(at.h.Open(e.Path))
		}
	}
	return chain.Push(at.path[1:], git, ign)
}

// above reads the ignore files of the directories above the root of the walk, as far as the same driver serves them.
func (w *walker) above() *ignore.Chain {
	if !w.skipIgnored || w.root.path == "/" {
		return nil
	}
	top := leaf(w.f.d, w.root.path).Prefix
	var chain *ignore.Chain
	for dir, rest := "/", w.root.path[1:]; dir != w.root.path; {
		if dir == top || policy.Below(dir, top) {
			open := func(name string) *ignore.File {
				rc, i, err := w.f.d.Open(w.ctx, driver.Join(dir, "/"+name), driver.OpenOptions{})
				return readIgnore(rc, i, err)
			}
			chain = chain.Push(dir[1:], open(".gitignore"), open(".ignore"))
		}
		name, tail, _ := strings.Cut(rest, "/")
		dir, rest = driver.Join(dir, "/"+name), tail
	}
	return chain
}

// readIgnore reads an ignore file; one that cannot be read ignores nothing.
func readIgnore(rc io.ReadCloser, _ driver.Info, err error) *ignore.File {
	if err != nil {
		return nil
	}
	defer func() { _ = rc.Close() }() // read only
	b, err := io.ReadAll(io.LimitReader(rc, ignore.MaxSize))
	if err != nil {
		return nil
	}
	return ignore.Parse(b)
}
