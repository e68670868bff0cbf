package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/deepagents-go/deepagents/backend/driver"
)

// fast opens paths below a directory with openat2, which refuses links itself.
type fast struct{ root int }

// newFast returns nil without an error where the kernel, or a filter of system calls, has no openat2.
func newFast(root string) (*fast, error) {
	fd, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := &fast{fd}
	if _, err := f.stat("."); err != nil {
		return nil, f.close()
	}
	return f, nil
}

func (f *fast) close() error { return unix.Close(f.root) }

func (f *fast) openat2(rel string, flag uint64) (int, error) {
	how := unix.OpenHow{Flags: flag | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	for {
		fd, err := unix.Openat2(f.root, rel, &how)
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
		case errors.Is(err, unix.ELOOP), errors.Is(err, unix.EXDEV):
			return -1, errLink
		default:
			return fd, err
		}
	}
}

// open opens a file or a directory. What is neither is looked at first, since opening a device may do something.
func (f *fast) open(rel string, flag int) (*os.File, error) {
	m, err := f.stat(rel)
	if err != nil {
		return nil, err
	}
	if m.kind() == driver.Other {
		return nil, driver.ErrNotRegular
	}
	fd, err := f.openat2(rel, uint64(flag|nonBlock)) //nolint:gosec // flags are positive
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), rel), nil
}

func (f *fast) stat(rel string) (meta, error) {
	fd, err := f.openat2(rel, unix.O_PATH)
	if err != nil {
		return meta{}, err
	}
	defer func() { _ = unix.Close(fd) }() // only looked at
	var s unix.Stat_t
	if err := unix.Fstat(fd, &s); err != nil {
		return meta{}, err
	}
	return metaOfStat(&s), nil
}

// same reports whether a path without links names a directory that was opened in another way; if not, it is errLink.
func (f *fast) same(rel string, is fs.FileInfo) error {
	m, err := f.stat(rel)
	if err != nil {
		return err
	}
	if o := metaOf(is); m.dev != o.dev || m.ino != o.ino {
		return errLink
	}
	return nil
}

func metaOfStat(s *unix.Stat_t) meta {
	return meta{
		mode: modeOf(s.Mode), size: s.Size, mtime: time.Unix(s.Mtim.Unix()), ctime: time.Unix(s.Ctim.Unix()),
		dev: s.Dev, ino: s.Ino, nlink: uint64(s.Nlink), uid: int(s.Uid), gid: int(s.Gid), //nolint:unconvert // differs by architecture
	}
}

func modeOf(m uint32) fs.FileMode {
	mode := fs.FileMode(m & 0o777)
	switch m & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	case unix.S_IFLNK:
		mode |= fs.ModeSymlink
	case unix.S_IFIFO:
		mode |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		mode |= fs.ModeSocket
	case unix.S_IFCHR:
		mode |= fs.ModeDevice | fs.ModeCharDevice
	default:
		mode |= fs.ModeDevice
	}
	if m&unix.S_ISUID != 0 {
		mode |= fs.ModeSetuid
	}
	if m&unix.S_ISGID != 0 {
		mode |= fs.ModeSetgid
	}
	if m&unix.S_ISVTX != 0 {
		mode |= fs.ModeSticky
	}
	return mode
}

func (f *fast) list(rel string) (lister, error) {
	fd, err := f.openat2(rel, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	return &fastDir{fd}, nil
}

// fastFile is a descriptor without the runtime's poller, which costs a search two system calls for each file.
type fastFile struct{ fd int }

func (f *fastFile) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	for {
		n, err := unix.Read(f.fd, b)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

func (f *fastFile) Seek(offset int64, whence int) (int64, error) {
	return unix.Seek(f.fd, offset, whence)
}

func (f *fastFile) Close() error {
	if f.fd < 0 {
		return fs.ErrClosed
	}
	err := unix.Close(f.fd)
	f.fd = -1
	return err
}

func openat(dir int, name string, flag int) (int, error) {
	for {
		fd, err := unix.Openat(dir, name, flag|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if !errors.Is(err, syscall.EINTR) {
			return fd, err
		}
	}
}
