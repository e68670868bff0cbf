package kv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/internal/filedata"
	"github.com/deepagents-go/deepagents/internal/textio"
	"github.com/deepagents-go/deepagents/store"
)

// itemVersion is the version of the items that this package writes, in their field "v". Items without one are older, or of others.
const itemVersion = 1

// file is an item that is decoded.
type file struct {
	filedata.Data
	body    string
	version string
	bad     error // why there is no body
	listed  bool  // it is a file, though perhaps one that cannot be read
	newer   bool  // it must not be replaced
}

// contentError is what reading an item tells that is no file.
type contentError string

func (e contentError) Error() string { return string(e) }
func (e contentError) Unwrap() error { return driver.ErrContent }

// decode never fails: what is wrong is told when the file is read.
func decode(i store.Item) file {
	f := file{version: i.Version}
	err := f.UnmarshalJSON(i.Value)
	var missing *filedata.NoContentError
	switch {
	case errors.As(err, &missing):
		got := strings.Join(missing.Fields, ", ")
		if got == "" {
			got = "no fields"
		}
		f.bad = contentError("Store item does not contain valid content field. Got: " + got)
		return f
	case err != nil:
		f.bad = contentError(err.Error())
		return f
	}
	f.listed = true
	var v int64
	if raw, ok := f.Extra["v"]; ok && json.Unmarshal(raw, &v) == nil && v > itemVersion {
		f.newer = true
		f.bad = contentError(fmt.Sprintf("The stored file has version %d, this program reads up to version %d: use a newer program", v, itemVersion))
		return f
	}
	if f.body, err = f.Text(); err != nil {
		f.bad = contentError(err.Error())
	}
	return f
}

func (f *file) info(p string) driver.Info {
	return driver.Info{
		Path: p, Resolved: p, Kind: driver.Regular, Size: int64(len(f.body)), Mode: 0o644, ModTime: f.ModTime(), Version: f.version,
	}
}

func dirInfo(p string) driver.Info {
	return driver.Info{Path: p, Resolved: p, Kind: driver.Dir, Mode: fs.ModeDir | 0o755}
}

// value is the item of a file with new content. Fields of others stay.
func (d *FS) value(old *file, p, content string) (json.RawMessage, error) {
	now := d.o.Now()
	next := filedata.New(content, now, d.o.FileFormat)
	if old != nil && old.listed {
		next = old.With(content, now, d.o.FileFormat)
	}
	next.Extra = maps.Clone(next.Extra)
	if next.Extra == nil {
		next.Extra = make(map[string]json.RawMessage, 2)
	}
	delete(next.Extra, "mimeType")
	if next.Encoding != "" {
		raw, err := json.Marshal(mimeType(p, content))
		if err != nil {
			return nil, err
		}
		next.Extra["mimeType"] = raw
	}
	if raw, ok := next.Extra["v"]; !ok || isNumber(raw) {
		next.Extra["v"] = json.RawMessage(fmt.Sprint(itemVersion))
	}
	return next.MarshalJSON()
}

// isNumber tells a version from a field of somebody else that happens to have its name.
func isNumber(raw json.RawMessage) bool {
	var n json.Number
	return len(raw) > 0 && raw[0] != '"' && json.Unmarshal(raw, &n) == nil
}

func mimeType(p, content string) string {
	if !utf8.ValidString(content) {
		return textio.MIME(p, []byte(content[:min(len(content), textio.HeadSize)]))
	}
	if m := textio.MIMEByName(p); m != "" {
		return m
	}
	return "text/plain"
}

// nameable reports whether a key is a path that a driver can be asked for.
func nameable(key string) bool {
	return len(key) > 1 && key[0] == '/' && path.Clean(key) == key && utf8.ValidString(key)
}

// get returns the item at a path; ok says whether there is one.
func (a area) get(ctx context.Context, p string, o store.GetOptions) (f file, ok bool, err error) {
	i, err := a.Get(ctx, a.ns, p, o)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return file{}, false, nil
	case err != nil:
		return file{}, false, err
	}
	return decode(i), true, nil
}

// The sizes of pages. The first is small because some look for one item only.
const (
	firstPage = 20
	nextPage  = 500
)

// items yields the items of the namespace whose keys begin with a prefix and are paths, sorted. Pages are read one by one and overlap
// by one item, which shows when others removed items meanwhile: then an earlier page is read again, so that no item is missed that
// was there all the time.
func (a area) items(ctx context.Context, prefix string) iter.Seq2[store.Item, error] {
	return func(yield func(store.Item, error) bool) {
		last, limit := "", firstPage
		for offset := 0; ; {
			page, err := a.Search(ctx, a.ns, store.Query{KeyPrefix: prefix, Limit: limit, Offset: offset, KeepTTL: true})
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(store.Item{}, err)
				return
			}
			if offset > 0 && (len(page) == 0 || !page[0].Namespace.Equal(a.ns) || page[0].Key > last) {
				offset = max(0, offset-limit)
				continue
			}
			for _, i := range page {
				if !i.Namespace.Equal(a.ns) {
					return // deeper namespaces come after this one
				}
				if i.Key <= last {
					continue
				}
				last = i.Key
				if nameable(i.Key) && !yield(i, nil) {
					return
				}
			}
			if len(page) < limit {
				return
			}
			offset += len(page) - 1
			limit = nextPage
		}
	}
}
