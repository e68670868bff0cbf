package disk

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/deepagents-go/deepagents/backend/driver"
)

// fastDir is a directory by its descriptor. Names inside it are opened without following links.
type fastDir struct{ fd int }

// Entries reads the directory with one system call for some hundred names. The names of a directory share one string, so that a
// directory of any size costs a handful of allocations.
func (d *fastDir) Entries(ctx context.Context) ([]driver.Info, error) {
	if _, err := unix.Seek(d.fd, 0, io.SeekStart); err != nil {
		return nil, err
	}
	var buf [8 << 10]byte
	var all []byte // type, name, NUL
	count := 0
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, err := unix.ReadDirent(d.fd, buf[:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if n <= 0 {
			break
		}
		var more int
		all, more = parse(buf[:n], all)
		count += more
	}
	out := make([]driver.Info, 0, count)
	for rest := string(all); rest != ""; {
		t := rest[0]
		name, tail, _ := strings.Cut(rest[1:], "\x00")
		rest = tail
		out = append(out, driver.Info{Path: name, Kind: d.kind(name, t)})
	}
	return out, nil
}

// parse reads records of the kernel (inode, offset, length, type, name) and appends type and name of each.
func parse(b, all []byte) (out []byte, count int) {
	const (
		lenAt  = unsafe.Offsetof(unix.Dirent{}.Reclen)
		typeAt = unsafe.Offsetof(unix.Dirent{}.Type)
		nameAt = unsafe.Offsetof(unix.Dirent{}.Name)
	)
	for len(b) > int(nameAt) {
		size := int(binary.NativeEndian.Uint16(b[lenAt:]))
		if size <= int(nameAt) || size > len(b) {
			break
		}
		rec := b[:size]
		b = b[size:]
		name := rec[nameAt:]
		if i := bytes.IndexByte(name, 0); i >= 0 {
			name = name[:i]
		}
		if s := string(name); s == "." || s == ".." || s == "" || isTemp(s) {
			continue
		}
		all = append(all, rec[typeAt])
		all = append(all, name...)
		all = append(all, 0)
		count++
	}
	return all, count
}

func (d *fastDir) kind(name string, t byte) driver.FileKind {
	switch t {
	case unix.DT_REG:
		return driver.Regular
	case unix.DT_DIR:
		return driver.Dir
	case unix.DT_LNK:
		return driver.Link
	case unix.DT_UNKNOWN: // some file systems do not tell
		if m, err := d.stat(name); err == nil {
			return m.kind()
		}
	}
	return driver.Other
}

func (d *fastDir) stat(name string) (meta, error) {
	var s unix.Stat_t
	if err := unix.Fstatat(d.fd, name, &s, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return meta{}, err
	}
	return metaOfStat(&s), nil
}

// Dir opens a directory inside this one.
func (d *fastDir) Dir(name string) (driver.DirHandle, error) {
	fd, err := openat(d.fd, name, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, wrap("search", request{typed: name}, err)
	}
	return &fastDir{fd}, nil
}

// Open opens a regular file inside this directory. Its Info has no version: a search does not need one, and it is not free.
func (d *fastDir) Open(name string) (io.ReadCloser, driver.Info, error) {
	fd, err := openat(d.fd, name, unix.O_RDONLY|nonBlock)
	if err != nil {
		return nil, driver.Info{}, wrap("open", request{typed: name}, err)
	}
	var s unix.Stat_t
	err = unix.Fstat(fd, &s)
	m := metaOfStat(&s)
	if err == nil && m.kind() != driver.Regular {
		err = driver.ErrNotRegular
	}
	if err != nil {
		_ = unix.Close(fd) // the first error is the one to tell
		return nil, driver.Info{}, wrap("open", request{typed: name}, err)
	}
	return &fastFile{fd}, driver.Info{Path: name, Mode: m.mode, Size: m.size, ModTime: m.mtime}, nil
}

// Close closes the descriptor.
func (d *fastDir) Close() error { return unix.Close(d.fd) }
