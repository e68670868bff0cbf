package proc

import (
	"errors"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// startProcess starts the first process and marks it before it runs its first instruction: it is started as a tracee, which
// stops after the exec, marked, and let go. Otherwise what a fast shell forks on a busy machine would escape the mark. Where
// tracing is forbidden the mark is set as soon as possible.
func (t *Tree) startProcess(attr *os.ProcAttr) (*os.Process, error) {
	if t.spec.Mark != 0 {
		runtime.LockOSThread() // the tracer is a thread
		defer runtime.UnlockOSThread()
		attr.Sys.Ptrace = true
		p, err := os.StartProcess(t.spec.Path, t.spec.Args, attr)
		if err == nil {
			peek(p.Pid, unix.WSTOPPED|unix.WEXITED)
			t.table.init(p.Pid, t.spec.Mark, true)
			_ = unix.PtraceDetach(p.Pid) // fails only when it was killed meanwhile
			return p, nil
		}
		if !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.ENOSYS) {
			return nil, err
		}
		attr.Sys.Ptrace = false
	}
	p, err := os.StartProcess(t.spec.Path, t.spec.Args, attr)
	if err == nil {
		t.table.init(p.Pid, t.spec.Mark, false)
	}
	return p, err
}

// blockUntilExit returns when the first process has exited, and leaves the zombie.
func (t *Tree) blockUntilExit() { peek(t.pid, unix.WEXITED) }

// peek waits for a child to change, and leaves the change to be waited for again.
func peek(pid, what int) {
	for unix.Waitid(unix.P_PID, pid, nil, what|unix.WNOWAIT, nil) == unix.EINTR {
	}
}
