package filesystem_test

import "testing"

const (
	traversal = "[err] Error: Path traversal not allowed: "
	windows   = "[err] Error: Windows absolute paths are not supported: %s. Please use virtual paths starting with / (e.g., /workspace/file.txt)"
)

// file-tools.md 5.1
func TestPaths(t *testing.T) {
	read := func(name, path, want string) row {
		return row{name: name, files: threeLines, tool: "read_file", args: args(t, "file_path", path), want: want}
	}
	runRows(t, []row{
		read("relative", "a.txt", all3),
		read("dot", "/./a.txt", all3),
		read("trailing slash", "/a.txt/", all3),
		read("backslash", `\a.txt`, all3),
		read("slashes", "///a.txt", all3),
		read("parent", "../a.txt", traversal+"../a.txt"),
		read("parent inside", "/x/../a.txt", traversal+"/x/../a.txt"),
		read("parent by backslash", `/x\..\a.txt`, traversal+`/x\..\a.txt`),
		read("home", "~/a.txt", traversal+"~/a.txt"),
		read("drive", `C:\a.txt`, sprintf(windows, `C:\a.txt`)),
		read("drive, relative", "x:a.txt", sprintf(windows, "x:a.txt")),
		read("url", "http://h/a.txt", "[err] Error: File '/http:/h/a.txt' not found"),
		read("empty", "", "[err] Error: File '/' not found"),
		read("trailing space", "/a.txt ", "[err] Error: File '/a.txt ' not found"),
		read("nul", "/a.txt\x00", `[err] Error: Path contains a null byte: /a.txt\0`),
		{name: "tilde name", files: map[string]string{"~": "x\n"}, tool: "read_file", args: `{"file_path":"/~"}`, want: "@@ lines 1-1 of 1 @@\nx"},
		{name: "dots in a name", files: map[string]string{"x..y": "k\n"}, tool: "read_file", args: `{"file_path":"/x..y"}`, want: "@@ lines 1-1 of 1 @@\nk"},
		{name: "surrogate", tool: "read_file", args: `{"file_path":"/a\ud800"}`, want: `[err] Error: the path holds an unpaired surrogate escape (\ud800)`},
		{name: "ls dot", files: map[string]string{"a": ""}, tool: "ls", args: `{"path":"."}`, want: "['/a']"},
		{name: "write home", tool: "write_file", args: `{"file_path":"~x","content":"c"}`, want: traversal + "~x"},
		{name: "edit parent", tool: "edit_file", args: `{"file_path":"../x","old_string":"c","new_string":"d"}`, want: traversal + "../x"},
		{name: "delete parent", tool: "delete", args: `{"file_path":".."}`, want: traversal + ".."},
		{name: "glob parent", tool: "glob", args: `{"pattern":"*","path":"../"}`, want: traversal + "../"},
		{name: "grep drive", tool: "grep", args: `{"pattern":"a","path":"C:/"}`, want: sprintf(windows, "C:/")},
	})
}

// A path that leads through a file does not exist, for every tool but the one that would create it.
func TestPathThroughAFile(t *testing.T) {
	var rows []row
	for _, c := range []struct{ tool, args, want string }{
		{"ls", `{"path":"/a.txt/x"}`, "[err] Error: Path '/a.txt/x': not_a_directory"},
		{"read_file", `{"file_path":"/a.txt/x"}`, "[err] Error: File '/a.txt/x' not found"},
		{"write_file", `{"file_path":"/a.txt/x","content":""}`, "[err] Error writing file '/a.txt/x': not a directory"},
		{"edit_file", `{"file_path":"/a.txt/x","old_string":"a","new_string":"b"}`, "[err] Error: File '/a.txt/x' not found"},
		{"delete", `{"file_path":"/a.txt/x"}`, "[err] Error: '/a.txt/x' not found"},
		{"grep", `{"pattern":"o","path":"/a.txt/x"}`, "[err] Error: Path '/a.txt/x' not found"},
	} {
		rows = append(rows, row{name: c.tool, files: threeLines, kinds: diskOnly, tool: c.tool, args: c.args, want: c.want})
	}
	runRows(t, rows)
}

// Errors never show a path of the host.
func TestNoHostPaths(t *testing.T) {
	long := ""
	for range 300 {
		long += "x"
	}
	w := newWorld(t, onDisk, map[string]string{
		"f": "x", "d/": "", "loop -> loop": "", "out -> /etc/passwd": "", "dout -> /etc": "", "dang -> nope": "",
	}, defaults)
	for _, p := range []string{"/d", "/f/x", "/loop", "/out", "/dout/passwd", "/dang", "/nope", "/" + long} {
		for _, c := range []struct{ tool, args string }{
			{"read_file", args(t, "file_path", p)},
			{"write_file", args(t, "file_path", p+"/y", "content", "z")},
			{"edit_file", args(t, "file_path", p, "old_string", "root", "new_string", "z")},
			{"ls", args(t, "path", p)},
			{"glob", args(t, "path", p, "pattern", "*")},
			{"grep", args(t, "path", p, "pattern", "root")},
			{"delete", args(t, "file_path", p+"/y")},
		} {
			if got := w.call(c.tool, c.args); contains(got, w.root) || contains(got, "root:") || contains(got, "/tmp") {
				t.Errorf("%s %s shows the host: %s", c.tool, c.args, got)
			}
		}
	}
}
