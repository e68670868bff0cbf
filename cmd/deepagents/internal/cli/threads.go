package cli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/state"
	"github.com/deepagents-go/deepagents/thread"
	"github.com/deepagents-go/deepagents/thread/memory"
	"github.com/deepagents-go/deepagents/thread/sqlite"
)

// DataDir returns the data directory: dir, or ~/.deepagents when it is empty.
func DataDir(dir string) (string, error) {
	if dir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", Usagef("no data directory: %w: give --data DIR", err)
		}
		dir = filepath.Join(home, ".deepagents")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", Usagef("data directory %s: %w", dir, err)
	}
	return abs, nil
}

// Database returns the file that a data directory keeps its threads in.
func Database(dir string) string { return filepath.Join(dir, "threads.db") }

// OpenThreads opens the threads of a data directory, and makes it when there is none.
func OpenThreads(ctx context.Context, dir string) (thread.Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, Usagef("data directory: %w: give another one with --data DIR", err)
	}
	s, err := sqlite.Open(ctx, Database(dir), sqlite.Options{})
	if err != nil {
		return nil, Usagef("threads in %s: %w", dir, err)
	}
	return s, nil
}

// LookThreads opens the threads of a data directory that has some; without any it makes nothing.
func LookThreads(ctx context.Context, dir string) (thread.Store, error) {
	if _, err := os.Stat(Database(dir)); errors.Is(err, fs.ErrNotExist) {
		return memory.New(), nil
	}
	return OpenThreads(ctx, dir)
}

// NewThreadID returns an id for a new thread: the day, and enough chance that no two are equal.
func NewThreadID(now time.Time) string {
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails
	return now.Format("2006-01-02-") + hex.EncodeToString(b[:])
}

// LoadThread reads a thread without knowing its agent. An unknown thread is [thread.ErrNotFound].
func LoadThread(ctx context.Context, s thread.Store, id string) (*thread.View, error) {
	if err := thread.ValidThread(id); err != nil {
		return nil, Usage(err)
	}
	schema, err := state.NewSchema(state.Messages.Field())
	if err != nil {
		return nil, err
	}
	v, err := thread.Load(ctx, s, id, "", schema)
	if err != nil {
		return nil, fmt.Errorf("thread %s: %w", id, err)
	}
	if !v.Exists() {
		return nil, Usagef("thread %s: %w", id, thread.ErrNotFound)
	}
	return v, nil
}

// Finished reports whether there is nothing to go on with: the last step led to the end. (Its process may have died right after.)
func Finished(v *thread.View) bool {
	return len(v.Open()) == 0 && (v.Root.Next == thread.NodeEnd || v.Root.Head == "")
}

// Answer returns the text of the newest assistant message.
func Answer(v *thread.View) string {
	for _, m := range slices.Backward(state.Messages.In(v.Root.State).Slice()) {
		if m.Role == message.Assistant {
			return m.Text()
		}
	}
	return ""
}

// probeTTL is the life of a lease that is given back at once.
const probeTTL = 5 * time.Second

// Free returns the error of a thread that somebody else is running.
func Free(ctx context.Context, s thread.Store, id string) error {
	return Patiently(ctx, func() error {
		l, err := s.Acquire(ctx, id, "deepagents", probeTTL)
		if err != nil {
			return err
		}
		return l.Release(ctx)
	})
}

const (
	busyTime  = 500 * time.Millisecond
	busyPause = 20 * time.Millisecond
)

// Patiently tries again for a moment while a thread is busy. A process that was killed while it started another one leaves its lock
// to that one until it runs its own program.
func Patiently(ctx context.Context, try func() error) error {
	for end := time.Now().Add(busyTime); ; {
		err := try()
		if !errors.Is(err, thread.ErrBusy) || time.Now().After(end) {
			return err
		}
		select {
		case <-time.After(busyPause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// CheckNew refuses to begin a new task on a thread that waits for an answer or whose last run crashed.
func CheckNew(ctx context.Context, s thread.Store, id string, c Again) error {
	v, err := LoadThread(ctx, s, id)
	if errors.Is(err, thread.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	open := v.Open()
	if len(open) == 0 && (!v.Crashed() || Finished(v)) {
		return nil
	}
	if err := Free(ctx, s, id); err != nil {
		return err
	}
	if len(open) > 0 {
		return Usagef("thread %s is paused: %d question(s) wait for an answer: use %s", id, len(open), c.Resume(id))
	}
	return Usagef("thread %s did not end: its process was killed: use %s", id, c.Resume(id))
}
