package backend

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"

	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/internal/textio"
	"github.com/deepagents-go/deepagents/policy"
)

const (
	// smallFile is what is kept in memory while a window is looked for.
	smallFile = 256 << 10
	// readTries bounds how often a read starts again because the file changed under it.
	readTries = 5
)

// Read returns a window of the lines of a text file. Memory is bounded by the window, whatever the size of the file. A window that
// starts after the end is a [*RangeError], a file that is no text a [*BinaryError].
func (f *FS) Read(ctx context.Context, path string, w Window) (l Lines, err error) {
	w.Offset, w.Limit = max(w.Offset, 0), max(w.Limit, 0)
	err = f.do(ctx, "read", path, func(p string) error {
		if err := f.allowed(policy.Read, p); err != nil {
			return err
		}
		for range readTries {
			l, err = f.read(ctx, p, w)
			if !errors.Is(err, driver.ErrConflict) {
				break
			}
		}
		return err
	})
	if err != nil {
		return Lines{}, err
	}
	return l, nil
}

func (f *FS) read(ctx context.Context, p string, w Window) (Lines, error) {
	s, err := f.openSource(ctx, p)
	if err != nil {
		return Lines{}, err
	}
	defer s.close()
	l := Lines{Info: s.info}
	if textio.Binary(s.head, s.whole) {
		return l, &BinaryError{Path: p, Size: s.info.Size, MIME: textio.MIME(p, s.head)}
	}
	x, err := f.lineIndex(ctx, s, w.Offset)
	if err != nil {
		return l, driver.Wrap("read", p, err)
	}
	l.Total = x.Total
	switch {
	case x.Blank:
		l.Blank = true
		return l, nil
	case w.Limit == 0:
		l.More = true
		return l, nil
	case x.Total > 0 && w.Offset >= x.Total:
		return l, &RangeError{Offset: w.Offset, Total: x.Total}
	}
	at, first := x.Seek(w.Offset)
	if err := s.rewind(at); err != nil {
		return l, driver.Wrap("read", p, err)
	}
	shown, err := textio.ReadWindow(ctx, s, x.Term, textio.Window{
		Skip: w.Offset - first, Limit: w.Limit, Column: w.Column, MaxBytes: w.MaxBytes,
	})
	if err != nil {
		return l, driver.Wrap("read", p, err)
	}
	if shown.Lines == 0 {
		return l, f.pastEnd(ctx, s, x, w.Offset)
	}
	l.Text, l.Invalid = textio.Display(shown.Text)
	l.Start, l.End = w.Offset+1, w.Offset+shown.Lines
	l.More = !shown.EOF
	l.LineChars = shown.LineChars
	l.NoFinalNewline = shown.EOF && !shown.Ended && shown.LineChars == 0
	return l, nil
}

// pastEnd says why a window holds no line: it begins after the end of a file whose lines were not all counted, or the file shrank
// while it was read.
func (f *FS) pastEnd(ctx context.Context, s *source, x *textio.Index, offset int) error {
	conflict := driver.Wrap("read", s.path, driver.ErrConflict)
	if x.Total > 0 {
		return conflict
	}
	if err := s.rewind(0); err != nil {
		return driver.Wrap("read", s.path, err)
	}
	whole, err := textio.Scan(ctx, s, math.MaxInt)
	switch {
	case err != nil:
		return driver.Wrap("read", s.path, err)
	case offset < whole.Total:
		return conflict
	}
	return &RangeError{Offset: offset, Total: whole.Total}
}

// lineIndex returns where lines start, from memory when this very version was read before. A file that changed so recently that its
// version proves nothing is not remembered.
func (f *FS) lineIndex(ctx context.Context, s *source, line int) (*textio.Index, error) {
	k := indexKey{f.d, s.info.Resolved, s.info.Version}
	if k.path == "" {
		k.path = s.info.Path
	}
	keep := k.version != "" && !s.info.Racy
	if keep {
		if x := f.index.get(k); x != nil && (x.Total > 0 || x.Blank || x.Covers(line)) {
			return x, nil
		}
	}
	if err := s.rewind(0); err != nil {
		return nil, err
	}
	x, err := textio.Scan(ctx, s, line)
	if err != nil {
		return nil, err
	}
	if keep {
		f.index.put(k, x)
	}
	return x, nil
}

// source is an opened file that can go back: by seeking, from memory when it is small, else by opening the same version again.
type source struct {
	io.Reader
	ctx   context.Context
	fs    *FS
	path  string
	rc    io.ReadCloser
	info  driver.Info
	head  []byte
	whole bool // head is everything
	mem   *bytes.Reader
}

func (f *FS) openSource(ctx context.Context, p string) (*source, error) {
	rc, info, err := f.d.Open(ctx, p, driver.OpenOptions{Guard: f.guard(policy.Read)})
	if err != nil {
		return nil, err
	}
	s := &source{Reader: rc, ctx: ctx, fs: f, path: p, rc: rc, info: info}
	_, seeks := rc.(io.Seeker)
	want := int64(smallFile)
	if seeks && info.Size > smallFile {
		want = textio.HeadSize
	}
	var buf bytes.Buffer
	buf.Grow(int(min(want, info.Size+1)) + bytes.MinRead)
	n, err := io.Copy(&buf, io.LimitReader(ctxReader{ctx, rc}, want))
	if err != nil {
		s.close()
		return nil, driver.Wrap("read", p, err)
	}
	s.head = buf.Bytes()
	if n < want {
		s.mem = bytes.NewReader(s.head)
		s.Reader = s.mem
	}
	s.whole = s.mem != nil && n <= textio.HeadSize
	s.head = s.head[:min(len(s.head), textio.HeadSize)]
	return s, nil
}

// rewind goes to a position of the file.
func (s *source) rewind(at int64) error {
	if s.mem != nil {
		_, err := s.mem.Seek(at, io.SeekStart)
		return err
	}
	if k, ok := s.rc.(io.Seeker); ok {
		_, err := k.Seek(at, io.SeekStart)
		return err
	}
	s.close()
	rc, _, err := s.fs.d.Open(s.ctx, s.path, driver.OpenOptions{Offset: at, IfVersion: s.info.Version, Guard: s.fs.guard(policy.Read)})
	if err != nil {
		s.rc = nil
		return err
	}
	s.rc, s.Reader = rc, rc
	return nil
}

func (s *source) close() {
	if s.rc != nil {
		_ = s.rc.Close() // read only
	}
}
