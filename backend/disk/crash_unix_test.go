//go:build unix

package disk_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/deepagents-go/deepagents/backend"
	"github.com/deepagents-go/deepagents/backend/backendtest"
	"github.com/deepagents-go/deepagents/backend/disk"
	"github.com/deepagents-go/deepagents/backend/driver"
)

// child is what the test binary does when a test starts it as another process.
func child(what string) {
	root, state := os.Getenv("DISK_TEST_ROOT"), os.Getenv("DISK_TEST_STATE")
	d, err := disk.New(root, disk.Options{StateDir: state})
	if err == nil {
		var f *backend.FS
		if f, err = backend.New(d, backend.Options{}); err == nil {
			err = work(context.Background(), d, f, what)
		}
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func work(ctx context.Context, d *disk.Disk, f *backend.FS, what string) error {
	switch what {
	case "write":
		fmt.Println("ready")
		_, err := d.Write(ctx, "/big", io.LimitReader(same('n'), newSize), driver.WriteOptions{})
		return err
	case "edit":
		fmt.Println("ready")
		_, err := f.Edit(ctx, "/big", backend.Edit{Old: "KEY", New: "VALUE"})
		return err
	case "edits":
		return editLines(ctx, f, os.Getenv("DISK_TEST_LINES"))
	case "user":
		return asUser(ctx, f)
	}
	return errors.New("unknown work: " + what)
}

// same is an endless text of one letter.
type same byte

func (s same) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(s)
	}
	return len(b), nil
}

const (
	oldSize = 4 << 20
	newSize = 24 << 20
)

func command(t *testing.T, root, state, what string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), "DISK_TEST_CHILD="+what, "DISK_TEST_ROOT="+root, "DISK_TEST_STATE="+state)
	return cmd
}

// TestKill is case A04: a writer that is killed leaves the old file or the new one, and the next start cleans up.
func TestKill(t *testing.T) {
	runs := 5
	if os.Getenv("DEEPAGENTS_LONG") != "" {
		runs = 30
	}
	for _, links := range []int{1, 2} {
		for _, what := range []string{"write", "edit"} {
			t.Run(fmt.Sprintf("%s-%d", what, links), func(t *testing.T) {
				for range runs {
					kill(t, what, links)
				}
			})
		}
	}
}

func kill(t *testing.T, what string, links int) {
	root, state := t.TempDir(), t.TempDir()
	old := append([]byte("KEY\n"), bytes.Repeat([]byte("o"), oldSize)...)
	after := bytes.Repeat([]byte("n"), newSize)
	if what == "edit" {
		after = append([]byte("VALUE\n"), old[4:]...)
	}
	p := filepath.Join(root, "big")
	if err := os.WriteFile(p, old, 0o600); err != nil {
		t.Fatal(err)
	}
	if links == 2 {
		if err := os.Link(p, filepath.Join(root, "twin")); err != nil {
			t.Fatal(err)
		}
	}
	cmd := command(t, root, state, what)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	time.Sleep(rand.N(60 * time.Millisecond))
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if links == 1 {
		oldOrNew(t, p, old, after)
	}
	d := newDiskIn(t, root, state)
	oldOrNew(t, p, old, after)
	if links == 2 {
		oldOrNew(t, filepath.Join(root, "twin"), old, after)
	}
	noTemps(t, root)
	left, err := filepath.Glob(filepath.Join(state, "*", "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("records are left: %v, %v", left, err)
	}
	if _, err := d.Write(t.Context(), "/big", strings.NewReader("again"), driver.WriteOptions{}); err != nil {
		t.Errorf("a write after the crash: %v", err)
	}
}

func oldOrNew(t *testing.T, p string, old, after []byte) {
	t.Helper()
	b, err := os.ReadFile(p)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b, old) && !bytes.Equal(b, after) {
		t.Errorf("%s holds %d bytes, neither the old nor the new content", filepath.Base(p), len(b))
	}
}

// TestRecovery checks what a start does with the records of others: those of a living writer stay, odd ones do no harm.
func TestRecovery(t *testing.T) {
	root, state := t.TempDir(), t.TempDir()
	const id = "0123456789abcdef"
	const temp = ".deepagents-" + id + ".tmp"
	d := newDiskIn(t, root, state)
	dirs, err := filepath.Glob(filepath.Join(state, "*"))
	if err != nil || len(dirs) != 1 {
		t.Fatal(dirs, err)
	}
	record := filepath.Join(dirs[0], id)
	for _, c := range []struct {
		record, want string
		gone, kept   bool
	}{
		{`{"v":1,"dir":"sub"}`, "old", true, false},
		{`{"v":1,"dir":"sub","target":"f"}`, "new", true, false},
		{`{"v":1,"dir":"../other","target":"f"}`, "old", false, false},
		{`{"v":1,"dir":"none"}`, "old", false, false},
		{`{"v":2,"dir":"sub"}`, "old", false, true},
		{``, "old", false, false},
		{`{"v":1,"di`, "old", false, false},
	} {
		write(t, root, map[string]string{"sub/" + temp: "new", "sub/f": "old"})
		if err := os.WriteFile(record, []byte(c.record), 0o600); err != nil {
			t.Fatal(err)
		}
		newDiskIn(t, root, state)
		if got := read(t, root, "sub/f"); got != c.want {
			t.Errorf("%s: the file holds %q", c.record, got)
		}
		if _, err := os.Stat(filepath.Join(root, "sub", temp)); errors.Is(err, fs.ErrNotExist) != c.gone {
			t.Errorf("%s: the temporary file: %v", c.record, err)
		}
		if _, err := os.Stat(record); (err == nil) != c.kept {
			t.Errorf("%s: the record: %v", c.record, err)
		}
		_ = os.Remove(record)
	}
	r, w := io.Pipe()
	done := make(chan error)
	go func() {
		_, err := d.Write(t.Context(), "/slow", r, driver.WriteOptions{})
		done <- err
	}()
	if _, err := w.Write([]byte("half ")); err != nil {
		t.Fatal(err)
	}
	other := newDiskIn(t, root, state) // must not touch the write that goes on
	if _, err := w.Write([]byte("whole")); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	if err := <-done; err != nil || read(t, root, "slow") != "half whole" {
		t.Errorf("a write during another start: %v", err)
	}
	for i, err := range other.List(t.Context(), "/", driver.ListOptions{}) {
		if err != nil || strings.HasSuffix(i.Path, ".tmp") {
			t.Errorf("listed: %+v, %v", i, err)
		}
	}
}

// TestProcesses lets two other processes edit one file at once.
func TestProcesses(t *testing.T) {
	root, state := t.TempDir(), t.TempDir()
	write(t, root, map[string]string{"f": eightLines()})
	var cmds []*exec.Cmd
	for _, lines := range []string{"0246", "1357"} {
		cmd := command(t, root, state, "edits")
		cmd.Env = append(cmd.Env, "DISK_TEST_LINES="+lines)
		var out bytes.Buffer
		cmd.Stdout = &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cmds = append(cmds, cmd)
	}
	for _, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %s", err, cmd.Stdout)
		}
	}
	if got := strings.Count(read(t, root, "f"), "+++\n"); got != 8 {
		t.Errorf("%d of 8 lines have all edits:\n%s", got, read(t, root, "f"))
	}
	noTemps(t, root)
}

// editLines edits some lines of the file in turn, three times.
func editLines(ctx context.Context, f *backend.FS, lines string) error {
	for r := range 3 {
		for _, n := range lines {
			was := "line " + string(n) + " of 8" + strings.Repeat("+", r)
			if _, err := f.Edit(ctx, "/f", backend.Edit{Old: was + "\n", New: was + "+\n"}); err != nil {
				return err
			}
		}
	}
	return nil
}

var _ backendtest.TB = (*testing.T)(nil)

// TestUser checks as an ordinary user what root may do anyway.
func TestUser(t *testing.T) {
	base := t.TempDir()
	write(t, base, map[string]string{"r/ro-dir/f": "keep", "r/none/x": "needle", "r/unreadable": "needle", "r/ok": "needle", "r/theirs": "keep", "r/open/theirs": "keep", "r/deep/stuck/x": "", "r/deep/a": ""})
	root := filepath.Join(base, "r")
	if os.Getuid() == 0 {
		for _, p := range []string{base, filepath.Dir(base), root} {
			if err := os.Chmod(p, 0o777); err != nil { //nolint:gosec // for the other user
				t.Fatal(err)
			}
		}
		err := filepath.WalkDir(root, func(p string, _ fs.DirEntry, err error) error {
			if err == nil && !strings.Contains(p, "theirs") {
				err = os.Lchown(p, nobody, nobody)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	chmod(t, root, map[string]fs.FileMode{"unreadable": 0, "none": 0, "ro-dir": 0o555, "deep/stuck": 0o555, "open": 0o777, "theirs": 0o644, "open/theirs": 0o644})
	defer chmod(t, root, map[string]fs.FileMode{"none": 0o755, "ro-dir": 0o755, "deep/stuck": 0o755})
	cmd := command(t, root, filepath.Join(base, "state"), "user")
	if os.Getuid() == 0 {
		exe := filepath.Join(base, "test")
		if b, err := os.ReadFile(cmd.Path); err != nil || os.WriteFile(exe, b, 0o755) != nil { //nolint:gosec // run by the other user
			t.Fatal("copying the test binary: ", err)
		}
		cmd.Path, cmd.Dir = exe, base
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	cmd.Env = append(cmd.Env, fmt.Sprintf("DISK_TEST_OTHERS=%v", os.Getuid() == 0))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if read(t, root, "ro-dir/f") != "keep" || read(t, root, "open/theirs") != "keep" {
		t.Error("a file that the user may not write was written")
	}
}

const nobody = 65534

// asUser is the part of TestUser that the ordinary user does.
func asUser(ctx context.Context, f *backend.FS) error {
	var errs []error
	check := func(what string, err, want error) {
		if !errors.Is(err, want) {
			errs = append(errs, fmt.Errorf("%s: %v, want %v", what, err, want))
		}
	}
	_, err := f.Write(ctx, "/ro-dir/new", nil, backend.WriteOptions{})
	check("write into a read-only directory", err, fs.ErrPermission)
	_, err = f.Write(ctx, "/ro-dir/f", []byte("x"), backend.WriteOptions{})
	check("replacing in a read-only directory", err, fs.ErrPermission)
	_, err = f.Read(ctx, "/unreadable", backend.Window{Limit: 1})
	check("read", err, fs.ErrPermission)
	_, err = f.List(ctx, "/none")
	check("list", err, fs.ErrPermission)
	if os.Getenv("DISK_TEST_OTHERS") == "true" {
		_, err = f.Write(ctx, "/open/theirs", []byte("x"), backend.WriteOptions{})
		check("write of somebody else's file", err, fs.ErrPermission)
	}
	g, err := f.Grep(ctx, backend.GrepQuery{Text: "needle"})
	if err != nil || len(g.Matches) != 1 || g.Unreadable != 2 {
		errs = append(errs, fmt.Errorf("grep: %+v, %v, want one match and two unreadable", g, err))
	}
	gl, err := f.Glob(ctx, backend.GlobQuery{Pattern: "ok"})
	if err != nil || len(gl.Paths) != 1 || gl.Unreadable != 1 {
		errs = append(errs, fmt.Errorf("glob: %+v, %v, want one path and one unreadable", gl, err))
	}
	err = f.Delete(ctx, "/deep")
	check("delete of a directory with an entry that cannot be removed", err, fs.ErrPermission)
	if err != nil && !strings.Contains(err.Error(), "only in part") {
		errs = append(errs, fmt.Errorf("the error does not say that part is gone: %w", err))
	}
	return errors.Join(errs...)
}

// TestStartsDuringWrites opens the same root again and again while files are written: a start cleans up after processes that are
// gone, never after a write that has just begun.
func TestStartsDuringWrites(t *testing.T) {
	root, state := t.TempDir(), t.TempDir()
	d := newDiskIn(t, root, state)
	stop := make(chan struct{})
	var starts, writers sync.WaitGroup
	for range 2 {
		starts.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				other, err := disk.New(root, disk.Options{StateDir: state, NoSync: true})
				if err != nil {
					t.Error(err)
					return
				}
				if err := other.Close(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for n := range 4 {
		writers.Go(func() {
			for range 150 {
				if _, err := d.Write(t.Context(), fmt.Sprintf("/f%d", n), strings.NewReader("text"), driver.WriteOptions{}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	writers.Wait()
	close(stop)
	starts.Wait()
	noTemps(t, root)
}
