package driver

import (
	"context"
	"encoding/json"
	"io"
	"iter"

	"github.com/deepagents-go/deepagents/policy"
)

// Operator runs a whole operation where the data is: one round trip instead of many. It answers exactly as backend.FS does;
// backendtest compares the two.
type Operator interface {
	Operate(ctx context.Context, op Op) (Answer, error)
}

// Op is one operation in a form that can travel. V is 1.
type Op struct {
	V     int             `json:"v"`
	Kind  string          `json:"kind"`
	Path  string          `json:"path"`
	Args  json.RawMessage `json:"args,omitempty"`
	Guard Guard           `json:"-"`
	// Body is streamed, not encoded.
	Body io.Reader `json:"-"`
}

// Answer is the result of an [Op]. The caller closes Body when it is not nil.
type Answer struct {
	V      int             `json:"v"`
	Result json.RawMessage `json:"result,omitempty"`
	Body   io.ReadCloser   `json:"-"`
}

// Tree is the walker's view of a driver: descriptors instead of paths. It never follows links, so that the paths it yields are
// resolved by construction.
type Tree interface {
	OpenDir(ctx context.Context, dir string) (DirHandle, Info, error)
}

// DirHandle is an open directory of a [Tree].
type DirHandle interface {
	// Entries returns the entries in no order, with Path set to the bare name and without size or version.
	Entries(ctx context.Context) ([]Info, error)
	// Dir opens a directory inside this one.
	Dir(name string) (DirHandle, error)
	// Open opens a regular file inside this directory.
	Open(name string) (io.ReadCloser, Info, error)
	Close() error
}

// Walker yields every regular file below a directory, sorted by path: one listing instead of one for each directory. Key-value
// stores and buckets have it.
type Walker interface {
	Walk(ctx context.Context, dir string) iter.Seq2[Info, error]
}

// Locker excludes other edits of a path in this process. It saves retries; correctness comes from WriteOptions.IfVersion.
type Locker interface {
	Lock(ctx context.Context, path string) (unlock func(), err error)
}

// Located tells the name that a shell uses for a path.
type Located interface {
	Locate(path string) (shell string, ok bool)
	// WorkDir is the directory, in this driver's paths, that relative paths start from.
	WorkDir() string
}

// Router is a driver made of others.
type Router interface {
	// Route returns the mount that serves a path.
	Route(path string) Mount
	// Mounts returns the mounts at or below a directory, sorted by prefix, the one that serves it first.
	Mounts(under string) []Mount
}

// Mount is a driver at a prefix of a [Router].
type Mount struct {
	// Prefix begins with "/" and does not end with one, except for the root itself.
	Prefix string
	Driver Driver
	// Hidden mounts are served when they are named and left out of listings and searches above them.
	Hidden bool
}

// Unwrapper is a driver around another that changes nothing about paths and hides nothing.
type Unwrapper interface{ Unwrap() Driver }

// maxDepth bounds nested routers and wrappers, so that a cycle is an error and not a hang.
const maxDepth = 32

// As finds a capability of the driver that serves a path, through routers and wrappers. It returns the capability, the mount
// and the path relative to it.
func As[T any](d Driver, path string) (t T, m Mount, rel string, ok bool) {
	m = Mount{Prefix: "/", Driver: d}
	rel = path
	for range maxDepth {
		if t, ok = d.(T); ok {
			return t, m, rel, true
		}
		switch v := d.(type) {
		case Router:
			next := v.Route(rel)
			if next.Driver == nil {
				return t, m, rel, false
			}
			rel = Rel(rel, next.Prefix)
			m = Mount{Prefix: Join(m.Prefix, next.Prefix), Driver: next.Driver, Hidden: m.Hidden || next.Hidden}
			d = next.Driver
		case Unwrapper:
			d = v.Unwrap()
			m.Driver = d
		default:
			return t, m, rel, false
		}
	}
	return t, m, rel, false
}

// Split returns the mounts that hold parts of a subtree: the one that serves dir, and those below it that are not hidden.
// Prefixes are absolute paths of d.
func Split(d Driver, dir string) []Mount { return split(d, "/", dir, maxDepth, false) }

// All returns every mount of a driver, hidden ones too: what has to be known before any path is asked for.
func All(d Driver) []Mount { return split(d, "/", "/", maxDepth, true) }

func split(d Driver, base, dir string, depth int, hidden bool) []Mount {
	for depth > 0 {
		depth--
		switch v := d.(type) {
		case Router:
			var out []Mount
			for i, m := range v.Mounts(dir) {
				if i > 0 && m.Hidden && !hidden {
					continue
				}
				inner := "/"
				if dir == m.Prefix || policy.Below(dir, m.Prefix) {
					inner = Rel(dir, m.Prefix)
				}
				for _, x := range split(m.Driver, Join(base, m.Prefix), inner, depth, hidden) {
					if v.Route(Rel(x.Prefix, base)).Prefix == m.Prefix { // else another mount covers it
						out = append(out, x)
					}
				}
			}
			return out
		case Unwrapper:
			d = v.Unwrap()
			continue
		}
		break
	}
	return []Mount{{Prefix: base, Driver: d}}
}
