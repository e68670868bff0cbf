package driver

import (
	"context"
	"errors"
	"io"
)

// Opened finishes an Open: it refuses what is no regular file, checks IfVersion and the Guard, and applies Offset and Length. On an
// error r is closed. Drivers end their Open with it, so that none can forget the guard.
func Opened(r io.ReadCloser, i Info, o OpenOptions) (io.ReadCloser, Info, error) {
	rc, err := opened(r, i, o)
	if err != nil {
		_ = r.Close() // the first error is the one to tell
		return nil, i, Wrap("open", i.Path, err)
	}
	return rc, i, nil
}

func opened(r io.ReadCloser, i Info, o OpenOptions) (io.ReadCloser, error) {
	switch {
	case i.IsDir():
		return nil, ErrIsDir
	case i.Kind == Other:
		return nil, ErrNotRegular
	}
	if err := o.Guard.Check(i); err != nil {
		return nil, err
	}
	if o.IfVersion != "" && o.IfVersion != i.Version {
		return nil, ErrConflict
	}
	if o.Offset > 0 {
		if err := skip(r, o.Offset); err != nil {
			return nil, err
		}
	}
	if o.Length > 0 {
		return limited{io.LimitReader(r, o.Length), r}, nil
	}
	if o.Offset > 0 {
		return limited{r, r}, nil // a Seeker of the whole file would count from elsewhere
	}
	return r, nil
}

type limited struct {
	io.Reader
	io.Closer
}

func skip(r io.Reader, n int64) error {
	if s, ok := r.(io.Seeker); ok {
		if _, err := s.Seek(n, io.SeekStart); err == nil {
			return nil
		} // embed.FS and others cannot seek beyond the end; reading gets there
	}
	if _, err := io.CopyN(io.Discard, r, n); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// ReadOnly makes a driver that embeds it refuse every change with [errors.ErrUnsupported].
type ReadOnly struct{}

// Write is not supported.
func (ReadOnly) Write(_ context.Context, path string, _ io.Reader, _ WriteOptions) (Info, error) {
	return Info{}, &Error{Op: "write", Path: path, Err: errors.ErrUnsupported}
}

// Remove is not supported.
func (ReadOnly) Remove(_ context.Context, path string, _ RemoveOptions) error {
	return &Error{Op: "remove", Path: path, Err: errors.ErrUnsupported}
}
