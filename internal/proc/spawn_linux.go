package proc

import (
	"errors"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// startProcess starts the first process and marks it before it runs its first instruction: it is started as a tracee, which
// stops after the exec, marked, and let go. Otherwise what a fast shell forks on a busy machine would escape the mark. Where
// tracing is forbidden the mark is set as soon as possible.
func (t *Tree) startProcess(attr *os.ProcAttr) (*os.Process, error) {
	if self, ok := readStat(os.Getpid()); ok && self.ppid == os.Getppid() && t.spec.Mark != 0 {
		p, err := t.startHeld(attr)
		if err == nil || !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.ENOSYS) {
			return p, err
		}
	}
	p, err := os.StartProcess(t.spec.Path, t.spec.Args, attr)
	if err == nil {
		t.table.init(p.Pid, t.spec.Mark, false)
	}
	return p, err
}

func (t *Tree) startHeld(attr *os.ProcAttr) (*os.Process, error) {
	runtime.LockOSThread() // the tracer is a thread
	defer runtime.UnlockOSThread()
	attr.Sys.Ptrace = true
	defer func() { attr.Sys.Ptrace = false }()
	p, err := os.StartProcess(t.spec.Path, t.spec.Args, attr)
	if err != nil {
		return nil, err
	}
	// The stop is looked for in /proc, because a program that waits for any child could take the news of it from us.
	for end := time.Now().Add(killTime); time.Now().Before(end); {
		if s, ok := readStat(p.Pid); !ok || s.state == 't' || s.dead() {
			break
		}
		_ = unix.Nanosleep(&unix.Timespec{Nsec: 20_000}, nil)
	}
	t.table.init(p.Pid, t.spec.Mark, true)
	_ = unix.PtraceDetach(p.Pid) // fails only when it was killed meanwhile
	return p, nil
}

// blockUntilExit returns when the first process has exited, and leaves the zombie.
func (t *Tree) blockUntilExit() {
	for errors.Is(unix.Waitid(unix.P_PID, t.pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
}
