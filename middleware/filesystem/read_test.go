package filesystem_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/deepagents-go/deepagents/middleware/filesystem"
)

func numbered(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

func bodyOf(from, to int) string {
	var lines []string
	for i := from; i <= to; i++ {
		lines = append(lines, fmt.Sprintf("line %d", i))
	}
	return strings.Join(lines, "\n")
}

func noLines(n int) string {
	return fmt.Sprintf("System reminder: no lines were read because `limit` was %d. The file was not inspected and may have contents; retry with `limit` >= 1 to read it.", n)
}

func clamp(n int) string {
	return fmt.Sprintf("[Requested offset %d is before the start of the file; read from line 1 instead.]\n", n)
}

// file-tools.md 5.3
func TestReadWindows(t *testing.T) {
	read := func(name, content, more, want string) row {
		if more != "" {
			more = "," + more
		}
		return row{name: name, files: map[string]string{"f": content}, tool: "read_file", args: `{"file_path":"/f"` + more + `}`, want: want}
	}
	on := func(k []kind, o filesystem.Options, r row) row { r.kinds, r.o = k, o; return r }
	three, n250 := "one\ntwo\nthree\n", numbered(250)
	runRows(t, []row{
		read("verbatim", "import { x } from \"./x\"\nexport const y = x\n", "", "@@ lines 1-2 of 2 @@\nimport { x } from \"./x\"\nexport const y = x"),
		read("defaults", n250, "", "@@ lines 1-100 of 250 | next offset 100 @@\n"+bodyOf(1, 100)),
		read("page", n250, `"offset":100,"limit":5`, "@@ lines 101-105 of 250 | next offset 105 @@\n"+bodyOf(101, 105)),
		read("last page", n250, `"offset":245,"limit":100`, "@@ lines 246-250 of 250 @@\n"+bodyOf(246, 250)),
		read("one line", three, `"offset":1,"limit":1`, "@@ lines 2-2 of 3 | next offset 2 @@\ntwo"),
		read("numbers as text", three, `"offset":"1","limit":1.0`, "@@ lines 2-2 of 3 | next offset 2 @@\ntwo"),
		read("last line", three, `"offset":2`, "@@ lines 3-3 of 3 @@\nthree"),
		read("past the end", three, `"offset":3`, "[err] Error: Line offset 3 exceeds file length (3 lines)"),
		read("far past the end", three, `"offset":1000000000000`, "[err] Error: Line offset 1000000000000 exceeds file length (3 lines)"),
		read("huge limit", three, `"limit":9000000000000000`, all3),
		read("clamp", three, `"offset":-1`, clamp(-1)+all3),
		read("clamp and limit", three, `"offset":-7,"limit":1`, clamp(-7)+"@@ lines 1-1 of 3 | next offset 1 @@\none"),
		read("limit 0", three, `"limit":0`, noLines(0)),
		read("limit -5", three, `"limit":-5`, noLines(-5)),
		read("limit 0 past the end", three, `"offset":99,"limit":0`, noLines(0)),
		read("limit 0, clamp", three, `"offset":-3,"limit":0`, noLines(0)),
		read("null limit", three, `"limit":null`, all3),
		read("empty", "", "", empty),
		read("empty, offset", "", `"offset":5`, empty),
		read("empty, limit 0", "", `"limit":0`, empty),
		read("blank", " \n\t\n", "", empty),
		read("blank, limit 0", " \n", `"limit":0`, empty),
		on(diskOnly, compat, read("empty, older form", "", "", "@@ lines 1-1 @@\n"+empty)),
		on(diskOnly, compat, read("empty at 5, older form", "", `"offset":5`, "@@ lines 6-6 @@\n"+empty)),
		on(stateOnly, compat, read("empty, older form of state", "", "", empty)),
		read("blank row", "a\n\nb\n", `"offset":1,"limit":1`, "@@ lines 2-2 of 3 | next offset 2 @@\n"),
		read("blank rows", "\n\na\n", `"limit":2`, "@@ lines 1-2 of 3 | next offset 2 @@\n\n"),
		read("last row blank", "a\n\n", "", "@@ lines 1-2 of 2 @@\na\n"),
		read("no final newline", "a", "", "@@ lines 1-1 of 1 | no final newline @@\na"),
		read("no final newline, window before the end", "a\nb", `"limit":1`, "@@ lines 1-1 of 2 | next offset 1 @@\na"),
		on(nil, compat, read("no final newline, older form", "a", "", "@@ lines 1-1 of 1 @@\na")),
		read("CRLF", "a\r\nb\r\nc\r\n", "", "@@ lines 1-3 of 3 @@\na\nb\nc"),
		read("CR", "a\rb\rc\r", "", "@@ lines 1-3 of 3 @@\na\nb\nc"),
		read("lone CR beside CRLF", "a\r\nb\rc\r\n", `"limit":2`, "@@ lines 1-2 of 2 @@\na\nb\rc"),
		read("BOM", "\ufeffhi\n", "", "@@ lines 1-1 of 1 @@\n\ufeffhi"),
		read("form feed", "a\x0cb\nc\n", "", "@@ lines 1-2 of 2 @@\na\x0cb\nc"),
		read("line separator", "a\u2028b\u0085c\n", "", "@@ lines 1-1 of 1 @@\na\u2028b\u0085c"),
		read("invalid", "a rather long line of text with one byte \xff\n", "", "@@ lines 1-1 of 1 | invalid utf-8 shown as U+FFFD @@\na rather long line of text with one byte \ufffd"),
		on(nil, compat, read("invalid, older form", "a rather long line of text with one byte \xff\n", "", "@@ lines 1-1 of 1 @@\na rather long line of text with one byte \ufffd")),
		read("binary", "\xff\xfe", "", "[err] Error: File '/f' is binary (2 bytes, application/octet-stream)"),
		read("NUL", "a\x00b\n", "", "[err] Error: File '/f' is binary (4 bytes, application/octet-stream)"),
		read("looks like a header", "@@ lines 9-9 of 9 @@\n", "", "@@ lines 1-1 of 1 @@\n@@ lines 9-9 of 9 @@"),
		read("column", "abcdef\nx\n", `"column":4`, "@@ lines 1-2 of 2 @@\ndef\nx"),
		read("column 0", "abcdef\n", `"column":0`, "@@ lines 1-1 of 1 @@\nabcdef"),
		read("column past the line", "abc\nx\n", `"column":4`, "[err] Error: Column 4 is past the end of line 1"),
	})
}

func TestReadPaths(t *testing.T) {
	files := map[string]string{
		"a.txt": "one\ntwo\nthree\n", "d/x": "", "ln -> a.txt": "", "out -> /etc/passwd": "", "loop -> loop": "", "dang -> nope": "",
	}
	read := func(path, want string) row {
		return row{name: path, files: files, kinds: diskOnly, tool: "read_file", args: args(t, "file_path", path), want: want}
	}
	runRows(t, []row{
		read("/d", "[err] Error: File '/d' not found"),
		read("/nope", "[err] Error: File '/nope' not found"),
		read("src/app.tx", "[err] Error: File '/src/app.tx' not found"),
		read("/a.txt/x", "[err] Error: File '/a.txt/x' not found"),
		read("/ln", all3),
		read("/out", "[err] Error: Path '/out' is outside the root directory"),
		read("/loop", "[err] Error: Error reading file '/loop': too many levels of symbolic links"),
		read("/dang", "[err] Error: File '/dang' not found"),
		read("/"+strings.Repeat("x", 300), "[err] Error: Error reading file '/"+strings.Repeat("x", 300)+"': file name too long"),
		{name: "state missing", kinds: stateOnly, tool: "read_file", args: `{"file_path":"/nope"}`, want: "[err] Error: File '/nope' not found"},
	})
}

var headerLine = regexp.MustCompile(`(?m)^@@ lines (\d+)-(\d+)(?: of (\d+))?(?: \| next offset (\d+))?(?: \| truncated due to size| \| truncated mid-line \| (\d+) of (\d+) chars)?(?: \| next column (\d+))?(?: \| no final newline)?(?: \| invalid utf-8 shown as U\+FFFD)? @@$`)

// The size budget of file-tools.md 2.2.7.
func TestReadBudget(t *testing.T) {
	long := func(n int) string { return strings.Repeat("x", n) }
	lines999 := strings.Repeat(long(999)+"\n", 250)
	none := filesystem.Options{ReadLimit: -1}
	for _, c := range []struct {
		name, content, args string
		o                   filesystem.Options
		header              string // "" means that nothing is cut
		body                string
	}{
		{"just fits", long(79978) + "\n", "", defaults, "", ""},
		{"one more", long(79979) + "\n", "", defaults, `^@@ lines 1-1 of 1 \| truncated mid-line \| \d+ of 79979 chars \| next column \d+ @@$`, ""},
		{"250 lines of 999", lines999, "", defaults, `^@@ lines 1-79 of 250 \| next offset 79 \| truncated due to size @@$`, strings.TrimSuffix(strings.Repeat(long(999)+"\n", 79), "\n")},
		{"window in the middle", lines999, `,"offset":10`, defaults, `^@@ lines 11-89 of 250 \| next offset 89 \| truncated due to size @@$`, strings.TrimSuffix(strings.Repeat(long(999)+"\n", 79), "\n")},
		{"short, then long", "s\n" + long(200000) + "\n", "", defaults, `^@@ lines 1-1 of 2 \| next offset 1 \| truncated due to size @@$`, "s"},
		{"the long one", "s\n" + long(200000) + "\n", `,"offset":1`, defaults, `^@@ lines 2-2 of 2 \| truncated mid-line \| \d+ of 200000 chars \| next column \d+ @@$`, ""},
		{"longer than the window's bytes", long(1_000_000) + "\n", "", defaults, `^@@ lines 1-1 of 1 \| truncated mid-line \| \d+ of 1000000 chars \| next column \d+ @@$`, ""},
		{"no limit", long(1_000_000) + "\n", "", none, "", ""},
		{"emoji", strings.Repeat("\U0001F600", 30000) + "\n", "", defaults, "", ""},
		{"too many emoji", strings.Repeat("\U0001F600", 90000) + "\n", "", defaults, `^@@ lines 1-1 of 1 \| truncated mid-line \| \d+ of 90000 chars \| next column \d+ @@$`, ""},
		{"small budget", numbered(40), "", filesystem.Options{ReadLimit: 300}, `^@@ lines 1-\d+ of 40 \| next offset \d+ \| truncated due to size @@$`, ""},
		{"older form", long(100000) + "\n", "", compat, `^@@ lines 1-1 of 1 \| truncated mid-line \| \d+ of 100000 chars @@$`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, onDisk, map[string]string{"f": c.content}, c.o)
			got := w.call("read_file", `{"file_path":"/f"`+c.args+`}`)
			limit := c.o.ReadLimit
			if limit == 0 {
				limit = 80000
			}
			if n := utf8.RuneCountInString(got); limit > 0 && n > limit {
				t.Errorf("%d characters", n)
			}
			if c.header == "" {
				if want := "@@ lines 1-1 of 1 @@\n" + strings.TrimSuffix(c.content, "\n"); got != want {
					t.Errorf("got %.100q...", got)
				}
				return
			}
			rest, ok := strings.CutPrefix(got, "[Output was truncated due to size limits.")
			explain, rest, _ := strings.Cut(rest, "\n")
			head, body, _ := strings.Cut(rest, "\n")
			if !ok || !strings.HasSuffix(explain, "]") {
				t.Errorf("no explanation: %.200q", got)
			}
			if !regexp.MustCompile(c.header).MatchString(head) {
				t.Errorf("header %q, want %s", head, c.header)
			}
			if c.body != "" && body != c.body {
				t.Errorf("body of %d characters", len(body))
			}
			f := headerLine.FindStringSubmatch(head)
			if f == nil {
				t.Fatalf("no header: %q", head)
			}
			if f[5] != "" && f[5] != strconv.Itoa(utf8.RuneCountInString(body)) {
				t.Errorf("header says %s characters, body has %d", f[5], utf8.RuneCountInString(body))
			}
			if n := utf8.RuneCountInString(got); f[5] != "" && n < limit-10 {
				t.Errorf("%d characters waste the budget", n)
			}
		})
	}
}

// The lines of a very large file are not counted to the end.
func TestReadUnknownTotal(t *testing.T) {
	const n = 66<<10 + 7
	w := newWorld(t, onDisk, map[string]string{"f": strings.Repeat(strings.Repeat("x", 1023)+"\n", n)}, defaults)
	x := strings.Repeat("x", 1023)
	for _, c := range []struct {
		offset int
		want   string
	}{
		{10, "@@ lines 11-12 | next offset 12 @@\n" + x + "\n" + x},
		{n - 1, fmt.Sprintf("@@ lines %d-%d of %d @@\n%s", n, n, n, x)},
		{n, fmt.Sprintf("[err] Error: Line offset %d exceeds file length (%d lines)", n, n)},
	} {
		if got := w.call("read_file", args(t, "file_path", "/f", "offset", c.offset, "limit", 2)); got != c.want {
			t.Errorf("offset %d: got %.100q", c.offset, got)
		}
	}
}

func TestReadBudgetKeepsClamp(t *testing.T) {
	w := newWorld(t, onDisk, map[string]string{"f": strings.Repeat(strings.Repeat("x", 999)+"\n", 250)}, defaults)
	got := w.call("read_file", `{"file_path":"/f","offset":-1}`)
	if !strings.HasPrefix(got, clamp(-1)+"[Output was truncated due to size limits.") {
		t.Errorf("got %.200q", got)
	}
}

// readAll pages through a file by what the headers say, as a model would.
func (w *world) readAll(path string, limit int) (string, error) {
	var out strings.Builder
	offset, column := 0, 1
	for range 1 << 20 {
		got := w.call("read_file", args(w.t, "file_path", path, "offset", offset, "limit", limit, "column", column))
		if strings.HasPrefix(got, "System reminder: File exists but has empty") {
			return out.String(), nil
		}
		if strings.HasPrefix(got, "[err]") {
			return "", fmt.Errorf("offset %d column %d: %s", offset, column, got)
		}
		at := headerLine.FindStringIndex(got)
		f := headerLine.FindStringSubmatch(got)
		if f == nil {
			return "", fmt.Errorf("no header: %.100q", got)
		}
		out.WriteString(got[at[1]+1:])
		head := got[at[0]:at[1]]
		switch {
		case f[7] != "":
			first, err := strconv.Atoi(f[1])
			if err != nil {
				return "", err
			}
			offset = first - 1
			if column, err = strconv.Atoi(f[7]); err != nil {
				return "", err
			}
		case f[4] != "":
			out.WriteByte('\n')
			n, err := strconv.Atoi(f[4])
			if err != nil {
				return "", err
			}
			if n <= offset && column == 1 {
				return "", fmt.Errorf("no progress at %d: %s", offset, head)
			}
			offset, column = n, 1
		default:
			if !strings.Contains(head, "no final newline") {
				out.WriteByte('\n')
			}
			return out.String(), nil
		}
	}
	return "", fmt.Errorf("no end")
}

// Following the hints of the header gives every character once (case A17).
func TestReadHintsGiveTheWholeFile(t *testing.T) {
	z := strings.Repeat("z", 12000)
	files := map[string]string{
		"mixed":   "one\n" + z + "\nKEY\nfour",
		"many":    strings.Repeat(strings.Repeat("y", 400)+"\n", 500),
		"single":  strings.Repeat("0123456789", 30_000) + "\n",
		"odd":     "a\x0cb\nc\u2028d\ne\rf\n",
		"wide":    strings.Repeat("€\U0001F600", 20_000),
		"invalid": strings.Repeat("some text that is fine \xff\n", 100),
		"empty":   "",
		"rows":    "\n\n\nx\n\n",
	}
	for _, k := range []kind{onDisk, onState} {
		w := newWorld(t, k, files, filesystem.Options{ReadLimit: 20_000})
		for name, content := range files {
			for _, limit := range []int{1, 3, 100} {
				got, err := w.readAll("/"+name, limit)
				if err != nil {
					t.Fatalf("%s %s: %v", k, name, err)
				}
				if want := strings.ReplaceAll(content, "\xff", "\ufffd"); got != want {
					t.Errorf("%s %s limit %d: %d characters come back, want %d", k, name, limit, len(got), len(want))
				}
			}
		}
	}
}

func FuzzReadPages(f *testing.F) {
	f.Add("a\nb\nc\n", 1, 330)
	f.Add("\xff\xfe€\r\nx", 2, 340)
	f.Add(strings.Repeat("long line ", 100)+"\n\n\nshort", 3, 400)
	f.Fuzz(func(t *testing.T, content string, limit, budget int) {
		if limit < 1 || limit > 1000 || budget < 320 || budget > 5000 || len(content) > 20_000 {
			t.Skip("out of range")
		}
		w := newWorld(t, onState, map[string]string{"f": content}, filesystem.Options{ReadLimit: budget})
		if strings.HasPrefix(w.call("read_file", `{"file_path":"/f"}`), "[err] Error: File '/f' is binary") {
			return
		}
		got, err := w.readAll("/f", limit)
		if err != nil {
			t.Fatal(err)
		}
		if want := shownAs(content); got != want {
			t.Errorf("limit %d, budget %d: got %q, want %q", limit, budget, got, want)
		}
	})
}

// shownAs is a whole file as read_file shows it: LF ends lines, bytes that are no UTF-8 are replaced, and blank files are empty.
func shownAs(s string) string {
	if strings.TrimSpace(s) == "" {
		return ""
	}
	s = string([]rune(s))
	if !strings.Contains(s, "\n") {
		return strings.ReplaceAll(s, "\r", "\n")
	}
	return strings.ReplaceAll(s, "\r\n", "\n")
}
