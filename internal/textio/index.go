package textio

import (
	"bytes"
	"context"
	"errors"
	"io"
	"unicode"
	"unicode/utf8"
)

// ScanSize is how many bytes of a file are looked at to count its lines, and to decide whether a lone CR ends them.
const ScanSize = 64 << 20

// step is how many lines lie between two remembered positions.
const step = 1024

// Index is what one pass over a text remembers: where every 1,024th line starts, how many lines there are and what ends them.
// It is immutable.
type Index struct {
	starts []int64
	// Total is the number of lines; 0 when the scan ended before the file.
	Total int
	// Term is the byte that ends a line: LF, or CR in a text that has CR and no LF in its first [ScanSize] bytes.
	Term byte
	// Blank says that the whole text is empty or white space.
	Blank bool
	// FinalNewline says that the last line is ended. Only known when Total is.
	FinalNewline bool
}

// Seek returns the remembered position that is nearest before a line (counted from 0), and the line that starts there.
func (x *Index) Seek(line int) (offset int64, first int) {
	i := min(line/step, len(x.starts)-1)
	return x.starts[i], i * step
}

// Bytes is about how much memory the index takes.
func (x *Index) Bytes() int64 { return int64(len(x.starts))*8 + 64 }

// ends collects the line ends of one kind.
type ends struct {
	term   byte
	starts []int64
	count  int
}

func (e *ends) add(b []byte, at int64) {
	for off := 0; ; {
		i := bytes.IndexByte(b[off:], e.term)
		if i < 0 {
			return
		}
		off += i + 1
		e.count++
		if e.count%step == 0 {
			e.starts = append(e.starts, at+int64(off))
		}
	}
}

// Scan reads a text until its end or, when it is longer than [ScanSize], at least until the given line (counted from 0) has begun.
func Scan(ctx context.Context, r io.Reader, line int) (*Index, error) {
	lf, cr := ends{term: '\n'}, ends{term: '\r'}
	var (
		buf   = make([]byte, 128<<10)
		pos   int64
		last  byte
		blank = blankScan{blank: true}
		chose *ends
	)
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, err := io.ReadFull(r, buf)
		b := buf[:n]
		if n > 0 {
			last = b[n-1]
		}
		blank.add(b)
		if chose != &cr {
			lf.add(b, pos)
		}
		if chose == &cr || chose == nil && lf.count == 0 {
			cr.add(b, pos)
		}
		pos += int64(n)
		eof := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !eof {
			return nil, err
		}
		if chose == nil && (lf.count > 0 || eof || pos >= ScanSize) {
			chose = &lf
			if lf.count == 0 && cr.count > 0 {
				chose = &cr
			}
		}
		if eof || pos >= ScanSize && chose.count > line {
			x := &Index{starts: append([]int64{0}, chose.starts...), Term: chose.term, Blank: blank.blank && len(blank.rest) == 0 && eof}
			if eof {
				x.FinalNewline = pos > 0 && last == chose.term
				x.Total = chose.count
				if pos > 0 && !x.FinalNewline {
					x.Total++
				}
			}
			return x, nil
		}
	}
}

// blankScan looks for anything that is no white space in a text that comes in pieces.
type blankScan struct {
	blank bool
	rest  []byte
}

func (s *blankScan) add(b []byte) {
	if !s.blank {
		return
	}
	if len(s.rest) > 0 {
		b = append(s.rest, b...)
		s.rest = nil
	}
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 && !utf8.FullRune(b) {
			s.rest = append([]byte(nil), b...)
			return
		}
		if !unicode.IsSpace(r) {
			s.blank = false
			return
		}
		b = b[n:]
	}
}

// Covers reports whether a line is so near to a remembered position that another scan would not help.
func (x *Index) Covers(line int) bool { return line/step < len(x.starts) }
