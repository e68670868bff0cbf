package proc

import (
	"os"
	"syscall"
)

// watchdogScript waits for the end of its input. When that comes without a word this program has died, and everything that
// carries the mark's prefix is killed, until nothing is found.
const watchdogScript = `trap '' HUP INT QUIT TERM PIPE
read -r word
[ "$word" = quit ] && exit 0
i=0
while [ $i -lt 50 ]; do
  found=0
  for f in $(grep -l "^Max file locks  *$1" /proc/[0-9]*/limits 2>/dev/null); do
    p=${f#/proc/}
    kill -9 "${p%/limits}" 2>/dev/null && found=1
  done
  [ $found = 0 ] && exit 0
  i=$((i+1))
  sleep 0.05 2>/dev/null
done
`

// Watchdog is a small shell that outlives this program by a moment to kill its trees when it was killed itself. (A parent-death
// signal would reach only the first process of a tree, and fires when the thread that started it ends, not the program.)
type Watchdog struct {
	proc *os.Process
	pipe *os.File
}

// StartWatchdog starts a watchdog for all trees with the marks.
func StartWatchdog(m *Marks) (*Watchdog, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		_ = w.Close()
		return nil, err
	}
	defer func() { _ = null.Close() }()
	p, err := os.StartProcess("/bin/sh", []string{"sh", "-c", watchdogScript, "deepagents-watchdog", m.Prefix()}, &os.ProcAttr{
		Dir: "/", Env: []string{"PATH=/usr/bin:/bin:/usr/sbin:/sbin"}, Files: []*os.File{r, null, null},
		Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		_ = w.Close()
		return nil, err
	}
	return &Watchdog{proc: p, pipe: w}, nil
}

// Stop ends the watchdog without a kill.
func (w *Watchdog) Stop() error {
	_, err := w.pipe.WriteString("quit\n")
	_ = w.pipe.Close()
	if _, werr := w.proc.Wait(); err == nil {
		err = werr
	}
	return err
}
