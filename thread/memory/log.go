package memory

import (
	"fmt"
	"sync"
	"time"

	"github.com/deepagents-go/deepagents/internal/lineage"
	"github.com/deepagents-go/deepagents/thread"
)

// log is one thread. Its records are only ever appended to, so that a reader keeps a copy of the list without a lock;
// pruning makes a new list.
type log struct {
	mu       sync.Mutex
	id       string
	gone     bool // no longer in the store
	records  list
	seq      int64
	bytes    int64
	created  time.Time
	updated  time.Time
	branches []lineage.Branch // by ID, from 1
	head     int64            // 0 until the thread exists

	fence   int64
	owner   string
	expires time.Time

	eventHigh  int64
	events     []thread.Event
	eventBytes int64
}

func (l *log) exists() bool { return l.head != 0 }

// idle reports whether there is nothing to remember.
func (l *log) idle() bool { return l.head == 0 && l.fence == 0 }

func (l *log) branch(id int64) *lineage.Branch { return &l.branches[id-1] }

// start makes the thread exist.
func (l *log) start(now time.Time) {
	if l.exists() {
		return
	}
	l.created = now
	l.head = l.addBranch(0, 0)
}

// addBranch names branches by their number in the thread; numbers are not used again.
func (l *log) addBranch(parent, fork int64) int64 {
	id := int64(len(l.branches) + 1)
	l.branches = append(l.branches, lineage.Branch{ID: id, Name: lineage.Name(id), Parent: parent, Fork: fork})
	return id
}

// find returns the id of a live branch; the empty name is the head.
func (l *log) find(name thread.ID) (int64, error) {
	if name == "" && l.exists() {
		return l.head, nil
	}
	for i := range l.branches {
		if b := &l.branches[i]; b.Name == name && !b.Dead {
			return b.ID, nil
		}
	}
	if !l.exists() {
		return 0, notFound(l.id)
	}
	return 0, fmt.Errorf("thread %s, branch %s: %w", l.id, name, thread.ErrNotFound)
}

func (l *log) append(a thread.Append, clock func() time.Time) (int64, error) {
	now := clock()
	if err := l.allow(a.Fence, now); err != nil {
		return 0, err
	}
	if a.Branch != "" || l.exists() {
		id, err := l.find(a.Branch)
		if err != nil {
			return 0, err
		}
		if end := l.branch(id).End(); a.ExpectSeq != -1 && a.ExpectSeq != end {
			return 0, conflict(l.id, a.ExpectSeq, end)
		}
		return l.add(id, a, now), nil
	}
	if a.ExpectSeq != -1 && a.ExpectSeq != 0 {
		return 0, conflict(l.id, a.ExpectSeq, 0)
	}
	l.start(now)
	return l.add(l.head, a, now), nil
}

func conflict(id string, want, end int64) error {
	return fmt.Errorf("thread %s: %w: its last record is %d, expected %d", id, thread.ErrConflict, end, want)
}

// add appends to a branch and returns the Seq of its last record.
func (l *log) add(id int64, a thread.Append, now time.Time) int64 {
	b := l.branch(id)
	l.updated = now
	if a.EventHigh != 0 {
		l.eventHigh = a.EventHigh
	}
	if len(a.Records) == 0 {
		return b.End()
	}
	size := 0
	for i := range a.Records {
		size += len(a.Records[i].Data)
	}
	buf := make([]byte, 0, size)
	if b.First == 0 {
		b.First = l.seq + 1
	}
	for i := range a.Records {
		r := a.Records[i]
		l.seq++
		r.Seq, r.Branch = l.seq, b.Name
		if r.Data != nil {
			from := len(buf)
			buf = append(buf, r.Data...)
			r.Data = buf[from:len(buf):len(buf)]
		}
		l.records.push(&r)
	}
	l.bytes += int64(size)
	b.Last = l.seq
	return l.seq
}

func (l *log) fork(at thread.ID) (thread.ID, error) {
	for i := l.records.len() - 1; i >= 0; i-- {
		r := l.records.at(i)
		if r.ID != at || at == "" {
			continue
		}
		for _, b := range l.branches {
			if b.Name == r.Branch {
				return lineage.Name(l.addBranch(b.ID, r.Seq)), nil
			}
		}
	}
	return "", fmt.Errorf("thread %s, record %s: %w", l.id, at, thread.ErrNotFound)
}

func (l *log) setHead(branch thread.ID) error {
	id, err := l.find(branch)
	if err != nil {
		return err
	}
	l.head = id
	return nil
}

func (l *log) info(now time.Time) (thread.Info, bool) {
	info := thread.Info{
		Thread: l.id, Created: l.created, Updated: l.updated, Records: int64(l.records.len()), Bytes: l.bytes,
	}
	if l.held(now) {
		info.Owner = l.owner
	}
	return info, l.exists()
}
