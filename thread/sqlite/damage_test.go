package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/deepagents-go/deepagents/thread"
	"github.com/deepagents-go/deepagents/thread/sqlite"
)

// made returns the path of a closed database with 200 records of 1 KiB in each of two threads.
func made(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "threads.db")
	s := open(t, path, sqlite.Options{})
	for _, id := range []string{"a", "b"} {
		for i := range 200 {
			a := thread.Append{ExpectSeq: -1, Records: []thread.Record{rec(fmt.Sprint(i), 1000)}}
			if _, err := s.Append(t.Context(), id, a); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func sum(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestRefused opens what is not a good database: a typed error with advice, and the file stays as it is.
func TestRefused(t *testing.T) {
	edit := func(f func(b []byte) []byte) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			if err := os.WriteFile(path, f(sum(t, path)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, path string)
		want   error
		text   string
	}{
		{"cut in half", edit(func(b []byte) []byte { return b[:len(b)/2] }), thread.ErrCorrupt, "restore a copy"},
		{"cut in the first page", edit(func(b []byte) []byte { return b[:1000] }), thread.ErrCorrupt, "move it away"},
		{"cut to a few bytes", edit(func(b []byte) []byte { return b[:50] }), thread.ErrCorrupt, "move it away"},
		{"empty", edit(func([]byte) []byte { return nil }), thread.ErrCorrupt, "the file is empty"},
		{"text", edit(func([]byte) []byte { return []byte(strings.Repeat("hello\n", 1000)) }), thread.ErrCorrupt, "not a thread database"},
		{"garbage first page", edit(func(b []byte) []byte {
			copy(b[100:4096], bytes.Repeat([]byte{0xa5}, 3996))
			return b
		}), thread.ErrCorrupt, ""},
		{"another program's", edit(func(b []byte) []byte { b[71] ^= 1; return b }), thread.ErrCorrupt, "of another program"},
		{"newer", edit(func(b []byte) []byte { b[63] = 99; return b }), thread.ErrNewer, "use a newer program"},
		{"version 0", edit(func(b []byte) []byte { b[63] = 0; return b }), thread.ErrCorrupt, "tables are missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := made(t)
			c.damage(t, path)
			before := sum(t, path)
			for range 2 {
				s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
				if err == nil {
					t.Error(s.Close())
					t.Fatal("it was opened")
				}
				if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) || !strings.Contains(err.Error(), path) {
					t.Fatalf("error %q, want %v with %q", err, c.want, c.text)
				}
			}
			if !bytes.Equal(before, sum(t, path)) {
				t.Error("the file was changed")
			}
		})
	}
}

// TestGarbagePage overwrites pages in the middle. What is intact is read; the damage is an error when it is met, and then nothing
// is written any more.
func TestGarbagePage(t *testing.T) {
	path := made(t)
	b := sum(t, path)
	const page = 4096
	for n := len(b)/page - 4; n < len(b)/page; n++ {
		copy(b[n*page:], bytes.Repeat([]byte{0xa5}, page))
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, path, sqlite.Options{})
	count := func(id string) (n int, last error) {
		for _, err := range s.Read(t.Context(), id, thread.Query{}) {
			if err != nil {
				return n, err
			}
			n++
		}
		return n, nil
	}
	if n, err := count("a"); n != 200 || err != nil {
		t.Fatalf("the intact thread: %d records, %v", n, err)
	}
	if n, err := count("b"); !errors.Is(err, thread.ErrCorrupt) {
		t.Fatalf("the damaged thread: %d records, %v", n, err)
	}
	add := thread.Append{ExpectSeq: -1, Records: []thread.Record{rec("new", 10)}}
	if _, err := s.Append(t.Context(), "b", add); !errors.Is(err, thread.ErrCorrupt) {
		t.Fatalf("append to the damaged thread: %v", err)
	}
	if _, err := s.Append(t.Context(), "a", add); !errors.Is(err, thread.ErrCorrupt) {
		t.Fatalf("append after damage was found: %v", err)
	}
}

// TestWAL damages the log of a writer that was killed: the appends before the damage are there, and the next ones follow them.
func TestWAL(t *testing.T) {
	for _, damage := range []string{"cut", "garbage", "none"} {
		t.Run(damage, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "threads.db")
			p := start(t, "append", path, "r")
			for range 40 {
				p.line()
			}
			p.kill()
			wal := sum(t, path+"-wal")
			switch damage {
			case "cut":
				wal = wal[:len(wal)*2/3+17]
			case "garbage":
				copy(wal[len(wal)*2/3:], bytes.Repeat([]byte{0xa5}, 500))
			}
			if err := os.WriteFile(path+"-wal", wal, 0o600); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				appendAndRead(t, path)
			}
		})
	}
}

// appendAndRead opens the database, appends to a thread and reads it.
func appendAndRead(t *testing.T, path string) {
	t.Helper()
	s := open(t, path, sqlite.Options{})
	var before []thread.Record
	for r, err := range s.Read(t.Context(), "t0", thread.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		before = append(before, r)
	}
	if len(before) == 0 {
		t.Fatal("nothing is left")
	}
	last := before[len(before)-1].Seq
	seq, err := s.Append(t.Context(), "t0", thread.Append{ExpectSeq: last, Durable: true, Records: []thread.Record{rec("new", 10), rec("new", 10)}})
	if err != nil || seq != last+2 {
		t.Fatalf("seq %d after %d: %v", seq, last, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, path, sqlite.Options{})
	n := 0
	for r, err := range s.Read(t.Context(), "t0", thread.Query{}) {
		if err != nil || r.Seq != int64(n+1) {
			t.Fatalf("record %d: %d %v", n+1, r.Seq, err)
		}
		n++
	}
	if n != len(before)+2 {
		t.Fatalf("%d records after %d and 2 more", n, len(before))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestPaths(t *testing.T) {
	refused := func(path string, want error) {
		t.Helper()
		s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err == nil {
			t.Error(s.Close())
		}
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
	dir := t.TempDir()
	refused(dir, syscall.EISDIR)
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(filepath.Join(file, "threads.db"), syscall.ENOTDIR)
	if _, err := sqlite.Open(t.Context(), "", sqlite.Options{}); err == nil {
		t.Error("an empty path was opened")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sqlite.Open(ctx, filepath.Join(dir, "x.db"), sqlite.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: %v", err)
	}

	// Names that mean something in a URL, and directories that do not exist yet.
	path := filepath.Join(dir, "new dir", "100% sure?#x&mode=ro", "é.db")
	s := open(t, path, sqlite.Options{})
	if _, err := s.Append(t.Context(), "t", thread.Append{Records: []thread.Record{rec("a", 1)}}); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "-wal", "-shm", ".lock"} {
		info, err := os.Stat(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", info.Name(), info.Mode())
		}
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory: %v, %v", info.Mode(), err)
	}

	// Another name of the same file shares its locks.
	link := filepath.Join(dir, "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Acquire(t.Context(), "t", "first", time.Hour); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, link, sqlite.Options{}).Acquire(t.Context(), "t", "second", time.Hour); !errors.Is(err, thread.ErrBusy) {
		t.Errorf("through a link: %v", err)
	}
}
