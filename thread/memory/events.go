package memory

import (
	"fmt"
	"slices"
	"sort"

	"github.com/deepagents-go/deepagents/thread"
)

func (l *log) appendEvents(fence int64, events []thread.Event, o *Options) error {
	now := o.Now()
	if err := l.allow(fence, now); err != nil {
		return err
	}
	if len(events) == 0 {
		return nil
	}
	last := int64(0)
	if n := len(l.events); n > 0 {
		last = l.events[n-1].Seq
	}
	size := 0
	for _, e := range events {
		if e.Seq <= last {
			return fmt.Errorf("thread %s: %w: event %d comes after event %d", l.id, thread.ErrConflict, e.Seq, last)
		}
		last = e.Seq
		size += len(e.Data)
	}
	l.start(now)
	l.updated = now
	buf := make([]byte, 0, size)
	for _, e := range events {
		from := len(buf)
		buf = append(buf, e.Data...)
		l.events = append(l.events, thread.Event{Seq: e.Seq, Data: buf[from:len(buf):len(buf)]})
	}
	l.eventBytes += int64(size)
	l.eventHigh = max(l.eventHigh, last)
	l.trim(o)
	return nil
}

// trim drops the oldest events past the bound. The slice is copied once in a while by append, so that what was dropped is freed.
func (l *log) trim(o *Options) {
	n := 0
	for ; n < len(l.events)-1; n++ {
		if len(l.events)-n <= o.MaxEvents && l.eventBytes <= o.MaxEventBytes {
			break
		}
		l.eventBytes -= int64(len(l.events[n].Data))
		l.events[n] = thread.Event{}
	}
	l.events = l.events[n:]
}

func (l *log) eventsAfter(after int64) (int64, []thread.Event) {
	if len(l.events) == 0 {
		return 0, nil
	}
	i := sort.Search(len(l.events), func(i int) bool { return l.events[i].Seq > after })
	return l.events[0].Seq, slices.Clone(l.events[i:])
}
