//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package disk

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryFlock takes the lock of other processes on an open file, and of other handles in this one. It does not wait.
func tryFlock(f *os.File) (bool, error) {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) //nolint:gosec // a descriptor is small
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		case errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.ENOLCK), errors.Is(err, unix.EINVAL):
			return true, nil // a file system without locks: the lock inside this process must do
		default:
			return false, err
		}
	}
}

// recordAge is how old a record must be to count as left behind. Its lock tells whether its writer lives.
const recordAge = 0
