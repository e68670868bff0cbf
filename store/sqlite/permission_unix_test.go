//go:build unix

package sqlite_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/deepagents-go/deepagents/store"
	"github.com/deepagents-go/deepagents/store/sqlite"
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
	b, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "store-test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	bin := filepath.Join(dir, "test")
	if err := errors.Join(os.Chmod(dir, 0o777), os.WriteFile(bin, b, 0o755)); err != nil {
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
	dir := t.TempDir()
	path := filepath.Join(dir, "store.db")
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, "k", `{"v":1}`, store.PutOptions{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	refused := func(path string) {
		t.Helper()
		s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err == nil {
			_, err = s.Put(t.Context(), store.Namespace{"a"}, "k", json.RawMessage(`{"v":2}`), store.PutOptions{})
			t.Error("it was opened", s.Close())
		}
		if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
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
	i, err := open(t, path, sqlite.Options{}).Get(t.Context(), store.Namespace{"a"}, "k", store.GetOptions{})
	if err != nil || string(i.Value) != `{"v":1}` {
		t.Errorf("%s, %v", i.Value, err)
	}
}
