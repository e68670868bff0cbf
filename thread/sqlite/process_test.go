package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deepagents-go/deepagents/thread"
	"github.com/deepagents-go/deepagents/thread/sqlite"
	"go.uber.org/goleak"
)

// TestMain is also the other process of the tests that need one.
func TestMain(m *testing.M) {
	if mode := os.Getenv("SQLITE_TEST_CHILD"); mode != "" {
		if err := child(mode, os.Args[1:]); err != nil {
			fmt.Println("error", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// process is a child whose lines are read one by one.
type process struct {
	t   *testing.T
	cmd *exec.Cmd
	out *bufio.Scanner
}

func start(t *testing.T, mode string, args ...string) *process {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return startCmd(t, mode, exec.Command(exe, args...))
}

func startCmd(t *testing.T, mode string, cmd *exec.Cmd) *process {
	t.Helper()
	cmd.Env = append(os.Environ(), "SQLITE_TEST_CHILD="+mode)
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
	return &process{t, cmd, bufio.NewScanner(out)}
}

// line returns the next line of the child, or ends the test.
func (p *process) line() string {
	p.t.Helper()
	if !p.out.Scan() {
		p.t.Fatalf("the child ended: %v", p.out.Err())
	}
	if strings.HasPrefix(p.out.Text(), "error") {
		p.t.Fatal(p.out.Text())
	}
	return p.out.Text()
}

func (p *process) kill() {
	p.t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	for p.out.Scan() {
		_ = p.out.Text()
	}
	_ = p.cmd.Wait() // killed
}

// wait reads to the end and fails the test when the child failed.
func (p *process) wait() {
	p.t.Helper()
	for p.out.Scan() {
		if strings.HasPrefix(p.out.Text(), "error") {
			p.t.Error(p.out.Text())
		}
	}
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("the child failed: %v", err)
	}
}

func child(mode string, args []string) error {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, args[0], sqlite.Options{})
	if err != nil {
		return err
	}
	switch mode {
	case "append":
		return childAppend(ctx, s, args[1])
	case "hold":
		return childHold(ctx, s)
	case "many":
		base, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		return errors.Join(many(ctx, s, base), s.Close())
	case "fight":
		return errors.Join(fight(ctx, s, args[1]), s.Close())
	case "count":
		return errors.Join(countAppends(ctx, s), s.Close())
	}
	return fmt.Errorf("unknown mode %s", mode)
}

// rec is a record whose data must come back whole.
func rec(id string, size int) thread.Record {
	return thread.Record{
		V: 1, ID: thread.ID(id), RunID: "run", Kind: thread.KindUpdate, Time: time.Unix(1, 0),
		Data: fmt.Appendf(nil, `"%s %s"`, id, strings.Repeat("x", size)),
	}
}

// childAppend appends pairs from 4 goroutines, without end, and prints what is acknowledged.
func childAppend(ctx context.Context, s *sqlite.Store, from string) error {
	var mu sync.Mutex
	errs := make(chan error)
	for w := range 4 {
		go func() {
			for i := 0; ; i++ {
				id := fmt.Sprintf("%s-%d-%d", from, w, i)
				size := (i * 37) % 9000
				a := thread.Append{ExpectSeq: -1, Durable: i%2 == 0, Records: []thread.Record{rec(id+"a", size), rec(id+"b", size)}}
				if _, err := s.Append(ctx, fmt.Sprint("t", w), a); err != nil {
					errs <- err
					return
				}
				mu.Lock()
				fmt.Println(w, id)
				mu.Unlock()
			}
		}()
	}
	return <-errs
}

// TestKill ends a writer by SIGKILL again and again: every acknowledged append is there, whole, and no half of any other.
func TestKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	rounds := 6
	if os.Getenv("DEEPAGENTS_LONG") != "" {
		rounds = 60
	}
	acked := make(map[string][]string)
	for round := range rounds {
		p := start(t, "append", path, fmt.Sprint("r", round))
		for n := 0; n < 20+round*13%100; n++ {
			note(t, acked, p.line())
		}
		if err := p.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for p.out.Scan() {
			if strings.Count(p.out.Text(), "-") == 2 { // the last line may be cut
				note(t, acked, p.out.Text())
			}
		}
		_ = p.cmd.Wait()
	}
	s := open(t, path, sqlite.Options{})
	for w := range 4 {
		id := fmt.Sprint("t", w)
		got := make(map[string]int)
		for r, err := range s.Read(t.Context(), id, thread.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(string(r.Data), `"`+string(r.ID)+" ") || r.Data[len(r.Data)-1] != '"' {
				t.Fatalf("%s: %s is damaged", id, r.ID)
			}
			got[strings.TrimRight(string(r.ID), "ab")]++
		}
		for pair, n := range got {
			if n != 2 {
				t.Errorf("%s: %d records of the append %s", id, n, pair)
			}
		}
		for _, pair := range acked[strconv.Itoa(w)] {
			if got[pair] != 2 {
				t.Errorf("%s: the acknowledged append %s is lost", id, pair)
			}
		}
	}
}

func note(t *testing.T, acked map[string][]string, line string) {
	t.Helper()
	w, id, ok := strings.Cut(line, " ")
	if !ok {
		t.Fatalf("line %q", line)
	}
	acked[w] = append(acked[w], id)
}

func childHold(ctx context.Context, s *sqlite.Store) error {
	l, err := s.Acquire(ctx, "t", "the child", time.Hour)
	if err != nil {
		return err
	}
	if _, err := s.Append(ctx, "t", thread.Append{Fence: l.Fence(), ExpectSeq: -1, Records: []thread.Record{rec("a", 1)}}); err != nil {
		return err
	}
	fmt.Println("holding", l.Fence())
	time.Sleep(time.Hour)
	return nil
}

// TestLeaseAfterKill takes the lease of a dead process at once: its time to live is an hour.
func TestLeaseAfterKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	s := open(t, path, sqlite.Options{})
	for round := range 3 {
		p := start(t, "hold", path)
		fence, err := strconv.ParseInt(strings.TrimPrefix(p.line(), "holding "), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		var busy *thread.BusyError
		if _, err := s.Acquire(t.Context(), "t", "me", time.Hour); !errors.As(err, &busy) || busy.Owner != "the child" {
			t.Fatalf("while the child lives: %v", err)
		}
		if err := s.Delete(t.Context(), "t"); !errors.Is(err, thread.ErrBusy) {
			t.Fatalf("delete while the child lives: %v", err)
		}
		p.kill()
		for i, err := range s.List(t.Context()) {
			if err != nil || i.Owner != "" {
				t.Fatalf("listed %+v, %v", i, err)
			}
		}
		l, err := s.Acquire(t.Context(), "t", "me", time.Hour)
		if err != nil {
			t.Fatalf("round %d: after the child was killed: %v", round, err)
		}
		if _, err := s.Append(t.Context(), "t", thread.Append{Fence: fence, ExpectSeq: -1}); !errors.Is(err, thread.ErrFenced) {
			t.Fatalf("with the dead child's fence: %v", err)
		}
		if err := l.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// many appends from 8 goroutines to 8 threads.
func many(ctx context.Context, s *sqlite.Store, base int) error {
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for w := range errs {
		wg.Go(func() {
			for i := range 25 {
				a := thread.Append{ExpectSeq: -1, Durable: i%2 == 0, Records: []thread.Record{rec(fmt.Sprintf("%d-%d", base+w, i), 500)}}
				if _, err := s.Append(ctx, fmt.Sprint("t", w), a); err != nil {
					errs[w] = err
					return
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// TestTwoProcesses is case B161: 16 goroutines in 2 processes on 8 threads of one file. Nobody sees a locked database.
func TestTwoProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	a, b := start(t, "many", path, "0"), start(t, "many", path, "100")
	a.wait()
	b.wait()
	s := open(t, path, sqlite.Options{})
	for w := range 8 {
		next, n := map[string]int{}, 0
		for r, err := range s.Read(t.Context(), fmt.Sprint("t", w), thread.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			by, num, _ := strings.Cut(string(r.ID), "-")
			if num != strconv.Itoa(next[by]) {
				t.Fatalf("t%d: record %s where %d was due", w, r.ID, next[by])
			}
			next[by]++
			n++
		}
		if n != 50 {
			t.Errorf("t%d: %d records", w, n)
		}
	}
}

// fight takes the lease 20 times and writes two records each time.
func fight(ctx context.Context, s *sqlite.Store, who string) error {
	for n := 0; n < 20; {
		l, err := s.Acquire(ctx, "t", who, time.Hour)
		if errors.Is(err, thread.ErrBusy) {
			time.Sleep(time.Millisecond)
			continue
		}
		for range 2 {
			if err == nil {
				a := thread.Append{Fence: l.Fence(), ExpectSeq: -1, Records: []thread.Record{rec(fmt.Sprint(who, n), 10)}}
				_, err = s.Append(ctx, "t", a)
			}
		}
		if err == nil {
			err = l.Release(ctx)
		}
		if err != nil {
			return err
		}
		n++
	}
	return nil
}

// TestProcessesFight has processes take one lease in turns: what is written under it is never interleaved.
func TestProcessesFight(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	ps := make([]*process, 4)
	for i := range ps {
		ps[i] = start(t, "fight", path, fmt.Sprint("p", i, "-"))
	}
	for _, p := range ps {
		p.wait()
	}
	s := open(t, path, sqlite.Options{})
	var ids []thread.ID
	for r, err := range s.Read(t.Context(), "t", thread.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.ID)
	}
	if len(ids) != 40*len(ps) {
		t.Fatalf("%d records", len(ids))
	}
	for i := 0; i < len(ids); i += 2 {
		if ids[i] != ids[i+1] {
			t.Fatalf("%s and %s were written under one lease", ids[i], ids[i+1])
		}
	}
}

// The appends of countAppends: in sequence and from many goroutines at once, durable and not.
const (
	countSingle   = 100
	countParallel = 32
	countEach     = 20
)

// countAppends prints what it did, with marks around each part for the trace.
func countAppends(ctx context.Context, s *sqlite.Store) error {
	if _, err := s.Append(ctx, "warm", thread.Append{Durable: true, Records: []thread.Record{rec("a", 1)}}); err != nil {
		return err
	}
	parts := []struct {
		name    string
		workers int
		each    int
		durable bool
	}{
		{"durable", 1, countSingle, true},
		{"not-durable", 1, countSingle, false},
		{"parallel", countParallel, countEach, true},
	}
	for _, p := range parts {
		// A file that is not there marks the part in the trace.
		_, _ = os.Stat("/MARK-" + p.name)
		before := s.Stats()
		var wg sync.WaitGroup
		errs := make([]error, p.workers)
		for w := range p.workers {
			wg.Go(func() {
				for i := range p.each {
					a := thread.Append{ExpectSeq: -1, Durable: p.durable, Records: []thread.Record{rec(fmt.Sprint(i), 400)}}
					if _, err := s.Append(ctx, fmt.Sprint("t", w), a); err != nil {
						errs[w] = err
						return
					}
				}
			})
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			return err
		}
		after := s.Stats()
		fmt.Println(p.name, after.Transactions-before.Transactions, after.Durable-before.Durable, after.DurableAppends-before.DurableAppends)
	}
	_, _ = os.Stat("/MARK-end")
	return nil
}

// TestSyncs counts fsync calls: at most 1.2 for each durable append in sequence, fewer than one when they come together, and none
// for the others except at checkpoints.
func TestSyncs(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed: fsync calls cannot be counted")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	log := filepath.Join(dir, "trace")
	p := startCmd(t, "count", exec.Command(strace, "-f", "-o", log, "-e", "trace=fsync,fdatasync,newfstatat,stat", exe,
		filepath.Join(dir, "threads.db")))
	for p.out.Scan() {
		if strings.HasPrefix(p.out.Text(), "error") {
			t.Fatal(p.out.Text())
		}
		t.Log("transactions, durable ones, durable appends:", p.out.Text())
	}
	if err := p.cmd.Wait(); err != nil {
		t.Skipf("strace cannot trace here: %v", err)
	}
	trace, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	count, part := make(map[string]int), ""
	for line := range strings.Lines(string(trace)) {
		if _, mark, ok := strings.Cut(line, "/MARK-"); ok {
			part, _, _ = strings.Cut(mark, `"`)
		} else if strings.Contains(line, "sync(") {
			count[part]++
		}
	}
	t.Log("fsync calls:", count)
	if n := count["durable"]; n < countSingle || n > countSingle*12/10 {
		t.Errorf("%d fsync calls for %d durable appends", n, countSingle)
	}
	if n := count["not-durable"]; n > 4 {
		t.Errorf("%d fsync calls for %d appends that are not durable", n, countSingle)
	}
	if n, all := count["parallel"], countParallel*countEach; n < 1 || n > all/3 {
		t.Errorf("%d fsync calls for %d durable appends that come together", n, all)
	}
}
