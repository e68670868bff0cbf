//go:build unix

package sqlite

import "golang.org/x/sys/unix"

// access asks whether a file may be read and written, without opening it: closing would drop SQLite's locks.
func access(path string) error { return unix.Access(path, unix.R_OK|unix.W_OK) }
