package textio

import (
	"bytes"
	"sort"
	"strings"
)

// text is the content of a file with every line end as LF, and the way back to the bytes.
type text struct {
	raw, norm []byte
	// crlf holds the positions in norm of the LFs that are CRLF in raw, in order.
	crlf []int
	// cr says that the text has no LF and lone CRs end its lines.
	cr bool
}

func parse(b []byte) *text {
	t := &text{raw: b, norm: b}
	if bytes.IndexByte(b, '\r') < 0 {
		return t
	}
	if bytes.IndexByte(b[:min(len(b), ScanSize)], '\n') < 0 {
		t.cr = true
		t.norm = bytes.ReplaceAll(b, []byte{'\r'}, []byte{'\n'})
		return t
	}
	t.norm = make([]byte, 0, len(b))
	for rest := b; ; {
		i := bytes.Index(rest, []byte("\r\n"))
		if i < 0 {
			t.norm = append(t.norm, rest...)
			return t
		}
		t.norm = append(t.norm, rest[:i]...)
		t.crlf = append(t.crlf, len(t.norm))
		t.norm = append(t.norm, '\n')
		rest = rest[i+2:]
	}
}

// fold brings a text of the model to the form of norm.
func (t *text) fold(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	if t.cr {
		s = strings.ReplaceAll(s, "\r", "\n")
	}
	return s
}

// pos is the position in raw of a position in norm.
func (t *text) pos(i int) int { return i + sort.SearchInts(t.crlf, i) }

// ending is the line end in raw of the LF at a position in norm.
func (t *text) ending(i int) string {
	if t.cr {
		return "\r"
	}
	if k := sort.SearchInts(t.crlf, i); k < len(t.crlf) && t.crlf[k] == i {
		return "\r\n"
	}
	return "\n"
}

// find returns the starts in norm of all occurrences, from left to right without overlaps.
func (t *text) find(old string) []int {
	var at []int
	pat := []byte(old)
	for off := 0; ; {
		i := bytes.Index(t.norm[off:], pat)
		if i < 0 {
			return at
		}
		at = append(at, off+i)
		off += i + len(pat)
	}
}

// Replaced is the outcome of [Replace].
type Replaced struct {
	// Content is the new content, nil when Count forbids the replacement.
	Content []byte
	// Count is how often the old text occurs.
	Count int
	// Added and Removed count lines.
	Added, Removed int
}

// Replace replaces an exact text. A line end in old matches any line end; one in new becomes what the text uses in that place; all
// other bytes stay as they are. Without all, old must occur once.
func Replace(b []byte, old, new string, all bool) Replaced {
	t := parse(b)
	fold := t.fold(old)
	at := t.find(fold)
	r := Replaced{Count: len(at)}
	if len(at) == 0 || len(at) > 1 && !all {
		return r
	}
	repl := t.fold(new)
	out := make([]byte, 0, len(b)+len(at)*max(0, len(repl)-len(fold)))
	last := 0
	for _, s := range at {
		e := s + len(fold)
		out = append(out, b[last:t.pos(s)]...)
		out = t.insert(out, s, e, new, repl)
		last = t.pos(e)
	}
	r.Content = append(out, b[last:]...)
	r.Added, r.Removed = t.lines(at, len(fold), repl)
	return r
}

// insert appends the replacement of norm[s:e]. Its n-th line end is that of the n-th line end it replaces, further ones are that of
// the last one, and with none in the replaced text that of the line it stands in.
func (t *text) insert(out []byte, s, e int, typed, repl string) []byte {
	end, found := t.nearby(s, e)
	if !found {
		return append(out, typed...) // a text without any line end sets no example
	}
	at := s
	for {
		head, tail, more := strings.Cut(repl, "\n")
		out = append(out, head...)
		if !more {
			return out
		}
		if i := bytes.IndexByte(t.norm[at:e], '\n'); i >= 0 {
			end = t.ending(at + i)
			at += i + 1
		}
		out = append(out, end...)
		repl = tail
	}
}

// nearby is the line end of the line that holds norm[s:e], else of the line before.
func (t *text) nearby(s, e int) (string, bool) {
	if i := bytes.IndexByte(t.norm[s:e], '\n'); i >= 0 {
		return t.ending(s + i), true
	}
	if i := bytes.IndexByte(t.norm[e:], '\n'); i >= 0 {
		return t.ending(e + i), true
	}
	if i := bytes.LastIndexByte(t.norm[:s], '\n'); i >= 0 {
		return t.ending(i), true
	}
	return "", false
}

// lines counts the lines that differ, as a line diff of each touched stretch would.
func (t *text) lines(at []int, n int, repl string) (added, removed int) {
	for i := 0; i < len(at); {
		start := bytes.LastIndexByte(t.norm[:at[i]], '\n') + 1
		var was, now []byte
		pos := start
		end := pos
		for i < len(at) && (end == start && pos == start && len(was) == 0 || at[i] < end) {
			now = append(now, t.norm[pos:at[i]]...)
			now = append(now, repl...)
			pos = at[i] + n
			end = len(t.norm)
			if k := bytes.IndexByte(t.norm[pos:], '\n'); pos > start && t.norm[pos-1] == '\n' && strings.HasSuffix(repl, "\n") {
				end = pos
			} else if k >= 0 {
				end = pos + k + 1
			}
			was = t.norm[start:end]
			i++
		}
		now = append(now, t.norm[pos:end]...)
		a, r := diffLines(was, now)
		added, removed = added+a, removed+r
	}
	return added, removed
}

// diffLines counts the lines between the common first and the common last ones.
func diffLines(was, now []byte) (added, removed int) {
	w, n := splitLines(was), splitLines(now)
	for len(w) > 0 && len(n) > 0 && bytes.Equal(w[0], n[0]) {
		w, n = w[1:], n[1:]
	}
	for len(w) > 0 && len(n) > 0 && bytes.Equal(w[len(w)-1], n[len(n)-1]) {
		w, n = w[:len(w)-1], n[:len(n)-1]
	}
	return len(n), len(w)
}

func splitLines(b []byte) [][]byte {
	l := bytes.SplitAfter(b, []byte{'\n'})
	if len(l[len(l)-1]) == 0 {
		l = l[:len(l)-1]
	}
	return l
}

// WithoutNewline tells how often old occurs without its final newline, when the text ends with exactly that and no newline; else 0.
func WithoutNewline(b []byte, old string) int {
	t := parse(b)
	short, ok := strings.CutSuffix(t.fold(old), "\n")
	if !ok || short == "" || !bytes.HasSuffix(t.norm, []byte(short)) {
		return 0
	}
	return len(t.find(short))
}
