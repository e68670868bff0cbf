package proc

import (
	"os"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// quickTime is how long a tree may have run for its process ids to be taken as one range: ids do not wrap around in it.
	quickTime  = 250 * time.Millisecond
	quickRange = 512
)

// table knows which processes belong to a tree. It is not safe for concurrent use.
type table struct {
	pid   int
	start uint64
	mark  uint64
	// usable says that /proc shows our own process ids. Without it the tree is its process group.
	usable bool
	// known holds the processes seen last, by start time, which an id that was reused does not share.
	known map[int]uint64
	// empty says that nothing of the tree lived once its first process had exited: nothing ever will.
	empty bool
}

// init marks the tree that begins with pid. If that was not held, what it may have started before is marked too.
func (t *table) init(pid int, mark uint64, held bool) {
	t.pid = pid
	t.known = map[int]uint64{}
	st, ok := readStat(pid)
	if !ok || st.ppid != os.Getpid() {
		return
	}
	t.start, t.usable = st.start, true
	if mark != 0 && setMark(pid, mark) == nil {
		if !held && lastPid() != pid {
			for _, s := range t.members(false, t.early()) {
				_ = setMark(s.pid, mark)
			}
		}
		t.mark = mark
	}
}

// live counts the living processes of the tree. Age is how long the tree has run; 0 means unknown.
func (t *table) live(reaped bool, age time.Duration) int {
	if t.empty {
		return 0
	}
	if !t.usable {
		return t.groupLive(reaped)
	}
	// Ids of threads answer in the quick list too, so it can tell that there is nothing, but not count.
	if quick, ok := t.startedSince(age); ok && living(t.members(reaped, quick)) == 0 {
		return 0
	}
	return living(t.members(reaped, everyone()))
}

func living(list []stat) int {
	n := 0
	for _, s := range list {
		if !s.dead() {
			n++
		}
	}
	return n
}

// groupLive is the fallback without /proc: whether the group has members, as 0 or 1.
func (t *table) groupLive(reaped bool) int {
	if !reaped {
		return 0
	}
	if unix.Kill(-t.pid, 0) != nil {
		t.empty = true
		return 0
	}
	return 1
}

// signal signals the tree and returns how many processes it had. Whole groups are signalled at once, which the kernel does
// without a gap for a fork to slip through.
func (t *table) signal(sig syscall.Signal, reaped bool, _ *os.Process) int {
	if t.empty {
		return 0
	}
	if !t.usable {
		if reaped && t.groupLive(true) == 0 {
			return 0
		}
		if unix.Kill(-t.pid, sig) != nil {
			return 0
		}
		return 1
	}
	if !reaped {
		_ = unix.Kill(-t.pid, sig)
	}
	done := map[int]bool{t.pid: !reaped}
	n := 0
	for _, s := range t.members(reaped, everyone()) {
		if s.dead() {
			continue
		}
		n++
		if !done[s.pgid] {
			done[s.pgid] = true
			// The group lies within the session of a process of the tree, so it holds no stranger.
			_ = unix.Kill(-s.pgid, sig)
		}
	}
	t.empty = reaped && n == 0
	return n
}

// members finds the processes of the tree among all, zombies included, and remembers them.
func (t *table) members(reaped bool, all []stat) []stat {
	ours := make(map[int]uint64, len(t.known)+1)
	sids := map[int]bool{}
	if !reaped {
		ours[t.pid] = t.start
		sids[t.pid] = true
	}
	found := make([]bool, len(all))
	add := func(i int) {
		found[i] = true
		ours[all[i].pid] = all[i].start
		sids[all[i].sid] = true
	}
	for i, s := range all {
		if start, ok := t.known[s.pid]; ok && start == s.start || s.pid == t.pid && !reaped || t.marked(s) {
			add(i)
		}
	}
	for changed := true; changed; {
		changed = false
		for i, s := range all {
			if _, child := ours[s.ppid]; !found[i] && (child || sids[s.sid]) && s.start >= t.start {
				add(i)
				changed = true
			}
		}
	}
	var out []stat
	clear(t.known)
	for i, s := range all {
		if !found[i] {
			continue
		}
		if s.dead() && s.pid != t.pid && s.ppid == os.Getpid() {
			// Orphans come to us when this program is process 1 or a subreaper: they are ours to reap, by id.
			_, _ = unix.Wait4(s.pid, nil, unix.WNOHANG, nil)
			continue
		}
		t.known[s.pid] = s.start
		out = append(out, s)
	}
	return out
}

func (t *table) marked(s stat) bool {
	return t.mark != 0 && s.start >= t.start && readMark(s.pid) == t.mark
}

// early describes what was started around the first process, for a tree that has just begun.
func (t *table) early() []stat {
	if list, ok := t.startedSince(1); ok {
		return list
	}
	return everyone()
}

// startedSince describes the processes with ids from the first one's to the last one given out. It is false when the tree is too
// old (its age is 0 when that is not known) or the ids are too many for that.
func (t *table) startedSince(age time.Duration) ([]stat, bool) {
	if age <= 0 || age > quickTime {
		return nil, false
	}
	return statRange(nil, t.pid-1)
}

// statRange adds the processes with ids above one, up to the last one given out even while it looks. It is false when these are
// too many, or the ids have wrapped around.
func statRange(list []stat, above int) ([]stat, bool) {
	for n := 0; ; {
		last := lastPid()
		if last == above {
			return list, true
		}
		if n += last - above; last < above || n > quickRange {
			return list, false
		}
		for above < last {
			above++
			if s, ok := readStat(above); ok {
				list = append(list, s)
			}
		}
	}
}

// everyone describes all processes, those included that are started while it looks: else one that forks and exits at the right
// moment would hide its child.
func everyone() []stat {
	last := lastPid()
	var out []stat
	listed := pids()
	for _, pid := range listed {
		if s, ok := readStat(pid); ok {
			out = append(out, s)
		}
	}
	more, _ := statRange(nil, last)
	for _, s := range more {
		if !slices.Contains(listed, s.pid) {
			out = append(out, s)
		}
	}
	return out
}

// complete reports whether live sees everything.
func (t *table) complete() bool { return t.usable }
