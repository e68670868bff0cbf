package backend

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/internal/textio"
)

// grepBuffer is how much of a file a worker holds.
const grepBuffer = 64 << 10

// grepper searches one file after the other in one buffer.
type grepper struct {
	ctx  context.Context
	text []byte
	max  int
	buf  []byte

	path    string
	matches []Match
	line    int // number of the line that starts at buf[0], or goes through it
	cut     bool
	skip    bool // the rest of this line is of no more interest
}

func newGrepper(ctx context.Context, text []byte, max int) *grepper {
	return &grepper{ctx: ctx, text: text, max: max, buf: make([]byte, grepBuffer+4*len(text))}
}

// opener opens the file once more.
type opener func() (io.ReadCloser, driver.Info, error)

// fill reads until b is full or the file ends. The size that the opened file had saves the last read.
func fill(r io.Reader, b []byte, left int64) (n int, eof bool, err error) {
	for idle := 0; n < len(b); {
		m, err := r.Read(b[n:])
		n += m
		if idle++; m > 0 {
			idle = 0
		}
		switch {
		case errors.Is(err, io.EOF), left > 0 && int64(n) == left:
			return n, true, nil
		case err != nil:
			return n, false, err
		case idle == maxIdle:
			return n, false, io.ErrNoProgress
		}
	}
	return n, false, nil
}

// maxIdle is how many reads in a row may bring nothing.
const maxIdle = 100

// file searches a file and closes it. It stops at one match more than the cap.
func (g *grepper) file(path string, rc io.ReadCloser, size int64, again opener) (m []Match, binary bool, err error) {
	defer func() { _ = rc.Close() }() // read only
	g.path, g.matches, g.line, g.cut, g.skip = path, nil, 1, false, false
	if bytes.IndexByte(g.text, '\n') >= 0 {
		return nil, false, nil // one line at a time
	}
	var pos int64 // of the file, after buf[:n]
	n, term := 0, byte(0)
	for {
		if err := g.ctx.Err(); err != nil {
			return g.matches, false, err
		}
		got, eof, err := fill(rc, g.buf[n:], size-pos)
		if err != nil {
			return g.matches, false, err
		}
		fresh := g.buf[n : n+got]
		if pos == 0 && bytes.IndexByte(fresh[:min(got, textio.HeadSize)], 0) >= 0 {
			return nil, true, nil
		}
		n, pos = n+got, pos+int64(got)
		if term == 0 {
			if term, err = g.terminator(fresh, pos, eof, again); err != nil {
				return nil, false, err
			}
		}
		if term == '\r' {
			for rest := fresh; ; {
				i := bytes.IndexByte(rest, '\r')
				if i < 0 {
					break
				}
				rest[i] = '\n'
				rest = rest[i+1:]
			}
		}
		n = g.chunk(n, eof, term == '\r')
		if eof || g.max > 0 && len(g.matches) > g.max {
			return g.matches, false, nil
		}
	}
}

// terminator decides what ends a line, as textio.Scan does: LF, or CR in a file without LF. 0 means that it does not matter yet.
func (g *grepper) terminator(fresh []byte, pos int64, eof bool, again opener) (byte, error) {
	if pos > textio.ScanSize || bytes.IndexByte(fresh, '\n') >= 0 {
		return '\n', nil
	}
	if bytes.IndexByte(fresh, '\r') < 0 {
		return 0, nil
	}
	if eof {
		return '\r', nil
	}
	rc, _, err := again()
	if err != nil {
		return 0, err
	}
	defer func() { _ = rc.Close() }() // read only
	x, err := textio.Scan(g.ctx, io.LimitReader(rc, textio.ScanSize), 0)
	if err != nil {
		return 0, err
	}
	return x.Term, nil
}

// chunk searches buf[:n] and returns how many bytes stay in the buffer for the next time.
func (g *grepper) chunk(n int, eof, cr bool) int {
	b := g.buf[:n]
	if g.skip {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			return 0
		}
		g.skip, g.cut = false, false
		g.line++
		b = b[i+1:]
	}
	end := len(b)
	if !eof {
		end = bytes.LastIndexByte(b, '\n') + 1
		if end == 0 && len(b) == len(g.buf) {
			return g.long(b)
		}
	}
	g.lines(b[:end], cr)
	if eof || g.max > 0 && len(g.matches) > g.max {
		return 0
	}
	return copy(g.buf, b[end:])
}

// lines searches whole lines.
func (g *grepper) lines(b []byte, cr bool) {
	for len(b) > 0 {
		i := bytes.Index(b, g.text)
		if i < 0 {
			break
		}
		start := bytes.LastIndexByte(b[:i], '\n') + 1
		g.line += bytes.Count(b[:start], []byte{'\n'})
		b, i = b[start:], i-start
		end := bytes.IndexByte(b[i:], '\n')
		rest := len(b)
		if end >= 0 {
			end += i
			rest = end + 1
		} else {
			end = len(b)
		}
		l := b[:end]
		if rest > end && !cr {
			l = bytes.TrimSuffix(l, []byte{'\r'})
		}
		if i+len(g.text) <= len(l) {
			g.matches = append(g.matches, Match{Path: g.path, Line: g.line, Text: cutLine(l, i, !g.cut, true)})
			if g.max > 0 && len(g.matches) > g.max {
				return
			}
		}
		if rest > end {
			g.line++
			g.cut = false
		}
		b = b[rest:]
	}
	if i := bytes.Count(b, []byte{'\n'}); i > 0 {
		g.line += i
		g.cut = false
	}
}

// long searches a part of a line that is longer than the buffer. Without a match, the end of it stays, so that a match across the
// edge and the text before it are found.
func (g *grepper) long(b []byte) int {
	i := bytes.Index(b, g.text)
	if i >= 0 && i+matchAfter <= len(b) && i+len(g.text) <= len(b) {
		g.matches = append(g.matches, Match{Path: g.path, Line: g.line, Text: cutLine(b, i, !g.cut, false)})
		g.skip = true
		return 0
	}
	keep := matchBefore + max(len(g.text), matchAfter) + 4
	g.cut = true
	return copy(g.buf, b[len(b)-min(keep, len(b)):])
}
