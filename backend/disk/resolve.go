package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/deepagents-go/deepagents/backend/driver"
)

const (
	// maxLinks bounds the links of one path, as Linux does.
	maxLinks = 40
	// maxRaces bounds how often a path is resolved again because it changed meanwhile.
	maxRaces = 64
)

var (
	// errLink says that a path that should hold no link holds one.
	errLink = errors.New("the path holds a link")
	// errRace says that a path changed each time it was looked at.
	errRace = errors.New("the path kept changing")
)

// outsideError is [driver.ErrOutside] with the host path that a link leads to, for the other roots of host path mode. It is never shown.
type outsideError struct{ host string }

func (*outsideError) Error() string { return driver.ErrOutside.Error() }
func (*outsideError) Unwrap() error { return driver.ErrOutside }

// follow opens a path with a function that refuses links. Where there are links, the path is resolved by hand and tried again: what
// opens without a link is by construction what its name says, whoever changes directories meanwhile.
func follow[T any](d *Disk, rel string, try func(rel string) (T, error)) (T, string, error) {
	at := rel
	for range maxRaces {
		v, err := try(at)
		if err == nil {
			if at, err = d.spell(at); err != nil {
				if c, ok := any(v).(io.Closer); ok {
					err = errors.Join(err, c.Close())
				}
			}
		}
		if !errors.Is(err, errLink) {
			return v, at, err
		}
		if at, err = d.resolve(rel); err != nil {
			return v, "", err
		}
	}
	var none T
	return none, "", errRace
}

// resolve replaces every link of a path by what it leads to. Names that do not exist stay. The answer is only a guess: it must be
// opened without links to become true.
func (d *Disk) resolve(rel string) (string, error) {
	todo := strings.Split(rel, "/")
	at := "."
	for links := 0; len(todo) > 0; {
		name := todo[0]
		todo = todo[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			if at == "." {
				var err error
				if todo, err = d.back(path.Join(path.Dir(d.names[0]), strings.Join(todo, "/"))); err != nil {
					return "", err
				}
				continue
			}
			at = path.Dir(at)
			continue
		}
		next := path.Join(at, name)
		fi, err := d.root.Lstat(next)
		if errors.Is(err, fs.ErrNotExist) {
			return d.rest(next, todo)
		}
		if err != nil {
			return "", err
		}
		if fi.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return "", driver.ErrLoop
		}
		target, err := d.root.Readlink(next)
		if err != nil {
			return "", err
		}
		if filepath.IsAbs(target) {
			at = "."
			if todo, err = d.back(path.Join(filepath.ToSlash(target), strings.Join(todo, "/"))); err != nil {
				return "", err
			}
			continue
		}
		todo = append(strings.Split(filepath.ToSlash(target), "/"), todo...)
	}
	return at, nil
}

// rest joins the names after one that does not exist; a ".." there cannot be resolved.
func (d *Disk) rest(at string, todo []string) (string, error) {
	for _, name := range todo {
		if name == ".." {
			return "", fs.ErrNotExist
		}
		at = path.Join(at, name)
	}
	return at, nil
}

// back tells where a host path lies below the root, in names.
func (d *Disk) back(host string) ([]string, error) {
	for _, root := range d.names {
		if host == root {
			return nil, nil
		}
		if rest, ok := strings.CutPrefix(host, strings.TrimSuffix(root, "/")+"/"); ok {
			return strings.Split(rest, "/"), nil
		}
	}
	return nil, &outsideError{host}
}

// openPlain opens a file or a directory below the root whose path holds no link, without waiting for a FIFO's other end.
func (d *Disk) openPlain(rel string, flag int) (*os.File, error) {
	if d.fast != nil {
		return d.fast.open(rel, flag)
	}
	dir, name := path.Split(rel)
	r, err := d.walk(path.Clean(dir))
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // read only
	if name == "." {
		return r.Open(".")
	}
	return openIn(r, name, flag)
}

// openIn opens a name in a directory that is no link.
func openIn(r *os.Root, name string, flag int) (*os.File, error) {
	was, err := r.Lstat(name)
	if err != nil {
		return nil, err
	}
	if was.Mode()&fs.ModeSymlink != 0 {
		return nil, errLink
	}
	f, err := r.OpenFile(name, flag|nonBlock, 0)
	if err != nil {
		return nil, err
	}
	is, err := f.Stat()
	if err == nil && !os.SameFile(was, is) {
		err = errLink // swapped meanwhile
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// dirPlain opens a directory whose path holds no link, to work inside it by names.
func (d *Disk) dirPlain(rel string) (*os.Root, error) {
	if d.fast == nil {
		return d.walk(rel)
	}
	r, err := d.root.OpenRoot(rel)
	if err != nil {
		// os.Root has no sentinels for these
		switch m, ferr := d.fast.stat(rel); {
		case ferr != nil:
			return nil, ferr
		case m.kind() != driver.Dir:
			return nil, driver.ErrNotDir
		}
		return nil, err
	}
	is, err := r.Stat(".")
	if err == nil {
		err = d.fast.same(rel, is)
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// walk opens a directory name by name, each proven to be no link: the inode that the name had is the one that was opened.
func (d *Disk) walk(rel string) (*os.Root, error) {
	r, err := d.root.OpenRoot(".")
	if err != nil || rel == "." || rel == "" {
		return r, err
	}
	for name := range strings.SplitSeq(rel, "/") {
		next, err := step(r, name)
		_ = r.Close() // read only
		if err != nil {
			return nil, err
		}
		r = next
	}
	return r, nil
}

// step opens a directory inside another that is no link.
func step(r *os.Root, name string) (*os.Root, error) {
	was, err := r.Lstat(name)
	if err != nil {
		return nil, err
	}
	switch {
	case was.Mode()&fs.ModeSymlink != 0:
		return nil, errLink
	case !was.IsDir():
		return nil, driver.ErrNotDir
	}
	next, err := r.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	is, err := next.Stat(".")
	if err == nil && !os.SameFile(was, is) {
		err = errLink
	}
	if err != nil {
		return nil, errors.Join(err, next.Close())
	}
	return next, nil
}

// statPlain describes what a path without links names.
func (d *Disk) statPlain(rel string) (meta, error) {
	if d.fast != nil {
		return d.fast.stat(rel)
	}
	dir, name := path.Split(rel)
	r, err := d.walk(path.Clean(dir))
	if err != nil {
		return meta{}, err
	}
	defer func() { _ = r.Close() }() // read only
	fi, err := r.Lstat(name)
	if err != nil {
		return meta{}, err
	}
	if fi.Mode()&fs.ModeSymlink != 0 {
		return meta{}, errLink
	}
	return metaOf(fi), nil
}
