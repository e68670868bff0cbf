package filesystem

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/deepagents-go/deepagents/backend"
	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/internal/glob"
	"github.com/deepagents-go/deepagents/policy"
	"github.com/deepagents-go/deepagents/run"
	"github.com/deepagents-go/deepagents/tool"
)

// cause is why a file operation failed, as far as the texts tell causes apart.
type cause uint8

const (
	other cause = iota // everything else, panics too
	notExist
	permission
	isDir
	notDir
	notRegular
	exists
	conflict
	unsupported
	tooLarge
	invalid
	outside
	loop
	denied
	pattern
	content
)

// argError is the error of an argument that is refused before anything is asked of the backend.
type argError struct{ text string }

func (e *argError) Error() string { return e.text }

// panicError is a panic of a backend, recovered.
type panicError struct{ value any }

func (e *panicError) Error() string { return fmt.Sprintf("internal error: %v", e.value) }

// errDeadline is the error of a search that did not answer in time.
var errDeadline = errors.New("timed out")

// classify returns the cause of an error, and a reason that names no path of the host.
func classify(err error) (cause, string) {
	var arg *argError
	if errors.As(err, &arg) {
		return invalid, arg.text
	}
	for _, c := range []struct {
		target error
		cause  cause
	}{
		{policy.ErrDenied, denied},
		{glob.ErrPattern, pattern},
		{driver.ErrInvalidPath, invalid},
		{driver.ErrOutside, outside},
		{driver.ErrContent, content},
		{driver.ErrLoop, loop},
		{driver.ErrIsDir, isDir},
		{fs.ErrNotExist, notExist}, // before the next: a path that leads through a file is both
		{driver.ErrNotDir, notDir},
		{driver.ErrNotRegular, notRegular},
		{driver.ErrConflict, conflict},
		{driver.ErrTooLarge, tooLarge},
		{fs.ErrPermission, permission},
		{fs.ErrExist, exists},
		{errors.ErrUnsupported, unsupported},
	} {
		if errors.Is(err, c.target) {
			return c.cause, reasonOf(err)
		}
	}
	return other, reasonOf(err)
}

// reasonOf is the text of an error without the operation and the path that drivers and the standard library put in front.
func reasonOf(err error) string {
	var de *driver.Error
	var pe *fs.PathError
	var le *os.LinkError
	switch {
	case errors.As(err, &de):
		return reasonOf(de.Err)
	case errors.As(err, &pe):
		return pe.Err.Error()
	case errors.As(err, &le):
		return le.Err.Error()
	}
	return err.Error()
}

// notSupported is the text of a deletion where the backend cannot delete.
const notSupported = "Error: deletion is not supported for '%[1]s'."

// texts is the whole table of error texts: tool, cause, text. %[1]s is the path, %[2]s the reason. A tool's own row wins over the
// rows for all tools, the row of the cause over that of other.
func texts(name string) (own, all map[cause]string) {
	all = map[cause]string{
		invalid: "Error: %[2]s",
		outside: "Error: Path '%[1]s' is outside the root directory",
		pattern: "Error: %[2]s",
		content: "Error: %[2]s",
	}
	switch name {
	case lsName:
		own = map[cause]string{
			notExist: "Error: Path '%[1]s': path_not_found",
			notDir:   "Error: Path '%[1]s': not_a_directory",
			denied:   "Error: permission denied for read on %[1]s",
			other:    "Error: Listing of '%[1]s' aborted: %[2]s",
		}
	case readName:
		own = map[cause]string{
			notExist:   "Error: File '%[1]s' not found",
			isDir:      "Error: File '%[1]s' not found",
			notDir:     "Error: File '%[1]s' not found",
			notRegular: "Error: File '%[1]s' not found",
			denied:     "Error: permission denied for read on %[1]s",
			other:      "Error: Error reading file '%[1]s': %[2]s",
		}
	case writeName:
		own = map[cause]string{
			exists: "Error: Cannot write to '%[1]s': it already exists. Read and edit it, or choose another path.",
			denied: "Error: permission denied for write on %[1]s",
			other:  "Error writing file '%[1]s': %[2]s",
		}
	case editName:
		own = map[cause]string{
			notExist:   "Error: File '%[1]s' not found",
			isDir:      "Error: File '%[1]s' not found",
			notDir:     "Error: File '%[1]s' not found",
			notRegular: "Error: File '%[1]s' not found",
			conflict:   "Error: File '%[1]s' changed since it was read. Read it again before editing.",
			denied:     "Error: permission denied for write on %[1]s",
			other:      "Error editing file '%[1]s': %[2]s",
		}
	case deleteName:
		own = map[cause]string{
			notExist:    "Error: '%[1]s' not found",
			notDir:      "Error: '%[1]s' not found",
			unsupported: notSupported,
			denied:      "Error: permission denied for write on %[1]s",
			other:       "Error deleting '%[1]s': %[2]s",
		}
	case globName:
		own = map[cause]string{
			notExist:   "Error: Path '%[1]s' not found",
			permission: "Error: Error globbing path '%[1]s': %[2]s",
			loop:       "Error: Error globbing path '%[1]s': %[2]s",
			denied:     "Error: permission denied for read on %[1]s",
			other:      "Error: glob failed: %[2]s",
		}
	case grepName:
		own = map[cause]string{
			notExist:   "Error: Path '%[1]s' not found",
			permission: "Error searching path '%[1]s': %[2]s",
			loop:       "Error searching path '%[1]s': %[2]s",
			notRegular: "Error searching path '%[1]s': %[2]s",
			denied:     "Error: permission denied for read on %[1]s",
			other:      "%[2]s",
		}
	case executeName:
		own = map[cause]string{
			invalid: "Error: Invalid parameter. %[2]s",
			other:   notAvailable + "%[2]s",
		}
	}
	return own, all
}

// errorText is what a model sees for an error of a tool on a path.
func errorText(name, path string, err error) string {
	c, reason := classify(err)
	own, all := texts(name)
	for _, row := range []map[cause]string{own, all} {
		if format, ok := row[c]; ok {
			return fmt.Sprintf(format, path, reason)
		}
	}
	return fmt.Sprintf(own[other], path, reason)
}

// failedRoutes says which parts of a backend with routes are missing in an answer, one note for each.
func failedRoutes(all []backend.RouteError) string {
	var b strings.Builder
	for _, r := range all {
		_, reason := classify(r.Err)
		fmt.Fprintf(&b, "\n\nNote: route %s failed: %s.", r.Path, strings.TrimSuffix(reason, "."))
	}
	return b.String()
}

// fail turns an error into the result of a call, unless it is not the model's business: the end of the context, a question that
// waits for its answer, a fatal error.
func fail(ctx context.Context, name, path string, err error) (tool.Result, error) {
	switch {
	case ctx.Err() != nil:
		return tool.Result{}, context.Cause(ctx)
	case errors.Is(err, run.ErrInterrupted), tool.IsFatal(err):
		return tool.Result{}, err
	}
	res := failed(errorText(name, path, err))
	errors.As(err, &res.Denied)
	return res, nil
}

// failed is an error result with a text that is no format.
func failed(text string) tool.Result { return tool.Errorf("%s", text) }
