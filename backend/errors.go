package backend

import (
	"errors"
	"fmt"
	"strings"

	"github.com/deepagents-go/deepagents/backend/driver"
)

var (
	// ErrEmptyOld is the error of an edit without a text to replace.
	ErrEmptyOld = errors.New("old_string cannot be empty. Provide the exact text to replace.")
	// ErrReplacementChar is the error of an edit whose old text holds the U+FFFD that is shown for bytes that are no UTF-8.
	ErrReplacementChar = errors.New("old_string holds U+FFFD, which is shown in place of bytes that are not valid UTF-8; choose text without it")
	// ErrBusy is the error of an edit that lost against other writers again and again.
	ErrBusy = errors.New("the file kept changing while it was edited")
)

// PathError says that a path is refused before anything is asked of a driver. [errors.Is] finds [driver.ErrInvalidPath] in it.
type PathError struct {
	// Path is the path as it was given.
	Path string
	text string
}

// Error returns the text of file-tools.md 1.1.
func (e *PathError) Error() string { return e.text }

// Unwrap returns [driver.ErrInvalidPath].
func (e *PathError) Unwrap() error { return driver.ErrInvalidPath }

// Error says where the file ends.
func (e *RangeError) Error() string {
	return fmt.Sprintf("Line offset %d exceeds file length (%d lines)", e.Offset, e.Total)
}

// Error says that the file is binary.
func (e *BinaryError) Error() string {
	return fmt.Sprintf("File '%s' is binary (%d bytes, %s)", e.Path, e.Size, e.MIME)
}

// Error says how often the text occurs.
func (e *MatchError) Error() string {
	if e.Count == 0 {
		return fmt.Sprintf("String not found in file: '%s'", e.Old)
	}
	return fmt.Sprintf("String '%s' appears %d times in file", e.Old, e.Count)
}

// Error says which route failed and why.
func (e *RouteError) Error() string { return fmt.Sprintf("route %s failed: %v", e.Path, e.Err) }

// Unwrap returns the cause.
func (e *RouteError) Unwrap() error { return e.Err }

// RefusedError says that a path is never deleted: the root directory, the root of a route, or a directory that holds one.
type RefusedError struct {
	Path string
	// Routes are the routes that would go with it, sorted; none for the root directory of a backend without routes.
	Routes []string
}

// Error names the routes.
func (e *RefusedError) Error() string {
	if len(e.Routes) == 0 {
		return fmt.Sprintf("'%s' is the root directory and cannot be deleted", e.Path)
	}
	return fmt.Sprintf("'%s' cannot be deleted: it holds the mounted %s", e.Path, strings.Join(e.Routes, ", "))
}

// Unwrap returns [errors.ErrUnsupported].
func (e *RefusedError) Unwrap() error { return errors.ErrUnsupported }
