package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

const helperEnv = "DEEPAGENTS_PROC_TEST"

func TestMain(m *testing.M) {
	programs := map[string]func() error{"subreaper": subreaperProgram, "no tracing": noTracingProgram, "reaper": reaperProgram}
	if run := programs[os.Getenv(helperEnv)]; run != nil {
		if err := run(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// sink collects output, late output apart.
type sink struct {
	mu        sync.Mutex
	out, late bytes.Buffer
}

func (s *sink) write(_ int, data []byte, late bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if late {
		s.late.Write(data)
		return
	}
	s.out.Write(data)
}

func (s *sink) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.String()
}

func shell(t testing.TB, marks *Marks, line string) (*Tree, *sink) {
	t.Helper()
	s := &sink{}
	spec := Spec{Path: "/bin/sh", Args: []string{"sh", "-c", line}, Dir: "/", Env: []string{"PATH=" + os.Getenv("PATH")}, Sink: s.write}
	if marks != nil {
		spec.Mark = marks.Next()
	}
	tree, err := Start(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tree.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return tree, s
}

func waitFor(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited too long for %s", what)
		}
	}
}

func TestState(t *testing.T) {
	for line, want := range map[string]State{
		"exit 3":           {Code: 3},
		"kill -9 $$":       {Code: -9, Signal: syscall.SIGKILL},
		"sleep 300 & exit": {Background: 1},
		"sleep 300 & sleep 301 >/dev/null 2>&1 & exit 4": {Code: 4, Background: 2},
	} {
		tree, _ := shell(t, NewMarks(), line)
		<-tree.Done()
		got := tree.State()
		got.Duration = 0
		if got != want {
			t.Errorf("%q: %+v, want %+v", line, got, want)
		}
	}
}

// TestMembers finds every kind of descendant by the mark, and without one by session and ancestry.
func TestMembers(t *testing.T) {
	for _, c := range []struct {
		line   string
		marked bool
		live   int
	}{
		{"sleep 300 & wait", true, 2},
		{"sleep 300 & wait", false, 2},
		{"(sleep 300 &) ; sleep 301", true, 3},
		{"(sleep 300 &) ; sleep 301", false, 3},
		{"setsid sleep 300 & wait", true, 2},
		{"setsid sleep 300 & wait", false, 2},
		{"(setsid sleep 300 &) ; sleep 301", true, 3},
		{"(env -i setsid sleep 300 &) ; sleep 301", true, 3},
		{"(env -i setsid sh -c '(sleep 300 & setsid sleep 300 &)' &) ; sleep 301", true, 4},
	} {
		var marks *Marks
		if c.marked {
			marks = NewMarks()
		}
		tree, _ := shell(t, marks, c.line)
		waitFor(t, fmt.Sprintf("%q (marked %t): %d processes", c.line, c.marked, c.live), func() bool { return tree.Live() == c.live })
		if err := tree.Kill(context.Background()); err != nil {
			t.Error(err)
		}
		if n := tree.Live(); n != 0 {
			t.Errorf("%q: %d processes survive", c.line, n)
		}
	}
}

func busyWork(n int) {
	for range 1000 {
		n = n*31 + 7
	}
	runtime.KeepAlive(n)
}

// TestMarkIsSetBeforeTheFirstFork starts shells that hide a child at once, on a busy machine.
func TestMarkIsSetBeforeTheFirstFork(t *testing.T) {
	stop := make(chan struct{})
	var busy sync.WaitGroup
	for range 4 {
		busy.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
					busyWork(n)
				}
			}
		})
	}
	defer busy.Wait()
	defer close(stop)
	marks := NewMarks()
	for range 15 {
		tree, _ := shell(t, marks, "(env -i setsid sleep 300 </dev/null >/dev/null 2>&1 &)")
		<-tree.Done()
		waitFor(t, "the hidden child", func() bool { return tree.Live() == 1 })
		if err := tree.Kill(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestWithoutProc is what is left where /proc does not show our processes: the group.
func TestWithoutProc(t *testing.T) {
	tree, _ := shell(t, nil, "sleep 300 >/dev/null 2>&1 & read x </dev/null; sleep 0.2; exit 3")
	tree.mu.Lock()
	tree.table.usable = false
	tree.mu.Unlock()
	<-tree.Done()
	if st := tree.State(); st.Code != 3 || st.Background != 1 {
		t.Errorf("state %+v", st)
	}
	if err := tree.Kill(context.Background()); err != nil {
		t.Error(err)
	}
	if n := tree.Live(); n != 0 {
		t.Errorf("%d processes survive", n)
	}
	tree, _ = shell(t, nil, "sleep 300 & sleep 301")
	tree.mu.Lock()
	tree.table.usable = false
	tree.mu.Unlock()
	if err := tree.Kill(context.Background()); err != nil {
		t.Error(err)
	}
	<-tree.Done()
	if st := tree.State(); st.Code != -9 {
		t.Errorf("state %+v", st)
	}
}

func TestStreamsEndWithTheShell(t *testing.T) {
	tree, s := shell(t, NewMarks(), "sleep 300 & head -c 60000 /dev/zero; echo end")
	<-tree.Done()
	if got := s.String(); len(got) != 60004 || !strings.HasSuffix(got, "end\n") {
		t.Errorf("%d bytes", len(got))
	}
}

// TestSignalSparesStrangers checks that what a reused id or a foreign session could hit is not taken for ours.
func TestSignalSparesStrangers(t *testing.T) {
	other := exec.Command("sleep", "300")
	other.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Wait() }()
	defer func() { _ = other.Process.Kill() }()
	tree, _ := shell(t, NewMarks(), "sleep 300 & exit")
	<-tree.Done()
	// A known id with another start time is another process.
	tree.mu.Lock()
	tree.table.known[other.Process.Pid] = 1
	tree.table.known[os.Getpid()] = 1
	tree.mu.Unlock()
	if err := tree.Kill(context.Background()); err != nil {
		t.Fatal(err)
	}
	if s, ok := readStat(other.Process.Pid); !ok || s.dead() {
		t.Error("a stranger was killed")
	}
}

func TestWrite(t *testing.T) {
	tree, _ := shell(t, nil, "true")
	if _, err := tree.Write(context.Background(), []byte("x")); !errors.Is(err, ErrNoStdin) {
		t.Errorf("error %v", err)
	}
}

func TestStartCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Start(ctx, Spec{Path: "/bin/sh", Args: []string{"sh", "-c", "true"}, Dir: "/"}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestFailedStartLeavesNoFiles(t *testing.T) {
	count := func() int {
		d, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(d)
	}
	before := count()
	for range 20 {
		if _, err := Start(context.Background(), Spec{Path: "/no/such/shell", Args: []string{"sh"}, Dir: "/", Stdin: true, Mark: 1}); err == nil {
			t.Fatal("started")
		}
	}
	if after := count(); after > before {
		t.Errorf("%d files, then %d", before, after)
	}
}

// TestPrograms runs programs that embed the package and are special, as processes of their own.
func TestPrograms(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"subreaper", "no tracing", "reaper"} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), exe)
			cmd.Env = []string{helperEnv + "=" + name, "PATH=" + os.Getenv("PATH")}
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// program starts a shell in one of these programs.
func program(line string) (*Tree, error) {
	return Start(context.Background(), Spec{
		Path: "/bin/sh", Args: []string{"sh", "-c", line}, Dir: "/", Env: os.Environ(), Mark: NewMarks().Next(),
	})
}

// subreaperProgram is one that orphans come back to: they are reaped, and its own children are left alone.
func subreaperProgram() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return err
	}
	own := exec.Command("sh", "-c", "exit 7")
	if err := own.Start(); err != nil {
		return err
	}
	tree, err := program("(setsid sleep 300 >/dev/null &) ; (sleep 0.05 &) ; (sleep 300 &) ; exit 2")
	if err != nil {
		return err
	}
	<-tree.Done()
	if n := tree.State().Background; n < 2 {
		return fmt.Errorf("%d in the background", n)
	}
	if err := tree.Close(context.Background()); err != nil {
		return err
	}
	for _, s := range everyone() {
		if s.ppid == os.Getpid() && s.pid != own.Process.Pid {
			return fmt.Errorf("an orphan is left: %+v", s)
		}
	}
	if err := own.Wait(); own.ProcessState.ExitCode() != 7 {
		return fmt.Errorf("our own child: %w", err)
	}
	return nil
}

// noTracingProgram is one that may not trace, as in a strict container.
func noTracingProgram() error {
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the number of the call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_PTRACE, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	const allThreads = 1
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, allThreads, uintptr(unsafe.Pointer(&prog))); errno != 0 {
		return errno
	}
	runtime.UnlockOSThread()
	tree, err := program("sleep 0.2; (env -i setsid sleep 300 >/dev/null 2>&1 &) ; exit 3")
	if err != nil {
		return err
	}
	<-tree.Done()
	if st := tree.State(); st.Code != 3 || st.Background != 1 {
		return fmt.Errorf("state %+v", st)
	}
	return tree.Close(context.Background())
}

// reaperProgram is one that waits for any child, as process 1 of a container might: exit codes can be lost then, nothing else.
func reaperProgram() error {
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				var ws unix.WaitStatus
				if pid, _ := unix.Wait4(-1, &ws, unix.WNOHANG, nil); pid <= 0 {
					time.Sleep(10 * time.Microsecond)
				}
			}
		}
	})
	defer wg.Wait()
	defer close(stop)
	for range 100 {
		tree, err := program("setsid sleep 300 >/dev/null 2>&1 & exit 3")
		if err != nil {
			return err
		}
		<-tree.Done()
		if st := tree.State(); st.Background != 1 || st.Code != 3 && st.Err == nil {
			return fmt.Errorf("state %+v", st)
		}
		if err := tree.Close(context.Background()); err != nil {
			return err
		}
	}
	return nil
}

func TestWatchdogStops(t *testing.T) {
	w, err := StartWatchdog(NewMarks())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Stop(); err != nil {
		t.Error(err)
	}
}

func BenchmarkKill200(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		tree, _ := shell(b, NewMarks(), "i=0; while [ $i -lt 200 ]; do sleep 300 & i=$((i+1)); done; wait")
		waitFor(b, "200 processes", func() bool { return tree.Live() == 201 })
		b.StartTimer()
		if err := tree.Kill(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStart(b *testing.B) {
	marks := NewMarks()
	for b.Loop() {
		tree, _ := shell(b, marks, "true")
		<-tree.Done()
		if err := tree.Close(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}
