package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/deepagents-go/deepagents/thread"
)

// schemaVersion is the user_version of the files that this program writes; application marks them ("DAth").
const (
	schemaVersion = 1
	application   = 0x44417468
)

// The key of a record is its thread's row and its Seq, so that a thread's records lie together in order and need no index. The
// same holds for events. kind is a small number, or the text of a kind that this program does not know; ns and run are rows of
// names, 0 for "". tip is the branch of the thread's last record: its last is the thread's seq, that of the others is in their
// row, so that an append changes one row besides the records. gen counts prunings.
const schema = `
CREATE TABLE threads(
  id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE,
  created INTEGER NOT NULL DEFAULT 0, updated INTEGER NOT NULL DEFAULT 0,
  head INTEGER NOT NULL DEFAULT 0, tip INTEGER NOT NULL DEFAULT 0, seq INTEGER NOT NULL DEFAULT 0,
  records INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0,
  branches INTEGER NOT NULL DEFAULT 0, gen INTEGER NOT NULL DEFAULT 0,
  event_high INTEGER NOT NULL DEFAULT 0, event_last INTEGER NOT NULL DEFAULT 0,
  events INTEGER NOT NULL DEFAULT 0, event_bytes INTEGER NOT NULL DEFAULT 0,
  fence INTEGER NOT NULL DEFAULT 0, owner TEXT NOT NULL DEFAULT '', expires INTEGER NOT NULL DEFAULT 0);
CREATE TABLE branches(
  id INTEGER PRIMARY KEY AUTOINCREMENT, thread INTEGER NOT NULL, name TEXT NOT NULL,
  parent INTEGER NOT NULL, fork INTEGER NOT NULL,
  first INTEGER NOT NULL DEFAULT 0, last INTEGER NOT NULL DEFAULT 0, dead INTEGER NOT NULL DEFAULT 0,
  UNIQUE(thread, name));
CREATE TABLE names(id INTEGER PRIMARY KEY AUTOINCREMENT, thread INTEGER NOT NULL, name TEXT NOT NULL, UNIQUE(thread, name));
CREATE TABLE records(
  key INTEGER PRIMARY KEY, branch INTEGER NOT NULL, kind NOT NULL, ns INTEGER NOT NULL, run INTEGER NOT NULL,
  step INTEGER NOT NULL, event INTEGER NOT NULL, base INTEGER NOT NULL, v INTEGER NOT NULL, time, id TEXT NOT NULL, data BLOB);
CREATE INDEX snapshots ON records(branch, key) WHERE kind = 11;
CREATE TABLE events(key INTEGER PRIMARY KEY, data BLOB);
CREATE TABLE fences(last INTEGER NOT NULL);
INSERT INTO fences VALUES(0);
`

// seqBits is the part of a key that is the Seq: 34 billion records in each of 268 million threads.
const (
	seqBits = 35
	maxSeq  = 1<<seqBits - 1
)

func key(thread, seq int64) int64 { return thread<<seqBits | min(max(seq, 0), maxSeq) }

func seqOf(key int64) int64 { return key & maxSeq }

// prepare checks the file, or makes it. All who open it do so in turns.
func (s *Store) prepare(ctx context.Context) error {
	if err := s.turn(ctx); err != nil {
		return err
	}
	defer s.endTurn()
	switch info, err := os.Stat(s.file); {
	case errors.Is(err, fs.ErrNotExist):
		return s.create()
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%w: give the path of a file", syscall.EISDIR)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%w: the path is not a regular file", thread.ErrCorrupt)
	case info.Size() == 0:
		return fmt.Errorf("%w: the file is empty; remove it to start anew, or restore a copy", thread.ErrCorrupt)
	}
	if err := access(s.file); err != nil {
		return fmt.Errorf("%w: the file must be readable and writable", err)
	}
	return s.checkFile()
}

// create makes the file under another name first: what has the right name is whole.
func (s *Store) create() (err error) {
	tmp := s.file + ".new"
	for _, old := range []string{tmp, tmp + "-journal", tmp + "-wal", tmp + "-shm"} {
		if err := os.Remove(old); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	// SQLite gives its other files the mode of this one.
	f, err := os.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(tmp))
		}
	}()
	c, err := openConn(tmp, s.o.BusyTimeout, "mode=rw&_pragma=synchronous(FULL)")
	if err != nil {
		return explain(err)
	}
	err = c.script(fmt.Sprintf("BEGIN; %s PRAGMA application_id=%d; PRAGMA user_version=%d; COMMIT; PRAGMA journal_mode=WAL;",
		schema, application, schemaVersion))
	if err := errors.Join(explain(err), explain(c.close())); err != nil {
		return err
	}
	if err := os.Rename(tmp, s.file); err != nil {
		return err
	}
	return syncDir(filepath.Dir(s.file))
}

// checkFile refuses files that this program must not write to. It opens them read-only, so that nothing in them changes.
func (s *Store) checkFile() error {
	c, err := openConn(s.file, s.o.BusyTimeout, "mode=ro")
	if err != nil {
		return explain(err)
	}
	err = checkContent(c)
	return errors.Join(err, explain(c.close()))
}

func checkContent(c *conn) error {
	app, err := c.number("PRAGMA application_id")
	if err != nil {
		return explain(err)
	}
	version, err := c.number("PRAGMA user_version")
	if err != nil {
		return explain(err)
	}
	tables, err := c.number("SELECT count(*) FROM sqlite_schema WHERE name IN " +
		"('threads', 'branches', 'names', 'records', 'snapshots', 'events', 'fences')")
	switch {
	case err != nil:
		return explain(err)
	case app != application:
		return fmt.Errorf("%w: the file is an SQLite database of another program; choose another path", thread.ErrCorrupt)
	case version > schemaVersion:
		return fmt.Errorf("%w: the file has format %d, this program knows up to %d; use a newer program or another path",
			thread.ErrNewer, version, schemaVersion)
	case version < schemaVersion || tables != 7:
		return fmt.Errorf("%w: tables are missing; move the file away or restore a copy", thread.ErrCorrupt)
	}
	return nil
}

// checkMode sets the writer up and makes sure that the file is in WAL mode.
func (s *Store) checkMode() error {
	row, err := s.w.one("PRAGMA journal_mode=WAL")
	if err != nil {
		return err
	}
	if row == nil || text(row[0]) != "wal" {
		return fmt.Errorf("%w: the file cannot be opened for shared writing (no WAL); use a local disk", errors.ErrUnsupported)
	}
	return s.w.script("PRAGMA wal_autocheckpoint=1000; PRAGMA journal_size_limit=4194304; PRAGMA cache_size=-4096; PRAGMA temp_store=MEMORY;")
}
