package disk

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// record says what to clean up or to finish should this process end. It is written before the temporary file is made.
type record struct {
	V int `json:"v"`
	// Dir is the directory of the temporary file, below the root.
	Dir string `json:"dir"`
	// Target is the name of the file that Dir's temporary file replaces in place. It is set once the temporary file is complete: the
	// next start then finishes the write.
	Target string `json:"target,omitempty"`
}

// journal holds one record for each unfinished write, outside the tree.
type journal struct{ dir string }

// openJournal makes the directory for a root's records.
func openJournal(state, root string) (*journal, error) {
	sum := sha256.Sum256([]byte(root))
	name := hex.EncodeToString(sum[:8])
	if state != "" {
		abs, err := filepath.Abs(state)
		if err != nil {
			return nil, fmt.Errorf("state directory: %w", bare(err))
		}
		if abs = filepath.ToSlash(abs); abs == root || strings.HasPrefix(abs, strings.TrimSuffix(root, "/")+"/") {
			return nil, errors.New("state directory: it must lie outside the root")
		}
		return makeJournal(state, name)
	}
	if base, err := os.UserCacheDir(); err == nil {
		if j, err := makeJournal(filepath.Join(base, "deepagents", "disk"), name); err == nil {
			return j, nil
		}
	}
	return makeJournal(filepath.Join(os.TempDir(), fmt.Sprintf("deepagents-%d", os.Getuid()), "disk"), name)
}

func makeJournal(base, name string) (*journal, error) {
	j := &journal{filepath.Join(base, name)}
	if err := os.MkdirAll(j.dir, 0o700); err != nil {
		return nil, fmt.Errorf("state directory: %w", bare(err))
	}
	return j, nil
}

// entry is a record that is held open and locked as long as its write goes on: who finds it unlocked knows that its process is gone.
type entry struct {
	id string
	f  *os.File
}

// temp is the name of the temporary file of this entry.
func (e *entry) temp() string { return tempPrefix + e.id + tempSuffix }

func (j *journal) begin(r record) (*entry, error) {
	for range beginTries {
		e, err := j.tryBegin(r)
		if e != nil || err != nil {
			return e, err
		}
	}
	return nil, errors.New("state directory: other processes clean up all the time")
}

// beginTries bounds how often a record is made again because another process, which was just starting, took it for one that was
// left behind: that can happen between the making of the record and its lock.
const beginTries = 20

// tryBegin makes a locked record, or returns neither an entry nor an error when another process got hold of it first.
func (j *journal) tryBegin(r record) (*entry, error) {
	b := make([]byte, tempRandom/2)
	if _, err := rand.Read(b); err != nil {
		return nil, err
	}
	e := &entry{id: hex.EncodeToString(b)}
	f, err := j.create(e.id)
	for range beginTries { // the last to close removes the directory when it is empty
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
		// "exists" is a directory that was removed while it was being made.
		if err = os.MkdirAll(j.dir, 0o700); err == nil || errors.Is(err, fs.ErrExist) {
			f, err = j.create(e.id)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("state directory: %w", bare(err))
	}
	e.f = f
	ok, err := tryFlock(f)
	if err == nil && (!ok || !j.holds(e)) {
		return nil, bare(f.Close())
	}
	if err == nil {
		err = e.write(r, false)
	}
	if err != nil {
		return nil, errors.Join(err, j.end(e))
	}
	return e, nil
}

// holds reports whether the entry's file is still the record of its name.
func (j *journal) holds(e *entry) bool {
	named, err := os.Lstat(filepath.Join(j.dir, e.id))
	if err != nil {
		return false
	}
	mine, err := e.f.Stat()
	return err == nil && os.SameFile(named, mine)
}

func (j *journal) create(id string) (*os.File, error) {
	return os.OpenFile(filepath.Join(j.dir, id), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
}

// close removes the directory when no record is left.
func (j *journal) close() {
	_ = os.Remove(j.dir) // refused while there are records
}

func (e *entry) write(r record, sync bool) error {
	r.V = 1
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if _, err := e.f.WriteAt(b, 0); err != nil {
		return bare(err)
	}
	if err := e.f.Truncate(int64(len(b))); err != nil {
		return bare(err)
	}
	if sync {
		return bare(e.f.Sync())
	}
	return nil
}

// end removes the record.
func (j *journal) end(e *entry) error {
	err := os.Remove(filepath.Join(j.dir, e.id))
	return errors.Join(bare(err), bare(e.f.Close()))
}

// recover removes what processes that are gone left behind, and finishes their writes in place.
func (d *Disk) recover() error {
	ents, err := os.ReadDir(d.journal.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("state directory: %w", bare(err))
	}
	for _, e := range ents {
		if len(e.Name()) != tempRandom || strings.Trim(e.Name(), "0123456789abcdef") != "" {
			continue
		}
		f, err := os.OpenFile(filepath.Join(d.journal.dir, e.Name()), os.O_RDWR, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("state directory: %w", bare(err))
		}
		if ok, err := tryFlock(f); err != nil || !ok || younger(f, recordAge) {
			_ = f.Close() // its writer lives
			continue
		}
		if d.redo(&entry{id: e.Name(), f: f}) {
			_ = d.journal.end(&entry{id: e.Name(), f: f}) // tried again at the next start
		} else {
			_ = f.Close()
		}
	}
	return nil
}

// younger reports whether a file was changed less than some time ago.
func younger(f *os.File, age time.Duration) bool {
	fi, err := f.Stat()
	return age > 0 && err == nil && time.Since(fi.ModTime()) < age
}

// redo cleans up after one record. It returns false when the record must stay.
func (d *Disk) redo(e *entry) bool {
	var r record
	b, err := io.ReadAll(io.LimitReader(e.f, 1<<20))
	if err != nil {
		return false
	}
	if json.Unmarshal(b, &r) != nil {
		return true // it ended before the record was written, and so before the temporary file
	}
	if r.V > 1 {
		return false
	}
	dir, err := d.dirPlain(r.Dir)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errLink)
	}
	defer func() { _ = dir.Close() }() // a handle that was only worked through
	if r.Target != "" {
		if err := d.finish(dir, e.temp(), r.Target); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	err = dir.Remove(e.temp())
	return err == nil || errors.Is(err, fs.ErrNotExist)
}
