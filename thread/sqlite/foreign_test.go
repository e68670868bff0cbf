package sqlite_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/deepagents-go/deepagents/thread"
	"github.com/deepagents-go/deepagents/thread/sqlite"
	modernc "modernc.org/sqlite"
)

// TestForeignWriter has another program, which knows nothing of turns, hold the database.
func TestForeignWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	s := open(t, path, sqlite.Options{BusyTimeout: 100 * time.Millisecond})
	var d modernc.Driver
	c, err := d.Open("file:" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	exec := func(q string) {
		t.Helper()
		if _, err := c.(driver.ExecerContext).ExecContext(context.Background(), q, nil); err != nil {
			t.Fatal(err)
		}
	}
	put := func(id string) error {
		_, err := s.Append(t.Context(), "t", thread.Append{ExpectSeq: -1, Records: []thread.Record{rec(id, 10)}})
		return err
	}
	if err := put("a"); err != nil {
		t.Fatal(err)
	}
	exec("BEGIN IMMEDIATE")
	if err := put("b"); !errors.Is(err, thread.ErrBusy) {
		t.Fatalf("while it is held: %v", err)
	}
	if h, err := s.Head(t.Context(), "t"); err != nil || h.Seq != 1 {
		t.Fatalf("reading while it is held: %+v, %v", h, err)
	}
	exec("ROLLBACK")
	if err := put("c"); err != nil {
		t.Fatalf("after it: %v", err)
	}
	if h, err := s.Head(t.Context(), "t"); err != nil || h.Seq != 2 {
		t.Fatalf("%+v, %v", h, err)
	}
}

// TestConstantWork writes the same number of bytes for an append to a long thread as to a short one.
func TestConstantWork(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	fill := func(n int, measure bool) (wal int64) {
		s := open(t, path, sqlite.Options{})
		for i := range n {
			a := thread.Append{ExpectSeq: -1, Records: []thread.Record{rec(fmt.Sprintf("%08d", i), 300), rec(fmt.Sprintf("%08d", i), 100)}}
			if _, err := s.Append(t.Context(), "t", a); err != nil {
				t.Fatal(err)
			}
		}
		if measure {
			info, err := os.Stat(path + "-wal")
			if err != nil {
				t.Fatal(err)
			}
			wal = info.Size()
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return wal
	}
	fill(50, false)
	early := fill(100, true)
	fill(4000, false)
	late := fill(100, true)
	t.Logf("bytes written per append of 2 records: %d early, %d late", early/100, late/100)
	if late > early*12/10 {
		t.Errorf("100 appends write %d bytes to a short thread and %d to a long one", early, late)
	}
}

// TestSlowReaderSpace lets a reader sit in the middle of a long read: the log file of SQLite stays within its bound meanwhile.
func TestSlowReaderSpace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	s := open(t, path, sqlite.Options{})
	var rs []thread.Record
	for i := range 500 {
		rs = append(rs, rec(fmt.Sprint(i), 5000))
	}
	if _, err := s.Append(t.Context(), "t", thread.Append{Records: rs}); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, err := range s.Read(t.Context(), "t", thread.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n != 40 {
			continue
		}
		for i := range 600 {
			a := thread.Append{ExpectSeq: -1, Records: []thread.Record{rec(fmt.Sprint("new", i), 20000)}}
			if _, err := s.Append(t.Context(), "u", a); err != nil {
				t.Fatal(err)
			}
		}
		info, err := os.Stat(path + "-wal")
		if err != nil || info.Size() > 8<<20 {
			t.Errorf("the log has %d KiB, %v", info.Size()>>10, err)
		}
	}
	if n != 500 {
		t.Errorf("%d records", n)
	}
}
