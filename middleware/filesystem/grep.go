package filesystem

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/deepagents-go/deepagents/backend"
	"github.com/deepagents-go/deepagents/tool"
)

const (
	noMatches = "No matches found"

	modeFiles   = "files_with_matches"
	modeContent = "content"
	modeCount   = "count"

	grepCut   = "Note: the search stopped early (it hit its time limit or the maximum match count). The matches above are valid, but there may be more: use a narrower path or glob, or a higher max_count."
	regexHint = "Note: grep matches literal text, not regex, so characters such as | and .* are looked for as they stand. Run one search for each alternative."
	leftOut   = "Note: not searched: %d hidden, %d ignored, %d binary, %d unreadable (a skipped directory counts as one)."
	holes     = "Note: %d files or directories could not be read and were not searched."
)

func (m *Middleware) grep(ctx context.Context, args json.RawMessage) (tool.Result, error) {
	in, err := decode[grepArgs](args)
	if err != nil {
		return tool.Result{}, err
	}
	path, err := m.root(in.Path)
	if err != nil {
		return fail(ctx, grepName, in.Path.s, err)
	}
	q := backend.GrepQuery{Text: in.Pattern.s, Path: path, Max: max(m.o.GrepMaxCount, 0), Hidden: m.o.GrepHidden, NoIgnore: m.o.GrepNoIgnore}
	fault := in.Pattern.fault
	if in.Glob != nil {
		q.Glob = in.Glob.s
		fault += in.Glob.fault
	}
	if fault != "" {
		return failed("Error: the pattern holds " + fault), nil
	}
	if in.Max != nil {
		q.Max = *in.Max
	}
	if q.Max < 0 || in.Max != nil && q.Max == 0 {
		return failed(fmt.Sprintf("Error: max_count must be positive, got %d", q.Max)), nil
	}
	r, err := within(ctx, m.o.GrepTimeout, func() {}, func(ctx context.Context) (backend.GrepResult, error) {
		return m.fs.Grep(ctx, q)
	})
	switch {
	case errors.Is(err, fs.ErrNotExist) && m.compat():
		return tool.Text(noMatches), nil
	case errors.Is(err, errDeadline):
		return failed(fmt.Sprintf("Error: grep timed out after %ss. Try a more specific pattern or a narrower path.", seconds(m.o.GrepTimeout))), nil
	case err != nil:
		res, ferr := fail(ctx, grepName, path, err)
		if ferr == nil && len(r.Matches) > 0 {
			res = failed(errorText(grepName, path, err) + "\n\nPartial matches:\n" + matchBody(r.Matches, in.Mode))
		}
		return res, ferr
	}
	if m.compat() && len(r.Failed) > 0 {
		return failed(reasonOf(r.Failed[0].Err)), nil
	}
	return tool.Text(grepText(r, in.Mode, in.Pattern.s, m.compat())), nil
}

// grepText prints the matches, cut to the cap, and the notes.
func grepText(r backend.GrepResult, mode, pattern string, compat bool) string {
	out := noMatches
	if len(r.Matches) > 0 {
		out = matchBody(r.Matches, mode)
	}
	none := len(r.Matches) == 0
	skipped := r.Hidden + r.Ignored + r.Binary + r.Unreadable
	switch {
	case r.Truncated:
		out += "\n\n" + grepCut
	case none && looksLikeRegex(pattern):
		out += "\n\n" + regexHint
	}
	switch {
	case compat:
	case none && skipped > 0:
		out += "\n\n" + fmt.Sprintf(leftOut, r.Hidden, r.Ignored, r.Binary, r.Unreadable)
	case r.Unreadable > 0:
		out += "\n\n" + fmt.Sprintf(holes, r.Unreadable)
	}
	return out + failedRoutes(r.Failed)
}

// matchBody prints matches, which are sorted by path and line, in an output mode.
func matchBody(ms []backend.Match, mode string) string {
	var b strings.Builder
	for i := 0; i < len(ms); {
		j := i
		for j < len(ms) && ms[j].Path == ms[i].Path {
			j++
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(ms[i].Path)
		switch mode {
		case modeContent:
			b.WriteByte(':')
			for _, m := range ms[i:j] {
				fmt.Fprintf(&b, "\n  %d: %s", m.Line, m.Text)
			}
		case modeCount:
			fmt.Fprintf(&b, ": %d", j-i)
		}
		i = j
	}
	return capText(b.String())
}

// capText cuts a text to [resultCap] characters and says so.
func capText(s string) string {
	if len(s) <= resultCap || utf8.RuneCountInString(s) <= resultCap {
		return s
	}
	return firstRunes(s, resultCap) + "\n" + truncatedItem
}

// looksLikeRegex reports whether a pattern was probably meant as a regular expression.
func looksLikeRegex(p string) bool {
	if strings.Contains(p, "|") || strings.Contains(p, ".*") || strings.Contains(p, ".+") {
		return true
	}
	for i := range len(p) - 1 {
		if p[i] == '\\' && strings.IndexByte(`.wWdDsSbB(){}[]|+*?^$`, p[i+1]) >= 0 {
			return true
		}
	}
	return false
}
