package driver

import (
	"errors"
	"fmt"
	"io/fs"
)

// The sentinels of drivers, beside those of io/fs ([fs.ErrNotExist], [fs.ErrExist], [fs.ErrPermission]) and
// [errors.ErrUnsupported].
var (
	// ErrConflict says that the file is not the version that was expected.
	ErrConflict = errors.New("file changed since it was read")
	// ErrOutside says that the path leads out of the backend.
	ErrOutside = errors.New("outside the root directory")
	// ErrIsDir says that a file was wanted and the path is a directory.
	ErrIsDir = errors.New("is a directory")
	// ErrNotDir says that a directory was wanted and the path is none.
	ErrNotDir = errors.New("not a directory")
	// ErrNotRegular says that the path is a FIFO, a socket or a device.
	ErrNotRegular = errors.New("not a regular file")
	// ErrTooLarge says that the content is larger than the backend takes.
	ErrTooLarge = errors.New("too large")
	// ErrInvalidPath says that the path cannot be a name in this backend.
	ErrInvalidPath = errors.New("invalid path")
	// ErrContent says that what is stored under the path is no file that can be read. Its error text stands for itself.
	ErrContent = errors.New("the stored content cannot be read")
	// ErrLoop says that links lead in a circle.
	ErrLoop = errors.New("too many levels of symbolic links")
)

// Error is the error of a driver: an operation, a path of the backend (never a path of the host) and a cause.
type Error struct {
	Op   string
	Path string
	Err  error
}

// Error returns "write /a.txt: is a directory".
func (e *Error) Error() string { return fmt.Sprintf("%s %s: %v", e.Op, e.Path, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Wrap makes an [*Error] of a cause; nil stays nil and an [*Error] stays as it is. Paths of the host that the standard library
// put into the cause are left out.
func Wrap(op, path string, err error) error {
	if err == nil {
		return nil
	}
	var de *Error
	if errors.As(err, &de) {
		return err
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return &Error{Op: op, Path: path, Err: err}
}
