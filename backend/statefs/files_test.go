package statefs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/backend/statefs"
	"github.com/deepagents-go/deepagents/run"
	"github.com/deepagents-go/deepagents/run/runtest"
	"github.com/deepagents-go/deepagents/state"
)

// TestFileData: what was stored goes back as it was, older forms and unknown fields included.
func TestFileData(t *testing.T) {
	for _, c := range []struct{ in, out, content string }{
		{`{"content":"a","encoding":"utf-8","created_at":"x","modified_at":"y"}`, "", "a"},
		{`{"content":"a"}`, "", "a"},
		{`{"content":"AAE=","encoding":"base64"}`, "", "\x00\x01"},
		{`{"content":["a","b"],"created_at":"x","modified_at":"y"}`, "", "a\nb"},
		{`{"content":["a\nb"]}`, `{"content":["a","b"]}`, "a\nb"},
		{`{"content":[]}`, "", ""},
		{`{"content":["",""]}`, "", "\n"},
		{`{"zz":[1, 2],"content":"a","mimeType":"text/plain","encoding":null}`, `{"content":"a","mimeType":"text/plain","zz":[1,2]}`, "a"},
	} {
		if c.out == "" {
			c.out = c.in
		}
		var f statefs.FileData
		if err := json.Unmarshal([]byte(c.in), &f); err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		if b, err := f.Bytes(); string(b) != c.content || err != nil {
			t.Errorf("%s: content %q, %v", c.in, b, err)
		}
		if out, err := json.Marshal(f); string(out) != c.out || err != nil {
			t.Errorf("%s: encoded as %s, %v", c.in, out, err)
		}
	}
}

func TestFileDataErrors(t *testing.T) {
	const wrong = "File content must be a string or a legacy list of strings, got "
	for in, want := range map[string]string{
		`{}`:                               wrong + "nothing.",
		`{"content":null}`:                 wrong + "null.",
		`{"content":1}`:                    wrong + "number.",
		`{"content":{}}`:                   wrong + "object.",
		`{"content":true}`:                 wrong + "boolean.",
		`{"content":["a",1]}`:              wrong + "a list with number.",
		`{"content":"a","encoding":"zip"}`: `unknown encoding "zip"`,
		`{"content":"a","encoding":1}`:     `"encoding" of a file must be a string, got number`,
		`{"content":"a","created_at":{}}`:  `"created_at" of a file must be a string, got object`,
		`[]`:                               "must be a JSON object",
		`"a"`:                              "must be a JSON object",
	} {
		var m statefs.Map
		err := json.Unmarshal([]byte(`{"/f":`+in+`}`), &m)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `"/f"`) {
			t.Errorf("%s: error %v, want %q", in, err, want)
		}
		var u statefs.Update
		if json.Unmarshal([]byte(`{"v":1,"changes":[{"path":"/f","file":`+in+`}]}`), &u) == nil {
			t.Errorf("%s: an update takes it", in)
		}
	}
}

// TestBrokenContent: bad base64 breaks the one file, not the thread.
func TestBrokenContent(t *testing.T) {
	d := statefs.New(statefs.Options{})
	ctx, tx := in(t, schema(t).New())
	raw := `{"/bad":{"content":"%%","encoding":"base64"},"/ok":{"content":"x"}}`
	if err := tx.Write(state.RawUpdate("files", false, json.RawMessage(raw))); err != nil {
		t.Fatal(err)
	}
	if got := get(ctx, d, "/bad", driver.OpenOptions{}); !strings.Contains(got, "not valid base64") {
		t.Errorf("read: %q", got)
	}
	if got := ls(ctx, t, d, "/"); got != "/bad /ok" {
		t.Errorf("ls: %q", got)
	}
	put(ctx, t, d, "/bad", "mended")
	if got := get(ctx, d, "/bad", driver.OpenOptions{}); got != "mended" {
		t.Errorf("after a write: %q", got)
	}
}

// TestOverwriteKeeps: a write keeps created_at and unknown fields, makes a legacy file a new one, and reading rewrites nothing.
func TestOverwriteKeeps(t *testing.T) {
	d := statefs.New(statefs.Options{Now: day()})
	ctx, tx := in(t, schema(t).New())
	const stored = `{"/l":{"content":["a","b"],"created_at":"2020-01-02T03:04:05.678901+00:00","modified_at":"2020-01-02T03:04:05","owner":7}}`
	if err := tx.Write(state.RawUpdate("files", true, json.RawMessage(stored))); err != nil {
		t.Fatal(err)
	}
	i, err := d.Stat(ctx, "/l")
	if err != nil || i.Size != 3 || !i.ModTime.Equal(time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)) {
		t.Errorf("%+v, %v", i, err)
	}
	encoded := func() string {
		raw, err := json.Marshal(statefs.Files.Get(tx))
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	if got := encoded(); got != stored {
		t.Errorf("reading changed the stored form: %s", got)
	}
	put(ctx, t, d, "/l", "new")
	const want = `{"/l":{"content":"new","encoding":"utf-8","created_at":"2020-01-02T03:04:05.678901+00:00","modified_at":"2026-09-01T10:00:00Z","owner":7}}`
	if got := encoded(); got != want {
		t.Errorf("got %s", got)
	}
}

// TestPersistent: states that were taken before a change stay as they were.
func TestPersistent(t *testing.T) {
	d, ctx, tx := with(t, names("/a", "/b/c"))
	old := tx.State()
	put(ctx, t, d, "/a", "changed")
	if err := d.Remove(ctx, "/b", driver.RemoveOptions{}); err != nil {
		t.Fatal(err)
	}
	ctxOld, _ := in(t, old)
	if got := walk(ctxOld, t, d, "/") + " " + get(ctxOld, d, "/a", driver.OpenOptions{}); got != "/a /b/c x" {
		t.Errorf("the old state became %q", got)
	}
}

// TestReplay: the updates of a call, stored and read again, give the same state.
func TestReplay(t *testing.T) {
	d, ctx, tx := with(t, names("/a", "/d/x", "/d/y", "/bin"))
	put(ctx, t, d, "/bin", "\xff\xfe")
	if err := d.Remove(ctx, "/d", driver.RemoveOptions{}); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(tx.Updates())
	if err != nil {
		t.Fatal(err)
	}
	var us []state.Update
	if err := json.Unmarshal(raw, &us); err != nil {
		t.Fatal(err)
	}
	again, err := schema(t).New().Apply(us...)
	if err != nil {
		t.Fatal(err)
	}
	one, _ := tx.State().Encode()
	two, _ := again.Encode()
	if d := cmp.Diff(string(one), string(two)); d != "" {
		t.Error(d)
	}
}

// TestReducer has the rules of file-tools.md 3.4 for plain maps.
func TestReducer(t *testing.T) {
	s := schema(t).New()
	for _, c := range []struct{ update, want string }{
		{`{}`, `{}`},
		{`null`, `{}`},
		{`{"/absent":null}`, `{}`},
		{`{"/b":{"content":"1"},"/a":{"content":"2"}}`, `{"/a":{"content":"2"},"/b":{"content":"1"}}`},
		{`{"/a":{"content":"3","x":1}}`, `{"/a":{"content":"3","x":1},"/b":{"content":"1"}}`},
		{`{"/a":null,"/c":{"content":"4"}}`, `{"/b":{"content":"1"},"/c":{"content":"4"}}`},
		{`{"v":1,"changes":[{"path":"/c","file":null,"base":"zz"},{"path":"/b","file":{"content":"5"}}]}`, `{"/b":{"content":"5"}}`},
	} {
		var err error
		if s, err = s.Apply(state.RawUpdate("files", false, json.RawMessage(c.update))); err != nil {
			t.Fatalf("%s: %v", c.update, err)
		}
		if got, err := json.Marshal(statefs.Files.In(s)); string(got) != c.want || err != nil {
			t.Errorf("%s: %s, want %s (%v)", c.update, got, c.want, err)
		}
	}
	for _, bad := range []string{`[]`, `"x"`, `{"v":2,"changes":[]}`, `{"v":"1"}`, `{"v":1,"changes":{}}`, `{"/a":1}`} {
		if _, err := s.Apply(state.RawUpdate("files", false, json.RawMessage(bad))); err == nil {
			t.Errorf("%s: no error", bad)
		}
	}
}

// TestConflicts is decision F18: an update says which files it was computed from.
func TestConflicts(t *testing.T) {
	d, ctx, tx := with(t, map[string]string{"/a": "0", "/b": "0"})
	base := tx.State()
	// branch runs a call on the base and returns its update, as it is stored.
	branch := func(f func(context.Context)) []statefs.Update {
		ctx, tx := in(t, base)
		f(ctx)
		var us []statefs.Update
		for _, u := range tx.Updates() {
			raw, err := u.Raw()
			if err != nil {
				t.Fatal(err)
			}
			var files statefs.Update
			if err := json.Unmarshal(raw, &files); err != nil {
				t.Fatal(err)
			}
			us = append(us, files)
		}
		return us
	}
	put(ctx, t, d, "/a", "first")
	put(ctx, t, d, "/new", "first")
	now := statefs.Files.Get(tx)
	for _, c := range []struct {
		name string
		call func(context.Context)
		want string
	}{
		{"another file", func(ctx context.Context) { put(ctx, t, d, "/b", "1") }, "[]"},
		{"the same file", func(ctx context.Context) { put(ctx, t, d, "/a", "second") }, "[/a]"},
		{"the same file twice", func(ctx context.Context) { put(ctx, t, d, "/a", "second"); put(ctx, t, d, "/a", "third") }, "[/a]"},
		{"the same content", func(ctx context.Context) { put(ctx, t, d, "/a", "first") }, "[]"},
		{"both create", func(ctx context.Context) { put(ctx, t, d, "/new", "second") }, "[/new]"},
		{"removes it", func(ctx context.Context) {
			if err := d.Remove(ctx, "/a", driver.RemoveOptions{}); err != nil {
				t.Error(err)
			}
		}, "[/a]"},
	} {
		m := now
		var got []string
		for _, u := range branch(c.call) {
			got = append(got, u.Conflicts(m)...)
			var err error
			if m, err = m.Apply(u); err != nil {
				t.Fatal(err)
			}
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s: conflicts %v, want %s", c.name, got, c.want)
		}
	}
	if got := statefs.Put("/a", statefs.NewFile([]byte("x"), time.Now())).Conflicts(now); len(got) != 0 {
		t.Errorf("an update without a base conflicts: %v", got)
	}
}

// TestUpdateHoldsOneFile: the record of a write does not grow with the number of files.
func TestUpdateHoldsOneFile(t *testing.T) {
	d, ctx, tx := with(t, nil)
	for i := range 1000 {
		put(ctx, t, d, fmt.Sprintf("/f%d", i), strings.Repeat("x", 1000))
	}
	n := len(tx.Updates())
	put(ctx, t, d, "/f500", "short")
	raw, err := tx.Updates()[n].Raw()
	if err != nil || len(raw) > 300 {
		t.Errorf("the update has %d bytes (%v)", len(raw), err)
	}
}

func FuzzUpdate(f *testing.F) {
	f.Add([]byte(`{"/a":{"content":"x","encoding":"base64","z":[1]},"/b":null,"/l":{"content":["a","b"]}}`))
	f.Add([]byte(`{"v":1,"changes":[{"path":"/a","file":{"content":"x"},"base":"y"},{"path":"/b","file":null}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var u statefs.Update
		if json.Unmarshal(raw, &u) != nil {
			return
		}
		m, err := statefs.Map{}.Apply(u)
		if err != nil {
			t.Fatal(err)
		}
		one, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var back statefs.Map
		if err := json.Unmarshal(one, &back); err != nil {
			t.Fatalf("cannot read what was written: %v\n%s", err, one)
		}
		two, _ := json.Marshal(back)
		wire, err := json.Marshal(u)
		if err != nil {
			t.Fatal(err)
		}
		var u2 statefs.Update
		if err := json.Unmarshal(wire, &u2); err != nil {
			t.Fatalf("cannot read what was written: %v\n%s", err, wire)
		}
		m2, _ := statefs.Map{}.Apply(u2)
		three, _ := json.Marshal(m2)
		if string(one) != string(two) || string(one) != string(three) {
			t.Fatalf("not stable:\n%s\n%s\n%s", one, two, three)
		}
	})
}

// tenThousand returns a state of 10,000 files of 1 KiB.
func tenThousand(b *testing.B) (*statefs.FS, state.State) {
	d, ctx, tx := with(b, nil)
	for i := range 10_000 {
		put(ctx, b, d, fmt.Sprintf("/dir%02d/file%d.txt", i%100, i), strings.Repeat("0123456789abcde\n", 64))
	}
	return d, tx.State()
}

func BenchmarkRead(b *testing.B) {
	d, s := tenThousand(b)
	ctx, _ := in(b, s)
	buf := make([]byte, 2048)
	b.ReportAllocs()
	for b.Loop() {
		r, _, err := d.Open(ctx, "/dir42/file4242.txt", driver.OpenOptions{})
		if err != nil {
			b.Fatal(err)
		}
		if n, err := r.Read(buf); n != 1024 || err != nil {
			b.Fatal(n, err)
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	d, s := tenThousand(b)
	content := strings.Repeat("0123456789abcdf\n", 64)
	b.ReportAllocs()
	for b.Loop() {
		ctx := run.With(b.Context(), &runtest.Scope{Tx: state.NewTx(s)})
		if _, err := d.Write(ctx, "/dir42/file4242.txt", strings.NewReader(content), driver.WriteOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkList(b *testing.B) {
	d, s := tenThousand(b)
	ctx, _ := in(b, s)
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range d.List(ctx, "/", driver.ListOptions{}) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkWalk(b *testing.B) {
	d, s := tenThousand(b)
	ctx, _ := in(b, s)
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range d.Walk(ctx, "/") {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// TestWriteCost: a write among 10,000 files allocates little more than one among 10, so nothing is copied whole.
func TestWriteCost(t *testing.T) {
	d, ctx, tx := with(t, nil)
	cost := func() uint64 {
		s := tx.State()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 100 {
			put(run.With(t.Context(), &runtest.Scope{Tx: state.NewTx(s)}), t, d, "/f5", "changed")
		}
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) / 100
	}
	var few uint64
	for i := range 10_000 {
		put(ctx, t, d, fmt.Sprintf("/f%d", i), "x")
		if i == 9 {
			few = cost()
		}
	}
	if many := cost(); many > 4*few+4096 {
		t.Errorf("a write allocates %d bytes among 10,000 files, %d among 10", many, few)
	}
}
