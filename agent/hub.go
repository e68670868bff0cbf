package agent

import (
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/deepagents-go/deepagents/thread"
)

const (
	// ringSize is how many events of a live run stay in memory for its readers.
	ringSize = 4096
	// flushCount and flushEvery bound the live events that a dead process takes with it.
	flushCount = 64
	flushEvery = 200 * time.Millisecond
	// reserveAhead is how many numbers an append reserves, so that no number that a reader saw is used again after a crash.
	reserveAhead = 1024
)

// hub numbers the events of a run and hands them to any number of readers. Nobody waits for a reader: one that falls behind the
// ring reads the store.
type hub struct {
	store       thread.Store
	fence       int64
	thread, run string
	now         func() time.Time
	log         *slog.Logger
	mu          sync.Mutex
	slots       []slot
	base, next  int64
	reserved    int64
	pendingFrom int64
	// ended: the run's last event has its number; a stray goroutine of a tool gets none after it.
	ended, done    bool
	waiting        bool
	wake           chan struct{}
	queue          []Event
	timer          *time.Timer
	armed, stopped bool
	flushes        sync.WaitGroup
	flushMu        sync.Mutex
}

// slot is an event and whether readers may see it yet: events of records wait until the records are stored.
type slot struct {
	ev    Event
	state slotState
}

type slotState uint8

const (
	slotReady slotState = iota
	slotPending
	slotVoid
)

func newHub(last int64) *hub {
	return &hub{base: last + 1, next: last + 1, reserved: last, wake: make(chan struct{})}
}

// emit publishes a live event.
func (h *hub) emit(ns []string, d EventData) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return
	}
	ev := h.push(ns, h.now(), d, slotReady)
	h.queue = append(h.queue, ev)
	switch {
	case len(h.queue) >= flushCount || h.next > h.reserved:
		h.flushIn(0)
	case len(h.queue) == 1:
		h.flushIn(flushEvery)
	}
	h.notify()
}

func (h *hub) push(ns []string, t time.Time, d EventData, s slotState) Event {
	ev := Event{Seq: h.next, Time: t, Thread: h.thread, Run: h.run, NS: ns, Data: d}
	h.next++
	if len(h.slots) >= 2*ringSize {
		n := copy(h.slots, h.slots[ringSize:])
		clear(h.slots[n:])
		h.slots = h.slots[:n]
		h.base += ringSize
	}
	h.slots = append(h.slots, slot{ev, s})
	return ev
}

// number gives the events of a record their numbers. The journal calls it under its lock, so that one append is pending at most.
func (h *hub) number(e *thread.Entry) (first, high int64) {
	ds := project(e)
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(ds) > 0 {
		first = h.next
		if h.pendingFrom == 0 {
			h.pendingFrom = first
		}
		ns := thread.Path(e.NS)
		for _, d := range ds {
			h.push(ns, e.Time, d, slotPending)
		}
	}
	h.reserved = h.next - 1 + reserveAhead
	if e.Kind == thread.KindRunEnded {
		h.reserved, h.ended = h.next-1, true
	}
	return first, h.reserved
}

// stored publishes the events of the records that were appended, or voids them.
func (h *hub) stored(es []thread.Entry, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pendingFrom != 0 {
		state := slotReady
		if err != nil {
			state = slotVoid
		}
		for i := max(0, h.pendingFrom-h.base); i < int64(len(h.slots)); i++ {
			if h.slots[i].state == slotPending {
				h.slots[i].state = state
			}
		}
		h.pendingFrom = 0
	}
	for i := range es {
		h.settle(es[i].Body)
	}
	h.notify()
}

// settle drops what a finished message or call streamed: it is now in a record and need not be kept twice.
func (h *hub) settle(b thread.Body) {
	if len(h.queue) == 0 {
		return
	}
	switch b := b.(type) {
	case *thread.Model:
		h.queue = slices.DeleteFunc(h.queue, func(ev Event) bool { return streamedBy(ev.Data) == b.Message.ID })
	case *thread.CallEnded:
		h.queue = slices.DeleteFunc(h.queue, func(ev Event) bool { return streamedBy(ev.Data) == b.Task })
	}
}

// streamedBy returns the message or the task that a live event belongs to.
func streamedBy(d EventData) string {
	switch d := d.(type) {
	case MessageDelta:
		return d.MessageID
	case ReasoningDelta:
		return d.MessageID
	case ToolOutput:
		return d.TaskID
	case ToolStarted:
		return d.TaskID
	}
	return ""
}

func (h *hub) notify() {
	if h.waiting {
		close(h.wake)
		h.wake = make(chan struct{})
		h.waiting = false
	}
}

// flushIn stores the queue after a while, in the background. An earlier time replaces a later one.
func (h *hub) flushIn(d time.Duration) {
	switch {
	case h.stopped || h.armed && d > 0:
		return
	case h.timer == nil:
		h.timer = time.AfterFunc(d, h.flushed)
	case h.armed:
		if !h.timer.Stop() {
			return // it is flushing right now
		}
		h.timer.Reset(d)
		return
	default:
		h.timer.Reset(d)
	}
	h.armed = true
	h.flushes.Add(1)
}

func (h *hub) flushed() {
	defer h.flushes.Done()
	h.mu.Lock()
	h.armed = false
	h.mu.Unlock()
	h.flush()
}

func (h *hub) flush() {
	h.flushMu.Lock()
	defer h.flushMu.Unlock()
	h.mu.Lock()
	queue := h.queue
	h.queue = nil
	h.mu.Unlock()
	if len(queue) == 0 {
		return
	}
	out := make([]thread.Event, 0, len(queue))
	for _, ev := range queue {
		data, err := json.Marshal(ev)
		if err != nil {
			h.log.Warn("event lost", "thread", h.thread, "seq", ev.Seq, "error", err)
			continue
		}
		out = append(out, thread.Event{Seq: ev.Seq, Data: data})
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeGrace)
	defer cancel()
	if err := h.store.AppendEvents(ctx, h.thread, h.fence, out); err != nil {
		h.log.Warn("live events are not stored", "thread", h.thread, "error", err)
	}
}

// stopFlushing ends the background work. Later live events are for the readers of this process only.
func (h *hub) stopFlushing() {
	h.mu.Lock()
	h.queue, h.ended = nil, true
	if h.armed && h.timer.Stop() {
		h.armed = false
		h.flushes.Done()
	}
	h.stopped = true
	h.mu.Unlock()
	h.flushes.Wait()
}

// lastWord publishes the end of a run whose end could not be stored.
func (h *hub) lastWord(b *thread.RunEnded) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, d := range project(&thread.Entry{Body: b}) {
		// The append that failed may have been stored all the same, so its number is used again and no other.
		if last := len(h.slots) - 1; last >= 0 && h.slots[last].state == slotVoid && h.slots[last].ev.Data.Type() == d.Type() {
			h.slots[last].ev.Data, h.slots[last].state = d, slotReady
			continue
		}
		h.push(nil, h.now(), d, slotReady)
	}
	h.notify()
}

// close ends the stream of every reader once it has read everything.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.done = true
	h.notify()
}

// batch is how many events a reader takes at once.
const batch = 256

// read copies the next events after a number. wait is closed when there is more; it is nil when there was something, or when
// the run is over.
func (h *hub) read(after int64, buf []Event) (got []Event, last int64, behind bool, wait <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if after+1 < h.base {
		return nil, h.base - 1, true, nil
	}
	last = after
	for i := after + 1 - h.base; i < int64(len(h.slots)) && len(buf) < batch; i++ {
		s := &h.slots[i]
		if s.state == slotPending || s.state == slotVoid && !h.done && i == int64(len(h.slots))-1 {
			break // the last number may yet be used by the last word
		}
		last = s.ev.Seq
		if s.state == slotReady {
			buf = append(buf, s.ev)
		}
	}
	if len(buf) == 0 && last == after && !h.done {
		h.waiting = true
		return nil, last, false, h.wake
	}
	return buf, last, false, nil
}

// follow yields the events after a number until the run is over.
func (h *hub) follow(ctx context.Context, after int64) iter.Seq2[Event, error] {
	after = max(after, 0)
	return func(yield func(Event, error) bool) {
		buf := make([]Event, 0, batch)
		for {
			got, last, behind, wait := h.read(after, buf[:0])
			switch {
			case behind:
				for ev, err := range storedEvents(ctx, h.store, h.thread, after, last) {
					if !yield(ev, err) || err != nil {
						return
					}
				}
			case wait != nil:
				select {
				case <-wait:
				case <-ctx.Done():
					yield(Event{}, context.Cause(ctx))
					return
				}
			case len(got) == 0 && last == after:
				return
			}
			for _, ev := range got {
				if !yield(ev, nil) {
					return
				}
			}
			after = last
		}
	}
}
