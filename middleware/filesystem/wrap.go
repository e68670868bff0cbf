package filesystem

import (
	"context"
	"slices"

	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/tool"
)

// WrapModel keeps the descriptions true in requests that do not offer every tool: none advises a tool that the model does not see.
// Descriptions that another middleware changed stay as they are.
func (m *Middleware) WrapModel(next agent.ModelFunc) agent.ModelFunc {
	return func(ctx context.Context, r agent.Request) (agent.Response, error) {
		r.Tools = m.adapt(r.Tools)
		return next(ctx, r)
	}
}

func (m *Middleware) adapt(offered []model.Tool) []model.Tool {
	visible := func(name string) bool {
		return slices.ContainsFunc(offered, func(t model.Tool) bool { return t.Name == name })
	}
	if !slices.ContainsFunc(m.tools, func(t tool.Tool) bool { return !visible(t.Spec().Name) }) {
		return offered
	}
	out := slices.Clone(offered)
	for i, o := range out {
		for _, t := range m.tools {
			if s := t.Spec(); s.Name == o.Name && s.Description == o.Description {
				out[i].Description = m.Description(o.Name, visible)
			}
		}
	}
	return out
}
