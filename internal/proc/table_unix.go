//go:build unix && !linux

package proc

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// table knows a tree by its process group; children that call setsid are missed.
type table struct {
	pid   int
	empty bool
}

func (t *table) init(pid int) { t.pid = pid }

// live tells, as 0 or 1, whether the group has members after its leader was reaped.
func (t *table) live(reaped bool, _ time.Duration) int {
	if t.empty || !reaped {
		return 0
	}
	if unix.Kill(-t.pid, 0) != nil {
		t.empty = true
		return 0
	}
	return 1
}

func (t *table) signal(sig syscall.Signal, reaped bool, _ *os.Process) int {
	if reaped && t.live(true, 0) == 0 {
		return 0
	}
	if unix.Kill(-t.pid, sig) != nil {
		return 0
	}
	return 1
}

// blockUntilExit returns when the first process has exited and was reaped.
func (t *Tree) blockUntilExit() {
	ps, err := t.proc.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ps, t.waitErr, t.reaped = ps, err, true
}

// complete reports whether live sees everything.
func (t *table) complete() bool { return false }
