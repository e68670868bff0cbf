package backend

import (
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"sync"

	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/internal/glob"
	"github.com/deepagents-go/deepagents/internal/textio"
	"github.com/deepagents-go/deepagents/policy"
)

// Grep returns the lines that hold a literal text, in the order of paths and lines. Binary files (a NUL in the first 8 KiB), hidden
// names and what ignore files leave out are skipped and counted, unless the query asks for them, names them, or starts there. When
// GrepTime ends, what was found so far is returned as truncated. A missing path is [io/fs.ErrNotExist].
func (f *FS) Grep(ctx context.Context, q GrepQuery) (r GrepResult, err error) {
	err = f.do(ctx, "grep", q.Path, func(p string) error {
		var m *glob.Matcher
		if q.Glob != "" {
			if m, err = glob.Compile(q.Glob); err != nil {
				return err
			}
		}
		if err := f.allowed(policy.Read, p); err != nil {
			return err
		}
		r, err = f.grep(ctx, p, m, q)
		return err
	})
	if err != nil {
		return GrepResult{}, err
	}
	return r, nil
}

func (f *FS) grep(ctx context.Context, p string, m *glob.Matcher, q GrepQuery) (GrepResult, error) {
	limited, cancel := context.WithTimeout(ctx, f.o.GrepTime)
	defer cancel()
	s := &search{f: f, ctx: limited, cancel: cancel, text: []byte(q.Text), max: q.Max}
	i, err := f.d.Stat(limited, p)
	switch {
	case err == nil && !i.IsDir():
		err = s.one(p, m)
	case err == nil || len(below(f.mounts(p), p)) > 0:
		err = s.tree(p, m, q)
	}
	if err != nil && (limited.Err() == nil || ctx.Err() != nil) {
		return GrepResult{}, driver.Wrap("grep", p, err)
	}
	if err := ctx.Err(); err != nil {
		return GrepResult{}, driver.Wrap("grep", p, err)
	}
	if limited.Err() != nil {
		s.out.Truncated = true
	}
	if q.Max > 0 && len(s.out.Matches) > q.Max {
		s.out.Matches, s.out.Truncated = s.out.Matches[:q.Max], true
	}
	return s.out, nil
}

// search is one grep.
type search struct {
	f      *FS
	ctx    context.Context
	cancel context.CancelFunc
	text   []byte
	max    int
	out    GrepResult
}

// one searches a file that was named: hidden or ignored does not matter.
func (s *search) one(p string, m *glob.Matcher) error {
	if m != nil && !m.Match(p[strings.LastIndexByte(p, '/')+1:]) {
		return nil
	}
	open := func() (io.ReadCloser, driver.Info, error) {
		return s.f.d.Open(s.ctx, p, driver.OpenOptions{Guard: s.f.guard(policy.Read)})
	}
	rc, i, err := open()
	if err != nil {
		return err
	}
	g := newGrepper(s.ctx, s.text, s.max)
	matches, binary, err := g.file(p, rc, i.Size, open)
	if binary {
		s.out.Binary++
	}
	s.out.Matches = matches
	return err
}

// batch is a run of files of one directory, searched by one worker.
type batch struct {
	at    *place
	files []found
	done  chan struct{}

	matches            []Match
	binary, unreadable int
}

const (
	batchFiles = 32
	// queue bounds how far the walker runs ahead of the workers.
	queue      = 64
	maxWorkers = 12
)

// tree searches a directory. One goroutine walks in the order of the paths, workers search runs of files, and their results are taken
// in the order of the walk: the same matches survive a cap, however fast each worker was.
func (s *search) tree(dir string, m *glob.Matcher, q GrepQuery) error {
	root, err := s.f.openPlace(s.ctx, dir)
	if errors.Is(err, driver.ErrNotDir) {
		return s.one(dir, m)
	}
	if err != nil {
		return err
	}
	defer root.release()
	if err := s.f.guard(policy.Read).Check(driver.Info{Path: dir, Resolved: root.resolved}); err != nil {
		return err
	}
	work, ordered := make(chan *batch, queue), make(chan *batch, queue)
	w := &walker{f: s.f, ctx: s.ctx, root: root, match: m, skipHidden: !q.Hidden, skipIgnored: !q.NoIgnore}
	var wg sync.WaitGroup
	var caught panics
	wg.Go(func() {
		defer close(work)
		defer close(ordered)
		defer caught.catch(s.cancel)
		s.walk(w, work, ordered)
	})
	for range min(max(runtime.GOMAXPROCS(0), 2), maxWorkers) {
		wg.Go(func() {
			g := newGrepper(s.ctx, s.text, s.max)
			for b := range work {
				s.batch(g, b, &caught)
			}
		})
	}
	for b := range ordered {
		<-b.done
		s.take(b)
	}
	wg.Wait()
	caught.rethrow()
	s.out.Hidden, s.out.Ignored, s.out.Failed = w.hidden, w.ignored, w.failed
	s.out.Unreadable += w.unreadable
	return nil
}

// walk sends the files to the workers.
func (s *search) walk(w *walker, work, ordered chan<- *batch) {
	var b *batch
	defer func() {
		if b != nil { // a panic left it behind
			b.at.release()
		}
	}()
	flush := func() {
		if b == nil {
			return
		}
		ordered <- b
		work <- b
		b = nil
	}
	w.left = flush
	w.file = func(at *place, x found) bool {
		if b == nil {
			b = &batch{at: at.hold(), done: make(chan struct{})}
		}
		if b.files = append(b.files, x); len(b.files) == batchFiles {
			flush()
		}
		return s.ctx.Err() == nil
	}
	w.run()
	flush()
}

func (s *search) batch(g *grepper, b *batch, caught *panics) {
	defer close(b.done)
	defer b.at.release()
	defer caught.catch(s.cancel)
	for _, x := range b.files {
		if s.ctx.Err() != nil {
			return
		}
		open := func() (io.ReadCloser, driver.Info, error) {
			if x.link {
				return s.f.d.Open(s.ctx, x.path, driver.OpenOptions{Guard: s.f.guard(policy.Read)})
			}
			return b.at.h.Open(x.name)
		}
		rc, i, err := open()
		if err != nil {
			b.unreadable++
			continue
		}
		matches, binary, err := g.file(x.path, rc, i.Size, open)
		switch {
		case binary:
			b.binary++
		case err != nil && s.ctx.Err() == nil:
			b.unreadable++
		}
		b.matches = append(b.matches, matches...)
		if s.max > 0 && len(b.matches) > s.max {
			return
		}
	}
}

// take adds the results of a batch until there are more than the cap.
func (s *search) take(b *batch) {
	if s.max > 0 && len(s.out.Matches) > s.max {
		return
	}
	s.out.Matches = append(s.out.Matches, b.matches...)
	s.out.Binary += b.binary
	s.out.Unreadable += b.unreadable
	if s.max > 0 && len(s.out.Matches) > s.max {
		s.out.Truncated = true
		s.cancel() // also ends the walk
	}
}

// MaxMatchLine is the length in bytes of the longest line that a [Match] shows whole. Of a longer one it shows at most 500 bytes
// around the first occurrence, with "…" where something is left out.
const MaxMatchLine = 2000

const (
	matchBefore = 200
	matchAfter  = 300
)

// cutLine returns what a match shows of a line: b holds what is known of it, with its head and its tail or without, at is the
// occurrence.
func cutLine(b []byte, at int, head, tail bool) string {
	if len(b) <= MaxMatchLine && head && tail {
		s, _ := textio.Display(b)
		return s
	}
	from, to := max(0, at-matchBefore), min(len(b), at+matchAfter)
	for from > 0 && from < at && b[from]&0xc0 == 0x80 {
		from++
	}
	for to < len(b) && to > at && b[to]&0xc0 == 0x80 {
		to--
	}
	s, _ := textio.Display(b[from:to])
	if from > 0 || !head {
		s = "…" + s
	}
	if to < len(b) || !tail {
		s += "…"
	}
	return s
}
