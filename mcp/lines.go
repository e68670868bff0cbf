package mcp

import (
	"bufio"
	"errors"
	"io"
)

// line is a line of the input, without its end, or the error that came instead.
type line struct {
	text []byte
	err  error
}

// errLong says that a line was longer than allowed; it was skipped.
var errLong = errors.New("line too long")

// lineReader reads lines of bounded length. Every text is a slice of its own.
type lineReader struct {
	r   *bufio.Reader
	max int
	end error
}

func newLineReader(r io.Reader, limit int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 64<<10), max: limit}
}

// next returns the next line. The last one need not end with a line feed.
func (l *lineReader) next() line {
	if l.end != nil {
		return line{err: l.end}
	}
	var text []byte
	long := false
	for {
		piece, err := l.r.ReadSlice('\n')
		if !long && len(text)+len(piece) > l.max {
			long, text = true, nil
		}
		if !long {
			text = append(text, piece...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			l.end = err
		}
		break
	}
	switch {
	case long:
		return line{err: errLong}
	case len(text) > 0:
		return line{text: text}
	}
	return line{err: l.end}
}
