package sandbox

import (
	"context"
	"iter"
	"sync"
)

const chunkSize = 32 << 10

// Log keeps the output of a process in bounded memory, for any number of readers: what an implementation of [Process] needs for
// Output. It is safe for concurrent use.
type Log struct {
	mu    sync.Mutex
	ring  ring
	end   int64
	ended bool
	wake  chan struct{} // closed and replaced when something changes; nil when nobody waits
}

// NewLog makes a log that keeps the first head and the last tail bytes of both streams together.
func NewLog(head, tail int) *Log {
	return &Log{ring: ring{headMax: max(head, 0), tailMax: max(tail, 0)}}
}

// Append adds output. It never blocks on a reader.
func (l *Log) Append(s Stream, p []byte) {
	if len(p) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ring.add(l.end, s, p)
	l.end += int64(len(p))
	l.wakeAll()
}

// End says that the process has ended: readers end when they have what there is. Output of background processes may still be
// appended; a later reader gets it.
func (l *Log) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	l.wakeAll()
}

func (l *Log) wakeAll() {
	if l.wake != nil {
		close(l.wake)
		l.wake = nil
	}
}

// Len returns the number of bytes appended so far, kept or not.
func (l *Log) Len() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.end
}

// Chunks yields the output from an offset as [Process] says it for Output. An error is the context's.
func (l *Log) Chunks(ctx context.Context, from int64) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		off := max(from, 0)
		stop := int64(-1) // where to end, once the process has
		for {
			if err := ctx.Err(); err != nil {
				yield(Chunk{}, context.Cause(ctx))
				return
			}
			c, ok, wait := l.next(off, &stop)
			switch {
			case ok:
				off += int64(len(c.Data)) + c.Skipped
				if !yield(c, nil) {
					return
				}
			case wait == nil:
				return
			default:
				select {
				case <-wait:
				case <-ctx.Done():
				}
			}
		}
	}
}

// next returns the chunk at off, or a channel to wait on, or neither at the end.
func (l *Log) next(off int64, stop *int64) (Chunk, bool, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended && *stop < 0 {
		*stop = l.end
	}
	if *stop >= 0 && off >= *stop {
		return Chunk{}, false, nil
	}
	if c, ok := l.ring.next(off, chunkSize); ok {
		return c, true, nil
	}
	if l.wake == nil {
		l.wake = make(chan struct{})
	}
	return Chunk{}, false, l.wake
}
