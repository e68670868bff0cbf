package filesystem

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// page is a window of a text file that is about to be shown.
type page struct {
	// notice stands above the header; "" means none.
	notice string
	// body is the lines joined by LF.
	body string
	// start and end are the first and last line of body.
	start, end int
	// total is the number of lines of the file, 0 when it is not known.
	total int
	// more says that lines follow end.
	more bool
	// column is the first character shown of the first line, from 1.
	column int
	// lineChars is the full length of the last line when its end is missing in body, else 0.
	lineChars int
	// noFinal says that the last line has no newline in the file; invalid, that U+FFFD stands for bytes that were no UTF-8.
	noFinal, invalid bool
	// plain leaves out the header fields that Deep Agents does not have.
	plain bool
}

// header holds the fields of one header line; zero values are left out.
type header struct {
	start, end, total int
	next              int
	bySize, midLine   bool
	shown, chars      int
	column            int
	noFinal, invalid  bool
}

// String returns "@@ lines 1-2 of 2 @@". Callers put a LF after it.
func (h header) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "@@ lines %d-%d", h.start, h.end)
	if h.total > 0 {
		fmt.Fprintf(&b, " of %d", h.total)
	}
	if h.next > 0 {
		fmt.Fprintf(&b, " | next offset %d", h.next)
	}
	if h.bySize {
		b.WriteString(" | truncated due to size")
	}
	if h.midLine {
		fmt.Fprintf(&b, " | truncated mid-line | %d of %d chars", h.shown, h.chars)
	}
	if h.column > 0 {
		fmt.Fprintf(&b, " | next column %d", h.column)
	}
	if h.noFinal {
		b.WriteString(" | no final newline")
	}
	if h.invalid {
		b.WriteString(" | invalid utf-8 shown as U+FFFD")
	}
	b.WriteString(" @@")
	return b.String()
}

// render prints the page in at most limit characters (0: no limit). When it has to cut, explain stands above the header.
func (p page) render(limit int, explain string) string {
	h := header{start: p.start, end: p.end, total: p.total, noFinal: p.noFinal && !p.plain, invalid: p.invalid && !p.plain}
	if p.more {
		h.next = p.end
	}
	full := above(p.notice, h.String()) + p.body
	if limit <= 0 || p.lineChars == 0 && utf8.RuneCountInString(full) < limit {
		return full
	}
	top := above(p.notice, explain)
	if s, ok := p.wholeLines(limit, top); ok {
		return s
	}
	return p.cutLine(limit, top)
}

// above joins the parts that are not empty, each with a LF after it.
func above(parts ...string) string {
	var b strings.Builder
	for _, s := range parts {
		if s != "" {
			b.WriteString(s)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// minHeader is the length of the shortest header of a cut page.
const minHeader = len("@@ lines 1-1 | truncated due to size @@")

// wholeLines shows as many whole lines as fit.
func (p page) wholeLines(limit int, top string) (string, bool) {
	body, last := p.body, p.end
	if p.lineChars > 0 {
		i := strings.LastIndexByte(body, '\n')
		if i < 0 {
			return "", false
		}
		body, last = body[:i], last-1
	}
	used := utf8.RuneCountInString(top) + 1
	size := utf8.RuneCountInString(body)
	for ; ; last-- {
		if used+minHeader+size <= limit {
			h := header{start: p.start, end: last, total: p.total, bySize: true}
			if last < p.end || p.more {
				h.next = last
			}
			h.invalid = p.invalid && !p.plain && strings.ContainsRune(body, utf8.RuneError)
			// The header is ASCII: its bytes are its characters.
			if line := h.String(); used+len(line)+size <= limit {
				return top + line + "\n" + body, true
			}
		}
		i := strings.LastIndexByte(body, '\n')
		if i < 0 {
			return "", false
		}
		size -= utf8.RuneCountInString(body[i:])
		body = body[:i]
	}
}

// cutLine shows the beginning of the first line.
func (p page) cutLine(limit int, top string) string {
	line, _, found := strings.Cut(p.body, "\n")
	rest := utf8.RuneCountInString(line)
	h := header{start: p.start, end: p.start, total: p.total, midLine: true, chars: max(p.column, 1) - 1 + rest}
	if !found && p.lineChars > 0 {
		h.chars = p.lineChars
	}
	h.invalid = p.invalid && !p.plain && strings.ContainsRune(line, utf8.RuneError)
	h.shown = h.chars
	if !p.plain {
		h.column = h.chars + 1
	}
	fixed := utf8.RuneCountInString(top) + len(h.String()) + 1
	h.shown = max(0, min(rest, limit-fixed))
	if !p.plain {
		h.column = max(p.column, 1) + h.shown
	}
	return top + h.String() + "\n" + firstRunes(line, h.shown)
}

// firstRunes returns the first n characters.
func firstRunes(s string, n int) string {
	if n >= len(s) {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
