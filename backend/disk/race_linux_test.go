package disk_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/deepagents-go/deepagents/backend"
	"github.com/deepagents-go/deepagents/backend/disk"
	"github.com/deepagents-go/deepagents/policy"
)

// swapper swaps a directory for a link, again and again, until stopped.
func swapper(t *testing.T, root, name, target string) (stop func()) {
	t.Helper()
	at, link := filepath.Join(root, name), filepath.Join(root, name+".link")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if err := unix.Renameat2(unix.AT_FDCWD, at, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE); err != nil {
				t.Errorf("swapping: %v", err)
				return
			}
		}
	})
	return func() {
		close(done)
		wg.Wait()
	}
}

// TestSwapOutside changes a directory into a link that leads out while files below it are read, written, searched and removed.
func TestSwapOutside(t *testing.T) {
	both(t, func(t *testing.T, open func(*testing.T, string) *disk.Disk) {
		base := t.TempDir()
		root, out := filepath.Join(base, "root"), filepath.Join(base, "out")
		write(t, base, map[string]string{"root/d/f": "in\n", "out/f": "TOP SECRET\n", "out/keep/x": "TOP SECRET\n"})
		before := fingerprint(t, out)
		f := newFS(t, open(t, root), backend.Options{})
		stop := swapper(t, root, "d", out)
		ctx := t.Context()
		for range 400 {
			if b, _, err := f.ReadAll(ctx, "/d/f", 0); err == nil && bytes.Contains(b, []byte("SECRET")) {
				t.Fatal("a read left the root")
			}
			_, _ = f.Write(ctx, "/d/w", []byte("w"), backend.WriteOptions{})
			_, _ = f.Write(ctx, "/d/new/deep/w", []byte("w"), backend.WriteOptions{})
			_, _ = f.Edit(ctx, "/d/f", backend.Edit{Old: "SECRET", New: "x"})
			_ = f.Delete(ctx, "/d/keep")
			_ = f.Delete(ctx, "/d/new")
			l, _ := f.List(ctx, "/d")
			for _, i := range l.Entries {
				if strings.HasSuffix(i.Path, "keep") {
					t.Fatal("a listing left the root")
				}
			}
			if g, _ := f.Grep(ctx, backend.GrepQuery{Text: "SECRET"}); len(g.Matches) > 0 {
				t.Fatalf("a search left the root: %+v", g)
			}
		}
		stop()
		if fingerprint(t, out) != before {
			t.Error("something outside changed")
		}
	})
}

// TestSwapDenied changes a directory into a link to a denied one inside the root.
func TestSwapDenied(t *testing.T) {
	both(t, func(t *testing.T, open func(*testing.T, string) *disk.Disk) {
		root := t.TempDir()
		write(t, root, map[string]string{"d/f": "in\n", "secret/f": "SECRET\n"})
		f := newFS(t, open(t, root), backend.Options{Hooks: backend.Hooks{Rules: policy.PathRules{{Paths: []string{"/secret/**"}, Decision: policy.Deny}}}})
		stop := swapper(t, root, "d", "secret")
		ctx := t.Context()
		allowed, denied := 0, 0
		for range 3000 {
			b, _, err := f.ReadAll(ctx, "/d/f", 0)
			switch {
			case err == nil && bytes.Contains(b, []byte("SECRET")):
				t.Fatal("a denied file was read")
			case err == nil:
				allowed++
			case errors.Is(err, policy.ErrDenied):
				denied++
			}
		}
		for range 60 {
			_, _ = f.Write(ctx, "/d/n", []byte("w"), backend.WriteOptions{})
			_ = f.Delete(ctx, "/d/f.none")
			if g, _ := f.Grep(ctx, backend.GrepQuery{Text: "SECRET"}); len(g.Matches) > 0 {
				t.Fatalf("a denied file was searched: %+v", g)
			}
		}
		stop()
		if allowed == 0 || denied == 0 {
			t.Logf("%d reads allowed, %d denied: the swap was hardly met", allowed, denied)
		}
		if _, err := os.Stat(filepath.Join(root, "secret/n")); err == nil {
			t.Error("a denied file was written")
		}
	})
}

// TestSwapTarget changes the file itself into a link while it is written.
func TestSwapTarget(t *testing.T) {
	base := t.TempDir()
	root, out := filepath.Join(base, "root"), filepath.Join(base, "out")
	write(t, base, map[string]string{"root/f": "in\n", "out/f": "TOP\n"})
	before := fingerprint(t, out)
	f := newFS(t, newDisk(t, root), backend.Options{})
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		p := filepath.Join(root, "f")
		for {
			select {
			case <-done:
				return
			default:
			}
			_ = os.Remove(p)
			_ = os.Symlink(filepath.Join(out, "f"), p)
			_ = os.Remove(p)
			_ = os.WriteFile(p, []byte("in\n"), 0o600)
		}
	})
	for range 300 {
		_, _ = f.Write(t.Context(), "/f", []byte("w"), backend.WriteOptions{})
		_, _ = f.Edit(t.Context(), "/f", backend.Edit{Old: "TOP", New: "w"})
	}
	close(done)
	wg.Wait()
	if fingerprint(t, out) != before {
		t.Error("something outside changed")
	}
}
