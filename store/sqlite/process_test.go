package sqlite_test

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/deepagents-go/deepagents/store"
	"github.com/deepagents-go/deepagents/store/sqlite"
)

// TestMain is also the other process of the tests that need one.
func TestMain(m *testing.M) {
	if path := os.Getenv("STORE_TEST_CHILD"); path != "" {
		if err := child(context.Background(), path); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// child counts in one item as often as STORE_TEST_ROUNDS says, and tells each number that is stored.
func child(ctx context.Context, path string) error {
	rounds, err := strconv.Atoi(os.Getenv("STORE_TEST_ROUNDS"))
	if err != nil {
		return err
	}
	s, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	for range rounds {
		n, err := increment(ctx, s)
		if err != nil {
			return errors.Join(err, s.Close())
		}
		fmt.Println(n)
	}
	return s.Close()
}

func count(ctx context.Context, s store.Store) (n int, version string, err error) {
	i, err := s.Get(ctx, store.Namespace{"a"}, "n", store.GetOptions{})
	if errors.Is(err, store.ErrNotFound) {
		return 0, "", nil
	}
	if err != nil {
		return 0, "", err
	}
	var v struct{ N int }
	err = json.Unmarshal(i.Value, &v)
	return v.N, i.Version, err
}

func increment(ctx context.Context, s store.Store) (int, error) {
	for {
		n, version, err := count(ctx, s)
		if err != nil {
			return 0, err
		}
		o := store.PutOptions{IfVersion: version, CreateOnly: version == ""}
		_, err = s.Put(ctx, store.Namespace{"a"}, "n", json.RawMessage(fmt.Sprintf(`{"n":%d}`, n+1)), o)
		if !errors.Is(err, store.ErrConflict) {
			return n + 1, err
		}
	}
}

func start(t *testing.T, path string, rounds int) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "STORE_TEST_CHILD="+path, fmt.Sprintf("STORE_TEST_ROUNDS=%d", rounds))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return cmd, bufio.NewScanner(out)
}

// TestProcesses lets processes count in one new file at once: no step is lost.
func TestProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	const processes, rounds = 3, 15
	var wg sync.WaitGroup
	for range processes {
		cmd, out := start(t, path, rounds)
		wg.Go(func() {
			for out.Scan() {
				if _, err := strconv.Atoi(out.Text()); err != nil {
					t.Error(out.Text())
				}
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	n, _, err := count(t.Context(), open(t, path, sqlite.Options{}))
	if err != nil || n != processes*rounds {
		t.Errorf("counted to %d, %v, want %d", n, err, processes*rounds)
	}
}

// TestKill kills a process while it writes: what it told is there, and the file goes on.
func TestKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	for round := range 3 {
		cmd, out := start(t, path, 1_000_000)
		told := 0
		for told < 20*(round+1) && out.Scan() {
			n, err := strconv.Atoi(out.Text())
			if err != nil {
				t.Fatal(out.Text())
			}
			told = n
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for out.Scan() {
			if n, err := strconv.Atoi(out.Text()); err == nil {
				told = n
			}
		}
		_ = cmd.Wait() // killed
		s := open(t, path, sqlite.Options{})
		n, _, err := count(t.Context(), s)
		if err != nil || n != told && n != told+1 {
			t.Errorf("the file says %d, %v; the process said %d", n, err, told)
		}
		if _, err := increment(t.Context(), s); err != nil {
			t.Error(err)
		}
	}
}

// hold takes the file's write lock and returns what releases it.
func hold(t *testing.T, path string) func() {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	release := func() {
		once.Do(func() {
			if err := errors.Join(tx.Rollback(), db.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(release)
	return release
}
