package kv

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/internal/filedata"
	"github.com/deepagents-go/deepagents/run"
	"github.com/deepagents-go/deepagents/store"
)

// ErrNoStore says that neither the options nor the run has a store.
var ErrNoStore = errors.New("the agent of this run has no store: give it one, or set kv.Options.Store")

// FileFormat is the form that files are written in. Both are read.
type FileFormat = filedata.Format

// The formats.
const (
	// V1 is the older form: a list of lines, and no encoding or mimeType. Content that is not valid UTF-8 has no such form and is
	// written as V2.
	V1 = filedata.V1
	// V2, the default, is one string and its encoding.
	V2 = filedata.V2
)

// NamespaceFunc returns the namespace of the files for a call. Outside a run it gets the zero Info; one that needs more returns an
// error. Components may hold letters and digits of ASCII and the characters - _ @ + : ~ and must follow the rules of
// [store.Namespace.Check].
type NamespaceFunc func(ctx context.Context, i run.Info) ([]string, error)

// Options configure an [FS].
type Options struct {
	// Store holds the files; nil means the store of the run that the context carries.
	Store store.Store
	// Namespace says where; it is asked, and its answer checked, on every call. Required.
	Namespace NamespaceFunc
	// FileFormat is the form that files are written in; 0 means V2.
	FileFormat FileFormat
	// Now tells the time for created_at and modified_at; nil means time.Now.
	Now func() time.Time
	// MaxSize bounds the bytes of one file, a larger one is [driver.ErrTooLarge]; 0 means no bound.
	MaxSize int64
	// Index lets files be found by the texts of [store.Query], as the store indexes values by default. Without it they are not
	// indexed, which makes writes cheaper.
	Index bool
}

// FS is the driver of the files in a store. One value serves any number of threads and processes: writes are compare-and-set.
type FS struct{ o Options }

var (
	_ driver.Driver = (*FS)(nil)
	_ driver.Walker = (*FS)(nil)
)

// New returns a driver.
func New(o Options) (*FS, error) {
	if o.Namespace == nil {
		return nil, errors.New("kv: Options.Namespace is required: use kv.PerAgent, kv.Fixed or a function of your own")
	}
	if err := o.FileFormat.Check(); err != nil {
		return nil, fmt.Errorf("kv: %w", err)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &FS{o}, nil
}

// PerAgent is the namespace "files", agent. Outside a run of a named agent it is an error.
func PerAgent(_ context.Context, i run.Info) ([]string, error) {
	if i.Agent == "" {
		return nil, fmt.Errorf("%w: the namespace of these files holds the name of the agent; name the agent, or use kv.Fixed", run.ErrOutside)
	}
	return []string{"files", i.Agent}, nil
}

// Fixed is one namespace for all calls.
func Fixed(labels ...string) NamespaceFunc {
	return func(context.Context, run.Info) ([]string, error) { return labels, nil }
}

// area is where the files of one call are.
type area struct {
	store.Store
	ns store.Namespace
}

func (d *FS) area(ctx context.Context) (area, error) {
	if err := ctx.Err(); err != nil {
		return area{}, err
	}
	scope, inside := run.From(ctx)
	a := area{Store: d.o.Store}
	switch {
	case a.Store != nil:
	case !inside:
		return area{}, fmt.Errorf("%w: files of this backend live in the store of an agent; call it with the context that a tool or a hook "+
			"gets, or set kv.Options.Store", run.ErrOutside)
	default:
		if a.Store = scope.Store(); a.Store == nil {
			return area{}, ErrNoStore
		}
	}
	var i run.Info
	if inside {
		i = scope.Info()
	}
	labels, err := d.o.Namespace(ctx, i)
	if err == nil {
		err = checkNamespace(labels)
	}
	a.ns = labels
	return a, err
}

// checkNamespace uses the texts of file-tools.md 3.5.
func checkNamespace(labels []string) error {
	if len(labels) == 0 {
		return namespaceError("Namespace tuple must not be empty.")
	}
	for i, l := range labels {
		if l == "" {
			return namespaceError(fmt.Sprintf("Namespace component at index %d must not be empty.", i))
		}
		if strings.ContainsFunc(l, forbidden) {
			return namespaceError(fmt.Sprintf("Namespace component at index %d holds characters that are not allowed: %q. "+
				"Allowed are A-Z a-z 0-9 - _ . @ + : ~", i, l))
		}
	}
	return store.Namespace(labels).Check()
}

func forbidden(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return false
	}
	return !strings.ContainsRune("-_.@+:~", r)
}

// namespaceError is a text with [store.ErrNamespace] behind it.
type namespaceError string

func (e namespaceError) Error() string { return string(e) }
func (e namespaceError) Unwrap() error { return store.ErrNamespace }
