package thread

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// JournalConfig is what a [Journal] needs.
type JournalConfig struct {
	Store  Store
	Thread string
	Lease  Lease
	RunID  string
	View   *View
	// NewID gives record ids, Now the time.
	NewID func() ID
	Now   func() time.Time
	// Number is called under the journal's lock with each entry before it is stored. It returns the number of the first event
	// the entry gives rise to, or 0, and the highest number that readers may be shown before the next append.
	Number func(e *Entry) (first, high int64)
	// Stored is called after the entries are stored, or with an error when they are not.
	Stored func(es []Entry, err error)
}

// Journal writes the records of one run and keeps the view up to date: the state in memory is always the fold of what is
// stored. It is safe for concurrent use.
type Journal struct {
	c    JournalConfig
	mu   sync.Mutex
	snap snapshotter
	dead error
}

// NewJournal returns the journal of a run on a leased thread.
func NewJournal(c JournalConfig) *Journal {
	return &Journal{c: c, snap: snapshotter{written: c.View.written}}
}

// NewEntry returns an entry with its id, time and run.
func (j *Journal) NewEntry(ns string, step int, b Body) Entry {
	return Entry{Record{
		V: Version, ID: j.c.NewID(), NS: ns, RunID: j.c.RunID, Step: step, Kind: b.kind(), Time: j.c.Now(),
	}, b}
}

// Append stores entries, all or none, and folds them. An entry that cannot be encoded is an error and nothing else happens. After
// an error of the store the journal is dead: what is stored is not known, so that nothing more may be built on it, and every later
// append returns the same error.
func (j *Journal) Append(ctx context.Context, durable bool, es ...Entry) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.dead != nil {
		return j.dead
	}
	if len(es) == 0 {
		return nil
	}
	for i := range es {
		if err := es[i].Encode(); err != nil {
			return err
		}
	}
	if s, ok := j.snap.take(); ok {
		es = append(slices.Clip(es), s)
	}
	err := j.append(ctx, durable, es)
	if err != nil {
		j.dead = fmt.Errorf("thread %s: %w", j.c.Thread, err)
		err = j.dead
	}
	if j.c.Stored != nil {
		j.c.Stored(es, err)
	}
	return err
}

func (j *Journal) append(ctx context.Context, durable bool, es []Entry) error {
	v := j.c.View
	a := Append{Fence: j.c.Lease.Fence(), Branch: v.Branch, ExpectSeq: v.Seq, Durable: durable, Records: make([]Record, len(es))}
	if v.Seq == 0 {
		a.Branch = "" // the first append creates the branch
	}
	for i := range es {
		if j.c.Number != nil {
			first, high := j.c.Number(&es[i])
			es[i].Event = first
			a.EventHigh = max(a.EventHigh, high)
		}
		a.Records[i] = es[i].Record
	}
	seq, err := j.c.Store.Append(ctx, j.c.Thread, a)
	if err != nil {
		return err
	}
	for i := range es {
		es[i].Seq = seq - int64(len(es)-1-i)
		es[i].Branch = v.Branch
		if err := v.Apply(es[i]); err != nil {
			return err
		}
		j.snap.wrote(es[i])
	}
	j.snapshot(es)
	return nil
}

// Encode fills in the data of the entry, unless it is there. [Journal.Append] does so for those that come without.
func (e *Entry) Encode() error {
	if e.Data != nil {
		return nil
	}
	data, err := encode(e.Body)
	if err != nil {
		return fmt.Errorf("%s record: %w", e.Kind, err)
	}
	e.Data = data
	return nil
}

// View calls f with the view, which must not be kept or changed.
func (j *Journal) View(f func(v *View)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	f(j.c.View)
}

// Close waits for work in the background. It does not release the lease.
func (j *Journal) Close() {
	j.snap.wg.Wait()
}
