package composite

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/policy"
)

// Options configure a [Composite].
type Options struct {
	// Default serves every path that no route serves. It is required.
	Default driver.Driver
	// Routes are drivers by the prefix where their root appears: "/memories" or, the same, "/memories/". Prefixes may lie inside
	// each other. Two routes to one driver show the same files twice.
	Routes map[string]driver.Driver
	// Hidden holds the prefixes of routes that are served when they are named, and left out of listings and searches above them.
	Hidden map[string]bool
	// ArtifactsRoot is the directory below which the library keeps offloaded results and history; empty means "/".
	ArtifactsRoot string
}

// The causes of a [*PrefixError], beside [driver.ErrInvalidPath].
var (
	// ErrRoot says that "/" cannot be a route: it is the default's.
	ErrRoot = errors.New("the root belongs to the default driver")
	// ErrDuplicate says that two prefixes are one and the same.
	ErrDuplicate = errors.New("the prefix is there twice")
	// ErrNoRoute says that a hidden prefix is no route.
	ErrNoRoute = errors.New("no route has this prefix")
	// ErrDriver says that a driver is missing or not comparable (use a pointer).
	ErrDriver = errors.New("no usable driver")
)

// PrefixError says what is wrong with a prefix. [errors.Is] finds the cause in it.
type PrefixError struct {
	// Prefix is the prefix as it was given; "/" stands for the default.
	Prefix string
	Err    error
}

// Error names the prefix.
func (e *PrefixError) Error() string {
	return fmt.Sprintf("composite: prefix '%s': %v", e.Prefix, e.Err)
}

// Unwrap returns the cause.
func (e *PrefixError) Unwrap() error { return e.Err }

// Composite is a [driver.Driver] and a [driver.Router] made of others. It has no capability of its own: [driver.As] finds those of
// the driver that serves a path.
type Composite struct {
	root      driver.Mount
	routes    []driver.Mount // sorted by prefix
	byPrefix  map[string]driver.Mount
	artifacts string
}

var (
	_ driver.Driver  = (*Composite)(nil)
	_ driver.Router  = (*Composite)(nil)
	_ driver.Aliaser = (*Composite)(nil)
)

// New makes a composite. A prefix or driver that is refused is a [*PrefixError].
func New(o Options) (*Composite, error) {
	if !usable(o.Default) {
		return nil, &PrefixError{"/", ErrDriver}
	}
	c := &Composite{root: driver.Mount{Prefix: "/", Driver: o.Default}, byPrefix: map[string]driver.Mount{}}
	for _, given := range slices.Sorted(maps.Keys(o.Routes)) {
		p, err := clean(given)
		_, twice := c.byPrefix[p]
		switch {
		case err != nil:
		case p == "/":
			err = ErrRoot
		case twice:
			err = ErrDuplicate
		case !usable(o.Routes[given]):
			err = ErrDriver
		}
		if err != nil {
			return nil, &PrefixError{given, err}
		}
		c.byPrefix[p] = driver.Mount{Prefix: p, Driver: o.Routes[given]}
	}
	for _, given := range slices.Sorted(maps.Keys(o.Hidden)) {
		if err := c.hide(given, o.Hidden[given]); err != nil {
			return nil, &PrefixError{given, err}
		}
	}
	for _, p := range slices.Sorted(maps.Keys(c.byPrefix)) {
		c.routes = append(c.routes, c.byPrefix[p])
	}
	var err error
	if c.artifacts, err = clean("/" + strings.TrimPrefix(o.ArtifactsRoot, "/")); err != nil {
		return nil, fmt.Errorf("composite: artifacts root '%s': %w", o.ArtifactsRoot, err)
	}
	return c, nil
}

func (c *Composite) hide(given string, hidden bool) error {
	p, err := clean(given)
	if err != nil {
		return err
	}
	m, ok := c.byPrefix[p]
	if !ok {
		return ErrNoRoute
	}
	m.Hidden = m.Hidden || hidden
	c.byPrefix[p] = m
	return nil
}

func usable(d driver.Driver) bool { return d != nil && reflect.ValueOf(d).Comparable() }

// clean makes "/a/b" of "//a/b/". What the paths of callers cannot be, a prefix cannot be either.
func clean(p string) (string, error) {
	if !strings.HasPrefix(p, "/") || strings.ContainsAny(p, "\x00\\") || slices.Contains(strings.Split(p, "/"), "..") {
		return "", driver.ErrInvalidPath
	}
	return path.Clean(p), nil
}

// ArtifactsRoot returns the directory of [Options.ArtifactsRoot], clean.
func (c *Composite) ArtifactsRoot() string { return c.artifacts }

// Route returns the mount with the longest prefix of a path: "/mem" serves "/mem" and "/mem/x", and not "/memories".
func (c *Composite) Route(p string) driver.Mount {
	for len(p) > 1 {
		if m, ok := c.byPrefix[p]; ok {
			return m
		}
		p = p[:max(strings.LastIndexByte(p, '/'), 0)]
	}
	return c.root
}

// Mounts returns the mount that serves a directory, then those below it, sorted by prefix.
func (c *Composite) Mounts(under string) []driver.Mount {
	return append([]driver.Mount{c.Route(under)}, c.below(under)...)
}

func (c *Composite) below(dir string) []driver.Mount {
	var out []driver.Mount
	for _, m := range c.routes {
		if policy.Below(m.Prefix, dir) {
			out = append(out, m)
		}
	}
	return out
}

// holds reports whether a directory is shown because a route that is not hidden lies below it.
func (c *Composite) holds(dir string) bool {
	return slices.ContainsFunc(c.below(dir), func(m driver.Mount) bool { return !m.Hidden })
}

// Aliases returns the other names of a path that the driver which serves it knows.
func (c *Composite) Aliases(p string) []string {
	m := c.Route(p)
	a, at, rel, ok := driver.As[driver.Aliaser](m.Driver, driver.Rel(p, m.Prefix))
	if !ok {
		return nil
	}
	out := slices.Clone(a.Aliases(rel))
	for i, name := range out {
		out[i] = driver.Join(m.Prefix, driver.Join(at.Prefix, name))
	}
	return out
}
