package lineage

import (
	"math"
	"strconv"

	"github.com/deepagents-go/deepagents/thread"
)

// Branch is one branch of a thread.
type Branch struct {
	ID   int64
	Name thread.ID
	// Parent is the ID of the branch that it was forked from, 0 for the first one, and Fork the Seq of the last record it shares.
	Parent, Fork int64
	// First and Last bound the Seq of its own records; both are 0 while it has none.
	First, Last int64
	// Dead marks a branch that pruning removed but that others still have as an ancestor.
	Dead bool
}

// End is the Seq of the last record that the branch sees, 0 when it sees none.
func (b Branch) End() int64 {
	if b.Last > 0 {
		return b.Last
	}
	return b.Fork
}

// Segment is the part of a branch that a descendant sees: its own records from Lo to Hi, both included.
type Segment struct{ Branch, Lo, Hi int64 }

// Segments returns what the first branch of a chain sees, oldest first. The chain goes from a branch up to the first one.
func Segments(chain []Branch) []Segment {
	segs := make([]Segment, 0, len(chain))
	limit := int64(math.MaxInt64)
	for _, b := range chain {
		if hi := min(b.Last, limit); b.First > 0 && b.First <= hi {
			segs = append(segs, Segment{b.ID, b.First, hi})
		}
		// A fork of a fork may lie before the branch in between began.
		limit = min(limit, b.Fork)
	}
	for i, j := 0, len(segs)-1; i < j; i, j = i+1, j-1 {
		segs[i], segs[j] = segs[j], segs[i]
	}
	return segs
}

// Chain returns the branch and its ancestors, nearest first. It is empty when the branch is unknown.
func Chain(all map[int64]Branch, id int64) []Branch {
	var chain []Branch
	for b, ok := all[id]; ok; b, ok = all[b.Parent] {
		chain = append(chain, b)
	}
	return chain
}

// Log is what planning needs to know of a thread's records.
type Log interface {
	// Snapshot returns the Seq and Base of the newest snapshot of the main namespace in the segments, or zeros.
	Snapshot(segs []Segment) (seq, base int64, err error)
	// Removable returns the greatest Seq in the segments that pruning may remove, or 0.
	Removable(segs []Segment) (int64, error)
}

// Plan says what pruning does.
type Plan struct {
	// Cut holds the segments to clear of all but run_started records.
	Cut []Segment
	// Drop holds the segments to clear of everything: records that only removed branches saw.
	Drop []Segment
	// Gone lists the branches to forget, Dead those that stay as an ancestor only, with their new bounds.
	Gone []int64
	Dead []Branch
}

// Prune plans the pruning of a thread: the records that the newest snapshot of the head stands for, and every branch whose
// newest snapshot does not stand for all of those that it loses.
func Prune(branches []Branch, head int64, log Log) (Plan, error) {
	all := make(map[int64]Branch, len(branches))
	for _, b := range branches {
		all[b.ID] = b
	}
	headSegs := Segments(Chain(all, head))
	_, cut, err := log.Snapshot(headSegs)
	if err != nil || cut == 0 {
		return Plan{}, err
	}
	p := Plan{Cut: clip(headSegs, cut)}
	if top, err := log.Removable(p.Cut); err != nil || top == 0 {
		return Plan{}, err
	}
	keep := map[int64]bool{head: true}
	for _, b := range branches {
		if b.ID == head || b.Dead {
			continue
		}
		if keep[b.ID], err = survives(Segments(Chain(all, b.ID)), p.Cut, log); err != nil {
			return Plan{}, err
		}
	}
	p.removeBranches(branches, all, keep)
	return p, nil
}

// survives reports whether a branch can do without the records of cut.
func survives(segs, cut []Segment, log Log) (bool, error) {
	lost, err := log.Removable(intersect(segs, cut))
	if err != nil || lost == 0 {
		return err == nil, err
	}
	seq, base, err := log.Snapshot(segs)
	if err != nil || base < lost {
		return false, err
	}
	return !contains(cut, seq, segs), nil
}

// removeBranches fills in what goes with the branches that are not kept.
func (p *Plan) removeBranches(branches []Branch, all map[int64]Branch, keep map[int64]bool) {
	seen := make(map[int64]int64) // the greatest Seq of a branch that a kept branch sees
	anc := make(map[int64]bool)   // ancestors of kept branches
	for _, b := range branches {
		if !keep[b.ID] {
			continue
		}
		chain := Chain(all, b.ID)
		for _, a := range chain[1:] {
			anc[a.ID] = true
		}
		for _, s := range Segments(chain) {
			seen[s.Branch] = max(seen[s.Branch], s.Hi)
		}
	}
	for _, b := range branches {
		if keep[b.ID] {
			continue
		}
		if b.First > 0 && b.Last > seen[b.ID] {
			p.Drop = append(p.Drop, Segment{b.ID, max(b.First, seen[b.ID]+1), b.Last})
		}
		switch {
		case !anc[b.ID]:
			p.Gone = append(p.Gone, b.ID)
		default:
			if b.Last = min(b.Last, seen[b.ID]); b.Last < b.First {
				b.First, b.Last = 0, 0
			}
			b.Dead = true
			p.Dead = append(p.Dead, b)
		}
	}
}

// clip returns the parts of the segments up to a Seq.
func clip(segs []Segment, hi int64) []Segment {
	var out []Segment
	for _, s := range segs {
		if s.Hi = min(s.Hi, hi); s.Lo <= s.Hi {
			out = append(out, s)
		}
	}
	return out
}

// intersect returns the parts of a that lie in b.
func intersect(a, b []Segment) []Segment {
	var out []Segment
	for _, s := range a {
		for _, o := range b {
			if o.Branch != s.Branch {
				continue
			}
			if c := (Segment{s.Branch, max(s.Lo, o.Lo), min(s.Hi, o.Hi)}); c.Lo <= c.Hi {
				out = append(out, c)
			}
		}
	}
	return out
}

// contains reports whether the record seq, which lies in one of segs, lies in cut.
func contains(cut []Segment, seq int64, segs []Segment) bool {
	for _, s := range segs {
		if s.Lo > seq || s.Hi < seq {
			continue
		}
		for _, c := range cut {
			if c.Branch == s.Branch && c.Lo <= seq && seq <= c.Hi {
				return true
			}
		}
	}
	return false
}

// Name is the name of the nth branch of a thread, from 1.
func Name(n int64) thread.ID {
	if n == 1 {
		return "main"
	}
	return thread.ID("b" + strconv.FormatInt(n, 10))
}
