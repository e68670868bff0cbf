package filesystem

import (
	"context"
	"encoding/json"

	"github.com/deepagents-go/deepagents/policy"
	"github.com/deepagents-go/deepagents/tool"
)

// build makes the tools that the backend can serve.
func (m *Middleware) build() {
	for _, name := range Names() {
		if !m.served(name) {
			continue
		}
		t := m.tool(name)
		t.log = m.o.Logger
		t.spec.Name = name
		t.spec.Description = m.Description(name, m.served)
		t.spec.Input, t.spec.Output = inputSchema(name), outputSchema(name)
		m.tools = append(m.tools, t)
	}
}

func (m *Middleware) tool(name string) *fileTool {
	look := tool.Hints{ReadOnly: true, Idempotent: true}
	switch name {
	case lsName:
		return newTool("List directory", look, m.ls, subtree(policy.Read, func(in lsArgs) (string, error) { return m.clean(in.Path) }))
	case readName:
		return newTool("Read file", look, m.read, file(policy.Read, func(in readArgs) (string, error) { return m.clean(in.Path) }))
	case writeName:
		// A write that only creates cannot be repeated: the second one finds the file.
		hints := tool.Hints{Idempotent: !m.o.CreateOnly, Destructive: !m.o.CreateOnly}
		return newTool("Write file", hints, m.write, file(policy.Write, func(in writeArgs) (string, error) { return m.clean(in.Path) }))
	case editName:
		return newTool("Edit file", tool.Hints{Destructive: true}, m.edit, file(policy.Write, func(in editArgs) (string, error) { return m.clean(in.Path) }))
	case deleteName:
		hints := tool.Hints{Destructive: true}
		return newTool("Delete", hints, m.delete, subtree(policy.Write, func(in deleteArgs) (string, error) { return m.clean(in.Path) }))
	case globName:
		return newTool("Find files", look, m.glob, subtree(policy.Read, func(in globArgs) (string, error) { return m.root(in.Path) }))
	case grepName:
		return newTool("Search in files", look, m.grep, subtree(policy.Read, func(in grepArgs) (string, error) { return m.root(in.Path) }))
	}
	hints := tool.Hints{Destructive: true, OpenWorld: true}
	return newTool("Run command", hints, m.execute, func(in executeArgs) (policy.Action, error) {
		return policy.Action{Kind: policy.Execute, Command: in.Command.s}, nil
	})
}

func newTool[A any](title string, hints tool.Hints, call func(context.Context, json.RawMessage) (tool.Result, error), action func(A) (policy.Action, error)) *fileTool {
	return &fileTool{
		spec: tool.Spec{Title: title, Hints: hints},
		call: call,
		actions: func(args json.RawMessage) ([]policy.Action, error) {
			in, err := decode[A](args)
			if err != nil {
				return nil, err
			}
			a, err := action(in)
			if err != nil {
				return nil, err
			}
			return []policy.Action{a}, nil
		},
	}
}

// file is the action of a tool on one path, subtree that of a tool on a path and everything below it.
func file[A any](k policy.Kind, path func(A) (string, error)) func(A) (policy.Action, error) {
	return func(in A) (policy.Action, error) {
		p, err := path(in)
		return policy.Action{Kind: k, Path: p}, err
	}
}

func subtree[A any](k policy.Kind, path func(A) (string, error)) func(A) (policy.Action, error) {
	return func(in A) (policy.Action, error) {
		p, err := path(in)
		return policy.Action{Kind: k, Path: p, Subtree: true}, err
	}
}
