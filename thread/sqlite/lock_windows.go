package sqlite

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// locks are kernel locks on single bytes of a file: each is held by one handle at most and ends with it.
type locks struct{ f *os.File }

func openLocks(path string) (*locks, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return &locks{f}, nil
}

func at(n int64) *windows.Overlapped {
	return &windows.Overlapped{Offset: uint32(n), OffsetHigh: uint32(n >> 32)}
}

func (l *locks) lock(n int64, flags uint32) (bool, error) {
	err := windows.LockFileEx(windows.Handle(l.f.Fd()), flags|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, at(n))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	return err == nil, err
}

// try takes a lock unless somebody else has it.
func (l *locks) try(n int64) (bool, error) { return l.lock(n, windows.LOCKFILE_EXCLUSIVE_LOCK) }

func (l *locks) unlock(n int64) error {
	return windows.UnlockFileEx(windows.Handle(l.f.Fd()), 0, 1, 0, at(n))
}

// taken reports whether somebody else has a lock. It shares it for a moment, which keeps no other asker away.
func (l *locks) taken(n int64) (bool, error) {
	ok, err := l.lock(n, 0)
	if err != nil || !ok {
		return !ok, err
	}
	return false, l.unlock(n)
}

func (l *locks) close() error { return l.f.Close() }
