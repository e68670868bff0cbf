package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/deepagents-go/deepagents/thread"
)

// Append implements [thread.Store].
func (s *Store) Append(ctx context.Context, id string, a thread.Append) (seq int64, err error) {
	if err := check(ctx, id); err != nil {
		return 0, err
	}
	size := int64(0)
	for i := range a.Records {
		size += int64(len(a.Records[i].Data))
	}
	err = s.change(ctx, a.Durable, size, func(t *tx) error {
		seq, err = t.append(id, &a, size)
		return err
	})
	if err != nil {
		return 0, err
	}
	s.stats.appends.Add(1)
	if a.Durable {
		s.stats.durableAppends.Add(1)
	}
	return seq, nil
}

func (t *tx) append(id string, a *thread.Append, size int64) (int64, error) {
	r, err := load(t.conn, id)
	if err != nil {
		return 0, err
	}
	if err := t.s.allow(&r, a.Fence); err != nil {
		return 0, err
	}
	branch, last := int64(0), int64(0)
	if r.exists() || a.Branch != "" {
		if branch, err = t.find(&r, a.Branch); err != nil {
			return 0, err
		}
		if last, err = end(t.conn, &r, branch); err != nil {
			return 0, err
		}
	}
	if a.ExpectSeq != -1 && a.ExpectSeq != last {
		return 0, fmt.Errorf("thread %s: %w: its last record is %d, expected %d", id, thread.ErrConflict, last, a.ExpectSeq)
	}
	if r.seq+int64(len(a.Records)) > maxSeq {
		return 0, fmt.Errorf("thread %s: %w: it has too many records", id, errors.ErrUnsupported)
	}
	r.updated = t.s.o.Now().UnixNano()
	if a.EventHigh != 0 {
		r.eventHigh = a.EventHigh
	}
	if err := t.start(&r); err != nil {
		return 0, err
	}
	if branch == 0 {
		branch = r.head
	}
	if len(a.Records) > 0 {
		if err := t.moveTip(&r, branch); err != nil {
			return 0, err
		}
		if err := t.insert(&r, branch, a.Records); err != nil {
			return 0, err
		}
		r.bytes += size
		last = r.seq
	}
	return last, t.save(&r)
}

// moveTip notes where the records of the branch that was written to last end, and where those of the next begin.
func (t *tx) moveTip(r *row, branch int64) error {
	if r.tip == branch {
		return nil
	}
	if r.tip != 0 {
		if err := t.exec("UPDATE branches SET last=? WHERE id=?", r.seq, r.tip); err != nil {
			return err
		}
	}
	r.tip = branch
	return t.exec("UPDATE branches SET first=? WHERE id=? AND first=0", r.seq+1, branch)
}

func (t *tx) insert(r *row, branch int64, records []thread.Record) error {
	for i := range records {
		rec := &records[i]
		ns, err := t.intern(r.id, rec.NS)
		if err != nil {
			return err
		}
		run, err := t.intern(r.id, rec.RunID)
		if err != nil {
			return err
		}
		var data any
		if rec.Data != nil {
			data = []byte(rec.Data)
		}
		r.seq++
		r.records++
		err = t.exec("INSERT INTO records(key, branch, kind, ns, run, step, event, base, v, time, id, data) "+
			"VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", key(r.id, r.seq), branch, encodeKind(rec.Kind), ns, run, int64(rec.Step),
			rec.Event, rec.Base, int64(rec.V), encodeTime(rec.Time), string(rec.ID), data)
		if err != nil {
			return err
		}
	}
	return nil
}

// kinds are coded by their place, from 1, which never changes.
var kinds = [...]thread.Kind{
	thread.KindRunStarted, thread.KindInput, thread.KindModel, thread.KindCallStarted, thread.KindCallEnded, thread.KindOnce,
	thread.KindInterrupt, thread.KindAnswer, thread.KindUpdate, thread.KindCommit, thread.KindSnapshot, thread.KindRunEnded,
}

func encodeKind(k thread.Kind) any {
	if i := slices.Index(kinds[:], k); i >= 0 {
		return int64(i + 1)
	}
	return string(k)
}

func decodeKind(v any) thread.Kind {
	if n, ok := v.(int64); ok && n > 0 && n <= int64(len(kinds)) {
		return kinds[n-1]
	}
	return thread.Kind(text(v))
}

// encodeTime gives nanoseconds since 1970; a zero time is NULL, and one that is too far for them is text.
func encodeTime(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	if n := t.UnixNano(); time.Unix(0, n).Equal(t) {
		return n
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func decodeTime(v any) (time.Time, error) {
	switch v := v.(type) {
	case int64:
		return time.Unix(0, v).UTC(), nil
	case string:
		return time.Parse(time.RFC3339Nano, v)
	}
	return time.Time{}, nil
}
