package disk

import (
	"io/fs"
	"strconv"
	"time"

	"github.com/deepagents-go/deepagents/backend/driver"
)

// meta is what the system tells about a file.
type meta struct {
	mode         fs.FileMode
	size         int64
	mtime, ctime time.Time // ctime is zero where the system has none
	dev, ino     uint64    // zero where the system has none
	nlink        uint64
	uid, gid     int
}

const (
	// racy is how long an equal version proves nothing: clocks of file systems tick up to every 10 ms,
	racyFor = 20 * time.Millisecond
	// and those that store whole seconds only every 1 or 2 s.
	racyForCoarse = 2100 * time.Millisecond
)

func (m meta) version() string {
	b := make([]byte, 0, 64)
	b = strconv.AppendUint(b, m.dev, 36)
	for _, n := range [...]int64{int64(m.ino), m.size, m.mtime.UnixNano(), m.changed().UnixNano()} { //nolint:gosec // only compared
		b = append(b, '.')
		b = strconv.AppendInt(b, n, 36)
	}
	return string(b)
}

// changed is when the file changed last; the time of modification alone can be set back.
func (m meta) changed() time.Time {
	if m.ctime.IsZero() {
		return m.mtime
	}
	return m.ctime
}

func (m meta) racy() bool {
	wait := racyFor
	if m.changed().Nanosecond() == 0 {
		wait = racyForCoarse
	}
	return time.Since(m.changed()) < wait
}

func (m meta) kind() driver.FileKind {
	switch {
	case m.mode.IsRegular():
		return driver.Regular
	case m.mode.IsDir():
		return driver.Dir
	case m.mode&fs.ModeSymlink != 0:
		return driver.Link
	}
	return driver.Other
}

func (m meta) info(p, resolved string) driver.Info {
	i := driver.Info{Path: p, Resolved: resolved, Kind: m.kind(), Mode: m.mode, ModTime: m.mtime}
	if i.Kind == driver.Regular {
		i.Size, i.Version, i.Racy = m.size, m.version(), m.racy()
	}
	return i
}
