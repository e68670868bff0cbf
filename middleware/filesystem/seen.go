package filesystem

import (
	"context"
	"maps"

	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/run"
	"github.com/deepagents-go/deepagents/state"
	"github.com/deepagents-go/deepagents/tool"
)

// seenKey remembers for the stale guard which version of each file the thread saw last.
type seenKey = state.Key[map[string]string, map[string]string]

// maxSeen bounds the number of files that are remembered. Beyond it, the guard forgets all but the newest.
const maxSeen = 2000

func newSeenKey() seenKey {
	return state.NewKey("file_versions", func(cur, up map[string]string) (map[string]string, error) {
		if len(cur) >= maxSeen {
			return up, nil
		}
		next := make(map[string]string, len(cur)+len(up))
		maps.Copy(next, cur)
		maps.Copy(next, up)
		return next, nil
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
	return m.seen.Get(s.State())[path]
}

// seenResult is a result with a text, after which the thread has seen this version of the file.
func (m *Middleware) seenResult(path string, i driver.Info, text string) tool.Result {
	res := tool.Text(text)
	if m.o.StaleGuard && i.Version != "" {
		res.Update = []state.Update{m.seen.Update(map[string]string{path: i.Version})}
	}
	return res
}
