package filesystem

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/deepagents-go/deepagents/backend"
	"github.com/deepagents-go/deepagents/tool"
)

func (m *Middleware) delete(ctx context.Context, args json.RawMessage) (tool.Result, error) {
	in, err := decode[deleteArgs](args)
	if err != nil {
		return tool.Result{}, err
	}
	path, err := m.clean(in.Path)
	if err != nil {
		return fail(ctx, deleteName, in.Path.s, err)
	}
	if err := m.fs.Delete(ctx, path); err != nil {
		return m.deleteFailed(ctx, path, err)
	}
	res := tool.Text("Deleted " + path)
	res.Artifact = tool.Artifact{Files: []tool.FileChange{{Path: path, Op: "delete"}}}
	return res, nil
}

func (m *Middleware) deleteFailed(ctx context.Context, path string, err error) (tool.Result, error) {
	var refused *backend.RefusedError
	switch {
	case errors.As(err, &refused):
		return failed("Error: " + refused.Error() + ". Delete what lies below it instead."), nil
	case errors.Is(err, fs.ErrNotExist) && !m.inTree(path):
		return failed(fmt.Sprintf("Error: File '%s' not found", path)), nil
	}
	return fail(ctx, deleteName, path, err)
}
