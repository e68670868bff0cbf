package driver_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/policy"
)

// routes is a router without a driver of its own.
type routes struct {
	driver.Driver
	mounts []driver.Mount
}

func (r *routes) Route(p string) driver.Mount {
	var best driver.Mount
	for _, m := range r.mounts {
		if p == m.Prefix || policy.Below(p, m.Prefix) {
			best = m
		}
	}
	return best
}

func (r *routes) Mounts(under string) []driver.Mount {
	var out []driver.Mount
	if m := r.Route(under); m.Driver != nil {
		out = append(out, m)
	}
	for _, m := range r.mounts {
		if policy.Below(m.Prefix, under) {
			out = append(out, m)
		}
	}
	return out
}

// wrapper adds nothing.
type wrapper struct{ driver.Driver }

func (w *wrapper) Unwrap() driver.Driver { return w.Driver }

// tagged is a driver with a capability.
type tagged struct {
	driver.Driver
	tag string
}

type tagger interface{ tagOf() string }

func (t *tagged) tagOf() string { return t.tag }

func TestAsAndSplit(t *testing.T) {
	a, b, c := &tagged{tag: "a"}, &tagged{tag: "b"}, &tagged{tag: "c"}
	inner := &routes{mounts: []driver.Mount{{Prefix: "/", Driver: b}, {Prefix: "/deep", Driver: c, Hidden: true}}}
	d := &wrapper{&routes{mounts: []driver.Mount{{Prefix: "/a", Driver: a}, {Prefix: "/x/y", Driver: &wrapper{inner}}}}}
	for path, want := range map[string]string{"/a": "a / /a", "/a/f": "a /f /a", "/x/y/f": "b /f /x/y", "/x/y/deep/f": "c /f /x/y/deep", "/x": "", "/": ""} {
		got := ""
		if v, m, rel, ok := driver.As[tagger](d, path); ok {
			got = v.tagOf() + " " + rel + " " + m.Prefix
		}
		if got != want {
			t.Errorf("As(%s) = %q, want %q", path, got, want)
		}
	}
	for dir, want := range map[string]string{"/": "/a /x/y", "/x": "/x/y", "/a/b": "/a", "/x/y/z": "/x/y", "/x/y/deep/z": "/x/y/deep"} {
		var got []string
		for _, m := range driver.Split(d, dir) {
			got = append(got, m.Prefix)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("Split(%s) = %s, want %s", dir, got, want)
		}
	}
	loop := &wrapper{}
	loop.Driver = loop
	if _, _, _, ok := driver.As[tagger](loop, "/"); ok {
		t.Error("a wrapper around itself has a capability")
	}
}

type closer struct {
	io.Reader
	closed bool
}

func (c *closer) Close() error {
	c.closed = true
	return nil
}

func TestOpened(t *testing.T) {
	refused := errors.New("refused")
	for name, c := range map[string]struct {
		info driver.Info
		o    driver.OpenOptions
		want error
		text string
	}{
		"whole":      {driver.Info{}, driver.OpenOptions{}, nil, "0123456789"},
		"range":      {driver.Info{}, driver.OpenOptions{Offset: 2, Length: 3}, nil, "234"},
		"past":       {driver.Info{}, driver.OpenOptions{Offset: 20}, nil, ""},
		"version":    {driver.Info{Version: "1"}, driver.OpenOptions{IfVersion: "1"}, nil, "0123456789"},
		"conflict":   {driver.Info{Version: "1"}, driver.OpenOptions{IfVersion: "2"}, driver.ErrConflict, ""},
		"directory":  {driver.Info{Kind: driver.Dir}, driver.OpenOptions{}, driver.ErrIsDir, ""},
		"device":     {driver.Info{Kind: driver.Other}, driver.OpenOptions{}, driver.ErrNotRegular, ""},
		"guard":      {driver.Info{}, driver.OpenOptions{Guard: driver.Guard{Func: func(driver.Info) error { return refused }}}, refused, ""},
		"guard rule": {driver.Info{Path: "/ln", Resolved: "/s/k"}, driver.OpenOptions{Guard: driver.Guard{Action: policy.Read, Rules: policy.PathRules{{Paths: []string{"/s/**"}, Decision: policy.Deny}}}}, policy.ErrDenied, ""},
	} {
		src := &closer{Reader: strings.NewReader("0123456789")}
		rc, _, err := driver.Opened(src, c.info, c.o)
		if !errors.Is(err, c.want) || src.closed != (c.want != nil) {
			t.Errorf("%s: %v, closed %v", name, err, src.closed)
			continue
		}
		if err != nil {
			continue
		}
		if b, err := io.ReadAll(rc); err != nil || string(b) != c.text {
			t.Errorf("%s: %q, %v", name, b, err)
		}
		if err := rc.Close(); err != nil || !src.closed {
			t.Errorf("%s: closing: %v, closed %v", name, err, src.closed)
		}
	}
}

func TestWrap(t *testing.T) {
	err := driver.Wrap("open", "/f", &fs.PathError{Op: "open", Path: "/home/user/secret/f", Err: fs.ErrPermission})
	if err.Error() != "open /f: permission denied" || !errors.Is(err, fs.ErrPermission) {
		t.Error(err)
	}
	if driver.Wrap("stat", "/g", err) != err || driver.Wrap("stat", "/g", nil) != nil {
		t.Error("a wrapped error is wrapped again")
	}
}

// TestFromFSLinks checks that a link of the host is not served, wherever it leads.
func TestFromFSLinks(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(os.TempDir(), dir+"/out"); err != nil {
		t.Skipf("links: %v", err)
	}
	d := driver.FromFS(os.DirFS(dir))
	for _, p := range []string{"/out", "/out/x"} {
		if _, err := d.Stat(t.Context(), p); !errors.Is(err, driver.ErrNotRegular) {
			t.Errorf("Stat(%s): %v", p, err)
		}
	}
	for i, err := range d.List(t.Context(), "/", driver.ListOptions{}) {
		t.Errorf("listed %+v, %v", i, err)
	}
	if _, err := driver.FromFS(fstest.MapFS{}).Stat(t.Context(), "//x"); !errors.Is(err, driver.ErrInvalidPath) {
		t.Errorf("Stat of a path that is not clean: %v", err)
	}
}
