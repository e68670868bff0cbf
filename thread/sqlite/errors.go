package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/deepagents-go/deepagents/thread"
	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

var errClosed = fmt.Errorf("the thread store is closed: %w", fs.ErrClosed)

// explain turns an error of SQLite into one that says what to do, and leaves others as they are.
func explain(err error) error {
	var e *driver.Error
	if !errors.As(err, &e) {
		return err
	}
	say := func(sentinel error, advice string) error {
		return fmt.Errorf("%w: %s (%s)", sentinel, advice, e.Error())
	}
	switch e.Code() {
	case lib.SQLITE_IOERR_SHMSIZE:
		return say(syscall.ENOSPC, "nothing was stored; free some space and try again")
	case lib.SQLITE_IOERR_CORRUPTFS:
		return say(thread.ErrCorrupt, "check the file system")
	}
	switch e.Code() & 0xff {
	case lib.SQLITE_CORRUPT:
		return say(thread.ErrCorrupt, "nothing more is written to the file; move it away, restore a copy, or save what can be "+
			"read with the .recover command of sqlite3")
	case lib.SQLITE_NOTADB:
		return say(thread.ErrCorrupt, "the file is not a thread database; move it away or choose another path")
	case lib.SQLITE_FULL:
		return say(syscall.ENOSPC, "nothing was stored; free some space and try again")
	case lib.SQLITE_READONLY, lib.SQLITE_PERM, lib.SQLITE_CANTOPEN, lib.SQLITE_AUTH:
		return say(fs.ErrPermission, "the file and its directory must be readable and writable")
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return say(thread.ErrBusy, "another program holds the thread database; close it or try again")
	case lib.SQLITE_IOERR:
		return say(syscall.EIO, "the disk could not be read or written")
	case lib.SQLITE_NOMEM:
		return say(syscall.ENOMEM, "not enough memory")
	case lib.SQLITE_TOOBIG:
		return say(syscall.EFBIG, "a record is too large")
	}
	return err
}

// isDatabase reports whether the error came from the database rather than from a rule of threads.
func isDatabase(err error) bool {
	var e *driver.Error
	return errors.As(err, &e)
}
