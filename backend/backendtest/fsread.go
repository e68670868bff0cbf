package backendtest

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/deepagents-go/deepagents/backend"
)

func (e *env) fsRead() {
	f := e.fs(backend.Options{})
	type want struct {
		text              string
		start, end, total int
		more, blank, noNL bool
		invalid           bool
		chars             int
	}
	numbered := func(from, to int) string {
		var l []string
		for i := from; i <= to; i++ {
			l = append(l, fmt.Sprint("line ", i))
		}
		return strings.Join(l, "\n")
	}
	for _, c := range []struct {
		name, content string
		w             backend.Window
		want          want
	}{
		{"whole", "one\ntwo\nthree\n", backend.Window{Limit: 100}, want{text: "one\ntwo\nthree", start: 1, end: 3, total: 3}},
		{"middle", "one\ntwo\nthree\n", backend.Window{Offset: 1, Limit: 1}, want{text: "two", start: 2, end: 2, total: 3, more: true}},
		{"last", "one\ntwo\nthree\n", backend.Window{Offset: 2, Limit: 9}, want{text: "three", start: 3, end: 3, total: 3}},
		{"negative offset", "one\ntwo\n", backend.Window{Offset: -7, Limit: 1}, want{text: "one", start: 1, end: 1, total: 2, more: true}},
		{"limit 0", "one\n", backend.Window{Offset: 99}, want{total: 1, more: true}},
		{"limit -5", "one\n", backend.Window{Limit: -5}, want{total: 1, more: true}},
		{"empty", "", backend.Window{Offset: 5, Limit: 9}, want{blank: true}},
		{"blank", " \n\t\n\u00a0", backend.Window{}, want{blank: true, total: 3}},
		{"blank line", "a\n\nb\n", backend.Window{Offset: 1, Limit: 1}, want{start: 2, end: 2, total: 3, more: true}},
		{"two blank lines", "\n\na", backend.Window{Limit: 2}, want{text: "\n", start: 1, end: 2, total: 3, more: true}},
		{"blank end", "a\n\n", backend.Window{Limit: 9}, want{text: "a\n", start: 1, end: 2, total: 2}},
		{"no newline", "a", backend.Window{Limit: 9}, want{text: "a", start: 1, end: 1, total: 1, noNL: true}},
		{"no newline, not reached", "a\nb", backend.Window{Limit: 1}, want{text: "a", start: 1, end: 1, total: 2, more: true}},
		{"crlf and a lone cr", "a\r\nb\rc", backend.Window{Limit: 9}, want{text: "a\nb\rc", start: 1, end: 2, total: 2, noNL: true}},
		{"cr only", "a\rb\rc", backend.Window{Offset: 1, Limit: 1}, want{text: "b", start: 2, end: 2, total: 3, more: true}},
		{"cr only, ended", "a\rb\r", backend.Window{Limit: 9}, want{text: "a\nb", start: 1, end: 2, total: 2}},
		{"bom", "\xef\xbb\xbfhi\n", backend.Window{Limit: 9}, want{text: "\ufeffhi", start: 1, end: 1, total: 1}},
		{"odd separators", "a\fb\nc\u2028d\u0085\ne\x0bf", backend.Window{Limit: 9}, want{text: "a\fb\nc\u2028d\u0085\ne\x0bf", start: 1, end: 3, total: 3, noNL: true}},
		{"bad utf-8", strings.Repeat("x", 40) + "\xff\n", backend.Window{Limit: 9}, want{text: strings.Repeat("x", 40) + "\ufffd", start: 1, end: 1, total: 1, invalid: true}},
		{"column", "héllo\nworld\n", backend.Window{Limit: 2, Column: 3}, want{text: "llo\nworld", start: 1, end: 2, total: 2}},
		{"column past the line", "ab\ncd\n", backend.Window{Limit: 1, Column: 9}, want{start: 1, end: 1, total: 2, more: true}},
		{"budget stops after the line", "aaaa\nbbbb\ncccc\n", backend.Window{Limit: 9, MaxBytes: 6}, want{text: "aaaa\nbbbb", start: 1, end: 2, total: 3, more: true}},
		{"budget cuts a long line", "aaaaaaaaaa\nb\n", backend.Window{Limit: 9, MaxBytes: 4}, want{text: "aaaa", start: 1, end: 1, total: 2, more: true, chars: 10}},
		{"budget cuts between runes", "éééé", backend.Window{Limit: 9, MaxBytes: 5}, want{text: "éé", start: 1, end: 1, total: 1, chars: 4}},
		{"budget and column", "0123456789\r\n", backend.Window{Limit: 9, Column: 5, MaxBytes: 3}, want{text: "456", start: 1, end: 1, total: 1, chars: 10}},
		{"many", numbered(1, 5000) + "\n", backend.Window{Offset: 4000, Limit: 3}, want{text: numbered(4001, 4003), start: 4001, end: 4003, total: 5000, more: true}},
	} {
		e.put("/read", c.content)
		l, err := f.Read(e.ctx, "/read", c.w)
		if err != nil {
			e.Errorf("%s: %v", c.name, err)
			continue
		}
		got := want{l.Text, l.Start, l.End, l.Total, l.More, l.Blank, l.NoFinalNewline, l.Invalid, l.LineChars}
		if got != c.want {
			e.Errorf("%s:\n got %+v\nwant %+v", c.name, got, c.want)
		}
	}
	for _, offset := range []int{3, 4, 1000} {
		e.put("/read", "one\ntwo\nthree\n")
		_, err := f.Read(e.ctx, "/read", backend.Window{Offset: offset, Limit: 1})
		var r *backend.RangeError
		if !errors.As(err, &r) || *r != (backend.RangeError{Offset: offset, Total: 3}) {
			e.Errorf("offset %d: %v", offset, err)
		}
	}
}

// fsPaging follows the hints of a read through whole files (A17).
func (e *env) fsPaging() {
	f := e.fs(backend.Options{})
	for name, content := range map[string]string{
		"long":     "one\n" + strings.Repeat("z\n", 12_000) + "KEY\nfour\n",
		"wide":     strings.Repeat(strings.Repeat("w", 399)+"\n", 500),
		"one-line": strings.Repeat("é0123456789", 40_000),
		"odd":      "a\fb\nc\u2028d\ne\rf\n\u0085\n\n\nlast",
		"crlf":     strings.Repeat("line\r\n", 3000),
		"cr":       strings.Repeat("line\r", 3000) + "end",
	} {
		e.put("/p/"+name, content)
		want := strings.ReplaceAll(content, "\r\n", "\n")
		if !strings.Contains(content, "\n") {
			want = strings.ReplaceAll(content, "\r", "\n")
		}
		for _, limit := range []int{997, 3000} {
			if got := page(e, f, "/p/"+name, limit); got != want {
				e.Errorf("%s by %d lines: %s, want %s", name, limit, short(got), short(want))
			}
		}
	}
}

// page joins all windows of a file.
func page(e *env, f *backend.FS, path string, limit int) string {
	const budget = 10_000
	var sb strings.Builder
	offset, column := 0, 1
	for range 1000 {
		l, err := f.Read(e.ctx, path, backend.Window{Offset: offset, Limit: limit, Column: column, MaxBytes: budget})
		if err != nil {
			e.Errorf("%s at %d, column %d: %v", path, offset, column, err)
			return sb.String()
		}
		if len(l.Text) > 2*budget+1 {
			e.Errorf("%s: a window of %d bytes", path, len(l.Text))
		}
		sb.WriteString(l.Text)
		if l.LineChars > 0 {
			last := l.Text[strings.LastIndexByte(l.Text, '\n')+1:]
			if l.End > offset+1 {
				column = 1
			}
			offset, column = l.End-1, column+utf8.RuneCountInString(last)
			continue
		}
		if !l.NoFinalNewline {
			sb.WriteByte('\n')
		}
		if !l.More {
			return sb.String()
		}
		offset, column = l.End, 1
	}
	e.Errorf("%s: paging does not end", path)
	return sb.String()
}

// fsLongLines reads around the sizes at which buffers end.
func (e *env) fsLongLines() {
	f := e.fs(backend.Options{})
	for _, size := range []int{8 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10} {
		for d := -2; d <= 2; d++ {
			line := strings.Repeat("x", size+d) + "€"
			e.put("/l", line+"\r\nnext\n")
			l, err := f.Read(e.ctx, "/l", backend.Window{Limit: 2})
			if err != nil || l.Text != line+"\nnext" || l.Total != 2 {
				e.Errorf("a line of %d bytes: %v, %d bytes, %d lines", size+d+3, err, len(l.Text), l.Total)
			}
			l, err = f.Read(e.ctx, "/l", backend.Window{Limit: 2, MaxBytes: 10, Column: size + d})
			if err != nil || l.Text != "x€\nnext" && l.Text != "x€" {
				e.Errorf("the end of a line of %d bytes: %q, %v", size+d+3, l.Text, err)
			}
		}
	}
}

func (e *env) fsBinary() {
	f := e.fs(backend.Options{})
	long := strings.Repeat("text ", 2000)
	for name, c := range map[string]struct {
		content string
		binary  bool
		mime    string
	}{
		"/nul.bin":       {"a\x00b\n", true, "application/octet-stream"},
		"/bom16.txt":     {"\xff\xfea\x00", true, "application/octet-stream"},
		"/p.dat":         {"\x89PNG\r\n\x1a\n\x00\x00", true, "image/png"},
		"/named.pdf":     {"\x00\x01", true, "application/pdf"},
		"/latin":         {"a\xe9\xe8", true, "application/octet-stream"},
		"/some":          {strings.Repeat("word ", 20) + "\xe9", false, ""},
		"/late":          {long + "\x00", false, ""},
		"/Dockerfile":    {"FROM scratch\n", false, ""},
		"/a.unknownext":  {"text\n", false, ""},
		"/edge":          {strings.Repeat("a", 8191) + "€" + strings.Repeat("b", 100), false, ""},
		"/control":       {"\x1b[31mred\x1b[0m\a\b\n", false, ""},
		"/all-bad-short": {"\xff", true, "application/octet-stream"},
	} {
		e.put(name, c.content)
		_, err := f.Read(e.ctx, name, backend.Window{Limit: 10})
		var b *backend.BinaryError
		if is := errors.As(err, &b); is != c.binary || err != nil && !is {
			e.Errorf("Read(%s): %v", name, err)
			continue
		}
		if c.binary && (b.MIME != c.mime || b.Size != int64(len(c.content)) || b.Path != name) {
			e.Errorf("Read(%s): %+v", name, b)
		}
	}
}
