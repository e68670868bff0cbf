package backend

import (
	"context"
	"errors"
	"io/fs"

	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/policy"
)

// Upload writes files. The answer has one Transfer for each, in order, whose Err is the outcome of that file alone.
func (f *FS) Upload(ctx context.Context, files []Transfer) []Transfer {
	out := make([]Transfer, len(files))
	for _, i := range f.byDriver(len(files), func(i int) string { return files[i].Path }) {
		t := files[i]
		_, err := f.Write(ctx, t.Path, t.Content, WriteOptions{})
		out[i] = Transfer{Path: t.Path, Err: err}
	}
	return out
}

// Download reads files. The answer has one Transfer for each path, in order, with the content or the error of that file.
func (f *FS) Download(ctx context.Context, paths []string) []Transfer {
	out := make([]Transfer, len(paths))
	for _, i := range f.byDriver(len(paths), func(i int) string { return paths[i] }) {
		p := paths[i]
		b, _, err := f.ReadAll(ctx, p, 0)
		out[i] = Transfer{Path: p, Content: b, Err: err}
	}
	return out
}

// byDriver returns the order in which n files are transferred: those of one driver together, by the first of each, else as given.
func (f *FS) byDriver(n int, path func(i int) string) []int {
	var drivers []driver.Driver
	groups := map[driver.Driver][]int{}
	for i := range n {
		d := f.d
		if p, err := f.Clean(path(i)); err == nil {
			d = leaf(f.d, p).Driver
		}
		if groups[d] == nil {
			drivers = append(drivers, d)
		}
		groups[d] = append(groups[d], i)
	}
	out := make([]int, 0, n)
	for _, d := range drivers {
		out = append(out, groups[d]...)
	}
	return out
}

// TransferCode returns Deep Agents' code of a transfer's error: "file_not_found", "permission_denied", "is_directory" or
// "invalid_path"; for other errors their text, and "" for nil.
func TransferCode(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, fs.ErrNotExist):
		return "file_not_found"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, policy.ErrDenied):
		return "permission_denied"
	case errors.Is(err, driver.ErrIsDir):
		return "is_directory"
	case errors.Is(err, driver.ErrInvalidPath), errors.Is(err, driver.ErrOutside), errors.Is(err, driver.ErrNotDir),
		errors.Is(err, driver.ErrLoop), errors.Is(err, fs.ErrExist):
		return "invalid_path"
	}
	return err.Error()
}
