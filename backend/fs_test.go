package backend_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/deepagents-go/deepagents/backend"
	"github.com/deepagents-go/deepagents/backend/disk"
	"github.com/deepagents-go/deepagents/backend/driver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t testing.TB, root string, o backend.Options) *backend.FS {
	t.Helper()
	d, err := disk.New(root, disk.Options{StateDir: t.TempDir(), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	f, err := backend.New(d, o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func put(t testing.TB, root, name, content string) {
	t.Helper()
	p := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestHooks(t *testing.T) {
	root := t.TempDir()
	put(t, root, "a", "a\n")
	refused := errors.New("not today")
	var mu sync.Mutex
	var log []string
	f := open(t, root, backend.Options{WorkDir: "/", Hooks: backend.Hooks{
		Before: func(_ context.Context, op, path string) error {
			if op == "delete" {
				return refused
			}
			return nil
		},
		After: func(_ context.Context, op, path string, err error) {
			mu.Lock()
			defer mu.Unlock()
			log = append(log, fmt.Sprintf("%s %s %v", op, path, err != nil))
		},
	}})
	ctx := t.Context()
	_, _ = f.Stat(ctx, "a")
	_, _ = f.List(ctx, "")
	_, _ = f.Read(ctx, "/a", backend.Window{Limit: 1})
	_, _, _ = f.ReadAll(ctx, "//a", 10)
	_, _ = f.Write(ctx, "b", nil, backend.WriteOptions{})
	_, _ = f.Edit(ctx, "a", backend.Edit{Old: "none", New: "x"})
	_, _ = f.Glob(ctx, backend.GlobQuery{Pattern: "*"})
	_, _ = f.Grep(ctx, backend.GrepQuery{Text: "a"})
	f.Upload(ctx, []backend.Transfer{{Path: "c"}})
	f.Download(ctx, []string{"c"})
	if err := f.Delete(ctx, "a"); !errors.Is(err, refused) {
		t.Errorf("Delete: %v", err)
	}
	want := "stat /a false|list / false|read /a false|read /a false|write /b false|edit /a true|glob / false|grep / false|write /c false|read /c false|delete /a true"
	if got := strings.Join(log, "|"); got != want {
		t.Errorf("hooks saw\n%s\nwant\n%s", got, want)
	}
	if _, err := os.Stat(filepath.Join(root, "a")); err != nil {
		t.Error("the refused operation was done")
	}
}

// counting counts the bytes that are read.
type counting struct {
	*disk.Disk
	mu    sync.Mutex
	bytes int
}

type countingReader struct {
	io.ReadCloser
	io.Seeker
	c *counting
}

func (r countingReader) Read(b []byte) (int, error) {
	n, err := r.ReadCloser.Read(b)
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	r.c.bytes += n
	return n, err
}

func (c *counting) Open(ctx context.Context, p string, o driver.OpenOptions) (io.ReadCloser, driver.Info, error) {
	rc, i, err := c.Disk.Open(ctx, p, o)
	if err != nil {
		return nil, i, err
	}
	s, _ := rc.(io.Seeker)
	return countingReader{rc, s, c}, i, nil
}

func (c *counting) reset() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.bytes
	c.bytes = 0
	return n
}

// TestIndex checks that a second read of a version goes straight to its lines, and that a change is noticed.
func TestIndex(t *testing.T) {
	root := t.TempDir()
	var sb strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&sb, "this is line %d\n", i)
	}
	put(t, root, "big", sb.String())
	d, err := disk.New(root, disk.Options{StateDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	c := &counting{Disk: d}
	f, err := backend.New(c, backend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	settle(t, f)
	read := func(line int) (string, int) {
		t.Helper()
		l, err := f.Read(t.Context(), "/big", backend.Window{Offset: line, Limit: 1})
		if err != nil {
			t.Error(err)
		}
		return l.Text, c.reset()
	}
	if s, n := read(150_000); s != "this is line 150000" || n < sb.Len() {
		t.Errorf("first read: %q, %d bytes", s, n)
	}
	if s, n := read(150_001); s != "this is line 150001" || n > 300_000 {
		t.Errorf("second read: %q, %d bytes, want few", s, n)
	}
	if _, err := f.Edit(t.Context(), "/big", backend.Edit{Old: "this is line 0\n", New: ""}); err != nil {
		t.Fatal(err)
	}
	c.reset()
	if s, n := read(150_001); s != "this is line 150002" || n < 1_000_000 {
		t.Errorf("after a change: %q, %d bytes", s, n)
	}
	if out, err := os.OpenFile(filepath.Join(root, "big"), os.O_APPEND|os.O_WRONLY, 0); err != nil {
		t.Error(err)
	} else if _, err := out.WriteString("appended\n"); err != nil || out.Close() != nil {
		t.Error(err)
	}
	if s, _ := read(199_999); s != "appended" {
		t.Errorf("after an append: %q", s)
	}
}

// settle waits until the version of a file proves its content.
func settle(t *testing.T, f *backend.FS) {
	t.Helper()
	for {
		i, err := f.Stat(t.Context(), "/big")
		if err != nil {
			t.Fatal(err)
		}
		if !i.Racy {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// meddler changes a file between the reading and the writing of an edit.
type meddler struct {
	*disk.Disk
	change func()
	left   int
}

func (m *meddler) Write(ctx context.Context, p string, src io.Reader, o driver.WriteOptions) (driver.Info, error) {
	if m.left > 0 {
		m.left--
		m.change()
	}
	return m.Disk.Write(ctx, p, src, o)
}

// TestLostRace checks that an edit that lost against another writer is computed again, and that it gives up in the end.
func TestLostRace(t *testing.T) {
	root := t.TempDir()
	d, err := disk.New(root, disk.Options{StateDir: t.TempDir(), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	n := 0
	m := &meddler{Disk: d, left: 3, change: func() {
		n++
		put(t, root, "f", fmt.Sprintf("%d\nmine\n", n))
	}}
	f, err := backend.New(m, backend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	put(t, root, "f", "0\nmine\n")
	if _, err := f.Edit(t.Context(), "/f", backend.Edit{Old: "mine", New: "done"}); err != nil {
		t.Errorf("edit: %v", err)
	}
	if b, err := os.ReadFile(filepath.Join(root, "f")); err != nil || string(b) != "3\ndone\n" {
		t.Errorf("the file holds %q, %v", b, err)
	}
	m.left = 1 << 30
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := f.Edit(ctx, "/f", backend.Edit{Old: "mine", New: "x"}); err == nil {
		t.Error("an edit of a text that is gone succeeds")
	}
	put(t, root, "f", "mine\n")
	if _, err := f.Edit(ctx, "/f", backend.Edit{Old: "mine", New: "x"}); !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, backend.ErrBusy) {
		t.Errorf("an edit that always loses: %v", err)
	}
}

func TestReadAll(t *testing.T) {
	root := t.TempDir()
	put(t, root, "f", "12345")
	f := open(t, root, backend.Options{})
	for max, ok := range map[int64]bool{0: true, 4: false, 5: true, 6: true} {
		b, i, err := f.ReadAll(t.Context(), "/f", max)
		if ok && (err != nil || string(b) != "12345") || !ok && !errors.Is(err, driver.ErrTooLarge) || i.Size != 5 {
			t.Errorf("ReadAll of at most %d: %q, %+v, %v", max, b, i, err)
		}
	}
}

// FuzzClean checks that a clean path is one: absolute, without empty, "." and ".." components, and its own clean form.
func FuzzClean(f *testing.F) {
	for _, s := range []string{"", "a/../b", `\\x\..`, "//a//", "~", "C:x", "/./.", "a\x00", "...", "é/\xff"} {
		f.Add(s)
	}
	fs, err := backend.New(driver.FromFS(os.DirFS(f.TempDir())), backend.Options{WorkDir: "/w"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, in string) {
		p, err := fs.Clean(in)
		var pe *backend.PathError
		if err != nil {
			if !errors.As(err, &pe) || !errors.Is(err, driver.ErrInvalidPath) {
				t.Errorf("Clean(%q): %v", in, err)
			}
			return
		}
		if again, err := fs.Clean(p); err != nil || again != p {
			t.Errorf("Clean(%q) = %q, and then %q, %v", in, p, again, err)
		}
		if !strings.HasPrefix(p, "/") || p != "/" && strings.HasSuffix(p, "/") || strings.Contains(p, "//") || strings.Contains(p, "\x00") {
			t.Errorf("Clean(%q) = %q", in, p)
		}
		for part := range strings.SplitSeq(p, "/") {
			if part == "." || part == ".." {
				t.Errorf("Clean(%q) = %q", in, p)
			}
		}
	})
}

// FuzzGrep compares the search engine with a plain definition of lines.
func FuzzGrep(f *testing.F) {
	for _, s := range [][2]string{{"a\nb\r\nab", "b"}, {"x\ry", "x"}, {"", ""}, {"a\r\r\nb\n\n", "\r"}, {"éé\xff\n", "\xff"}} {
		f.Add(s[0], s[1])
	}
	root := f.TempDir()
	d, err := disk.New(root, disk.Options{StateDir: f.TempDir(), NoSync: true})
	if err != nil {
		f.Fatal(err)
	}
	fs, err := backend.New(d, backend.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, content, text string) {
		if strings.Contains(content, "\x00") || len(content) > 4000 {
			return
		}
		put(t, root, "f", content)
		r, err := fs.Grep(t.Context(), backend.GrepQuery{Text: text, Path: "/f"})
		if err != nil {
			t.Fatal(err)
		}
		term := "\n"
		if !strings.Contains(content, "\n") && strings.Contains(content, "\r") {
			term = "\r"
		}
		var want []int
		parts := strings.Split(content, term)
		for i, l := range parts {
			if i == len(parts)-1 && l == "" {
				break
			}
			if i < len(parts)-1 && term == "\n" {
				l = strings.TrimSuffix(l, "\r")
			}
			if strings.Contains(l, text) {
				want = append(want, i+1)
			}
		}
		var got []int
		for _, m := range r.Matches {
			got = append(got, m.Line)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("Grep(%q) in %q: lines %v, want %v", text, content, got, want)
		}
	})
}
