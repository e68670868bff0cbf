package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/deepagents-go/deepagents/thread"
)

// StoredEvents yields the events of a thread after a number, from what is stored. Live events that are no longer kept are
// reported once, by a [Gap]; the durable ones among them follow it.
func (a *Agent) StoredEvents(ctx context.Context, threadID string, after int64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if a.c.Threads == nil {
			yield(Event{}, ErrNoStore)
			return
		}
		last, err := lastEvent(ctx, a.c.Threads, threadID)
		if err != nil {
			yield(Event{}, err)
			return
		}
		storedEvents(ctx, a.c.Threads, threadID, after, last)(yield)
	}
}

// lastEvent returns the number of the last event that is stored.
func lastEvent(ctx context.Context, s thread.Store, threadID string) (int64, error) {
	_, live, err := s.Events(ctx, threadID, 0)
	if err != nil {
		return 0, err
	}
	last := int64(0)
	if n := len(live); n > 0 {
		last = live[n-1].Seq
	}
	for r, err := range s.Read(ctx, threadID, thread.Query{Prefix: true, Reverse: true}) {
		if err != nil {
			return 0, err
		}
		if r.Event == 0 {
			continue
		}
		b, err := thread.Decode(r)
		if err != nil {
			return 0, err
		}
		return max(last, r.Event+int64(len(project(&thread.Entry{Record: r, Body: b})))-1), nil
	}
	return last, nil
}

// storedEvents merges the events of the records with those of the event log, up to a number.
func storedEvents(ctx context.Context, s thread.Store, threadID string, after, upTo int64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		_, live, err := s.Events(ctx, threadID, after)
		if err != nil {
			yield(Event{}, err)
			return
		}
		m := merger{next: after + 1, upTo: upTo, thread: threadID, live: live, yield: yield}
		for r, err := range s.Read(ctx, threadID, thread.Query{Prefix: true}) {
			if err != nil {
				yield(Event{}, err)
				return
			}
			if r.Event == 0 {
				continue
			}
			if !m.record(r) {
				break
			}
		}
		if !m.stopped && m.liveBefore(upTo+1) && m.next <= upTo {
			m.gap(time.Time{})
		}
	}
}

// merger brings two sorted sources of events into one order and reports the first hole.
type merger struct {
	next, upTo int64
	thread     string
	live       []thread.Event
	yield      func(Event, error) bool
	gapped     bool
	stopped    bool
}

func (m *merger) record(r thread.Record) bool {
	b, err := thread.Decode(r)
	if err != nil {
		m.stopped = true
		return m.yield(Event{}, err) && false
	}
	ns := thread.Path(r.NS)
	for i, d := range project(&thread.Entry{Record: r, Body: b}) {
		seq := r.Event + int64(i)
		if seq < m.next {
			continue
		}
		if seq > m.upTo || !m.liveBefore(seq) {
			return false
		}
		if !m.send(Event{Seq: seq, Time: r.Time, Thread: m.thread, Run: r.RunID, NS: ns, Data: d}) {
			return false
		}
	}
	return true
}

// liveBefore sends the live events below a number.
func (m *merger) liveBefore(seq int64) bool {
	for len(m.live) > 0 && m.live[0].Seq < seq {
		e := m.live[0]
		m.live = m.live[1:]
		if e.Seq < m.next || e.Seq > m.upTo {
			continue
		}
		ev, err := decodeLive(e)
		if err != nil {
			m.stopped = true
			return m.yield(Event{}, err) && false
		}
		if !m.send(ev) {
			return false
		}
	}
	return !m.stopped
}

func (m *merger) send(ev Event) bool {
	if ev.Seq > m.next && !m.gap(ev.Time) {
		return false
	}
	m.next = ev.Seq + 1
	if !m.yield(ev, nil) {
		m.stopped = true
	}
	return !m.stopped
}

// gap reports a hole, once: the first one speaks for all up to the end of what is read.
func (m *merger) gap(t time.Time) bool {
	if m.gapped {
		return true
	}
	m.gapped = true
	ev := Event{Seq: m.next, Time: t, Thread: m.thread, Data: Gap{From: m.next, To: m.upTo}}
	if !m.yield(ev, nil) {
		m.stopped = true
	}
	return !m.stopped
}

// decodeLive reads a live event back from the event log.
func decodeLive(e thread.Event) (Event, error) {
	var env struct {
		V      int       `json:"v"`
		TS     time.Time `json:"ts"`
		Type   string    `json:"type"`
		Thread string    `json:"thread_id"`
		Run    string    `json:"run_id"`
		NS     []string  `json:"ns"`
	}
	if err := json.Unmarshal(e.Data, &env); err != nil {
		return Event{}, fmt.Errorf("event %d: %w: %w", e.Seq, thread.ErrCorrupt, err)
	}
	if env.V > EventVersion {
		return Event{}, fmt.Errorf("event %d has version %d: %w", e.Seq, env.V, thread.ErrNewer)
	}
	ev := Event{Seq: e.Seq, Time: env.TS, Thread: env.Thread, Run: env.Run, NS: env.NS}
	var err error
	switch env.Type {
	case "message.delta":
		ev.Data, err = decodeData[MessageDelta](e.Data)
	case "reasoning.delta":
		ev.Data, err = decodeData[ReasoningDelta](e.Data)
	case "tool.output":
		ev.Data, err = decodeData[ToolOutput](e.Data)
	case "tool.started":
		ev.Data, err = decodeData[ToolStarted](e.Data)
	default:
		err = fmt.Errorf("event %d: type %q: %w", e.Seq, env.Type, thread.ErrNewer)
	}
	return ev, err
}

func decodeData[D EventData](raw json.RawMessage) (EventData, error) {
	var d D
	err := json.Unmarshal(raw, &d)
	return d, err
}
