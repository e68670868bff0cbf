package proc

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// rlimitLocks is RLIMIT_LOCKS, which x/sys does not name.
const rlimitLocks = 10

// stat is what /proc/<pid>/stat says.
type stat struct {
	pid, ppid, pgid, sid int
	state                byte
	start                uint64 // clock ticks since boot
}

func (s stat) dead() bool { return s.state == 'Z' || s.state == 'X' }

// readStat reads a process; false when there is none.
func readStat(pid int) (stat, bool) {
	var buf [1024]byte
	b := readSmall("/proc/"+strconv.Itoa(pid)+"/stat", buf[:])
	// The name stands in parentheses and may hold anything, parentheses included.
	i := bytes.LastIndexByte(b, ')')
	if i < 0 || i+3 > len(b) {
		return stat{}, false
	}
	s := stat{pid: pid, state: b[i+2]}
	field := 3
	for f := range bytes.FieldsSeq(b[i+3:]) {
		field++
		switch field {
		case 4:
			s.ppid, _ = strconv.Atoi(string(f))
		case 5:
			s.pgid, _ = strconv.Atoi(string(f))
		case 6:
			s.sid, _ = strconv.Atoi(string(f))
		case 22:
			var err error
			s.start, err = strconv.ParseUint(string(f), 10, 64)
			return s, err == nil
		}
	}
	return stat{}, false
}

// readMark returns the mark of a process, or 0.
func readMark(pid int) uint64 {
	var buf [4096]byte
	b := readSmall("/proc/"+strconv.Itoa(pid)+"/limits", buf[:])
	_, rest, ok := bytes.Cut(b, []byte("\nMax file locks"))
	if !ok {
		return 0
	}
	for f := range bytes.FieldsSeq(rest) {
		n, _ := strconv.ParseUint(string(f), 10, 64)
		return n
	}
	return 0
}

// setMark sets the mark of a process; what it starts from now on inherits it.
func setMark(pid int, mark uint64) error {
	var old unix.Rlimit
	if err := unix.Prlimit(pid, rlimitLocks, nil, &old); err != nil {
		return err
	}
	return unix.Prlimit(pid, rlimitLocks, &unix.Rlimit{Cur: mark, Max: old.Max}, nil)
}

// lastPid returns the process id that was given out last in our namespace, or 0.
func lastPid() int {
	var buf [128]byte
	b := bytes.TrimSpace(readSmall("/proc/loadavg", buf[:]))
	n, _ := strconv.Atoi(string(b[bytes.LastIndexByte(b, ' ')+1:]))
	return n
}

// pids lists the processes.
func pids() []int {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer func() { _ = d.Close() }()
	names, _ := d.Readdirnames(-1)
	out := make([]int, 0, len(names))
	for _, n := range names {
		if n[0] < '0' || n[0] > '9' {
			continue
		}
		if pid, err := strconv.Atoi(n); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

// readSmall reads a file of /proc that fits the buffer: one read gives all of it.
func readSmall(name string, buf []byte) []byte {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer func() { _ = unix.Close(fd) }()
	n, err := unix.Read(fd, buf)
	if err != nil {
		return nil
	}
	return buf[:n]
}
