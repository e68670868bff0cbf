package sqlite

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// locks are kernel locks on single bytes of a file: each is held by one open file at most and ends with it, however its process
// ends. Linux has them per open file (OFD), so that two stores in one process exclude each other too.
type locks struct{ f *os.File }

func openLocks(path string) (*locks, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return &locks{f}, nil
}

func (l *locks) flock(cmd int, kind int16, n int64) (unix.Flock_t, error) {
	k := unix.Flock_t{Type: kind, Start: n, Len: 1}
	for {
		err := unix.FcntlFlock(l.f.Fd(), cmd, &k)
		if err == nil || !errors.Is(err, unix.EINTR) {
			return k, err
		}
	}
}

// try takes a lock unless somebody else has it.
func (l *locks) try(n int64) (bool, error) {
	_, err := l.flock(unix.F_OFD_SETLK, unix.F_WRLCK, n)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return false, nil
	}
	return err == nil, err
}

func (l *locks) unlock(n int64) error {
	_, err := l.flock(unix.F_OFD_SETLK, unix.F_UNLCK, n)
	return err
}

// taken reports whether somebody else has a lock.
func (l *locks) taken(n int64) (bool, error) {
	k, err := l.flock(unix.F_OFD_GETLK, unix.F_WRLCK, n)
	return k.Type != unix.F_UNLCK, err
}

func (l *locks) close() error { return l.f.Close() }
