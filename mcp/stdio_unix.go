//go:build unix

package mcp

import (
	"errors"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// stdio is standard input and output, taken from the rest of the process: what it prints goes to standard error meanwhile.
// Reading and writing wait with poll, so that both can be interrupted without making the descriptors non-blocking, which
// would be felt by every process that shares them.
type stdio struct {
	outFD int
	// wake is a pipe whose write end is closed to interrupt.
	wake [2]int
	once sync.Once
}

func takeStdio() (*stdio, error) {
	s := &stdio{}
	if err := unix.Pipe(s.wake[:]); err != nil {
		return nil, os.NewSyscallError("pipe", err)
	}
	unix.CloseOnExec(s.wake[0])
	unix.CloseOnExec(s.wake[1])
	fd, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		s.closePipe()
		return nil, os.NewSyscallError("dup", err)
	}
	if err := unix.Dup2(2, 1); err != nil {
		s.closePipe()
		return nil, errors.Join(os.NewSyscallError("dup2", err), unix.Close(fd))
	}
	s.outFD = fd
	return s, nil
}

func (s *stdio) in() io.Reader  { return stdinReader{s} }
func (s *stdio) out() io.Writer { return stdoutWriter{s} }

// interrupt ends every Read and Write, now and later.
func (s *stdio) interrupt() {
	s.once.Do(func() { _ = unix.Close(s.wake[1]) })
}

func (s *stdio) closePipe() {
	s.interrupt()
	_ = unix.Close(s.wake[0])
}

// release gives standard output back. Nothing may read or write any more.
func (s *stdio) release() {
	s.closePipe()
	_ = unix.Dup2(s.outFD, 1)
	_ = unix.Close(s.outFD)
}

// await returns when the descriptor is ready for the event, or an error after interrupt.
func (s *stdio) await(fd int, event int16) error {
	fds := []unix.PollFd{{Fd: int32(fd), Events: event}, {Fd: int32(s.wake[0]), Events: unix.POLLIN}} //nolint:gosec // descriptors are small
	for {
		fds[0].Revents, fds[1].Revents = 0, 0
		_, err := unix.Poll(fds, -1)
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
			continue
		case err != nil:
			return os.NewSyscallError("poll", err)
		case fds[1].Revents != 0:
			return os.ErrClosed
		case fds[0].Revents != 0:
			return nil
		}
	}
}

func retry(err error) bool { return errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN) }

type stdinReader struct{ *stdio }

func (r stdinReader) Close() error {
	r.interrupt()
	return nil
}

func (r stdinReader) Read(p []byte) (int, error) {
	for {
		if err := r.await(0, unix.POLLIN); err != nil {
			return 0, err
		}
		n, err := unix.Read(0, p)
		switch {
		case retry(err):
			continue
		case err != nil:
			return 0, os.NewSyscallError("read", err)
		case n == 0 && len(p) > 0:
			return 0, io.EOF
		}
		return n, nil
	}
}

type stdoutWriter struct{ *stdio }

func (w stdoutWriter) Close() error {
	w.interrupt()
	return nil
}

// Write writes pieces that a pipe which is ready takes without blocking.
func (w stdoutWriter) Write(p []byte) (int, error) {
	const piece = 4096
	done := 0
	for done < len(p) {
		if err := w.await(w.outFD, unix.POLLOUT); err != nil {
			return done, err
		}
		n, err := unix.Write(w.outFD, p[done:min(done+piece, len(p))])
		switch {
		case retry(err):
			continue
		case err != nil:
			return done, os.NewSyscallError("write", err)
		}
		done += n
	}
	return done, nil
}
