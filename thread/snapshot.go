package thread

import (
	"sync"

	"github.com/deepagents-go/deepagents/state"
)

// minSnapshot is the number of bytes after which a first snapshot is worth taking: a smaller thread is folded in a moment.
const minSnapshot = 64 << 10

// maxOverhead bounds the bytes of all snapshots: 6/5 of the bytes of the records, so that a thread never takes more than 2.2
// times its records.
const overheadNum, overheadDen = 6, 5

// written counts the bytes of a branch.
type written struct {
	// records and snapshots are the bytes of all of them; since those of the records after the newest snapshot's commit, and last
	// is the size of that snapshot.
	records, snapshots, since, last int64
}

// add counts an entry that is read or written.
func (w *written) add(e Entry) {
	n := int64(len(e.Data))
	s, ok := e.Body.(*Snapshot)
	if !ok {
		w.records += n
		w.since += n
		return
	}
	if w.records == 0 { // what it stands for was not read
		w.records, w.snapshots = s.Records, s.Snapshots
	}
	w.snapshots += n
	w.since = w.records - s.Records
	w.last = n
}

// snapshotter encodes snapshots beside the run. A snapshot is due when the records since the last one are larger than it was;
// it is stored with the next append after it is ready.
type snapshotter struct {
	mu    sync.Mutex
	wg    sync.WaitGroup
	ready *Entry
	busy  bool
	written
}

func (p *snapshotter) wrote(e Entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.add(e)
}

// due reports whether a snapshot should be taken, and claims it. Its size is not known yet; a size that would pass the bound is
// refused when it is done, and due again after as many bytes.
func (p *snapshotter) due(b *Snapshot) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy || p.ready != nil || p.since <= max(p.last, minSnapshot) {
		return false
	}
	p.busy = true
	p.since = 0
	b.Records, b.Snapshots = p.records, p.snapshots
	return true
}

func (p *snapshotter) done(e *Entry, size int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy = false
	if e == nil || (p.snapshots+size)*overheadDen > p.records*overheadNum {
		return
	}
	p.ready = e
}

// take returns the snapshot that is ready.
func (p *snapshotter) take() (Entry, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ready == nil {
		return Entry{}, false
	}
	e := *p.ready
	p.ready = nil
	return e, true
}

// snapshot starts a snapshot when one is due and the last entry is a root commit without decisions that a later commit needs.
func (j *Journal) snapshot(es []Entry) {
	last := es[len(es)-1]
	root := j.c.View.Root
	if last.NS != "" || last.Kind != KindCommit || len(root.Answered)+len(root.Replaced)+len(root.Granted) > 0 {
		return
	}
	b := &Snapshot{At: last.ID, Next: root.Next, Node: root.Node, Source: root.Source}
	if !j.snap.due(b) {
		return
	}
	e := j.NewEntry("", last.Step, b)
	e.Base = last.Seq
	st := root.State
	j.snap.wg.Go(func() { j.snap.encode(e, b, st) })
}

// encode makes the snapshot. A state that cannot be encoded has no snapshot; its thread is folded from its records.
func (p *snapshotter) encode(e Entry, b *Snapshot, st state.State) {
	var err error
	if b.State, err = st.Encode(); err == nil {
		e.Data, err = encode(b)
	}
	if err != nil {
		p.done(nil, 0)
		return
	}
	p.done(&e, int64(len(e.Data)))
}
