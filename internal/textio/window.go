package textio

import (
	"bufio"
	"context"
	"errors"
	"io"
)

// Window is the part of a text that [ReadWindow] shows.
type Window struct {
	// Skip is how many lines come first and are not shown.
	Skip int
	// Limit is how many lines are shown.
	Limit int
	// Column is the first character shown of the first line, counted from 1.
	Column int
	// MaxBytes bounds the text (0: no bound): the line that passes it is the last one, and a line that is longer itself is cut.
	MaxBytes int
}

// Shown is what a window shows.
type Shown struct {
	// Text is the lines joined by LF.
	Text []byte
	// Lines is their number.
	Lines int
	// EOF says that nothing follows the last line; Ended, that the last line has its line end.
	EOF, Ended bool
	// LineChars is the length in characters of the last line when it was cut, else 0.
	LineChars int
}

// ReadWindow reads a window of a text whose lines end with term.
func ReadWindow(ctx context.Context, r io.Reader, term byte, w Window) (Shown, error) {
	p := pager{ctx: ctx, r: bufio.NewReaderSize(r, 64<<10), term: term, max: w.MaxBytes}
	for range w.Skip {
		if _, err := p.line(nil); err != nil {
			return Shown{}, err
		}
		if p.eof {
			return p.out, nil
		}
	}
	for p.out.Lines < w.Limit && !p.full {
		more, err := p.show(w.Column)
		if err != nil {
			return Shown{}, err
		}
		if !more {
			break
		}
	}
	return p.finish()
}

// pager reads lines in pieces, so that a line of any length takes no more memory than the window allows.
type pager struct {
	ctx  context.Context
	r    *bufio.Reader
	term byte
	max  int
	out  Shown
	eof  bool
	full bool
}

// line reads one line and hands its pieces, without the line end, to each. ended tells whether the line has its line end.
func (p *pager) line(each func([]byte)) (ended bool, err error) {
	cr := false // a CR at the end of a piece, which may belong to a CRLF
	for {
		if err := p.ctx.Err(); err != nil {
			return false, err
		}
		b, err := p.r.ReadSlice(p.term)
		ended = err == nil
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			if !errors.Is(err, io.EOF) {
				return false, err
			}
			p.eof = true
		}
		if ended {
			b = b[:len(b)-1]
		}
		if each != nil {
			if cr && (len(b) > 0 || !ended) {
				each([]byte{'\r'})
			}
			if len(b) > 0 || !ended {
				cr = false
			}
			if p.term == '\n' && !p.eof && len(b) > 0 && b[len(b)-1] == '\r' {
				cr = true
				b = b[:len(b)-1]
			}
			each(b)
		}
		if ended || p.eof {
			return ended, nil
		}
	}
}

// show appends the next line to the text. It returns false at the end of the file.
func (p *pager) show(column int) (bool, error) {
	if _, err := p.r.Peek(1); err != nil {
		if errors.Is(err, io.EOF) {
			p.eof = true
			return false, nil
		}
		return false, err
	}
	if p.out.Lines > 0 {
		p.out.Text = append(p.out.Text, '\n')
	}
	start := len(p.out.Text)
	var count runeCounter
	skip := 0
	if p.out.Lines == 0 && column > 1 {
		skip = column - 1
	}
	head := skipper{left: skip}
	cut := false
	ended, err := p.line(func(b []byte) {
		count.add(b)
		if b = head.skip(b); len(b) == 0 {
			return
		}
		if cut {
			return
		}
		p.out.Text = append(p.out.Text, b...)
		if p.max > 0 && len(p.out.Text)-start > p.max {
			p.out.Text = p.out.Text[:start+len(CutRunes(p.out.Text[start:], p.max))]
			cut = true
		}
	})
	if err != nil {
		return false, err
	}
	if !cut {
		p.out.Text = append(p.out.Text, head.flush()...)
	}
	p.out.Lines++
	p.out.Ended = ended
	if cut {
		p.out.LineChars = count.total()
	}
	p.full = p.max > 0 && len(p.out.Text) >= p.max
	return true, nil
}

// finish tells whether the file ends with the window.
func (p *pager) finish() (Shown, error) {
	if !p.eof {
		_, err := p.r.Peek(1)
		if err != nil && !errors.Is(err, io.EOF) {
			return Shown{}, err
		}
		p.eof = err != nil
	}
	p.out.EOF = p.eof
	return p.out, nil
}
