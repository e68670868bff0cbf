package textio_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/deepagents-go/deepagents/internal/textio"
)

// split is the plain definition of lines that Scan and ReadWindow must agree with.
func split(s string) []string {
	if s == "" {
		return nil
	}
	if !strings.Contains(s, "\n") {
		s = strings.ReplaceAll(s, "\r", "\n")
	}
	l := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	for i := range l {
		if i < len(l)-1 || strings.HasSuffix(s, "\n") {
			l[i] = strings.TrimSuffix(l[i], "\r")
		}
	}
	return l
}

func TestScanAndWindow(t *testing.T) {
	for _, s := range []string{
		"", "a", "a\n", "a\nb", "\n", "\n\n", "a\r\nb\r\n", "a\rb", "\r", "a\r\n\r\nb", "x\ry\nz\r\n", "\r\n", "é\n€\r\n𝄞",
		strings.Repeat("line\n", 5000), strings.Repeat("line\r\n", 3000) + "end", strings.Repeat("x", 200_000) + "\n" + strings.Repeat("y\n", 1500),
	} {
		check(t, s)
	}
}

func check(t *testing.T, s string) {
	t.Helper()
	lines := split(s)
	x, err := textio.Scan(t.Context(), iotest.HalfReader(strings.NewReader(s)), 0)
	if err != nil || x.Total != len(lines) {
		t.Fatalf("Scan of %.40q: %+v, %v, want %d lines", s, x, err, len(lines))
	}
	if want := strings.TrimSpace(s) == ""; x.Blank != want {
		t.Errorf("%.40q is blank: %v", s, x.Blank)
	}
	for _, skip := range []int{0, 1, len(lines) - 1, 1025, 2000} {
		if skip < 0 || skip >= len(lines) {
			continue
		}
		off, first := x.Seek(skip)
		w, err := textio.ReadWindow(t.Context(), strings.NewReader(s[off:]), x.Term, textio.Window{Skip: skip - first, Limit: 3})
		want := lines[skip:min(skip+3, len(lines))]
		if err != nil || string(w.Text) != strings.Join(want, "\n") || w.Lines != len(want) || w.EOF != (skip+3 >= len(lines)) {
			t.Errorf("window at %d of %.40q: %q, %+v, %v, want %q", skip, s, w.Text, w, err, want)
		}
	}
}

func TestScanEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := textio.Scan(ctx, strings.NewReader("a"), 0); !errors.Is(err, context.Canceled) {
		t.Errorf("Scan under an ended context: %v", err)
	}
	broken := errors.New("broken")
	if _, err := textio.Scan(t.Context(), io.MultiReader(strings.NewReader("a\n"), iotest.ErrReader(broken)), 0); !errors.Is(err, broken) {
		t.Errorf("Scan of a broken reader: %v", err)
	}
	if _, err := textio.ReadWindow(t.Context(), io.MultiReader(strings.NewReader("a\n"), iotest.ErrReader(broken)), '\n', textio.Window{Limit: 9}); !errors.Is(err, broken) {
		t.Errorf("ReadWindow of a broken reader: %v", err)
	}
}

// endless is a text of more than ScanSize bytes without holding it.
type endless struct{ line string }

func (e endless) Read(b []byte) (int, error) {
	n := 0
	for len(b)-n >= len(e.line) {
		n += copy(b[n:], e.line)
	}
	return n, nil
}

func TestScanIsCapped(t *testing.T) {
	x, err := textio.Scan(t.Context(), endless{"0123456789abcde\n"}, 10)
	if err != nil || x.Total != 0 || x.Term != '\n' {
		t.Errorf("Scan = %+v, %v", x.Total, err)
	}
	if off, line := x.Seek(1 << 30); line%1024 != 0 || off != int64(line)*16 {
		t.Errorf("the last known line is %d at %d", line, off)
	}
	x, err = textio.Scan(t.Context(), io.LimitReader(endless{"0123456789abcde\r"}, textio.ScanSize+64), 0)
	if err != nil || x.Term != '\r' || x.Total != 0 {
		t.Errorf("Scan of lone CRs = %+v, %v", x.Total, err)
	}
}

func TestDisplay(t *testing.T) {
	for in, want := range map[string]string{"a": "a", "a\xff\xfeb": "a\ufffd\ufffdb", "\xed\xa0\x80": "\ufffd\ufffd\ufffd", "é\xc3": "é\ufffd", "\ufffd": "\ufffd"} {
		got, invalid := textio.Display([]byte(in))
		if got != want || invalid != !utf8.ValidString(in) {
			t.Errorf("Display(%q) = %q, %v", in, got, invalid)
		}
	}
}

func TestMIME(t *testing.T) {
	for _, c := range []struct{ name, head, want string }{
		{"/a.PNG", "", "image/png"},
		{"/.png", "", "application/octet-stream"},
		{"/a.jpg", "\x89PNG\r\n\x1a\n", "image/png"},
		{"/a", "\xff\xd8\xff\xe0", "image/jpeg"},
		{"/a", "RIFF....WEBPVP8 ", "image/webp"},
		{"/a.mkv", "", "video/x-matroska"},
		{"/a", "\x00\x00\x00\x18ftypheic", "image/heic"},
		{"/a", "\x00\x00\x00\x18ftypisom", "video/mp4"},
		{"/a", "%PDF-1.7", "application/pdf"},
		{"/a.tar.gz", "\x1f\x8b", "application/gzip"},
		{"/a.bin", "??", "application/octet-stream"},
	} {
		if got := textio.MIME(c.name, []byte(c.head)); got != c.want {
			t.Errorf("MIME(%s, %q) = %s, want %s", c.name, c.head, got, c.want)
		}
	}
}

// FuzzWindow compares windows with the plain definition of lines, through small buffers.
func FuzzWindow(f *testing.F) {
	for _, s := range []string{"a\r\nb\rc", "\r\r\n\n", "é\xff\n", "x\r"} {
		f.Add(s, uint8(1), uint8(2), uint8(3))
	}
	f.Fuzz(func(t *testing.T, s string, skip, column, max uint8) {
		lines := split(s)
		check(t, s)
		if int(skip) >= len(lines) {
			return
		}
		x, err := textio.Scan(t.Context(), strings.NewReader(s), 0)
		if err != nil {
			t.Fatal(err)
		}
		w, err := textio.ReadWindow(t.Context(), iotest.OneByteReader(strings.NewReader(s)), x.Term, textio.Window{Skip: int(skip), Limit: 1, Column: int(column), MaxBytes: int(max)})
		if err != nil {
			t.Fatal(err)
		}
		want := lines[skip]
		shown, _ := textio.Display([]byte(want))
		all := []rune(shown)
		got, _ := textio.Display(w.Text)
		from := min(len(all), int(column)-min(1, int(column)))
		if rest := string(all[from:]); w.LineChars == 0 && got != rest || !strings.HasPrefix(rest, got) && utf8.ValidString(want) {
			t.Errorf("%q line %d column %d in %d bytes: %q of %q", s, skip, column, max, got, rest)
		}
		if w.LineChars != 0 && w.LineChars != len(all) {
			t.Errorf("%q line %d has %d characters, not %d", s, skip, len(all), w.LineChars)
		}
	})
}

// FuzzReplace checks that an edit of a file with LF only is a plain replacement, and that one of a CRLF file is that of the LF file.
func FuzzReplace(f *testing.F) {
	for _, s := range [][3]string{{"a\nb\nc", "b", "x\ny"}, {"aaa", "aa", "b"}, {"\n\n\n", "\n\n", "\n"}, {"a\r\nb", "a\nb", "q"}} {
		f.Add(s[0], s[1], s[2])
	}
	f.Fuzz(func(t *testing.T, s, old, new string) {
		textio.Closest([]byte(s), old)
		textio.WithoutNewline([]byte(s), old)
		if old == "" {
			return
		}
		raw := textio.Replace([]byte(s), old, new, true)
		if raw.Content == nil && raw.Count > 0 {
			t.Errorf("%d matches and no content", raw.Count)
		}
		if same := textio.Replace([]byte(s), old, old, true); same.Count > 0 && strings.Count(s, "\n") > 0 && !strings.Contains(old, "\r") && (!bytes.Equal(same.Content, []byte(s)) || same.Added+same.Removed > 0) {
			t.Errorf("replacing %q by itself in %q gives %q", old, s, same.Content)
		}
		if strings.ContainsAny(s+old+new, "\r") {
			return
		}
		if want := strings.ReplaceAll(s, old, new); raw.Count > 0 && string(raw.Content) != want || raw.Count != strings.Count(s, old) {
			t.Errorf("Replace(%q, %q, %q) = %q, want %q", s, old, new, raw.Content, want)
		}
		crlf := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }
		if got := textio.Replace([]byte(crlf(s)), old, new, true); strings.Contains(s, "\n") && (got.Count != raw.Count || got.Count > 0 && string(got.Content) != crlf(string(raw.Content))) {
			t.Errorf("Replace in CRLF (%q, %q, %q) = %q, want %q", s, old, new, got.Content, crlf(string(raw.Content)))
		}
	})
}
