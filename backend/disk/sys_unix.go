//go:build unix

package disk

import (
	"errors"
	"os"
	"syscall"

	"github.com/deepagents-go/deepagents/backend/driver"
)

const nonBlock = syscall.O_NONBLOCK | syscall.O_NOCTTY

// sentinel finds the sentinel of package driver for an error of the system, or nil.
func sentinel(err error) error {
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		return driver.ErrNotDir
	case errors.Is(err, syscall.EISDIR):
		return driver.ErrIsDir
	case errors.Is(err, syscall.ELOOP):
		return driver.ErrLoop
	case errors.Is(err, syscall.ENXIO):
		return driver.ErrNotRegular
	case errors.Is(err, syscall.EFBIG):
		return driver.ErrTooLarge
	case errors.Is(err, driver.ErrNotDir):
		return driver.ErrNotDir
	}
	return nil
}

// keepOwner gives a file the owner of another. It reports whether that is so now.
func keepOwner(f *os.File, is, want meta) bool {
	if is.uid == want.uid && is.gid == want.gid {
		return true
	}
	return f.Chown(want.uid, want.gid) == nil
}

// syncDir makes the names in a directory durable. File systems that cannot are no error.
func syncDir(f *os.File) error {
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	return nil
}
