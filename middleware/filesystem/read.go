package filesystem

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/deepagents-go/deepagents/backend"
	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/tool"
)

const (
	// defaultLines is how many lines read_file shows when a call does not say.
	defaultLines = 100
	// maxLines keeps a limit that makes no sense from overflowing sums.
	maxLines = 1 << 30
	// maxPage is the number of characters that a page has at most, whatever ReadLimit says.
	maxPage = 1 << 28

	emptyFile = "System reminder: File exists but has empty contents"
	noLines   = "System reminder: no lines were read because `limit` was %d. The file was not inspected and may have contents; retry with `limit` >= 1 to read it."
	clamped   = "[Requested offset %d is before the start of the file; read from line 1 instead.]"

	cutBySize        = "[Output was truncated due to size limits. Go on at the position that the header below names, or find the part you need with grep.%s]"
	cutBySizeExecute = " A file of very long lines can be reformatted first, for example JSON with `jq .` through execute."
	cutBySizeNoGrep  = "[Output was truncated due to size limits. Go on at the position that the header below names.%s]"
)

func (m *Middleware) read(ctx context.Context, args json.RawMessage) (tool.Result, error) {
	in, err := decode[readArgs](args)
	if err != nil {
		return tool.Result{}, err
	}
	path, err := m.clean(in.Path)
	if err != nil {
		return fail(ctx, readName, in.Path.s, err)
	}
	if kind, ext := m.mediaKind(path); kind != "" {
		return m.readMedia(ctx, path, ext, in)
	}
	return m.readText(ctx, path, in)
}

func (in readArgs) lines() int {
	if in.Limit == nil {
		return defaultLines
	}
	return min(*in.Limit, maxLines)
}

func (m *Middleware) readText(ctx context.Context, path string, in readArgs) (tool.Result, error) {
	w := backend.Window{Offset: in.Offset, Limit: in.lines(), Column: max(in.Column, 1)}
	if m.o.ReadLimit > 0 {
		w.MaxBytes = 4 * min(m.o.ReadLimit, maxPage) // a character has at most four bytes
	}
	l, err := m.fs.Read(ctx, path, w)
	var binary *backend.BinaryError
	var beyond *backend.RangeError
	switch {
	case errors.As(err, &binary):
		return m.readBinary(ctx, path, binary)
	case errors.As(err, &beyond):
		return failed("Error: " + beyond.Error()), nil
	case err != nil:
		return fail(ctx, readName, path, err)
	case l.Blank:
		return m.seenResult(path, l.Info, m.blank(path, in)), nil
	case w.Limit <= 0:
		return tool.Text(fmt.Sprintf(noLines, *in.Limit)), nil
	}
	if first, _, _ := strings.Cut(l.Text, "\n"); first == "" && w.Column > 1 {
		return failed(fmt.Sprintf("Error: Column %d is past the end of line %d", w.Column, l.Start)), nil
	}
	p := page{
		body: l.Text, start: l.Start, end: l.End, total: l.Total, more: l.More, column: w.Column, lineChars: l.LineChars,
		noFinal: l.NoFinalNewline, invalid: l.Invalid, plain: m.compat(),
	}
	if in.Offset < 0 {
		p.notice = fmt.Sprintf(clamped, in.Offset)
	}
	return m.seenResult(path, l.Info, p.render(m.o.ReadLimit, m.cutNotice())), nil
}

// cutNotice explains a cut and names only tools that the model has.
func (m *Middleware) cutNotice() string {
	format, more := cutBySize, ""
	if !m.served(grepName) {
		format = cutBySizeNoGrep
	}
	if m.served(executeName) {
		more = cutBySizeExecute
	}
	return fmt.Sprintf(format, more)
}

// blank is the reminder for a file without text. The older form shows it under a header when the file lies in a directory tree.
func (m *Middleware) blank(path string, in readArgs) string {
	if !m.compat() || !m.inTree(path) {
		return emptyFile
	}
	line := max(in.Offset, 0) + 1
	return above(header{start: line, end: line}.String()) + emptyFile
}

// inTree reports whether a path lies in a real directory tree and not in a store of keys.
func (m *Middleware) inTree(path string) bool {
	_, _, _, ok := driver.As[driver.Tree](m.fs.Driver(), path)
	return ok
}

// readBinary answers for a file that is no text and whose name does not say what it is.
func (m *Middleware) readBinary(ctx context.Context, path string, e *backend.BinaryError) (tool.Result, error) {
	if !m.o.BinaryAsBlock {
		return failed("Error: " + e.Error()), nil
	}
	b, info, err := m.fs.ReadAll(ctx, path, maxMedia)
	if errors.Is(err, driver.ErrTooLarge) {
		return failed(tooLargeMedia(info.Size)), nil
	}
	if err != nil {
		return fail(ctx, readName, path, err)
	}
	return mediaResult(path, message.File, e.MIME, b), nil
}
