package threadtest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/deepagents-go/deepagents/thread"
	"pgregory.net/rapid"
)

// model is the plainest store there is: every question is answered by going through all records.
type model struct {
	records  []thread.Record
	seq      int64
	branches map[thread.ID]modelBranch
	head     thread.ID
}

type modelBranch struct {
	parent thread.ID
	fork   int64
	gone   bool
}

// visible returns the records that a branch sees.
func (m *model) visible(b thread.ID) []thread.Record {
	limit := map[thread.ID]int64{b: m.seq}
	for at, top := b, m.seq; m.branches[at].parent != ""; at = m.branches[at].parent {
		top = min(top, m.branches[at].fork)
		limit[m.branches[at].parent] = top
	}
	var rs []thread.Record
	for _, r := range m.records {
		if r.Seq <= limit[r.Branch] {
			rs = append(rs, r)
		}
	}
	return rs
}

// end is the Seq of the last record of a branch, which pruning never changes.
func (m *model) end(b thread.ID) int64 {
	end := m.branches[b].fork
	for _, r := range m.records {
		if r.Branch == b {
			end = r.Seq
		}
	}
	return end
}

func inNS(q thread.Query, ns string) bool {
	return ns == q.NS || q.Prefix && (q.NS == "" || strings.HasPrefix(ns, q.NS+"/"))
}

func newest(rs []thread.Record, q thread.Query) *thread.Record {
	var s *thread.Record
	for i, r := range rs {
		if r.Kind == thread.KindSnapshot && inNS(q, r.NS) && r.Seq > q.After {
			s = &rs[i]
		}
	}
	return s
}

func (m *model) read(q thread.Query) []thread.Record {
	b := q.Branch
	if b == "" {
		b = m.head
	}
	rs := m.visible(b)
	var out []thread.Record
	after := q.After
	if s := newest(rs, q); s != nil && q.FromSnapshot {
		out = append(out, *s)
		after = max(after, s.Base)
	}
	for _, r := range rs {
		ok := r.Seq > after && inNS(q, r.NS) && (len(q.Kinds) == 0 || slices.Contains(q.Kinds, r.Kind))
		if ok && (!q.FromSnapshot || r.Kind != thread.KindSnapshot) {
			out = append(out, r)
		}
	}
	if q.Reverse {
		slices.Reverse(out)
	}
	return out
}

func (m *model) prune() {
	rs := m.visible(m.head)
	s := newest(rs, thread.Query{})
	if s == nil {
		return
	}
	removed := make(map[int64]bool)
	for _, r := range rs {
		if r.Seq <= s.Base && r.Kind != thread.KindRunStarted {
			removed[r.Seq] = true
		}
	}
	needed := make(map[int64]bool)
	for name, b := range m.branches {
		if b.gone {
			continue
		}
		rs := m.visible(name)
		if name != m.head && !survives(rs, removed) {
			b.gone = true
			m.branches[name] = b
			continue
		}
		for _, r := range rs {
			needed[r.Seq] = !removed[r.Seq]
		}
	}
	if len(removed) > 0 {
		m.records = slices.DeleteFunc(slices.Clone(m.records), func(r thread.Record) bool { return !needed[r.Seq] })
	}
}

// survives reports whether a branch can be folded without the removed records.
func survives(rs []thread.Record, removed map[int64]bool) bool {
	lost := int64(0)
	for _, r := range rs {
		if removed[r.Seq] {
			lost = r.Seq
		}
	}
	s := newest(rs, thread.Query{})
	return lost == 0 || s != nil && !removed[s.Seq] && s.Base >= lost
}

// live returns the names of the branches, sorted.
func (m *model) live() []thread.ID {
	var names []thread.ID
	for name, b := range m.branches {
		if !b.gone {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// random is one random history on one thread.
type random struct {
	*fixture
	rt    *rapid.T
	m     *model
	id    string
	fence int64
	n     int
}

func testRandom(f *fixture) {
	run := 0
	rapid.Check(f.T, func(rt *rapid.T) {
		run++
		r := &random{f, rt, &model{branches: make(map[thread.ID]modelBranch)}, fmt.Sprint("t", run), 0, 0}
		l := f.acquire(r.id, "test")
		r.fence = l.Fence()
		r.first()
		rt.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) { r.rt = t; r.appendSome() },
			"fork":   func(t *rapid.T) { r.rt = t; r.forkSome() },
			"head":   func(t *rapid.T) { r.rt = t; r.setHead() },
			"prune":  func(t *rapid.T) { r.rt = t; r.pruneIt() },
			"read":   func(t *rapid.T) { r.rt = t; r.readSome() },
			"":       func(t *rapid.T) { r.rt = t; r.check() },
		})
		f.must(l.Release(f.Context()))
		f.must(f.s.Delete(f.Context(), r.id))
	})
}

func (r *random) ok(err error) {
	r.rt.Helper()
	if err != nil {
		r.rt.Fatal(err)
	}
}

// first makes the thread, so that the name of its branch is known.
func (r *random) first() {
	_, err := r.s.Append(r.Context(), r.id, thread.Append{Fence: r.fence})
	r.ok(err)
	h, err := r.s.Head(r.Context(), r.id)
	r.ok(err)
	r.m.head = h.Branch
	r.m.branches[h.Branch] = modelBranch{}
}

var (
	genNS   = rapid.SampledFrom([]string{"", "", "", "a", "a/b", "ab"})
	genKind = rapid.SampledFrom([]thread.Kind{
		thread.KindCommit, thread.KindModel, thread.KindUpdate, thread.KindRunStarted, thread.KindSnapshot, "custom",
	})
)

func (r *random) branch() thread.ID { return rapid.SampledFrom(r.m.live()).Draw(r.rt, "branch") }

func (r *random) records(branch thread.ID) []thread.Record {
	rs := make([]thread.Record, rapid.IntRange(0, 4).Draw(r.rt, "records"))
	for i := range rs {
		r.n++
		rs[i] = rec(fmt.Sprint("r", r.n))
		rs[i].NS = genNS.Draw(r.rt, "ns")
		rs[i].Kind = genKind.Draw(r.rt, "kind")
		if rs[i].Kind == thread.KindSnapshot {
			rs[i].Base = rapid.Int64Range(0, r.m.end(branch)).Draw(r.rt, "base")
		}
		rs[i].Data = fmt.Appendf(nil, `%0*d`, rapid.SampledFrom([]int{1, 10, 5000}).Draw(r.rt, "size"), r.n)
	}
	return rs
}

func (r *random) appendSome() {
	branch := r.branch()
	a := thread.Append{Fence: r.fence, Branch: branch, ExpectSeq: -1, Records: r.records(branch)}
	end := r.m.end(branch)
	if branch == r.m.head && rapid.Bool().Draw(r.rt, "by head") {
		a.Branch = ""
	}
	if rapid.Bool().Draw(r.rt, "expect") {
		a.ExpectSeq = rapid.SampledFrom([]int64{end, end, end + 1, max(end-1, 0)}).Draw(r.rt, "seq")
	}
	seq, err := r.s.Append(r.Context(), r.id, a)
	if a.ExpectSeq != -1 && a.ExpectSeq != end {
		if !errors.Is(err, thread.ErrConflict) {
			r.rt.Fatalf("expected %d of %d: %v", a.ExpectSeq, end, err)
		}
		return
	}
	r.ok(err)
	for _, x := range a.Records {
		r.m.seq++
		x.Seq, x.Branch = r.m.seq, branch
		r.m.records = append(r.m.records, x)
	}
	if seq != r.m.end(branch) {
		r.rt.Fatalf("seq %d, want %d", seq, r.m.end(branch))
	}
}

func (r *random) forkSome() {
	if len(r.m.records) == 0 {
		return
	}
	at := rapid.SampledFrom(r.m.records).Draw(r.rt, "at")
	b, err := r.s.Fork(r.Context(), r.id, r.fence, at.ID)
	r.ok(err)
	if _, ok := r.m.branches[b]; ok {
		r.rt.Fatalf("the name %s was used before", b)
	}
	r.m.branches[b] = modelBranch{parent: at.Branch, fork: at.Seq}
}

func (r *random) setHead() {
	b := r.branch()
	r.ok(r.s.SetHead(r.Context(), r.id, r.fence, b))
	r.m.head = b
}

func (r *random) pruneIt() {
	r.ok(r.s.Prune(r.Context(), r.id, r.fence))
	r.m.prune()
}

func (r *random) readSome() {
	q := thread.Query{
		Branch: r.branch(),
		NS:     rapid.SampledFrom([]string{"", "a", "a/b", "x"}).Draw(r.rt, "ns"),
		Prefix: rapid.Bool().Draw(r.rt, "prefix"),
		Kinds:  rapid.SliceOfN(genKind, 0, 3).Draw(r.rt, "kinds"),
		After:  rapid.Int64Range(0, r.m.seq).Draw(r.rt, "after"),
	}
	switch rapid.IntRange(0, 2).Draw(r.rt, "order") {
	case 1:
		q.Reverse = true
	case 2:
		q.FromSnapshot = true
	}
	r.compare(q)
}

func (r *random) compare(q thread.Query) {
	got, err := r.collect(r.id, q)
	r.ok(err)
	if d := diff(got, r.m.read(q)); d != "" {
		r.rt.Fatalf("%+v: %s", q, d)
	}
}

// check compares all branches and the head.
func (r *random) check() {
	h, err := r.s.Head(r.Context(), r.id)
	r.ok(err)
	if h.Branch != r.m.head || h.Seq != r.m.end(h.Branch) {
		r.rt.Fatalf("head %+v, want %s %d", h, r.m.head, r.m.end(r.m.head))
	}
	for name, b := range r.m.branches {
		if !b.gone {
			r.compare(thread.Query{Branch: name, Prefix: true})
		} else if _, err := r.collect(r.id, thread.Query{Branch: name}); !errors.Is(err, thread.ErrNotFound) {
			r.rt.Fatalf("branch %s is gone: %v", name, err)
		}
	}
}
