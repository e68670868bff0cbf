package filesystem

import (
	"context"
	"encoding/json"

	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/internal/pmap"
	"github.com/deepagents-go/deepagents/run"
	"github.com/deepagents-go/deepagents/state"
	"github.com/deepagents-go/deepagents/tool"
)

// maxSeen bounds the number of files that the stale guard remembers. Beyond it, it forgets all but the newest.
const maxSeen = 2000

// seenKey remembers for the stale guard which version of each file the thread saw last.
type seenKey = state.Key[versions, seenFile]

// seenFile is one file that was seen.
type seenFile struct {
	Path    string `json:"path"`
	Version string `json:"version"`
}

// versions maps paths to versions. In JSON it is an object.
type versions struct{ files pmap.Map[string] }

// MarshalJSON encodes the paths in order.
func (v versions) MarshalJSON() ([]byte, error) {
	m := make(map[string]string, v.files.Len())
	for path, version := range v.files.All() {
		m[path] = version
	}
	return json.Marshal(m)
}

// UnmarshalJSON decodes the object.
func (v *versions) UnmarshalJSON(b []byte) error {
	var m map[string]string
	if err := json.Unmarshal(b, &m); err != nil {
		return err
	}
	v.files = pmap.Map[string]{}
	for path, version := range m {
		v.files = v.files.Set(path, version)
	}
	return nil
}

func newSeenKey() seenKey {
	return state.NewKey("file_versions", func(cur versions, f seenFile) (versions, error) {
		if cur.files.Len() >= maxSeen {
			cur = versions{}
		}
		return versions{cur.files.Set(f.Path, f.Version)}, nil
	}, state.Options{Private: true})
}

// seenVersion is the version of a file that the thread saw last, "" when the guard knows nothing of it.
func (m *Middleware) seenVersion(ctx context.Context, path string) string {
	if !m.o.StaleGuard {
		return ""
	}
	s, ok := run.From(ctx)
	if !ok {
		return ""
	}
	v, _ := m.seen.Get(s.State()).files.Get(path)
	return v
}

// seenResult is a result with a text, after which the thread has seen this version of the file.
func (m *Middleware) seenResult(path string, i driver.Info, text string) tool.Result {
	res := tool.Text(text)
	if m.o.StaleGuard && i.Version != "" {
		res.Update = []state.Update{m.seen.Update(seenFile{path, i.Version})}
	}
	return res
}
