package filesystem

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/deepagents-go/deepagents/backend"
	"github.com/deepagents-go/deepagents/tool"
)

const (
	// maxEcho is how many characters of old_string an error repeats.
	maxEcho = 500

	newlineHint  = "Error: old_string ends with a newline, but the file does not end with a newline. Retry with the trailing newline removed from old_string (and from new_string if it also ends with a newline)."
	newlineHints = "Error: old_string ends with a newline, but the file does not end with a newline. With the trailing newline removed, old_string would appear %d times in the file. Retry with the trailing newline removed and add surrounding context so the match is unique."
	ambiguous    = "Error: String '%s' appears %d times in file. Use replace_all=True to replace all instances, or provide a more specific string with surrounding context."
	notFound     = "Error: String not found in file: '%s'"
)

func (m *Middleware) edit(ctx context.Context, args json.RawMessage) (tool.Result, error) {
	in, err := decode[editArgs](args)
	if err != nil {
		return tool.Result{}, err
	}
	path, err := m.clean(in.Path)
	if err != nil {
		return fail(ctx, editName, in.Path.s, err)
	}
	switch {
	case in.Old.fault != "":
		return failed(fmt.Sprintf("Error editing file '%s': old_string holds %s", path, in.Old.fault)), nil
	case in.New.fault != "":
		return failed(fmt.Sprintf("Error editing file '%s': new_string holds %s", path, in.New.fault)), nil
	}
	e := backend.Edit{Old: in.Old.s, New: in.New.s, All: in.All, IfVersion: m.seenVersion(ctx, path)}
	r, err := m.fs.Edit(ctx, path, e)
	if err != nil {
		return m.editFailed(ctx, path, err)
	}
	text := fmt.Sprintf("Successfully replaced %d instance(s) of the string in '%s'", r.Count, path)
	res := tool.Text(text)
	if e.IfVersion != "" {
		res = m.seenResult(path, r.Info, text)
	}
	res.Artifact = tool.Artifact{Files: []tool.FileChange{{Path: path, Op: "edit", Added: r.Added, Removed: r.Removed}}}
	return res, nil
}

func (m *Middleware) editFailed(ctx context.Context, path string, err error) (tool.Result, error) {
	var match *backend.MatchError
	var binary *backend.BinaryError
	switch {
	case errors.Is(err, backend.ErrEmptyOld):
		return failed("Error: " + backend.ErrEmptyOld.Error()), nil
	case errors.As(err, &match):
		return failed(matchText(match)), nil
	case errors.As(err, &binary):
		return failed(fmt.Sprintf("Error editing file '%s': the file is binary (%d bytes, %s)", path, binary.Size, binary.MIME)), nil
	}
	return fail(ctx, editName, path, err)
}

// matchText explains why an edit found no single place.
func matchText(e *backend.MatchError) string {
	switch {
	case e.Count > 1:
		return fmt.Sprintf(ambiguous, echo(e.Old), e.Count)
	case e.WithoutNewline == 1:
		return newlineHint
	case e.WithoutNewline > 1:
		return fmt.Sprintf(newlineHints, e.WithoutNewline)
	}
	s := fmt.Sprintf(notFound, echo(e.Old))
	if strings.HasPrefix(e.Old, "@@ lines ") {
		s += "\nThe header line of read_file is not part of the file; leave it out of old_string."
	}
	if e.Line > 0 {
		s += fmt.Sprintf("\nThe closest line is %d: '%s'.", e.Line, e.Text)
	}
	return s
}

// echo repeats a text, cut when it is long.
func echo(s string) string {
	if utf8.RuneCountInString(s) <= maxEcho {
		return s
	}
	return firstRunes(s, maxEcho) + "..."
}
