package filesystem

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/deepagents-go/deepagents/backend"
	"github.com/deepagents-go/deepagents/internal/textio"
	"github.com/deepagents-go/deepagents/tool"
)

// maxDiff is the size of the largest file that is compared to count its changed lines.
const maxDiff = 4 << 20

func (m *Middleware) write(ctx context.Context, args json.RawMessage) (tool.Result, error) {
	in, err := decode[writeArgs](args)
	if err != nil {
		return tool.Result{}, err
	}
	path, err := m.clean(in.Path)
	if err != nil {
		return fail(ctx, writeName, in.Path.s, err)
	}
	content, err := m.content(path, in.Content)
	if err != nil {
		return failed(fmt.Sprintf("Error writing file '%s': %s", path, err)), nil
	}
	change := m.compare(ctx, path, content)
	info, err := m.fs.Write(ctx, path, content, backend.WriteOptions{CreateOnly: m.o.CreateOnly})
	if err != nil {
		return fail(ctx, writeName, path, err)
	}
	res := m.seenResult(path, info, "Updated file "+path)
	res.Artifact = tool.Artifact{Files: []tool.FileChange{change}}
	return res, nil
}

// content returns the bytes to store.
func (m *Middleware) content(path string, arg text) ([]byte, error) {
	if arg.fault != "" {
		return nil, &argError{"the content holds " + arg.fault}
	}
	if kind, ext := m.mediaKind(path); kind != "" && ext != "svg" {
		return mediaContent(arg.s, ext)
	}
	return []byte(arg.s), nil
}

// compare says what a write is going to change. It looks before the write; what it cannot see counts as no line.
func (m *Middleware) compare(ctx context.Context, path string, content []byte) tool.FileChange {
	change := tool.FileChange{Path: path, Op: "create", Added: countLines(content)}
	if m.o.CreateOnly {
		return change
	}
	old, _, err := m.fs.ReadAll(ctx, path, maxDiff)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		change.Op = "edit"
	default:
		change.Op = "edit"
		change.Added, change.Removed = lineDiff(old, content)
	}
	return change
}

// countLines counts the lines of a text; what is no text has none.
func countLines(b []byte) int {
	if textio.Binary(b, len(b) <= textio.HeadSize) {
		return 0
	}
	n := bytes.Count(b, []byte{'\n'})
	if len(b) > 0 && b[len(b)-1] != '\n' {
		n++
	}
	return n
}

// lineDiff counts the lines between the common beginning and the common end of two texts.
func lineDiff(was, now []byte) (added, removed int) {
	a, b := bytes.SplitAfter(was, []byte{'\n'}), bytes.SplitAfter(now, []byte{'\n'})
	for len(a) > 0 && len(b) > 0 && bytes.Equal(a[0], b[0]) {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && bytes.Equal(a[len(a)-1], b[len(b)-1]) {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return countLines(bytes.Join(b, nil)), countLines(bytes.Join(a, nil))
}
