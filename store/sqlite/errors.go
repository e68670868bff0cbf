package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// explain turns an error of SQLite into one that says what to do, and leaves others as they are.
func explain(err error) error {
	var e *driver.Error
	if !errors.As(err, &e) || explained(err) {
		return err
	}
	say := func(sentinel error, advice string) error {
		return fmt.Errorf("%w: %s (%s)", sentinel, advice, e.Error())
	}
	switch e.Code() & 0xff {
	case lib.SQLITE_CORRUPT:
		return say(ErrCorrupt, "move the file away, restore a copy, or save what can be read with the .recover command of sqlite3")
	case lib.SQLITE_NOTADB:
		return say(ErrCorrupt, "the file is no store; move it away or choose another path")
	case lib.SQLITE_FULL:
		return say(syscall.ENOSPC, "nothing was stored; free some space and try again")
	case lib.SQLITE_READONLY, lib.SQLITE_PERM, lib.SQLITE_CANTOPEN, lib.SQLITE_AUTH:
		return say(fs.ErrPermission, "the file and its directory must be readable and writable")
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return say(ErrBusy, "another program holds the file; close it or try again")
	case lib.SQLITE_IOERR:
		return say(syscall.EIO, "the disk could not be read or written")
	case lib.SQLITE_NOMEM:
		return say(syscall.ENOMEM, "not enough memory")
	case lib.SQLITE_TOOBIG:
		return say(syscall.EFBIG, "an item is too large")
	}
	return err
}

func explained(err error) bool {
	return errors.Is(err, ErrCorrupt) || errors.Is(err, ErrBusy) || errors.Is(err, ErrNewer)
}
