package kv_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/deepagents-go/deepagents/backend"
	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/backend/kv"
	"github.com/deepagents-go/deepagents/backend/statefs"
	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/middleware/filesystem"
	"github.com/deepagents-go/deepagents/run/runtest"
	"github.com/deepagents-go/deepagents/state"
	"github.com/deepagents-go/deepagents/tool"
)

// tools calls file tools on a driver, in a run with a state.
type tools struct {
	t *testing.T
	m *filesystem.Middleware
}

func newTools(t *testing.T, d driver.Driver, o filesystem.Options) *tools {
	t.Helper()
	fs, err := backend.New(d, backend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o.FS = fs
	m, err := filesystem.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return &tools{t, m}
}

// call returns the text of a result, with "[err] " in front when its status is an error.
func (x *tools) call(name, args string) string {
	x.t.Helper()
	i := slices.IndexFunc(x.m.Tools(), func(t tool.Tool) bool { return t.Spec().Name == name })
	schema, err := state.NewSchema(append(statefs.New(statefs.Options{}).Fields(), x.m.Fields()...)...)
	if err != nil {
		x.t.Fatal(err)
	}
	ctx, _ := runtest.New(x.t.Context(), schema.New())
	res, err := x.m.Tools()[i].Call(ctx, tool.Call{ID: "m.c", CallID: "c", Name: name, Args: json.RawMessage(args)})
	if err != nil {
		x.t.Fatal(err)
	}
	var out []string
	for _, p := range res.Parts {
		switch p := p.(type) {
		case message.Text:
			out = append(out, p.Text)
		case message.Media:
			out = append(out, fmt.Sprintf("block %s %s %q", p.Kind, p.MIME, p.Data))
		}
	}
	s := strings.Join(out, "\n")
	if res.Status == message.Error {
		s = "[err] " + s
	}
	return s
}

// TestToolTexts has the cases T of file-tools.md 5.3 and 5.6, and what else a model can meet.
func TestToolTexts(t *testing.T) {
	d, s := with(t, map[string]string{
		"/x.dat":   `{"content":"AAE=","encoding":"base64"}`,
		"/l.txt":   `{"content":["a","b"],"created_at":"2026-01-01T00:00:00+00:00"}`,
		"/x.txt":   `{"kind":"note","text":"remember"}`,
		"/n.txt":   `{"content":7}`,
		"/none":    `{"content":[]}`,
		"/crlf":    `{"content":"a\r\n  b\r\nc\r\n"}`,
		"/dir/a.b": `{"content":"needle\n"}`,
	})
	item(t, s, append(space[:2:2], "deep"), "/deep.txt", `{"content":"needle"}`)
	for i := range 250 {
		item(t, s, space, fmt.Sprintf("/many/%03d", i), `{"content":"x"}`)
	}
	x := newTools(t, d, filesystem.Options{})
	for _, c := range []struct{ tool, args, want string }{
		{"read_file", `{"file_path":"/l.txt"}`, "@@ lines 1-2 of 2 | no final newline @@\na\nb"},
		{"read_file", `{"file_path":"/x.txt"}`, "[err] Error: Store item does not contain valid content field. Got: kind, text"},
		{"read_file", `{"file_path":"/n.txt"}`, "[err] Error: File content must be a string or a legacy list of strings, got number."},
		{"read_file", `{"file_path":"/none"}`, "System reminder: File exists but has empty contents"},
		{"read_file", `{"file_path":"/nope"}`, "[err] Error: File '/nope' not found"},
		{"read_file", `{"file_path":"/dir"}`, "[err] Error: File '/dir' not found"},
		{"read_file", `{"file_path":"/deep.txt"}`, "[err] Error: File '/deep.txt' not found"},
		{"read_file", `{"file_path":"/x.dat"}`, "[err] Error: File '/x.dat' is binary (2 bytes, application/octet-stream)"},
		{"edit_file", `{"file_path":"/x.txt","old_string":"a","new_string":"b"}`, "[err] Error: Store item does not contain valid content field. Got: kind, text"},
		{"edit_file", `{"file_path":"/crlf","old_string":"a\n  b\n","new_string":"a\n  B\n"}`, "Successfully replaced 1 instance(s) of the string in '/crlf'"},
		{"edit_file", `{"file_path":"/l.txt","old_string":"a","new_string":"A"}`, "Successfully replaced 1 instance(s) of the string in '/l.txt'"},
		{"ls", `{"path":"/dir"}`, "['/dir/a.b']"},
		{"ls", `{"path":"/"}`, "['/crlf', '/dir/', '/l.txt', '/many/', '/none', '/x.dat']"},
		{"ls", `{"path":"/deep"}`, "No files found"},
		{"glob", `{"pattern":"*.txt"}`, "['/l.txt']"},
		{"grep", `{"pattern":"needle"}`, "/dir/a.b"},
		{"grep", `{"pattern":"remember"}`, "No matches found…"},
		{"write_file", `{"file_path":"/new/n","content":"x"}`, "Updated file /new/n"},
		{"delete", `{"file_path":"/many"}`, "Deleted /many"},
		{"delete", `{"file_path":"/many"}`, "[err] Error: …"},
		{"ls", `{"path":"/many"}`, "No files found"},
	} {
		if got := x.call(c.tool, c.args); !matches(got, c.want) {
			t.Errorf("%s %s\n got %q\nwant %q", c.tool, c.args, got, c.want)
		}
	}
	if got := get(t.Context(), d, "/crlf", driver.OpenOptions{}); got != "a\r\n  B\r\nc\r\n" {
		t.Errorf("after the edit: %q", got)
	}
	blocks := newTools(t, d, filesystem.Options{BinaryAsBlock: true})
	if got := blocks.call("read_file", `{"file_path":"/x.dat"}`); got != `block file application/octet-stream "\x00\x01"` {
		t.Errorf("as a block: %s", got)
	}
	bad := newTools(t, newKV(t, kv.Options{Store: s, Namespace: kv.Fixed("a", "")}), filesystem.Options{})
	if got := bad.call("read_file", `{"file_path":"/f"}`); got != "[err] Error: Error reading file '/f': Namespace component at index 1 must not be empty." {
		t.Error(got)
	}
}

// matches compares texts; "…" at the end of want stands for the wording of others.
func matches(got, want string) bool {
	begin, open := strings.CutSuffix(want, "…")
	return got == want || open && strings.HasPrefix(got, begin)
}
