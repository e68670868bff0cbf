package statefs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/deepagents-go/deepagents/internal/pmap"
	"github.com/deepagents-go/deepagents/state"
)

// Files is the key of the state that holds the files. Updates of one step are folded path by path, the later one wins.
var Files = state.NewKey("files", Map.Apply, state.Options{})

// Map is a set of files: sorted by path and persistent, so that a change costs a few nodes at any size. The zero value is
// empty. Maps are values; two that are equal by == hold the same files. Its JSON is an object from paths to [FileData].
type Map struct{ m pmap.Map[*entry] }

// entry is a file with what is derived from it once.
type entry struct {
	FileData
	body    string // the decoded content
	bad     error  // why there is no body
	version string
	modTime time.Time
}

func newEntry(d FileData) *entry {
	e := &entry{FileData: d, modTime: d.ModTime()}
	e.body, e.bad = d.Text()
	// The version is made of the content alone, so that writing the same content twice is no conflict.
	if e.bad != nil {
		e.version = "bad-" + sum(d.Content)
	} else {
		e.version = sum(e.body)
	}
	return e
}

func sum(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:16])
}

// Len returns the number of files.
func (m Map) Len() int { return m.m.Len() }

// Get returns the file at a path.
func (m Map) Get(path string) (FileData, bool) {
	e, ok := m.m.Get(path)
	if !ok {
		return FileData{}, false
	}
	return e.FileData, true
}

// Version returns the version of the file at a path, or [Absent].
func (m Map) Version(path string) string {
	if e, ok := m.m.Get(path); ok {
		return e.version
	}
	return Absent
}

// All yields the files, sorted by path.
func (m Map) All() iter.Seq2[string, FileData] {
	return func(yield func(string, FileData) bool) {
		for p, e := range m.m.All() {
			if !yield(p, e.FileData) {
				return
			}
		}
	}
}

// isDir reports whether a longer path implies the directory. The root always exists.
func (m Map) isDir(path string) bool {
	if path == "/" {
		return true
	}
	for range m.m.Prefix(path + "/") {
		return true
	}
	return false
}

// Apply returns the map after an update. It is the reducer of [Files].
func (m Map) Apply(u Update) (Map, error) {
	for _, c := range u {
		if c.File == nil {
			m.m = m.m.Delete(c.Path)
			continue
		}
		e := c.entry
		if e == nil {
			e = newEntry(*c.File)
		}
		m.m = m.m.Set(c.Path, e)
	}
	return m, nil
}

// MarshalJSON encodes the files as an object sorted by path.
func (m Map) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for p, e := range m.m.All() {
		key, err := json.Marshal(p)
		if err != nil {
			return nil, err
		}
		raw, err := e.MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("statefs: file %q: %w", p, err)
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(raw)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON decodes an object of files. A path whose file is null is left out.
func (m *Map) UnmarshalJSON(raw []byte) error {
	u, err := decodePlain(raw)
	if err != nil {
		return err
	}
	*m, err = Map{}.Apply(u)
	return err
}

// Absent is the base of a change that creates a file.
const Absent = "absent"

// Update is a change of some files, in order. Its JSON carries a version and the bases; the plain form of Deep Agents, an
// object from paths to files or null, is read too and has no bases.
type Update []Change

// Change puts a file at a path, or removes it.
type Change struct {
	Path string
	// File is the new file; nil removes.
	File *FileData
	// Base is the version of the file that the change was computed from, [Absent] when there was none, or empty when the change
	// stands for itself.
	Base string

	entry *entry // of File, when it is known already
}

// Put returns the update that stores a file, whatever was there.
func Put(path string, d FileData) Update { return Update{{Path: path, File: &d}} }

// Conflicts returns the paths, sorted, whose files in m are not those that the update was computed from and that it would
// change to something else: another writer was there in between. Applying the update all the same keeps the update's files.
func (u Update) Conflicts(m Map) []string {
	var paths []string
	now := make(map[string]string, len(u))
	for _, c := range u {
		was, ok := now[c.Path]
		if !ok {
			was = m.Version(c.Path)
		}
		becomes := Absent
		if c.File != nil {
			becomes = c.version()
		}
		if c.Base != "" && c.Base != was && becomes != was {
			paths = append(paths, c.Path)
		}
		now[c.Path] = becomes
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

func (c *Change) version() string {
	if c.entry != nil {
		return c.entry.version
	}
	return newEntry(*c.File).version
}

// wireVersion is the version of the JSON of updates.
const wireVersion = 1

type wireUpdate struct {
	V       int          `json:"v"`
	Changes []wireChange `json:"changes"`
}

type wireChange struct {
	Path string    `json:"path"`
	File *FileData `json:"file"`
	Base string    `json:"base,omitempty"`
}

// MarshalJSON encodes the update.
func (u Update) MarshalJSON() ([]byte, error) {
	w := wireUpdate{V: wireVersion, Changes: make([]wireChange, len(u))}
	for i, c := range u {
		w.Changes[i] = wireChange{c.Path, c.File, c.Base}
	}
	return json.Marshal(w)
}

// UnmarshalJSON decodes both forms: "v" is no path, since paths begin with "/".
func (u *Update) UnmarshalJSON(raw []byte) error {
	var probe struct {
		V *json.RawMessage `json:"v"`
	}
	if err := json.Unmarshal(raw, &probe); err != nil || probe.V == nil {
		plain, err := decodePlain(raw)
		*u = plain
		return err
	}
	var v int
	if err := json.Unmarshal(*probe.V, &v); err != nil {
		return fmt.Errorf("statefs: version of an update: %w", err)
	}
	if v != wireVersion {
		return fmt.Errorf("statefs: the update has version %d, this program reads version %d: use a newer program", v, wireVersion)
	}
	var w wireUpdate
	if err := json.Unmarshal(raw, &w); err != nil {
		return fmt.Errorf("statefs: update: %w", err)
	}
	out := make(Update, len(w.Changes))
	for i, c := range w.Changes {
		out[i] = Change{Path: c.Path, File: c.File, Base: c.Base}
	}
	*u = out
	return nil
}

// decodePlain decodes an object from paths to files or null, sorted by path.
func decodePlain(raw []byte) (Update, error) {
	var files map[string]json.RawMessage
	if err := json.Unmarshal(raw, &files); err != nil {
		return nil, fmt.Errorf("statefs: files must be an object from paths to files: %w", err)
	}
	u := make(Update, 0, len(files))
	for _, p := range slices.Sorted(maps.Keys(files)) {
		c := Change{Path: p}
		if string(files[p]) != "null" {
			c.File = new(FileData)
			if err := c.File.UnmarshalJSON(files[p]); err != nil {
				return nil, fmt.Errorf("statefs: file %q: %w", p, err)
			}
		}
		u = append(u, c)
	}
	return u, nil
}

// below returns the paths of a file and of everything below it, sorted.
func (m Map) below(path string) []string {
	var paths []string
	if _, ok := m.m.Get(path); ok {
		paths = append(paths, path)
	}
	for p := range m.m.Prefix(strings.TrimSuffix(path, "/") + "/") {
		paths = append(paths, p)
	}
	return paths
}
