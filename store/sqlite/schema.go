package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// schemaVersion is the user_version of the files that this program writes; application marks them ("DAst").
const (
	schemaVersion = 1
	application   = 0x44417374
)

// ns is what nskey makes of a namespace, so that its order is that of the labels. Times are Unix nanoseconds, an item without a time
// to live has ttl and expires 0. indexed says that texts has a row for the item.
const schema = `
CREATE TABLE items(
  id INTEGER PRIMARY KEY AUTOINCREMENT, ns BLOB NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL,
  created INTEGER NOT NULL, updated INTEGER NOT NULL, version INTEGER NOT NULL,
  ttl INTEGER NOT NULL, expires INTEGER NOT NULL, indexed INTEGER NOT NULL);
CREATE UNIQUE INDEX names ON items(ns, key);
CREATE INDEX ends ON items(expires) WHERE expires > 0;
CREATE TABLE vectors(item INTEGER NOT NULL, n INTEGER NOT NULL, vector BLOB NOT NULL, PRIMARY KEY(item, n)) WITHOUT ROWID;
CREATE VIRTUAL TABLE texts USING fts5(body, content='', contentless_delete=1);
CREATE TABLE versions(last INTEGER NOT NULL);
INSERT INTO versions VALUES(0);
`

func (s *Store) open(ctx context.Context) error {
	if s.file == "" {
		return errors.New("the path is empty")
	}
	abs, err := filepath.Abs(s.file)
	if err != nil {
		return err
	}
	s.file = abs
	if err := s.prepare(ctx); err != nil {
		return err
	}
	w, err := s.openWriter(ctx)
	if err != nil {
		return err
	}
	s.w <- w
	for range readers {
		r, err := openConn(ctx, s.file, s.o.BusyTimeout, "mode=rw&_pragma=query_only(1)")
		if err != nil {
			return err
		}
		s.r <- r
	}
	return nil
}

// prepare makes an empty file when there is none, and refuses files that this program must not write to, without a change.
func (s *Store) prepare(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Dir(s.file), 0o700); err != nil {
		return err
	}
	info, err := os.Stat(s.file)
	if errors.Is(err, fs.ErrNotExist) {
		// SQLite gives its other files the mode of this one. Only who made the file may close it here: that drops SQLite's locks.
		f, err := os.OpenFile(s.file, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		if err != nil {
			return err
		}
		return f.Close()
	}
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%w: give the path of a file", syscall.EISDIR)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%w: the path is not a regular file", ErrCorrupt)
	}
	// SQLite would open a file that may only be read, and leave others beside it that nobody can write to.
	if err := access(s.file); err != nil {
		return fmt.Errorf("%w: the file must be readable and writable", err)
	}
	if info.Size() == 0 {
		return nil
	}
	c, err := openConn(ctx, s.file, s.o.BusyTimeout, "mode=ro")
	if err != nil {
		return err
	}
	_, err = state(ctx, c)
	return errors.Join(err, c.close())
}

// state reports whether the file holds a store; an empty one does not yet.
func state(ctx context.Context, c *conn) (ready bool, err error) {
	var app, version, tables, ours int
	for q, to := range map[string]*int{
		"PRAGMA application_id": &app, "PRAGMA user_version": &version, "SELECT count(*) FROM sqlite_schema": &tables,
		"SELECT count(*) FROM sqlite_schema WHERE name IN ('items', 'names', 'ends', 'vectors', 'texts', 'versions')": &ours,
	} {
		if err := c.c.QueryRowContext(ctx, q).Scan(to); err != nil {
			return false, err
		}
	}
	switch {
	case app == 0 && version == 0 && tables == 0:
		return false, nil
	case app != application:
		return false, fmt.Errorf("%w: the file is an SQLite database of another program; choose another path", ErrCorrupt)
	case version > schemaVersion:
		return false, fmt.Errorf("%w: the file has format %d, this program knows up to %d; use a newer program or another path",
			ErrNewer, version, schemaVersion)
	case version < schemaVersion || ours != 6:
		return false, fmt.Errorf("%w: tables are missing; move the file away or restore a copy", ErrCorrupt)
	}
	return true, nil
}

// openWriter opens the connection that writes and makes the tables when the file is empty. Processes that open a new file at the
// same time stand in each other's way without SQLite's patience, hence the loop.
func (s *Store) openWriter(ctx context.Context) (*conn, error) {
	end := time.Now().Add(s.o.BusyTimeout)
	for {
		c, err := openConn(ctx, s.file, s.o.BusyTimeout, "mode=rw")
		if err != nil {
			return nil, err
		}
		err = setUp(ctx, c)
		if err == nil {
			return c, nil
		}
		err = errors.Join(explain(err), c.close())
		if !errors.Is(err, ErrBusy) || time.Now().After(end) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func setUp(ctx context.Context, c *conn) error {
	var mode string
	if err := c.c.QueryRowContext(ctx, "PRAGMA journal_mode=WAL").Scan(&mode); err != nil {
		return err
	}
	if mode != "wal" {
		return fmt.Errorf("%w: the file cannot be opened for shared writing (no WAL); use a local disk", errors.ErrUnsupported)
	}
	if err := c.script(ctx, "PRAGMA synchronous=FULL; PRAGMA journal_size_limit=4194304; PRAGMA temp_store=MEMORY;"); err != nil {
		return err
	}
	if err := c.script(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	ready, err := state(ctx, c)
	if err == nil && !ready {
		err = c.script(ctx, fmt.Sprintf("%s PRAGMA application_id=%d; PRAGMA user_version=%d;", schema, application, schemaVersion))
	}
	if err != nil {
		return errors.Join(err, c.script(context.WithoutCancel(ctx), "ROLLBACK"))
	}
	return c.script(ctx, "COMMIT")
}
