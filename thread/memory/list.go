package memory

import "github.com/deepagents-go/deepagents/thread"

// chunk is the number of records in a full chunk: growing copies less than that.
const chunk = 64

// list is records in order. They are only ever appended, so that a copy of the list is a view that needs no lock.
type list struct {
	full [][]thread.Record
	tail []thread.Record
}

func (l *list) len() int { return len(l.full)*chunk + len(l.tail) }

func (l *list) at(i int) *thread.Record {
	if c := i / chunk; c < len(l.full) {
		return &l.full[c][i%chunk]
	}
	return &l.tail[i%chunk]
}

func (l *list) push(r *thread.Record) {
	if len(l.full) > 0 && l.tail == nil {
		l.tail = make([]thread.Record, 0, chunk)
	}
	l.tail = append(l.tail, *r)
	if len(l.tail) == chunk {
		l.full = append(l.full, l.tail)
		l.tail = nil
	}
}
