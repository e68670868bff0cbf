//go:build unix

package disk_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/deepagents-go/deepagents/backend"
	"github.com/deepagents-go/deepagents/backend/driver"
)

// TestHostileTree is case A20: nothing in a tree makes a call wait, fill memory or go in circles.
func TestHostileTree(t *testing.T) {
	small := 3000
	if os.Getenv("DEEPAGENTS_LONG") != "" {
		small = 300_000
	}
	root := t.TempDir()
	write(t, root, map[string]string{
		"ok.txt": "needle\n", "zero": "-> /dev/zero", "self": "-> self", "a/l": "-> ../b", "b/l": "-> ../a", "dot": "-> .", "dang": "-> nope",
		"line": strings.Repeat("y", 5_000_000) + "needle" + strings.Repeat("z", 100),
	})
	if err := syscall.Mkfifo(filepath.Join(root, "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(root, "sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	sparse(t, filepath.Join(root, "huge.bin"), 2<<30)
	for i := range small {
		if i%1000 == 0 {
			write(t, root, map[string]string{fmt.Sprintf("many/%d/", i/1000): ""})
		}
		if err := os.WriteFile(filepath.Join(root, "many", fmt.Sprint(i/1000), fmt.Sprint(i)), []byte("hay\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := newFS(t, newDisk(t, root), backend.Options{})
	ctx := t.Context()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for p, want := range map[string]error{"/fifo": driver.ErrNotRegular, "/sock": driver.ErrNotRegular, "/zero": driver.ErrOutside, "/self": driver.ErrLoop, "/dang": fs.ErrNotExist, "/dot": driver.ErrIsDir} {
		_, err := f.Read(ctx, p, backend.Window{Limit: 10})
		is(t, err, want)
		_, err = f.Edit(ctx, p, backend.Edit{Old: "a", New: "b"})
		is(t, err, want)
		if errors.Is(want, driver.ErrNotRegular) {
			_, err = f.Write(ctx, p, nil, backend.WriteOptions{})
			is(t, err, want)
			_, err = f.Grep(ctx, backend.GrepQuery{Text: "needle", Path: p})
			is(t, err, want)
		}
	}
	_, err = f.Read(ctx, "/huge.bin", backend.Window{Limit: 10})
	if !errors.As(err, new(*backend.BinaryError)) {
		t.Errorf("read of a huge binary: %v", err)
	}
	r, err := f.Grep(ctx, backend.GrepQuery{Text: "needle"})
	if err != nil || len(r.Matches) != 2 || r.Matches[1].Path != "/ok.txt" || r.Binary != 1 || r.Unreadable != 0 {
		t.Errorf("grep: %d matches, %+v, %v", len(r.Matches), r, err)
	} else if m := r.Matches[0]; m.Path != "/line" || m.Line != 1 || len(m.Text) > 600 || !strings.Contains(m.Text, "yneedlez") {
		t.Errorf("a long line is shown as %d bytes", len(m.Text))
	}
	g, err := f.Glob(ctx, backend.GlobQuery{Pattern: "**"})
	if err != nil || len(g.Paths) != small+3 {
		t.Errorf("glob: %d paths, %v", len(g.Paths), err)
	}
	ls, err := f.List(ctx, "/")
	if err != nil || len(ls.Entries) != 7 || ls.Unreadable != 1 {
		t.Errorf("list: %+v, %v", ls, err)
	}
	runtime.ReadMemStats(&after)
	if grown := int64(after.Sys) - int64(before.Sys); grown > 64<<20 {
		t.Errorf("memory grew by %d MiB", grown>>20)
	}
	for _, p := range []string{"/fifo", "/sock", "/self", "/dot", "/many"} {
		if err := f.Delete(ctx, p); err != nil {
			t.Errorf("delete %s: %v", p, err)
		}
	}
}

func sparse(t testing.TB, p string, size int64) {
	t.Helper()
	if err := os.WriteFile(p, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(p, size); err != nil {
		t.Fatal(err)
	}
}

// TestBigText reads windows of a text that is larger than what is counted, in bounded memory.
func TestBigText(t *testing.T) {
	root := t.TempDir()
	p := filepath.Join(root, "big.txt")
	line := strings.Repeat("x", 99) + "\n"
	block := strings.Repeat(line, 10_000)
	out, err := os.Create(p)
	if err != nil {
		t.Fatal(err)
	}
	const blocks = 90
	for range blocks {
		if _, err := out.WriteString(block); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := out.WriteString("the end"); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	f := newFS(t, newDisk(t, root), backend.Options{})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	l, err := f.Read(t.Context(), "/big.txt", backend.Window{Limit: 2})
	if err != nil || l.Total != 0 || !l.More || l.End != 2 {
		t.Errorf("start: %+v, %v", l, err)
	}
	for range 2 { // the second time from the remembered positions
		l, err = f.Read(t.Context(), "/big.txt", backend.Window{Offset: blocks*10_000 - 1, Limit: 5})
		if err != nil || l.Text != strings.TrimSpace(line)+"\nthe end" || l.Total != blocks*10_000+1 || !l.NoFinalNewline || l.More {
			t.Errorf("end: %d bytes, %+v, %v", len(l.Text), l.Total, err)
		}
	}
	_, err = f.Read(t.Context(), "/big.txt", backend.Window{Offset: 2_000_000, Limit: 5})
	if r := new(backend.RangeError); !errors.As(err, &r) || r.Total != blocks*10_000+1 {
		t.Errorf("past the end: %v", err)
	}
	runtime.ReadMemStats(&after)
	if grown := int64(after.Sys) - int64(before.Sys); grown > 32<<20 {
		t.Errorf("memory grew by %d MiB", grown>>20)
	}
}

// TestDeepTree walks and removes a tree that is deeper than a path can be long.
func TestDeepTree(t *testing.T) {
	root := t.TempDir()
	const depth = 700
	at, err := os.OpenRoot(root)
	if err != nil {
		t.Fatal(err)
	}
	for range depth {
		if err := at.Mkdir("deepdeepdeep", 0o755); err != nil {
			t.Fatal(err)
		}
		next, err := at.OpenRoot("deepdeepdeep")
		if err != nil {
			t.Fatal(err)
		}
		_ = at.Close()
		at = next
	}
	if err := at.WriteFile("f", []byte("needle"), 0o600); err != nil {
		t.Fatal(err)
	}
	_ = at.Close()
	f := newFS(t, newDisk(t, root), backend.Options{})
	r, err := f.Grep(t.Context(), backend.GrepQuery{Text: "needle"})
	if err != nil || len(r.Matches) != 0 || r.Unreadable != 1 {
		t.Errorf("grep: %+v, %v, want that the depth is told", r, err)
	}
	if err := f.Delete(t.Context(), "/deepdeepdeep"); err != nil {
		t.Errorf("delete: %v", err)
	}
}
