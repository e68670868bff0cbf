package lineage_test

import (
	"reflect"
	"testing"

	"github.com/deepagents-go/deepagents/internal/lineage"
)

// A main branch of 1 to 10 and 21 to 30, a fork at 5 with 11 to 15, and two forks of that: at 13, and at 3, before it began.
var branches = []lineage.Branch{
	{ID: 1, First: 1, Last: 30},
	{ID: 2, Parent: 1, Fork: 5, First: 11, Last: 15},
	{ID: 3, Parent: 2, Fork: 13, First: 16, Last: 17},
	{ID: 4, Parent: 2, Fork: 3},
}

func all() map[int64]lineage.Branch {
	m := make(map[int64]lineage.Branch)
	for _, b := range branches {
		m[b.ID] = b
	}
	return m
}

func TestSegments(t *testing.T) {
	for id, want := range map[int64][]lineage.Segment{
		1: {{1, 1, 30}},
		2: {{1, 1, 5}, {2, 11, 15}},
		3: {{1, 1, 5}, {2, 11, 13}, {3, 16, 17}},
		4: {{1, 1, 3}},
		9: {},
	} {
		if got := lineage.Segments(lineage.Chain(all(), id)); !reflect.DeepEqual(got, want) {
			t.Errorf("branch %d: %v, want %v", id, got, want)
		}
	}
}

// log has one snapshot and no record that must stay.
type log struct{ seq, base, branch int64 }

func (l log) Snapshot(segs []lineage.Segment) (seq, base int64, err error) {
	for _, s := range segs {
		if s.Branch == l.branch && s.Lo <= l.seq && l.seq <= s.Hi {
			return l.seq, l.base, nil
		}
	}
	return 0, 0, nil
}

func (l log) Removable(segs []lineage.Segment) (top int64, err error) {
	for _, s := range segs {
		top = max(top, s.Hi)
	}
	return top, nil
}

func TestPrune(t *testing.T) {
	for _, c := range []struct {
		name string
		head int64
		log  log
		want lineage.Plan
	}{
		{"no snapshot", 1, log{}, lineage.Plan{}},
		{"main", 1, log{22, 21, 1}, lineage.Plan{
			Cut:  []lineage.Segment{{1, 1, 21}},
			Drop: []lineage.Segment{{2, 11, 15}, {3, 16, 17}}, Gone: []int64{2, 3, 4},
		}},
		{"a fork", 3, log{17, 16, 3}, lineage.Plan{
			Cut:  []lineage.Segment{{1, 1, 5}, {2, 11, 13}, {3, 16, 16}},
			Drop: []lineage.Segment{{1, 6, 30}, {2, 14, 15}}, Gone: []int64{4},
			Dead: []lineage.Branch{
				{ID: 1, First: 1, Last: 5, Dead: true}, {ID: 2, Parent: 1, Fork: 5, First: 11, Last: 13, Dead: true},
			},
		}},
	} {
		got, err := lineage.Prune(branches, c.head, c.log)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n got  %+v, %v\n want %+v", c.name, got, err, c.want)
		}
	}
}
