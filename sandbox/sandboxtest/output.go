package sandboxtest

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/deepagents-go/deepagents/sandbox"
)

// outputTests are about much output.
func outputTests() []test {
	return []test{
		{"a flood in bounded memory", nil, flood},
		{"a flood on one stream leaves the other", []Feature{Streams}, floodBoth},
		{"everything is spilled up to the bound", []Feature{Lossless}, spill},
		{"live output is complete", []Feature{Lossless}, live},
		{"partial output of a flood", nil, floodTimeout},
	}
}

const floodBytes = 100 << 20

// peak watches the memory of this process while f runs, and returns how far it rose above the start, in bytes.
func peak(f func()) int64 {
	var base, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&base)
	stop := make(chan struct{})
	high := make(chan uint64)
	go func() {
		top := base.HeapInuse
		for {
			select {
			case <-stop:
				high <- top
				return
			case <-time.After(20 * time.Millisecond):
				runtime.ReadMemStats(&now)
				top = max(top, now.HeapInuse)
			}
		}
	}()
	f()
	close(stop)
	return int64(<-high) - int64(base.HeapInuse)
}

func flood(s *suite) {
	var r sandbox.Result
	rise := peak(func() {
		r = s.exec(sandbox.Command{Line: "echo first; yes | head -c 104857600; echo last; exit 3"}, sandbox.RunOptions{Head: 1000, Tail: 1000})
	})
	s.expect(r.Exit, sandbox.Exited, 3)
	if rise > 16<<20 {
		s.Errorf("memory rose by %d bytes", rise)
	}
	out := string(r.Output)
	if !strings.HasPrefix(out, "first\ny\n") || !strings.HasSuffix(out, "y\nlast\n") {
		s.Errorf("head %.20q, tail %q", out, out[max(0, len(out)-20):])
	}
	if total := int64(floodBytes + len("first\nlast\n")); len(out) != 2000 || r.Truncated != total-2000 {
		s.Errorf("kept %d and left out %d of %d bytes", len(out), r.Truncated, total)
	}
}

func floodBoth(s *suite) {
	r := s.exec(sandbox.Command{Line: "echo e1 >&2; yes | head -c 3000000; echo e2 >&2"}, sandbox.RunOptions{Head: 100, Tail: 100})
	if got := string(r.Stderr()); got != "e1\ne2\n" {
		s.Errorf("stderr %q", got)
	}
	if got := string(r.Stdout()); got != strings.Repeat("y\n", 100) || r.Truncated != 3000000-200 {
		s.Errorf("stdout %.30q, truncated %d", got, r.Truncated)
	}
}

// closer is a buffer that notes that it was closed.
type closer struct {
	bytes.Buffer
	closed bool
}

func (c *closer) Close() error {
	c.closed = true
	return nil
}

func spill(s *suite) {
	want := make([]byte, 0, 400000)
	for i := 1; len(want) < 400000-7; i++ {
		want = append(want, []byte(strconv.Itoa(i)+"\n")...)
	}
	count := bytes.Count(want, []byte("\n"))
	for _, limit := range []int64{0, 1234} {
		var c closer
		opened := 0
		r := s.exec(sandbox.Command{Line: "seq 1 " + strconv.Itoa(count)}, sandbox.RunOptions{
			Head: 500, Tail: 500, SpillMax: limit,
			Spill: func() (io.WriteCloser, error) { opened++; return &c, nil },
		})
		expected := want
		if limit > 0 {
			expected = want[:limit]
		}
		if opened != 1 || !c.closed || r.SpillErr != nil || r.Spilled != int64(len(expected)) || !bytes.Equal(c.Bytes(), expected) {
			s.Errorf("bound %d: opened %d times, closed %t, %d bytes (%d told), equal %t, error %v", limit, opened, c.closed,
				c.Len(), r.Spilled, bytes.Equal(c.Bytes(), expected), r.SpillErr)
		}
	}
	r := s.exec(sandbox.Command{Line: "echo small"}, sandbox.RunOptions{Spill: func() (io.WriteCloser, error) {
		s.Error("small output was spilled")
		return nil, errors.New("no")
	}})
	if string(r.Output) != "small\n" {
		s.Errorf("output %q", r.Output)
	}
	full := errors.New("no space")
	r = s.exec(sandbox.Command{Line: "seq 1 1000; exit 4"}, sandbox.RunOptions{Head: 10, Tail: 10, Spill: func() (io.WriteCloser, error) { return nil, full }})
	if !errors.Is(r.SpillErr, full) || r.Exit.Code != 4 || r.Spilled != 0 {
		s.Errorf("a spill that fails: error %v, exit %d", r.SpillErr, r.Exit.Code)
	}
}

func live(s *suite) {
	h := sha256.New()
	n := 0
	w := writerFunc(func(p []byte) (int, error) {
		n += len(p)
		return h.Write(p)
	})
	r := s.exec(sandbox.Command{Line: "yes 0123456789abcde | head -c 4194304"}, sandbox.RunOptions{Live: w, Head: 10, Tail: 10})
	want := sha256.Sum256(bytes.Repeat([]byte("0123456789abcde\n"), 4194304/16))
	if n != 4194304 || !bytes.Equal(h.Sum(nil), want[:]) || r.Exit.Code != 0 {
		s.Errorf("live output has %d bytes, right %t", n, bytes.Equal(h.Sum(nil), want[:]))
	}
	// A writer that fails does not fail the command.
	r = s.exec(sandbox.Command{Line: "seq 1 5"}, sandbox.RunOptions{Live: writerFunc(func([]byte) (int, error) { return 0, io.ErrClosedPipe })})
	if string(r.Output) != "1\n2\n3\n4\n5\n" || r.Exit.Code != 0 {
		s.Errorf("output %q, exit %d", r.Output, r.Exit.Code)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func floodTimeout(s *suite) {
	r := s.exec(sandbox.Command{Line: "echo begin; yes", Timeout: 300 * time.Millisecond}, sandbox.RunOptions{Head: 100, Tail: 100})
	s.expect(r.Exit, sandbox.TimedOut, sandbox.TimeoutCode)
	if !strings.HasPrefix(string(r.Output), "begin\ny\n") || r.Truncated == 0 {
		s.Errorf("output %.40q, truncated %d", r.Output, r.Truncated)
	}
}
