package disk_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/deepagents-go/deepagents/backend"
	"github.com/deepagents-go/deepagents/backend/driver"
)

// TestFull writes more than fits.
func TestFull(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mounting a small file system needs root")
	}
	root := filepath.Join(t.TempDir(), "small")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("none", root, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("mounting a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(root, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	old := strings.Repeat("old\n", 2560)
	write(t, root, map[string]string{"f": old, "hard": old})
	if err := os.Link(filepath.Join(root, "hard"), filepath.Join(root, "twin")); err != nil {
		t.Fatal(err)
	}
	d := newDisk(t, root)
	f := newFS(t, d, backend.Options{})
	for _, p := range []string{"/f", "/hard", "/new"} {
		_, err := f.Write(t.Context(), p, make([]byte, 5<<20), backend.WriteOptions{})
		var de *driver.Error
		if !errors.Is(err, syscall.ENOSPC) || !errors.As(err, &de) || strings.Contains(err.Error(), root) {
			t.Errorf("write of 5 MiB to %s: %v", p, err)
		}
	}
	_, err := f.Edit(t.Context(), "/f", backend.Edit{Old: "old", New: strings.Repeat("new", 1000), All: true})
	is(t, err, syscall.ENOSPC)
	if read(t, root, "f") != old || read(t, root, "twin") != old {
		t.Error("the old content is gone")
	}
	noTemps(t, root)
	if _, err := f.Write(t.Context(), "/g", []byte("small"), backend.WriteOptions{}); err != nil {
		t.Errorf("a small write afterwards: %v", err)
	}
}

// TestMountedFile writes a file that is a mount point, as containers mount single files.
func TestMountedFile(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mounting a file needs root")
	}
	base := t.TempDir()
	write(t, base, map[string]string{"real": "old\n", "root/f": "covered\n"})
	f := filepath.Join(base, "root", "f")
	if err := unix.Mount(filepath.Join(base, "real"), f, "", unix.MS_BIND, ""); err != nil {
		t.Skipf("mounting a file: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(f, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	fsys := newFS(t, newDisk(t, filepath.Join(base, "root")), backend.Options{})
	if _, err := fsys.Edit(t.Context(), "/f", backend.Edit{Old: "old", New: "new"}); err != nil || read(t, base, "real") != "new\n" {
		t.Errorf("edit: %v, the file holds %q", err, read(t, base, "real"))
	}
	noTemps(t, base)
}
