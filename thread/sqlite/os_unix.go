//go:build unix

package sqlite

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// access asks whether a file may be read and written, without opening it: closing would drop SQLite's locks.
func access(path string) error { return unix.Access(path, unix.R_OK|unix.W_OK) }

// syncDir makes a rename survive a power cut.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, unix.EINVAL) { // a file system that cannot
		err = nil
	}
	return errors.Join(err, d.Close())
}
