package backendtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"reflect"
	"slices"
	"strings"

	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/policy"
)

func (e *env) comparable() {
	if !reflect.ValueOf(e.d).Comparable() {
		e.Fatalf("%T is not comparable", e.d)
	}
}

func (e *env) missing() {
	for _, p := range []string{"/nope", "/no/such/file", "/a.txt/below"} {
		e.put("/a.txt", "a")
		e.gone(p)
		_, _, err := e.d.Open(e.ctx, p, driver.OpenOptions{})
		e.is("Open "+p, err, fs.ErrNotExist)
	}
	if i, err := e.d.Stat(e.ctx, "/"); err != nil || i.Kind != driver.Dir {
		e.Errorf("Stat(/) = %+v, %v, want a directory", i, err)
	}
	if e.s.has(ImplicitDirs) {
		return
	}
	for _, err := range e.d.List(e.ctx, "/nope", driver.ListOptions{}) {
		e.is("List /nope", err, fs.ErrNotExist)
		return
	}
	e.Error("listing a missing directory yields nothing")
}

// contents are hostile in one way or another.
func contents() map[string]string {
	var all [256]byte
	for i := range all {
		all[i] = byte(i)
	}
	return map[string]string{
		"empty": "", "newline": "\n", "a": "a", "no-end": "a\n\n\n", "crlf": "a\r\nb\r\n", "cr": "a\rb", "bytes": string(all[:]),
		"bom": "\xef\xbb\xbfx", "bad-utf8": "ok \xff\xfe \xed\xa0\x80 end", "nul": "\x00", "runes": "é€𝄞\u2028\u0085\f",
		"quotes": `'; touch PWNED; ' $(touch PWNED) ` + "`touch PWNED`" + ` "%s" \\ EOF` + "\nEOF\n",
		"html":   "a &amp;&amp; b &lt;c&gt; \\u0041", "large": strings.Repeat("0123456789abcdef", 80_000),
	}
}

func (e *env) roundtrip() {
	for name, want := range contents() {
		p := "/dir/" + name
		i := e.put(p, want)
		e.holds(p, want)
		if i.Path != p || i.Kind != driver.Regular || i.Size != int64(len(want)) {
			e.Errorf("Write(%q) returned %+v", p, i)
		}
		s, err := e.d.Stat(e.ctx, p)
		if err != nil || s.Size != int64(len(want)) || s.Kind != driver.Regular || s.Path != p {
			e.Errorf("Stat(%q) = %+v, %v", p, s, err)
		}
		e.put(p, "shorter")
		e.holds(p, "shorter")
	}
}

func (e *env) ranges() {
	e.put("/r", "0123456789")
	for _, c := range []struct {
		offset, length int64
		want           string
	}{{0, 0, "0123456789"}, {3, 0, "3456789"}, {0, 4, "0123"}, {3, 4, "3456"}, {8, 10, "89"}, {10, 0, ""}, {99, 5, ""}} {
		rc, i, err := e.d.Open(e.ctx, "/r", driver.OpenOptions{Offset: c.offset, Length: c.length})
		if err != nil {
			e.Fatalf("Open at %d: %v", c.offset, err)
		}
		b, err := io.ReadAll(rc)
		if err := errors.Join(err, rc.Close()); err != nil || string(b) != c.want {
			e.Errorf("Open at %d for %d = %q, %v, want %q", c.offset, c.length, b, err, c.want)
		}
		if i.Size != 10 {
			e.Errorf("Info of a part says size %d, want that of the file", i.Size)
		}
	}
	rc, _, err := e.d.Open(e.ctx, "/r", driver.OpenOptions{})
	if err != nil {
		e.Fatal(err)
	}
	defer func() { _ = rc.Close() }()
	if s, ok := rc.(io.Seeker); ok {
		_, _ = io.CopyN(io.Discard, rc, 7)
		if _, err := s.Seek(2, io.SeekStart); err != nil {
			e.Fatal(err)
		}
		if b, _ := io.ReadAll(rc); string(b) != "23456789" {
			e.Errorf("after Seek(2): %q", b)
		}
	}
}

func (e *env) kinds() {
	e.put("/d/sub/f", "x")
	if i, err := e.d.Stat(e.ctx, "/d/sub"); err != nil || i.Kind != driver.Dir || i.Size != 0 {
		e.Errorf("Stat of a directory = %+v, %v", i, err)
	}
	_, _, err := e.d.Open(e.ctx, "/d", driver.OpenOptions{})
	e.is("Open of a directory", err, driver.ErrIsDir)
	_, err = e.d.Write(e.ctx, "/", strings.NewReader("x"), driver.WriteOptions{})
	if err == nil {
		e.Error("Write to the root succeeds")
	}
	if e.s.has(ImplicitDirs) {
		return
	}
	_, err = e.d.Write(e.ctx, "/d", strings.NewReader("x"), driver.WriteOptions{})
	e.is("Write to a directory", err, driver.ErrIsDir)
	_, err = e.d.Write(e.ctx, "/d/sub/f/below", strings.NewReader("x"), driver.WriteOptions{})
	e.is("Write below a file", err, driver.ErrNotDir)
	for _, err := range e.d.List(e.ctx, "/d/sub/f", driver.ListOptions{}) {
		e.is("List of a file", err, driver.ErrNotDir)
		return
	}
	e.Error("listing a file yields nothing")
}

func (e *env) createOnly() {
	e.put("/old", "old")
	_, err := e.d.Write(e.ctx, "/old", strings.NewReader("new"), driver.WriteOptions{CreateOnly: true})
	e.is("CreateOnly over a file", err, fs.ErrExist)
	e.holds("/old", "old")
	if _, err := e.d.Write(e.ctx, "/n/e/w", strings.NewReader("new"), driver.WriteOptions{CreateOnly: true}); err != nil {
		e.Errorf("CreateOnly of a new file: %v", err)
	}
	e.holds("/n/e/w", "new")
}

func (e *env) versions() {
	if e.s.has(NoVersions) {
		e.Skip("the driver has no versions")
	}
	w := e.put("/v", "one")
	s, err := e.d.Stat(e.ctx, "/v")
	if err != nil || s.Version == "" || s.Version != w.Version {
		e.Fatalf("Stat says version %q (%v), Write said %q", s.Version, err, w.Version)
	}
	rc, i, err := e.d.Open(e.ctx, "/v", driver.OpenOptions{IfVersion: w.Version})
	if err != nil || i.Version != w.Version {
		e.Fatalf("Open(IfVersion) = %+v, %v", i, err)
	}
	_ = rc.Close()
	two, err := e.d.Write(e.ctx, "/v", strings.NewReader("two!"), driver.WriteOptions{IfVersion: w.Version})
	if err != nil || two.Version == w.Version {
		e.Fatalf("Write(IfVersion) = %+v, %v", two, err)
	}
	for _, stale := range []string{w.Version, "nonsense"} {
		_, err = e.d.Write(e.ctx, "/v", strings.NewReader("three"), driver.WriteOptions{IfVersion: stale})
		e.is("Write over another version", err, driver.ErrConflict)
		_, _, err = e.d.Open(e.ctx, "/v", driver.OpenOptions{IfVersion: stale})
		e.is("Open of another version", err, driver.ErrConflict)
	}
	_, err = e.d.Write(e.ctx, "/missing", strings.NewReader("x"), driver.WriteOptions{IfVersion: w.Version})
	e.is("Write(IfVersion) of a missing file", err, driver.ErrConflict)
	e.gone("/missing")
	e.holds("/v", "two!")
	for i := range e.d.List(e.ctx, "/", driver.ListOptions{Stat: true}) {
		if i.Path == "/v" && (i.Version != two.Version || i.Size != 4) {
			e.Errorf("List says %+v, want version %q and size 4", i, two.Version)
		}
	}
}

func (e *env) sums() {
	e.put("/s", "one")
	good, bad := sha256.Sum256([]byte("one")), sha256.Sum256([]byte("other"))
	_, err := e.d.Write(e.ctx, "/s", strings.NewReader("x"), driver.WriteOptions{IfSum: bad[:]})
	e.is("Write(IfSum) over other content", err, driver.ErrConflict)
	e.holds("/s", "one")
	if _, err := e.d.Write(e.ctx, "/s", strings.NewReader("two"), driver.WriteOptions{IfSum: good[:]}); err != nil {
		e.Errorf("Write(IfSum) over that content: %v", err)
	}
	e.holds("/s", "two")
}

// brokenReader fails after some bytes.
type brokenReader struct {
	r   io.Reader
	err error
}

func (b brokenReader) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if errors.Is(err, io.EOF) {
		err = b.err
	}
	return n, err
}

func (e *env) failingSource() {
	broken := errors.New("the source broke")
	e.put("/keep", "old")
	for _, p := range []string{"/keep", "/new"} {
		src := brokenReader{strings.NewReader(strings.Repeat("half", 50_000)), broken}
		_, err := e.d.Write(e.ctx, p, src, driver.WriteOptions{})
		e.is("Write from a broken source", err, broken)
	}
	e.holds("/keep", "old")
	e.gone("/new")
	e.same("what is listed", e.paths("/"), []string{"/keep"})
}

func (e *env) list() {
	e.putAll(map[string]string{"/B": "", "/a": "12", "/Z/x": "", "/d/e/f": "", "/d.x": "", "/d-x": "", "/.env": ""})
	e.same("List(/)", e.paths("/"), []string{"/.env", "/B", "/Z/", "/a", "/d/", "/d-x", "/d.x"})
	e.same("List(/d)", e.paths("/d"), []string{"/d/e/"})
	for i, err := range e.d.List(e.ctx, "/", driver.ListOptions{Stat: true}) {
		if err != nil {
			e.Fatal(err)
		}
		if i.Path == "/a" && i.Size != 2 {
			e.Errorf("List(Stat) says size %d of /a, want 2", i.Size)
		}
	}
}

func (e *env) earlyStop() {
	for _, n := range []string{"a", "b", "c"} {
		e.put("/"+n, n)
	}
	for range e.d.List(e.ctx, "/", driver.ListOptions{}) {
		break // must neither panic nor go on
	}
	if w, ok := e.d.(driver.Walker); ok {
		for range w.Walk(e.ctx, "/") {
			break
		}
	}
}

func (e *env) remove() {
	if e.s.has(NoRemove) {
		err := e.d.Remove(e.ctx, "/x", driver.RemoveOptions{})
		e.is("Remove", err, errors.ErrUnsupported)
		return
	}
	e.putAll(map[string]string{"/d/a": "", "/d/b/c": "", "/dx": "", "/f": ""})
	if err := e.d.Remove(e.ctx, "/f", driver.RemoveOptions{}); err != nil {
		e.Errorf("Remove of a file: %v", err)
	}
	e.gone("/f")
	if err := e.d.Remove(e.ctx, "/d", driver.RemoveOptions{}); err != nil {
		e.Errorf("Remove of a directory: %v", err)
	}
	e.gone("/d")
	e.gone("/d/b/c")
	e.holds("/dx", "")
	e.is("Remove of a missing path", e.d.Remove(e.ctx, "/nope", driver.RemoveOptions{}), fs.ErrNotExist)
	e.is("Remove below a missing path", e.d.Remove(e.ctx, "/nope/x", driver.RemoveOptions{}), fs.ErrNotExist)
}

func deny(k policy.Kind, paths ...string) driver.Guard {
	return driver.Guard{Action: k, Rules: policy.PathRules{{Paths: paths, Decision: policy.Deny}}}
}

func (e *env) guards() {
	e.putAll(map[string]string{"/open/a": "a", "/open/deep/.secret": "s", "/open/z": "z"})
	_, _, err := e.d.Open(e.ctx, "/open/deep/.secret", driver.OpenOptions{Guard: deny(policy.Read, "/open/deep/**")})
	e.is("Open of a denied file", err, policy.ErrDenied)
	_, err = e.d.Write(e.ctx, "/open/deep/.secret", strings.NewReader("x"), driver.WriteOptions{Guard: deny(policy.Write, "/open/**")})
	e.is("Write of a denied file", err, policy.ErrDenied)
	_, err = e.d.Write(e.ctx, "/open/new/x", strings.NewReader("x"), driver.WriteOptions{Guard: deny(policy.Write, "/open/new/**")})
	e.is("Write of a denied new file", err, policy.ErrDenied)
	e.gone("/open/new")
	asked := errors.New("asked")
	g := driver.Guard{Action: policy.Read, Func: func(i driver.Info) error {
		if i.Path != "/open/a" {
			e.Errorf("the guard is asked about %q", i.Path)
		}
		return asked
	}}
	_, _, err = e.d.Open(e.ctx, "/open/a", driver.OpenOptions{Guard: g})
	e.is("Open with a guard function", err, asked)
	if !e.s.has(NoRemove) {
		err = e.d.Remove(e.ctx, "/open", driver.RemoveOptions{Guard: deny(policy.Write, "/**/.secret")})
		e.is("Remove of a directory with a denied entry", err, policy.ErrDenied)
	}
	e.holds("/open/a", "a")
	e.holds("/open/z", "z")
	e.holds("/open/deep/.secret", "s")
}

// hostileNames are names of files that something somewhere takes for more than a name.
func hostileNames() []string {
	return []string{
		"'; touch PWNED; '", "$(touch PWNED)", "`touch PWNED`", `a"b`, "new\nline", "-rf", "'''", "%s%n", "EOF", " lead", "trail ",
		"a..b.txt", "...", "..hidden", "[id]", "{a,b}", "*", "?", "!x", "#x", "~x", "é", "e\u0301", "日本語", "\u202egnp.exe", "tab\tx", "bad\xffutf8",
		"log_2026:06:30.txt", "a&b;c|d", "$HOME", strings.Repeat("n", 200),
	}
}

func (e *env) names() {
	var want []string
	for _, n := range hostileNames() {
		p := "/dir [x]/" + n
		_, err := e.d.Write(e.ctx, p, strings.NewReader(n), driver.WriteOptions{})
		if errors.Is(err, driver.ErrInvalidPath) {
			e.gone(p)
			continue // a documented rule of the driver
		}
		if err != nil {
			e.Errorf("Write(%q): %v", p, err)
			continue
		}
		e.holds(p, n)
		want = append(want, p)
	}
	slices.Sort(want)
	e.same("listed names", e.paths("/dir [x]"), want)
	if e.s.has(NoRemove) {
		return
	}
	for _, p := range want {
		if err := e.d.Remove(e.ctx, p, driver.RemoveOptions{}); err != nil {
			e.Errorf("Remove(%q): %v", p, err)
		}
		e.gone(p)
	}
}

func (e *env) cancelled() {
	e.put("/a", "a")
	ctx, cancel := context.WithCancel(e.ctx)
	cancel()
	_, err := e.d.Stat(ctx, "/a")
	e.is("Stat", err, context.Canceled)
	_, _, err = e.d.Open(ctx, "/a", driver.OpenOptions{})
	e.is("Open", err, context.Canceled)
	_, err = e.d.Write(ctx, "/a", bytes.NewReader([]byte("b")), driver.WriteOptions{})
	e.is("Write", err, context.Canceled)
	e.is("Remove", e.d.Remove(ctx, "/a", driver.RemoveOptions{}), cancelledOr(e))
	for _, err := range e.d.List(ctx, "/", driver.ListOptions{}) {
		e.is("List", err, context.Canceled)
	}
	e.holds("/a", "a")
}

// cancelledOr is what Remove returns after a cancel.
func cancelledOr(e *env) error {
	if e.s.has(NoRemove) {
		return errors.ErrUnsupported
	}
	return context.Canceled
}

func (e *env) capabilities() {
	e.putAll(map[string]string{"/t/a": "aa", "/t/s/b": "b", "/u": "u"})
	if w, ok := e.d.(driver.Walker); ok {
		var got []string
		for i, err := range w.Walk(e.ctx, "/t") {
			if err != nil {
				e.Fatal(err)
			}
			got = append(got, i.Path)
		}
		e.same("Walk(/t)", got, []string{"/t/a", "/t/s/b"})
	}
	if l, ok := e.d.(driver.Locker); ok {
		unlock, err := l.Lock(e.ctx, "/u")
		if err != nil {
			e.Fatal(err)
		}
		ctx, cancel := context.WithCancel(e.ctx)
		cancel()
		if second, err := l.Lock(ctx, "/u"); err == nil {
			second()
			e.Error("a lock that is held is given again")
		}
		unlock()
		unlock, err = l.Lock(e.ctx, "/u")
		if err != nil {
			e.Fatal(err)
		}
		unlock()
	}
	if tree, ok := e.d.(driver.Tree); ok {
		e.tree(tree)
	}
}

func (e *env) tree(tree driver.Tree) {
	h, i, err := tree.OpenDir(e.ctx, "/t")
	if err != nil || i.Kind != driver.Dir || i.Resolved != "/t" {
		e.Fatalf("OpenDir = %+v, %v", i, err)
	}
	defer func() { _ = h.Close() }()
	ents, err := h.Entries(e.ctx)
	if err != nil {
		e.Fatal(err)
	}
	var names []string
	for _, i := range ents {
		names = append(names, i.Path)
	}
	slices.Sort(names)
	e.same("Entries", names, []string{"a", "s"})
	rc, fi, err := h.Open("a")
	if err != nil || fi.Size != 2 {
		e.Fatalf("Open = %+v, %v", fi, err)
	}
	b, err := io.ReadAll(rc)
	if err := errors.Join(err, rc.Close()); err != nil || string(b) != "aa" {
		e.Errorf("content %q, %v", b, err)
	}
	if _, _, err := h.Open("s"); err == nil {
		e.Error("a directory opens as a file")
	}
	sub, err := h.Dir("s")
	if err != nil {
		e.Fatal(err)
	}
	if err := sub.Close(); err != nil {
		e.Error(err)
	}
	if _, err := h.Dir("nope"); err == nil {
		e.Error("a missing directory opens")
	}
}
