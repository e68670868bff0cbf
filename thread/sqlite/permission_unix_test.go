//go:build unix

package sqlite_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/deepagents-go/deepagents/thread/sqlite"
)

// TestPermissions runs as another user where permission bits do not bind root.
func TestPermissions(t *testing.T) {
	if os.Getuid() != 0 {
		checkPermissions(t)
		return
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "sqlite-test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	bin := filepath.Join(dir, "test")
	if err := errors.Join(os.Chmod(dir, 0o777), os.WriteFile(bin, sum(t, exe), 0o755)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, "-test.run=^TestPermissions$")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "HOME="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) {
		t.Skip("this root may not become another user")
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func checkPermissions(t *testing.T) {
	refused := func(path string) {
		t.Helper()
		s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err == nil {
			t.Error(s.Close())
		}
		if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
	path := made(t)
	before := sum(t, path)
	dir := filepath.Dir(path)
	for _, mode := range []os.FileMode{0o000, 0o200, 0o400} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		refused(path)
	}
	if err := errors.Join(os.Chmod(path, 0o600), os.Chmod(dir, 0o500)); err != nil {
		t.Fatal(err)
	}
	refused(path) // the log cannot be made
	refused(filepath.Join(dir, "new.db"))
	refused(filepath.Join(dir, "new", "new.db"))
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, sum(t, path)) {
		t.Error("the file was changed")
	}
	s := open(t, path, sqlite.Options{})
	if _, err := s.Head(t.Context(), "a"); err != nil {
		t.Error(err)
	}
}
