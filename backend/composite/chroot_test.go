package composite_test

import (
	"context"
	"io"
	"iter"
	"strings"

	"github.com/deepagents-go/deepagents/backend/driver"
)

// chrooted shows a directory of a driver as a root, to run the suite below a prefix. It insists on full paths in everything that
// comes back.
type chrooted struct {
	d   driver.Driver
	dir string
}

func (c *chrooted) info(i driver.Info) driver.Info {
	i.Path, i.Resolved = c.cut(i.Path), c.cut(i.Resolved)
	return i
}

func (c *chrooted) cut(p string) string {
	if p == "" {
		return ""
	}
	if !strings.HasPrefix(p, c.dir) {
		panic("not the full path: " + p)
	}
	return driver.Rel(p, c.dir)
}

func (c *chrooted) guard(g driver.Guard) driver.Guard {
	return driver.Guard{Action: g.Action, Func: func(i driver.Info) error { return g.Check(c.info(i)) }}
}

func (c *chrooted) err(err error) error {
	if de, ok := err.(*driver.Error); ok {
		return &driver.Error{Op: de.Op, Path: c.cut(de.Path), Err: de.Err}
	}
	return err
}

func (c *chrooted) Stat(ctx context.Context, p string) (driver.Info, error) {
	i, err := c.d.Stat(ctx, driver.Join(c.dir, p))
	return c.info(i), c.err(err)
}

func (c *chrooted) List(ctx context.Context, dir string, o driver.ListOptions) iter.Seq2[driver.Info, error] {
	return func(yield func(driver.Info, error) bool) {
		for i, err := range c.d.List(ctx, driver.Join(c.dir, dir), o) {
			if !yield(c.info(i), c.err(err)) {
				return
			}
		}
	}
}

func (c *chrooted) Open(ctx context.Context, p string, o driver.OpenOptions) (io.ReadCloser, driver.Info, error) {
	o.Guard = c.guard(o.Guard)
	rc, i, err := c.d.Open(ctx, driver.Join(c.dir, p), o)
	return rc, c.info(i), c.err(err)
}

func (c *chrooted) Write(ctx context.Context, p string, src io.Reader, o driver.WriteOptions) (driver.Info, error) {
	if p == "/" {
		return driver.Info{}, &driver.Error{Op: "write", Path: p, Err: driver.ErrIsDir}
	}
	o.Guard = c.guard(o.Guard)
	i, err := c.d.Write(ctx, driver.Join(c.dir, p), src, o)
	return c.info(i), c.err(err)
}

func (c *chrooted) Remove(ctx context.Context, p string, o driver.RemoveOptions) error {
	o.Guard = c.guard(o.Guard)
	return c.err(c.d.Remove(ctx, driver.Join(c.dir, p), o))
}
