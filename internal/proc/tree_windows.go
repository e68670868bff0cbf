package proc

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// table knows only the first process; taskkill walks the rest.
type table struct {
	pid   int
	empty bool
}

func (t *table) init(pid int) { t.pid = pid }

func (t *table) live(bool, time.Duration) int { return 0 }

// signal ends the tree whatever the signal is: Windows has no others. Children of a process that has exited are missed.
func (t *table) signal(_ syscall.Signal, reaped bool, p *os.Process) int {
	if reaped || t.empty {
		return 0
	}
	_ = exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(t.pid)).Run()
	if p.Kill() != nil {
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

// read reads a stream to its end.
func (t *Tree) read(i int) {
	defer t.wg.Done()
	defer t.streamEnded(i)
	buf := make([]byte, bufferSize)
	for {
		n, err := t.outs[i].Read(buf)
		if n > 0 {
			t.outMu.Lock()
			t.deliver(i, buf[:n])
			t.outMu.Unlock()
		}
		if err != nil || t.isLate() && !t.pause() {
			return
		}
	}
}

// drain does nothing: the grace after the exit stands in for it.
func (t *Tree) drain(int) {}

func sysProcAttr() *syscall.SysProcAttr { return nil }

func exitCode(ps *os.ProcessState) (int, syscall.Signal) { return ps.ExitCode(), 0 }

// complete reports whether live sees everything.
func (t *table) complete() bool { return false }
