package statefs_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/deepagents-go/deepagents/backend"
	"github.com/deepagents-go/deepagents/backend/statefs"
)

func newFS(t testing.TB, d *statefs.FS) *backend.FS {
	t.Helper()
	f, err := backend.New(d, backend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestThroughFS has the cases S of file-tools.md 5 that FS and the driver decide together.
func TestThroughFS(t *testing.T) {
	d, ctx, _ := with(t, map[string]string{
		"/crlf": "a\r\nb", "/e": "", "/s": "x\n", "/s/b": "x\n", "/d": "1", "/d/a": "2", "/old/ä.txt": "needle\n",
	})
	f := newFS(t, d)
	if l, err := f.Read(ctx, "/e", backend.Window{Limit: 10}); err != nil || !l.Blank {
		t.Errorf("blank file: %+v, %v", l, err)
	}
	if r, err := f.Edit(ctx, "/crlf", backend.Edit{Old: "a\nb", New: "x"}); err != nil || r.Count != 1 {
		t.Errorf("edit: %+v, %v", r, err)
	}
	g, err := f.Grep(ctx, backend.GrepQuery{Text: "x", Path: "/s"})
	if err != nil || len(g.Matches) != 1 || g.Matches[0].Path != "/s" {
		t.Errorf("grep in a file that is a directory too: %+v, %v", g, err)
	}
	g, err = f.Grep(ctx, backend.GrepQuery{Text: "needle", Path: "/"})
	if err != nil || len(g.Matches) != 1 || g.Matches[0].Path != "/old/ä.txt" {
		t.Errorf("grep: %+v, %v", g, err)
	}
	p, err := f.Glob(ctx, backend.GlobQuery{Pattern: "**", Dir: "/"})
	if want := "[/crlf /d /d/a /e /old/ä.txt /s /s/b]"; err != nil || fmt.Sprint(p.Paths) != want {
		t.Errorf("glob: %v, %v", p.Paths, err)
	}
	if err := f.Delete(ctx, "/d"); err != nil || walk(ctx, t, d, "/d") != "" {
		t.Errorf("delete: %v", err)
	}
	var refused *backend.RefusedError
	if err := f.Delete(ctx, "/"); !errors.As(err, &refused) {
		t.Errorf("delete of the root: %v", err)
	}
	for _, dir := range []string{"/crlf", "/nope"} {
		if l, err := f.List(ctx, dir); err != nil || len(l.Entries) != 0 {
			t.Errorf("ls %s: %+v, %v", dir, l, err)
		}
	}
	in := []backend.Transfer{{Path: "/up", Content: []byte("\xff\x00")}}
	if out := f.Upload(ctx, in); out[0].Err != nil {
		t.Error(out[0].Err)
	}
	if out := f.Download(ctx, []string{"/up"}); out[0].Err != nil || string(out[0].Content) != "\xff\x00" {
		t.Errorf("download: %+v", out)
	}
}

func BenchmarkGrepAbsent(b *testing.B) {
	d, s := tenThousand(b)
	ctx, _ := in(b, s)
	f := newFS(b, d)
	b.ReportAllocs()
	for b.Loop() {
		if r, err := f.Grep(ctx, backend.GrepQuery{Text: "absent word", Path: "/"}); err != nil || len(r.Matches) != 0 {
			b.Fatal(r, err)
		}
	}
}
