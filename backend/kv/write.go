package kv

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/store"
)

// Write stores a file. created_at and the fields of others of a file that it replaces are kept. Nothing is written when src fails, or
// when another writer is between the look at the old file and the write: then it looks again.
func (d *FS) Write(ctx context.Context, p string, src io.Reader, o driver.WriteOptions) (driver.Info, error) {
	i, err := d.write(ctx, p, src, o)
	if err != nil {
		return driver.Info{}, driver.Wrap("write", p, err)
	}
	return i, nil
}

func (d *FS) write(ctx context.Context, p string, src io.Reader, o driver.WriteOptions) (driver.Info, error) {
	a, err := d.area(ctx)
	switch {
	case err != nil:
		return driver.Info{}, err
	case p == "/":
		return driver.Info{}, driver.ErrIsDir
	case !utf8.ValidString(p): // JSON could not hold the name
		return driver.Info{}, driver.ErrInvalidPath
	}
	if err := o.Guard.Check(driver.Info{Path: p, Resolved: p}); err != nil {
		return driver.Info{}, err
	}
	content, err := d.read(ctx, src)
	if err != nil {
		return driver.Info{}, err
	}
	for {
		i, err := d.replace(ctx, a, p, content, o)
		if !errors.Is(err, store.ErrConflict) {
			return i, err
		}
		if err := ctx.Err(); err != nil {
			return driver.Info{}, err
		}
	}
}

// replace is one try: it returns [store.ErrConflict] when another writer was faster.
func (d *FS) replace(ctx context.Context, a area, p, content string, o driver.WriteOptions) (driver.Info, error) {
	f, exists, err := a.get(ctx, p, store.GetOptions{KeepTTL: true})
	if err != nil {
		return driver.Info{}, err
	}
	put := store.PutOptions{CreateOnly: true, NoIndex: !d.o.Index}
	var old *file
	if exists {
		put.CreateOnly, put.IfVersion = false, f.version
		old = &f
	}
	if err := check(old, o); err != nil {
		return driver.Info{}, err
	}
	value, err := d.value(old, p, content)
	if err != nil {
		return driver.Info{}, err
	}
	i, err := a.Put(ctx, a.ns, p, value, put)
	if err != nil {
		return driver.Info{}, err
	}
	next := decode(i)
	return next.info(p), nil
}

// check compares the file that is replaced, nil for none, with what the writer expects.
func check(old *file, o driver.WriteOptions) error {
	switch {
	case o.CreateOnly && old != nil:
		return fs.ErrExist
	case o.IfVersion != "" && (old == nil || old.version != o.IfVersion):
		return driver.ErrConflict
	case old != nil && old.newer:
		return old.bad
	case len(o.IfSum) == 0:
		return nil
	case old == nil || old.bad != nil:
		return driver.ErrConflict
	}
	if sum := sha256.Sum256([]byte(old.body)); !bytes.Equal(sum[:], o.IfSum) {
		return driver.ErrConflict
	}
	return nil
}

// read reads all of src, as far as the context and the bound allow.
func (d *FS) read(ctx context.Context, src io.Reader) (string, error) {
	var r io.Reader = readerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return src.Read(p)
	})
	if d.o.MaxSize > 0 {
		r = io.LimitReader(r, d.o.MaxSize+1)
	}
	var b strings.Builder
	n, err := io.Copy(&b, r)
	switch {
	case err != nil:
		return "", err
	case d.o.MaxSize > 0 && n > d.o.MaxSize:
		return "", fmt.Errorf("%w: a file of this backend holds at most %d bytes", driver.ErrTooLarge, d.o.MaxSize)
	}
	return b.String(), nil
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// Remove removes a file and everything below its path, items that are no files included. The guard sees every path first; one that
// it denies keeps all. A removal that breaks off says how far it came.
func (d *FS) Remove(ctx context.Context, p string, o driver.RemoveOptions) error {
	return driver.Wrap("remove", p, d.remove(ctx, p, o.Guard))
}

func (d *FS) remove(ctx context.Context, p string, g driver.Guard) error {
	a, err := d.area(ctx)
	if err != nil {
		return err
	}
	all, err := a.below(ctx, p)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return fs.ErrNotExist
	}
	if err := checkAll(ctx, p, all, g); err != nil {
		return err
	}
	return a.delete(ctx, all)
}

// below returns what a removal of a path removes, sorted.
func (a area) below(ctx context.Context, p string) ([]driver.Info, error) {
	var out []driver.Info
	f, ok, err := a.get(ctx, p, store.GetOptions{KeepTTL: true})
	if err != nil {
		return nil, err
	}
	if ok {
		out = append(out, f.info(p))
	}
	for i, err := range a.items(ctx, strings.TrimSuffix(p, "/")+"/") {
		if err != nil {
			return nil, err
		}
		f := decode(i)
		out = append(out, f.info(i.Key))
	}
	return out, nil
}

// deleteChunk is the number of items that one batch deletes.
const deleteChunk = 100

func (a area) delete(ctx context.Context, all []driver.Info) error {
	done := 0
	for done < len(all) {
		chunk := all[done:min(done+deleteChunk, len(all))]
		ops := make([]store.Op, len(chunk))
		for i, f := range chunk {
			ops[i].Delete = &store.GetOp{Namespace: a.ns, Key: f.Path}
		}
		out, err := a.Batch(ctx, ops)
		if err == nil && len(out) != len(ops) {
			err = fmt.Errorf("the store answered %d of %d operations", len(out), len(ops))
		}
		for _, o := range out {
			if o.Err == nil {
				done++
			} else if err == nil {
				err = o.Err
			}
		}
		if err != nil && len(all) > 1 {
			err = fmt.Errorf("%d of %d files were removed: %w", done, len(all), err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkAll asks a guard about a subtree, the directories that it implies included.
func checkAll(ctx context.Context, top string, all []driver.Info, g driver.Guard) error {
	if g.Empty() {
		return ctx.Err()
	}
	if top == "/" {
		if err := g.Check(dirInfo(top)); err != nil {
			return err
		}
	}
	asked := make(map[string]bool)
	for _, f := range all {
		if err := ctx.Err(); err != nil {
			return err
		}
		for at := len(top); at < len(f.Path); at++ {
			if dir := f.Path[:at]; f.Path[at] == '/' && dir != "" && !asked[dir] {
				asked[dir] = true
				if err := g.Check(dirInfo(dir)); err != nil {
					return err
				}
			}
		}
		if err := g.Check(f); err != nil {
			return err
		}
	}
	return nil
}
