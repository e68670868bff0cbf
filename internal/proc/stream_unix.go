//go:build unix

package proc

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// read reads a stream to its end. It never blocks a thread: the poller wakes it.
func (t *Tree) read(i int) {
	defer t.wg.Done()
	defer t.streamEnded(i)
	rc, err := t.outs[i].SyscallConn()
	if err != nil {
		return
	}
	for {
		more := false
		err := rc.Read(func(fd uintptr) bool {
			for {
				n, err := t.step(i, int(fd))
				if errors.Is(err, unix.EAGAIN) {
					return false
				}
				if n <= 0 {
					return true
				}
				if t.isLate() {
					more = true
					return true
				}
			}
		})
		if err != nil || !more || !t.pause() {
			return
		}
	}
}

// step reads once and hands the bytes on, both under one lock: whoever holds it sees a stream without bytes in flight.
func (t *Tree) step(i, fd int) (int, error) {
	t.outMu.Lock()
	defer t.outMu.Unlock()
	for {
		n, err := unix.Read(fd, t.buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if n > 0 {
			t.deliver(i, t.buf[:n])
		}
		return n, err
	}
}

// drain reads what is in the pipe now: all that the exited process wrote, and no more than that when others go on writing.
func (t *Tree) drain(i int) {
	rc, err := t.outs[i].SyscallConn()
	if err != nil {
		return
	}
	_ = rc.Control(func(fd uintptr) {
		left, err := unix.IoctlGetInt(int(fd), fionread)
		if err != nil {
			return
		}
		for {
			n, err := t.step(i, int(fd))
			if n == 0 && err == nil {
				t.streamEnded(i)
			}
			if n <= 0 {
				return
			}
			if left -= n; left <= 0 {
				return
			}
		}
	})
}

func sysProcAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func exitCode(ps *os.ProcessState) (int, syscall.Signal) {
	if ws, ok := ps.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return -int(ws.Signal()), ws.Signal()
	}
	return ps.ExitCode(), 0
}
