package driver

import (
	"context"
	"io"
	"io/fs"
	"iter"
	"time"

	"github.com/deepagents-go/deepagents/policy"
)

// FileKind is the kind of thing a path names.
type FileKind uint8

// The kinds of files.
const (
	// Regular is a file with content.
	Regular FileKind = iota
	// Dir is a directory, real or implied by longer paths.
	Dir
	// Link is a symbolic link (only in listings: Stat and Open follow links).
	Link
	// Other is a FIFO, a socket or a device. It is never opened.
	Other
)

// Info describes one file.
type Info struct {
	// Path is the path as it was asked for or listed.
	Path string
	// Resolved is the path of the file after links, taken from the opened file. In listings it is set for links that lead to
	// something inside the backend; TargetKind then says what that is.
	Resolved   string
	Kind       FileKind
	TargetKind FileKind
	// Size is in bytes; 0 for directories.
	Size    int64
	Mode    fs.FileMode
	ModTime time.Time
	// Version changes whenever the content does. Empty means that the driver has no versions.
	Version string
	// Racy says that the file changed so recently that an equal Version does not prove equal content.
	Racy bool
}

// IsDir reports whether the path is a directory or a link to one.
func (i Info) IsDir() bool { return i.Kind == Dir || i.Kind == Link && i.TargetKind == Dir }

// Driver stores files. All methods are safe for concurrent use and honour the context. Errors wrap the sentinels of this
// package and of io/fs, inside an [*Error].
type Driver interface {
	// Stat describes a path, following links. A missing path is [fs.ErrNotExist].
	Stat(ctx context.Context, path string) (Info, error)

	// List yields the entries of a directory, sorted by path. Links are listed under their own name; links that lead out of
	// the backend or nowhere are left out. An entry that cannot be described is yielded with its Path and an error; a directory
	// that cannot be listed at all yields one error with an empty Info. A file is [ErrNotDir].
	List(ctx context.Context, dir string, o ListOptions) iter.Seq2[Info, error]

	// Open opens a regular file for reading, following links. A directory is [ErrIsDir], anything else that is not a regular
	// file [ErrNotRegular]. The Guard is asked about the opened file before a byte is read.
	Open(ctx context.Context, path string, o OpenOptions) (io.ReadCloser, Info, error)

	// Write replaces or creates a file with everything src yields, and its parent directories. It is atomic: readers and a
	// crash see the old content or the new. An error of src is returned and leaves the old content.
	Write(ctx context.Context, path string, src io.Reader, o WriteOptions) (Info, error)

	// Remove removes a file, or a directory with everything below it. A link is removed itself, never what it leads to.
	// Missing is [fs.ErrNotExist]; a backend that cannot remove returns [errors.ErrUnsupported].
	Remove(ctx context.Context, path string, o RemoveOptions) error
}

// ListOptions are the options of a listing.
type ListOptions struct {
	// Stat asks for Size, Mode, ModTime and Version, which may cost a call for each entry.
	Stat bool
}

// OpenOptions are the options of Open.
type OpenOptions struct {
	// Offset is the first byte to read.
	Offset int64
	// Length is the number of bytes to read; 0 means to the end.
	Length int64
	// IfVersion, when not empty, must be the file's version, else [ErrConflict].
	IfVersion string
	Guard     Guard
}

// WriteOptions are the options of Write.
type WriteOptions struct {
	// CreateOnly makes an existing file an error ([fs.ErrExist]), without a race.
	CreateOnly bool
	// IfVersion, when not empty, must be the version of the file that is replaced, else [ErrConflict].
	IfVersion string
	// IfSum, when not empty, is the SHA-256 of the content that must be replaced, compared where versions are not enough.
	IfSum []byte
	Guard Guard
}

// RemoveOptions are the options of Remove.
type RemoveOptions struct {
	// Guard is asked about every entry before the first one is removed, and again at each unlink.
	Guard Guard
}

// Guard decides about a file that has been opened, by the path that was typed and the path it resolved to. Its rules are data
// so that they can be judged where the files are.
type Guard struct {
	// Action is [policy.Read] or [policy.Write].
	Action policy.Kind
	Rules  policy.PathRules
	// Func is asked last. It cannot travel: an [Operator] is not used when it is set.
	Func func(Info) error
}

// Empty reports whether the guard lets everything through.
func (g Guard) Empty() bool { return len(g.Rules) == 0 && g.Func == nil }

// Check returns a [policy.DeniedError] when a rule denies the typed or the resolved path. An ask counts as allowed here: who
// may ask has asked before.
func (g Guard) Check(i Info) error {
	for _, p := range [2]string{i.Path, i.Resolved} {
		if p == "" {
			continue
		}
		if v, _ := g.Rules.Decide(g.Action, p); v.Decision == policy.Deny {
			return &policy.DeniedError{Action: policy.Action{Kind: g.Action, Path: i.Path}, Verdict: v}
		}
	}
	if g.Func != nil {
		return g.Func(i)
	}
	return nil
}
