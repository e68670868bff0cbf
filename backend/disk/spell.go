package disk

import (
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"unicode"
)

// foldsCase reports whether names that differ in case are one file in a directory. Linux, where that is a property of single
// directories that are hardly ever used, is taken for exact.
func foldsCase(root string) bool {
	if runtime.GOOS == "linux" {
		return false
	}
	base := filepath.Base(root)
	swapped := strings.Map(func(r rune) rune {
		if unicode.IsUpper(r) {
			return unicode.ToLower(r)
		}
		return unicode.ToUpper(r)
	}, base)
	if swapped == base {
		return runtime.GOOS == "darwin" || runtime.GOOS == "windows"
	}
	was, err := os.Stat(root)
	if err != nil {
		return false
	}
	is, err := os.Stat(filepath.Join(filepath.Dir(root), swapped))
	return err == nil && os.SameFile(was, is)
}

// spell replaces the names of a path by those that the directories hold, so that a rule for /.git covers /.GIT where both are one.
// Names that do not exist stay.
func (d *Disk) spell(rel string) (string, error) {
	if !d.folds || rel == "." {
		return rel, nil
	}
	r, err := d.root.OpenRoot(".")
	if err != nil {
		return "", err
	}
	defer func() { _ = r.Close() }() // read only
	at := "."
	names := strings.Split(rel, "/")
	for i, name := range names {
		name, err := d.spellName(r, name)
		if err != nil {
			return "", err
		}
		at = path.Join(at, name)
		if i == len(names)-1 {
			break
		}
		next, err := step(r, name)
		if err != nil {
			return path.Join(at, path.Join(names[i+1:]...)), nil
		}
		_ = r.Close() // read only
		r = next
	}
	return at, nil
}

// spellName is the name that a directory holds for a file that goes by another spelling.
func (d *Disk) spellName(r *os.Root, name string) (string, error) {
	if !d.folds {
		return name, nil
	}
	was, err := r.Lstat(name)
	if err != nil {
		return name, nil
	}
	f, err := r.Open(".")
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // read only
	held, err := f.Readdirnames(-1)
	if err != nil {
		return "", err
	}
	other := ""
	for _, h := range held {
		if h == name {
			return name, nil
		}
		if is, err := r.Lstat(h); err == nil && os.SameFile(was, is) && (other == "" || strings.EqualFold(h, name)) {
			other = h
		}
	}
	if other == "" {
		return name, nil
	}
	return other, nil
}
