package thread

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"
)

// ID names a record, a checkpoint (the record of a root commit) or a branch.
type ID string

// FirstBranch is the branch that the first append to a thread creates.
const FirstBranch ID = "main"

// Version is the version of the records that this program writes. A reader refuses newer ones.
const Version = 1

// Kind is the kind of a record.
type Kind string

// The kinds of records. Their data is in data.go.
const (
	KindRunStarted  Kind = "run_started"
	KindInput       Kind = "input"
	KindModel       Kind = "model"
	KindCallStarted Kind = "call_started"
	KindCallEnded   Kind = "call_ended"
	KindOnce        Kind = "once"
	KindInterrupt   Kind = "interrupt"
	KindAnswer      Kind = "answer"
	KindUpdate      Kind = "update"
	KindCommit      Kind = "commit"
	KindSnapshot    Kind = "snapshot"
	KindRunEnded    Kind = "run_ended"
)

// Record is one entry of a log. Stores keep it as it is and set Seq and Branch.
type Record struct {
	V int `json:"v"`
	// Seq counts the records of a thread over all branches and is the only order. The store gives it.
	Seq    int64 `json:"seq"`
	ID     ID    `json:"id"`
	Branch ID    `json:"branch"`
	// NS is the namespace: the path of task ids that leads to a sub-agent, "" for the main agent.
	NS    string    `json:"ns,omitempty"`
	RunID string    `json:"run_id"`
	Step  int       `json:"step"`
	Kind  Kind      `json:"kind"`
	Time  time.Time `json:"time"`
	// Event is the sequence number of the first event that the record gave rise to, or 0.
	Event int64 `json:"event,omitempty"`
	// Base is the Seq that a snapshot folds up to, itself included. Only snapshots have it.
	Base int64           `json:"base,omitempty"`
	Data json.RawMessage `json:"data"`
}

// Append is one atomic addition to a log.
type Append struct {
	// Fence is the fence of the lease, or 0 when no lease is needed (imports into a new thread). 0 is a [*BusyError] while
	// somebody holds the lease.
	Fence int64
	// Branch is the branch to append to; empty means the head branch, which the first append creates. An unknown branch is
	// [ErrNotFound].
	Branch ID
	// ExpectSeq must be the Seq of the last record of the branch, else [ErrConflict]; -1 means any, 0 an empty branch.
	ExpectSeq int64
	// Durable means that the records survive a power cut when Append returns. Without it they survive the death of the process
	// only.
	Durable bool
	Records []Record
	// EventHigh, when not 0, becomes the highest event number that may have been shown to a reader, also when it is lower than
	// what was reserved before.
	EventHigh int64
}

// Query selects records of one branch, its ancestors up to the forks included.
type Query struct {
	// Branch is the branch; empty means the head branch.
	Branch ID
	// NS selects a namespace; Prefix selects everything below it too (its path and a slash come first). The zero value with
	// Prefix selects all.
	NS     string
	Prefix bool
	// Kinds selects kinds; empty means all.
	Kinds []Kind
	// After selects records with a greater Seq.
	After int64
	// FromSnapshot begins with the newest snapshot of the branch, if there is one, and goes on with the records after its Base.
	// Other snapshots are left out. NS and After select the snapshot too, Kinds does not.
	FromSnapshot bool
	// Reverse yields the newest record first. It does not go with FromSnapshot.
	Reverse bool
}

// InNamespace reports whether the query selects the namespace.
func (q Query) InNamespace(ns string) bool {
	switch {
	case ns == q.NS:
		return true
	case !q.Prefix:
		return false
	}
	return q.NS == "" || len(ns) > len(q.NS) && ns[len(q.NS)] == '/' && ns[:len(q.NS)] == q.NS
}

// Selects reports whether the query selects a record of its branch by namespace, kind and Seq.
func (q Query) Selects(r *Record) bool {
	return r.Seq > q.After && q.InNamespace(r.NS) && (len(q.Kinds) == 0 || slices.Contains(q.Kinds, r.Kind))
}

// Head is where a thread stands.
type Head struct {
	// Branch is the head branch.
	Branch ID
	// Seq is the Seq of the branch's last record.
	Seq int64
	// EventHigh is the highest event number that may have been shown to a reader.
	EventHigh int64
}

// Info describes a thread in a listing.
type Info struct {
	Thread           string
	Created, Updated time.Time
	// Records counts the records, Bytes the bytes of their data.
	Records, Bytes int64
	// Owner is who holds the lease, or "".
	Owner string
}

// Event is one entry of the event log: a live event that no record stands for, such as a delta.
type Event struct {
	Seq  int64
	Data json.RawMessage
}

// Lease is the right to write to a thread. At most one holder has it.
type Lease interface {
	// Fence grows with every holder; appends carry it.
	Fence() int64
	// Renew keeps the lease for another time to live, or returns [ErrFenced] when somebody else has it.
	Renew(ctx context.Context) error
	// Release gives the lease back. It is idempotent.
	Release(ctx context.Context) error
}

// Store keeps logs. It is safe for concurrent use. Thread ids match [ValidThread]. A thread exists from its first append of
// records or events on. Data that is added is copied; what is returned must not be changed.
type Store interface {
	// Acquire takes the lease of a thread, which need not exist yet. While another holder lives it returns a [*BusyError]; a
	// holder that is known to be dead is replaced at once, one that is not when its time to live is over. Until somebody takes
	// it, a lease whose time is over is still good.
	Acquire(ctx context.Context, thread, owner string, ttl time.Duration) (Lease, error)
	// Append adds records, all or none, and returns the Seq of the last one; the others precede it without gaps.
	Append(ctx context.Context, thread string, a Append) (seq int64, err error)
	// Read yields records in the order of Seq, as they were when the range began. A thread or branch that does not exist is
	// [ErrNotFound]. The range ends with [ErrConflict] when the thread is pruned meanwhile and the store cannot go on.
	Read(ctx context.Context, thread string, q Query) iter.Seq2[Record, error]
	// Head returns where a thread stands, or [ErrNotFound].
	Head(ctx context.Context, thread string) (Head, error)
	// Fork returns a new branch that shares everything up to and including the record at. The head stays where it is. An unknown
	// record is [ErrNotFound].
	Fork(ctx context.Context, thread string, fence int64, at ID) (ID, error)
	// SetHead makes a branch the head.
	SetHead(ctx context.Context, thread string, fence int64, branch ID) error
	// List yields the threads, sorted by id.
	List(ctx context.Context) iter.Seq2[Info, error]
	// Prune removes the records of the head branch that its newest snapshot of the main namespace stands for (up to its Base),
	// except run_started records, and every other branch that needs what was removed: one whose newest snapshot was removed
	// too or does not stand for all of it. Without a snapshot nothing is removed.
	Prune(ctx context.Context, thread string, fence int64) error
	// Delete removes a thread with everything it has. A thread that is leased is a [*BusyError].
	Delete(ctx context.Context, thread string) error

	// AppendEvents adds live events, in order, and raises the thread's EventHigh to the last one's Seq. They survive the death
	// of the process, not a power cut, and cost no fsync. The oldest are dropped when the log passes its bound. An event that
	// does not come after the last one of the log is [ErrConflict].
	AppendEvents(ctx context.Context, thread string, fence int64, events []Event) error
	// Events yields the live events after a number. first is the number of the oldest event kept, or 0 when there is none.
	Events(ctx context.Context, thread string, after int64) (first int64, events []Event, err error)
	// Close frees what the store holds. Leases end with it.
	Close() error
}

// The sentinels of stores.
var (
	ErrNotFound = errors.New("not found")
	ErrConflict = errors.New("the thread was changed by somebody else")
	ErrFenced   = errors.New("the lease of the thread was lost")
	ErrBusy     = errors.New("the thread is in use")
	ErrNewer    = errors.New("written by a newer version of this program")
	ErrCorrupt  = errors.New("damaged")
	ErrThreadID = errors.New("invalid thread id")
)

// BusyError says who uses a thread.
type BusyError struct{ Thread, Owner string }

// Error names the thread and its user.
func (e *BusyError) Error() string {
	if e.Owner == "" {
		return fmt.Sprintf("thread %s is in use by another process", e.Thread)
	}
	return fmt.Sprintf("thread %s is in use by %s", e.Thread, e.Owner)
}

// Is reports whether target is [ErrBusy].
func (e *BusyError) Is(target error) bool { return target == ErrBusy }

// MaxThreadID is the length of the longest thread id.
const MaxThreadID = 128

// ValidThread returns [ErrThreadID], with the reason, for an id that is not 1 to 128 characters from A-Z a-z 0-9 . _ -.
func ValidThread(id string) error {
	if id == "" || len(id) > MaxThreadID {
		return fmt.Errorf("%w %q: it must have 1 to %d characters", ErrThreadID, id, MaxThreadID)
	}
	for _, c := range []byte(id) {
		ok := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-'
		if !ok {
			return fmt.Errorf("%w %q: only letters, digits, '.', '_' and '-' are allowed", ErrThreadID, id)
		}
	}
	return nil
}

// CheckVersion returns [ErrNewer] for a record that this program cannot read.
func CheckVersion(r Record) error {
	if r.V > Version {
		return fmt.Errorf("record %s has version %d, this program reads up to %d: %w: use a newer program", r.ID, r.V, Version, ErrNewer)
	}
	return nil
}
