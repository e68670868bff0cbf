package disk

import (
	"io/fs"
	"syscall"
	"time"
)

func metaOf(fi fs.FileInfo) meta {
	m := meta{mode: fi.Mode(), size: fi.Size(), mtime: fi.ModTime(), nlink: 1}
	if s, ok := fi.Sys().(*syscall.Stat_t); ok {
		m.ctime = time.Unix(s.Ctimespec.Unix())
		m.dev, m.ino, m.nlink = uint64(s.Dev), s.Ino, uint64(s.Nlink) //nolint:gosec // only compared
		m.uid, m.gid = int(s.Uid), int(s.Gid)
	}
	return m
}
