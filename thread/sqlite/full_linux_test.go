package sqlite_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/deepagents-go/deepagents/thread"
	"github.com/deepagents-go/deepagents/thread/sqlite"
)

// TestFullDisk fills a small file system: the error says so, what was acknowledged stays, and with space again work goes on.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=2m"); err != nil {
		t.Skipf("a small file system cannot be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "threads.db")
	s := open(t, path, sqlite.Options{})
	stored := 0
	add := func(size int) error {
		a := thread.Append{ExpectSeq: int64(stored), Durable: true, Records: []thread.Record{rec(fmt.Sprint(stored), size)}}
		_, err := s.Append(t.Context(), "t", a)
		if err == nil {
			stored++
		}
		return err
	}
	var err error
	for err == nil {
		err = add(20000)
	}
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "free some space") || !strings.Contains(err.Error(), path) {
		t.Fatalf("error %v", err)
	}
	for range 3 {
		if err := add(200000); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("a large record: %v", err)
		}
	}
	check := func() {
		t.Helper()
		n := 0
		for r, err := range s.Read(t.Context(), "t", thread.Query{}) {
			if err != nil || string(r.ID) != fmt.Sprint(n) {
				t.Fatalf("record %d: %s, %v", n, r.ID, err)
			}
			n++
		}
		if n != stored {
			t.Fatalf("%d records, want %d", n, stored)
		}
	}
	check()
	if other, err := sqlite.Open(t.Context(), filepath.Join(dir, "other.db"), sqlite.Options{}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a new database on a full disk: %v, %v", other, err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if err := add(20000); err != nil {
			t.Fatalf("with space again: %v", err)
		}
	}
	check()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, path, sqlite.Options{})
	check()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(left) > 3 {
		t.Errorf("files left: %v, %v", left, err)
	}
}
