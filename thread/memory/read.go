package memory

import (
	"context"
	"fmt"
	"slices"
	"sort"

	"github.com/deepagents-go/deepagents/internal/lineage"
	"github.com/deepagents-go/deepagents/thread"
)

// view is what one reader sees: it needs no lock.
type view struct {
	records list
	segs    []segment
}

// segment is a [lineage.Segment] with the branch's name.
type segment struct {
	lineage.Segment
	name thread.ID
}

func (l *log) view(q thread.Query) (view, error) {
	if !l.exists() {
		return view{}, notFound(l.id)
	}
	if q.FromSnapshot && q.Reverse {
		return view{}, fmt.Errorf("thread %s: a query cannot have both FromSnapshot and Reverse", l.id)
	}
	id, err := l.find(q.Branch)
	if err != nil {
		return view{}, err
	}
	return view{l.records, l.named(lineage.Segments(l.chain(id)))}, nil
}

func (l *log) chain(id int64) []lineage.Branch {
	var chain []lineage.Branch
	for ; id != 0; id = l.branch(id).Parent {
		chain = append(chain, *l.branch(id))
	}
	return chain
}

// within returns the positions of the records with lo <= Seq <= hi.
func (v view) within(lo, hi int64) (from, to int) {
	from = sort.Search(v.records.len(), func(i int) bool { return v.records.at(i).Seq >= lo })
	to = from + sort.Search(v.records.len()-from, func(i int) bool { return v.records.at(from+i).Seq > hi })
	return from, to
}

func (v view) read(ctx context.Context, q thread.Query, yield func(thread.Record, error) bool) {
	emit := func(r *thread.Record) bool {
		if err := ctx.Err(); err != nil {
			yield(thread.Record{}, err)
			return false
		}
		return yield(*r, nil)
	}
	after, snaps := q.After, true
	if q.FromSnapshot {
		snaps = false
		if snap := v.snapshot(q); snap != nil {
			if !emit(snap) {
				return
			}
			after = max(after, snap.Base)
		}
	}
	match := func(r *thread.Record) bool {
		return (snaps || r.Kind != thread.KindSnapshot) && q.Selects(r)
	}
	v.each(after, q.Reverse, func(r *thread.Record) bool { return !match(r) || emit(r) })
}

// each calls f for the records of the branch with a greater Seq, until it returns false.
func (v view) each(after int64, reverse bool, f func(r *thread.Record) bool) {
	for i := range v.segs {
		if reverse {
			i = len(v.segs) - 1 - i
		}
		s := v.segs[i]
		from, to := v.within(max(s.Lo, after+1), s.Hi)
		for j := range to - from {
			k := from + j
			if reverse {
				k = to - 1 - j
			}
			if r := v.records.at(k); r.Branch == s.name && !f(r) {
				return
			}
		}
	}
}

// snapshot returns the newest snapshot that the query selects.
func (v view) snapshot(q thread.Query) (snap *thread.Record) {
	v.each(q.After, true, func(r *thread.Record) bool {
		if r.Kind == thread.KindSnapshot && q.InNamespace(r.NS) {
			snap = r
		}
		return snap == nil
	})
	return snap
}

// prune implements the rules of [lineage.Prune].
func (l *log) prune() error {
	v := view{records: l.records}
	plan, err := lineage.Prune(l.live(), l.head, pruneLog{v, l})
	if err != nil {
		return err
	}
	drop := make(map[int64]bool)
	for _, s := range l.named(plan.Cut) {
		view{l.records, []segment{s}}.each(0, false, func(r *thread.Record) bool {
			drop[r.Seq] = r.Kind != thread.KindRunStarted
			return true
		})
	}
	for _, s := range l.named(plan.Drop) {
		view{l.records, []segment{s}}.each(0, false, func(r *thread.Record) bool {
			drop[r.Seq] = true
			return true
		})
	}
	var kept list
	l.bytes = 0
	for i := range l.records.len() {
		if r := *l.records.at(i); !drop[r.Seq] {
			r.Data = slices.Clone(r.Data) // so that the bytes of its neighbours are freed
			kept.push(&r)
			l.bytes += int64(len(r.Data))
		}
	}
	l.records = kept
	for _, b := range plan.Dead {
		*l.branch(b.ID) = b
	}
	for _, id := range plan.Gone {
		*l.branch(id) = lineage.Branch{ID: id, Dead: true}
	}
	return nil
}

// live returns the branches that have a name.
func (l *log) live() []lineage.Branch {
	return slices.DeleteFunc(slices.Clone(l.branches), func(b lineage.Branch) bool { return b.Name == "" })
}

func (l *log) named(segs []lineage.Segment) []segment {
	out := make([]segment, len(segs))
	for i, s := range segs {
		out[i] = segment{s, l.branch(s.Branch).Name}
	}
	return out
}

// pruneLog implements [lineage.Log].
type pruneLog struct {
	v view
	l *log
}

func (p pruneLog) Snapshot(segs []lineage.Segment) (seq, base int64, err error) {
	v := view{p.v.records, p.l.named(segs)}
	if r := v.snapshot(thread.Query{}); r != nil {
		return r.Seq, r.Base, nil
	}
	return 0, 0, nil
}

func (p pruneLog) Removable(segs []lineage.Segment) (top int64, err error) {
	v := view{p.v.records, p.l.named(segs)}
	v.each(0, true, func(r *thread.Record) bool {
		if r.Kind != thread.KindRunStarted {
			top = r.Seq
		}
		return top == 0
	})
	return top, nil
}
