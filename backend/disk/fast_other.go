//go:build !linux

package disk

import (
	"io/fs"
	"os"
)

// fast is never there: paths are walked name by name.
type fast struct{}

func newFast(string) (*fast, error)              { return nil, nil } //nolint:nilnil // none
func (*fast) close() error                       { return nil }
func (*fast) open(string, int) (*os.File, error) { return nil, errLink }
func (*fast) stat(string) (meta, error)          { return meta{}, errLink }
func (*fast) same(string, fs.FileInfo) error     { return errLink }
func (*fast) list(string) (lister, error)        { return nil, errLink }
