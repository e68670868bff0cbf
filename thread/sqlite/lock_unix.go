//go:build unix && !linux

package sqlite

import (
	"errors"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// locks are kernel locks, one small file for each: locks on bytes belong to the process here, and closing any descriptor of the
// file ends them, so flock is used, which belongs to the open file.
type locks struct {
	path string
	mu   sync.Mutex
	open map[int64]*os.File
}

func openLocks(path string) (*locks, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return &locks{path: path, open: make(map[int64]*os.File)}, f.Close()
}

func (l *locks) name(n int64) string { return l.path + "." + strconv.FormatInt(n, 10) }

// try takes a lock unless somebody else has it.
func (l *locks) try(n int64) (bool, error) {
	f, err := os.OpenFile(l.name(n), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return false, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = nil
		}
		return false, errors.Join(err, f.Close())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[n] = f
	return true, nil
}

// unlock removes the file of a lease, which nobody else will ever lock; the files of turns stay.
func (l *locks) unlock(n int64) error {
	l.mu.Lock()
	f := l.open[n]
	delete(l.open, n)
	l.mu.Unlock()
	if f == nil {
		return nil
	}
	var err error
	if n >= firstFence {
		err = os.Remove(l.name(n))
	}
	return errors.Join(err, f.Close())
}

// taken reports whether somebody else has a lock.
func (l *locks) taken(n int64) (bool, error) {
	l.mu.Lock()
	own := l.open[n] != nil
	l.mu.Unlock()
	if own {
		return false, nil
	}
	f, err := os.OpenFile(l.name(n), os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if err == nil { // its holder died
		return false, errors.Join(os.Remove(l.name(n)), f.Close())
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, f.Close()
	}
	return false, errors.Join(err, f.Close())
}

func (l *locks) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs []error
	for _, f := range l.open {
		errs = append(errs, f.Close())
	}
	l.open = nil
	return errors.Join(errs...)
}
