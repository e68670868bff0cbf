package filesystem

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/tool"
)

func (m *Middleware) ls(ctx context.Context, args json.RawMessage) (tool.Result, error) {
	in, err := decode[lsArgs](args)
	if err != nil {
		return tool.Result{}, err
	}
	path, err := m.clean(in.Path)
	if err != nil {
		return fail(ctx, lsName, in.Path.s, err)
	}
	list, err := m.fs.List(ctx, path)
	if err != nil {
		return fail(ctx, lsName, path, err)
	}
	if m.compat() && len(list.Failed) > 0 {
		return fail(ctx, lsName, path, list.Failed[0].Err)
	}
	names := make([]string, len(list.Entries))
	for i, e := range list.Entries {
		names[i] = m.shownName(e)
	}
	slices.Sort(names)
	out := m.o.PathList.render(names)
	if list.Unreadable > 0 {
		out += fmt.Sprintf("\n\nNote: %d entries could not be read.", list.Unreadable)
	}
	out += failedRoutes(list.Failed)
	return tool.Text(out), nil
}

// shownName is the path of an entry, with a slash after directories. Links have their own name; the older form shows where they
// lead.
func (m *Middleware) shownName(e driver.Info) string {
	name := e.Path
	if m.compat() && e.Resolved != "" {
		name = e.Resolved
	}
	if e.IsDir() && name != "/" {
		name += "/"
	}
	return name
}
