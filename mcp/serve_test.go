package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/mcp"
	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/policy"
	"github.com/deepagents-go/deepagents/tool"
)

var png = "\x89PNG\r\n\x1a\n" + strings.Repeat("\x00", 24)

// variants are tools that show every way of describing one.
func variants() []tool.Tool {
	yes := func(context.Context, struct{}) (tool.Result, error) { return tool.Text("ok"), nil }
	return []tool.Tool{
		tool.New(tool.Spec{
			Name: "look", Title: "Look", Description: "Looks.", Hints: tool.Hints{ReadOnly: true, Idempotent: true},
			Input: json.RawMessage(`{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"integer","default":1}},"required":["b"]}`),
		}, yes),
		tool.New(tool.Spec{
			Name: "break", Hints: tool.Hints{Destructive: true, OpenWorld: true},
			Input:  json.RawMessage(`{"type":"object"}`),
			Output: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`),
		}, yes),
		tool.New(tool.Spec{Name: "list", Input: json.RawMessage(`{"type":"object"}`), Output: json.RawMessage(`{"type":"array"}`)}, yes),
	}
}

func TestToolsListGolden(t *testing.T) {
	ts, err := agent.NewToolset(agent.Config{Tools: variants()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, t.Context(), ts, mcp.Options{Name: "n", Version: "9", Instructions: "Look first."})
	r := newRaw(t, p.in, p.out)
	got := r.initialize(oldVersion) + "\n"
	r.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	got += r.next() + "\n"
	golden := filepath.Join("testdata", "list.jsonl")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestEightToolsAreDescribedAsTheyAre(t *testing.T) {
	w := serveDir(t, policy.Yolo, nil)
	s := connect(t, w.set, mcp.Options{}, nil, "")
	res, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]*sdk.Tool{}
	for _, x := range res.Tools {
		listed[x.Name] = x
	}
	if len(listed) != 8 {
		t.Errorf("%d tools, want 8", len(listed))
	}
	for _, spec := range w.set.Specs() {
		x := listed[spec.Name]
		if x == nil {
			t.Errorf("%s is not listed", spec.Name)
			continue
		}
		if x.Description != spec.Description || x.Title != spec.Title || x.Title == "" {
			t.Errorf("%s: title %q, description %q", spec.Name, x.Title, x.Description)
		}
		if !sameJSON(t, asJSON(t, x.InputSchema), string(spec.Input)) {
			t.Errorf("%s: input schema %s, want %s", spec.Name, asJSON(t, x.InputSchema), spec.Input)
		}
		if (x.OutputSchema != nil) != (spec.Output != nil) {
			t.Errorf("%s: output schema %v, want %s", spec.Name, x.OutputSchema, spec.Output)
		}
		a, h := x.Annotations, spec.Hints
		if a.ReadOnlyHint != h.ReadOnly || *a.DestructiveHint != h.Destructive || a.IdempotentHint != h.Idempotent || *a.OpenWorldHint != h.OpenWorld {
			t.Errorf("%s: annotations %s, want %+v", spec.Name, asJSON(t, a), h)
		}
	}
	for _, name := range []string{"ls", "read_file", "glob", "grep"} {
		if !listed[name].Annotations.ReadOnlyHint {
			t.Errorf("%s is not read-only", name)
		}
	}
	for _, name := range []string{"delete", "execute"} {
		if a := listed[name].Annotations; a.ReadOnlyHint || !*a.DestructiveHint {
			t.Errorf("%s is not destructive", name)
		}
	}
}

func sameJSON(t testing.TB, a, b string) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal([]byte(a), &x); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(b), &y); err != nil {
		t.Fatal(err)
	}
	return asJSON(t, x) == asJSON(t, y)
}

func TestEightToolsWork(t *testing.T) {
	for _, version := range []string{"", oldVersion, "2024-11-05"} {
		t.Run("version "+version, func(t *testing.T) {
			w := serveDir(t, policy.Yolo, map[string]string{"a.txt": "one\ntwo\n", "d/b.go": "package b\n", "gone.txt": "x"})
			s := connect(t, w.set, mcp.Options{}, nil, version)
			steps := []struct{ name, args, want, structured string }{
				{"ls", `{"path":"/"}`, "/a.txt", ""},
				{"read_file", `{"file_path":"/a.txt"}`, "one\ntwo", ""},
				{"write_file", `{"file_path":"/new/c.txt","content":"three\n"}`, "/new/c.txt", `"path":"/new/c.txt"`},
				{"edit_file", `{"file_path":"/a.txt","old_string":"two","new_string":"2"}`, "/a.txt", `"op":"edit"`},
				{"delete", `{"file_path":"/gone.txt"}`, "/gone.txt", `"op":"delete"`},
				{"glob", `{"pattern":"**/*.go"}`, "/d/b.go", ""},
				{"grep", `{"pattern":"package"}`, "/d/b.go", ""},
				{"execute", `{"command":"cat a.txt; exit 3"}`, "2", `"exit_code":3`},
			}
			for _, step := range steps {
				res := call(t, s, step.name, step.args)
				if got := text(t, res); res.IsError || !strings.Contains(got, step.want) {
					t.Errorf("%s: %q, want %q in it", step.name, got, step.want)
				}
				if got := asJSON(t, res.StructuredContent); step.structured == "" && got != "null" || !strings.Contains(got, step.structured) {
					t.Errorf("%s: structured content %s, want %s in it", step.name, got, step.structured)
				}
			}
			if got := w.file(t, "a.txt") + w.file(t, "new/c.txt") + w.file(t, "gone.txt"); got != "one\n2\nthree\n<none>" {
				t.Errorf("files hold %q", got)
			}
		})
	}
}

func TestToolErrorsAreResults(t *testing.T) {
	w := serveDir(t, policy.Yolo, map[string]string{"a.txt": "one\n"})
	if err := os.Symlink("/etc", filepath.Join(w.root, "out")); err != nil {
		t.Fatal(err)
	}
	s := connect(t, w.set, mcp.Options{}, nil, "")
	for _, c := range []struct{ name, args, want string }{
		{"read_file", `{}`, "file_path"},
		{"read_file", `{"file_path":7}`, "file_path"},
		{"read_file", `[]`, "must be a JSON object"},
		{"read_file", `{"file_path":"/missing"}`, "not found"},
		{"edit_file", `{"file_path":"/a.txt","old_string":"zzz","new_string":"y"}`, "zzz"},
		{"read_file", `{"file_path":"/../etc/passwd"}`, ".."},
		{"read_file", `{"file_path":"~/x"}`, "~"},
		{"read_file", `{"file_path":"/out/passwd"}`, "outside the root"},
		{"write_file", `{"file_path":"/out/evil","content":"x"}`, "outside the root"},
		{"delete", `{"file_path":"/"}`, "/"},
		{"read_file", `{"file_path":"/proc/self/root/etc/passwd"}`, "not found"},
		{"read_file", `{"file_path":"/a\u0000b"}`, "null byte"},
		{"ls", `{"path":"C:\\Windows"}`, "C:"},
	} {
		res := call(t, s, c.name, c.args)
		got := text(t, res)
		if !res.IsError || !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %q, want an error with %q", c.name, c.args, got, c.want)
		}
		if strings.Contains(got, "root:x:") || strings.Contains(got, w.root) {
			t.Errorf("%s %s shows what is outside: %q", c.name, c.args, got)
		}
	}
	if _, err := os.Stat("/etc/evil"); err == nil {
		t.Error("a file was written outside of the root")
	}
}

func TestMissingArgumentsAreAnEmptyObject(t *testing.T) {
	ts, err := agent.NewToolset(agent.Config{Tools: variants()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, t.Context(), ts, mcp.Options{})
	r := newRaw(t, p.in, p.out)
	r.initialize(oldVersion)
	for _, params := range []string{`{"name":"break"}`, `{"name":"break","arguments":null}`} {
		r.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + params + `}`)
		got := field(t, r.next(), "result")
		// The tool promises data, so that a success always has some.
		if want := `{"content":[{"type":"text","text":"ok"}],"structuredContent":{}}`; got != want {
			t.Errorf("%s: %s, want %s", params, got, want)
		}
	}
}

func TestUnknownTools(t *testing.T) {
	ts, err := agent.NewToolset(agent.Config{Tools: variants(), Exclude: []string{"list"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := connect(t, ts, mcp.Options{Tools: []string{"look"}}, nil, "")
	res, err := s.ListTools(t.Context(), nil)
	if err != nil || len(res.Tools) != 1 || res.Tools[0].Name != "look" {
		t.Fatalf("tools %s, %v", asJSON(t, res), err)
	}
	for name, want := range map[string]string{
		"nosuch": "nosuch is not a valid tool",
		"break":  "Error: break is not available.",
		"list":   "Error: list is not available.",
	} {
		if _, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: name}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	ts, err := agent.NewToolset(agent.Config{Tools: variants()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mcp.NewServer(ts, mcp.Options{Tools: []string{"look", "lock"}}); err == nil || !strings.Contains(err.Error(), `"lock"`) || !strings.Contains(err.Error(), "look, break, list") {
		t.Errorf("unknown tool: %v", err)
	}
	if err := mcp.Serve(t.Context(), ts, mcp.Options{In: strings.NewReader("")}); err == nil {
		t.Error("In without Out was accepted")
	}
	odd := tool.New(tool.Spec{Name: "odd", Input: json.RawMessage(`{"type":"array"}`)}, func(context.Context, []string) (string, error) { return "", nil })
	ts, err = agent.NewToolset(agent.Config{Tools: []tool.Tool{odd}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mcp.NewServer(ts, mcp.Options{}); err == nil || !strings.Contains(err.Error(), `"odd"`) {
		t.Errorf("odd schema: %v", err)
	}
}

// NewServer works on the SDK's own transports too.
func TestNewServerInMemory(t *testing.T) {
	w := serveDir(t, policy.Yolo, map[string]string{"a.txt": "one\n"})
	srv, err := mcp.NewServer(w.set, mcp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	st, ct := sdk.NewInMemoryTransports()
	ss, err := srv.Connect(t.Context(), st, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := client(t, ct, nil, "")
	if got := text(t, call(t, s, "read_file", `{"file_path":"/a.txt"}`)); !strings.Contains(got, "one") {
		t.Errorf("read %q", got)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := ss.Wait(); err != nil {
		t.Error(err)
	}
}

func TestVersionsAreNegotiated(t *testing.T) {
	ts, err := agent.NewToolset(agent.Config{Tools: variants()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for asked, want := range map[string]string{
		"2024-11-05": "2024-11-05", "2025-03-26": "2025-03-26", "2025-06-18": "2025-06-18", oldVersion: oldVersion,
		newVersion: oldVersion, "2099-01-01": oldVersion, "1.0": oldVersion,
	} {
		p := start(t, t.Context(), ts, mcp.Options{})
		r := newRaw(t, p.in, p.out)
		if got := field(t, r.initialize(asked), "result", "protocolVersion"); got != `"`+want+`"` {
			t.Errorf("asked for %s: %s, want %s", asked, got, want)
		}
	}
	for _, asked := range sdk.SupportedProtocolVersions() {
		s := connect(t, ts, mcp.Options{}, nil, asked)
		if got := s.InitializeResult().ProtocolVersion; got != asked {
			t.Errorf("the client asked for %s and got %s", asked, got)
		}
		if got := text(t, call(t, s, "break", nil)); got != "ok" {
			t.Errorf("version %s: %q", asked, got)
		}
	}
}

func TestContentOfEveryKind(t *testing.T) {
	parts := message.Parts{
		message.Text{Text: "hello \xff"},
		message.Media{Kind: message.Image, MIME: "image/png", Data: []byte("I")},
		message.Media{Kind: message.Audio, MIME: "audio/mpeg", Data: []byte("A")},
		message.Media{Kind: message.Video, MIME: "video/mp4", Data: []byte("V"), Name: "/a b.mp4"},
		message.Media{Kind: message.File, MIME: "application/pdf", Name: "x.pdf"},
		message.Media{Kind: message.Image, URL: "https://example.com/i.png"},
		message.Media{Kind: message.File, ID: "file-1"},
		message.Reasoning{Text: "not shown"},
	}
	body := tool.New(tool.Spec{Name: "body"}, func(context.Context, struct{}) (tool.Result, error) {
		return tool.Result{Body: io.NopCloser(strings.NewReader(strings.Repeat("x", 11<<20)))}, nil
	})
	all := tool.New(tool.Spec{Name: "all"}, func(context.Context, struct{}) (tool.Result, error) { return tool.Result{Parts: parts}, nil })
	none := tool.New(tool.Spec{Name: "none"}, func(context.Context, struct{}) (tool.Result, error) { return tool.Result{}, nil })
	ts, err := agent.NewToolset(agent.Config{Tools: []tool.Tool{body, all, none}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := connect(t, ts, mcp.Options{}, nil, "")
	want := `[{"type":"text","text":"hello �"},{"type":"image","mimeType":"image/png","data":"SQ=="},{"type":"audio","mimeType":"audio/mpeg","data":"QQ=="},` +
		`{"type":"resource","resource":{"uri":"file:///a%20b.mp4","mimeType":"video/mp4","blob":"Vg=="}},` +
		`{"type":"resource","resource":{"uri":"file:///x.pdf","mimeType":"application/pdf","blob":""}},` +
		`{"type":"resource_link","uri":"https://example.com/i.png","name":"image"},` +
		`{"type":"text","text":"[file file, kept by a model provider under the id file-1]"}]`
	if got := asJSON(t, call(t, s, "all", nil).Content); got != want {
		t.Errorf("content\n got %s\nwant %s", got, want)
	}
	if got := asJSON(t, call(t, s, "none", nil).Content); got != `[{"type":"text","text":""}]` {
		t.Errorf("no parts: %s", got)
	}
	got := text(t, call(t, s, "body", nil))
	if !strings.HasPrefix(got, "xxx") || !strings.HasSuffix(got, "[The rest of the result, past 10485760 bytes, was left out.]") {
		t.Errorf("body of %d bytes ends with %q", len(got), got[len(got)-80:])
	}
}

func TestImageOfADirectory(t *testing.T) {
	w := serveDir(t, policy.Yolo, map[string]string{"p.png": png})
	s := connect(t, w.set, mcp.Options{}, nil, "")
	res := call(t, s, "read_file", `{"file_path":"/p.png"}`)
	for _, c := range res.Content {
		if img, ok := c.(*sdk.ImageContent); ok && img.MIMEType == "image/png" && string(img.Data) == png {
			return
		}
	}
	t.Errorf("no image in %s", asJSON(t, res.Content))
}

func TestPanicIsAnError(t *testing.T) {
	boom := tool.New(tool.Spec{Name: "boom"}, func(context.Context, struct{}) (string, error) { panic("bang") })
	fatal := tool.New(tool.Spec{Name: "fatal"}, func(context.Context, struct{}) (string, error) {
		return "", tool.Fatal(fmt.Errorf("no way on"))
	})
	ts, err := agent.NewToolset(agent.Config{Tools: []tool.Tool{boom, fatal}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := connect(t, ts, mcp.Options{}, nil, "")
	for name, want := range map[string]string{"boom": "bang", "fatal": "no way on"} {
		if got := text(t, call(t, s, name, nil)); !strings.HasPrefix(got, "[err] ") || !strings.Contains(got, want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestParallelCalls(t *testing.T) {
	w := serveDir(t, policy.Yolo, nil)
	s := connect(t, w.set, mcp.Options{}, nil, "")
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			name := fmt.Sprintf("/f%d.txt", i)
			call(t, s, "write_file", map[string]any{"file_path": name, "content": name})
			if got := text(t, call(t, s, "read_file", map[string]any{"file_path": name})); !strings.Contains(got, name) {
				t.Errorf("%s holds %q", name, got)
			}
			if i%10 == 0 {
				res := call(t, s, "execute", map[string]any{"command": "cat " + strings.TrimPrefix(name, "/")})
				if got := text(t, res); !strings.Contains(got, name) {
					t.Errorf("cat %s: %q", name, got)
				}
			}
		})
	}
	wg.Wait()
}

// Calls run at the same time: none of them gets through the gate before all have come to it.
func TestCallsDoNotWaitForEachOther(t *testing.T) {
	g := newGate()
	ts, err := agent.NewToolset(agent.Config{Tools: []tool.Tool{g.tool()}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := connect(t, ts, mcp.Options{}, nil, "")
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if got := text(t, call(t, s, "gate", nil)); got != "through" {
				t.Errorf("gate: %q", got)
			}
		})
	}
	for range 50 {
		<-g.running
	}
	g.open()
	wg.Wait()
}

func TestLargeTexts(t *testing.T) {
	w := serveDir(t, policy.Yolo, nil)
	s := connect(t, w.set, mcp.Options{}, nil, "")
	big := strings.Repeat("0123456789abcdef\n", 3<<20/17)
	call(t, s, "write_file", map[string]any{"file_path": "/big.txt", "content": big})
	if w.file(t, "big.txt") != big {
		t.Error("the large file differs")
	}
	res := call(t, s, "execute", `{"command":"cat big.txt"}`)
	if got := asJSON(t, res.StructuredContent); res.IsError || !strings.Contains(got, `"exit_code":0`) || !strings.Contains(got, `"truncated":true`) {
		t.Errorf("large output: error %v, structured content %s", res.IsError, got)
	}
}

func TestProgressCarriesLiveOutput(t *testing.T) {
	w := serveDir(t, policy.Yolo, nil)
	for _, version := range []string{oldVersion, newVersion} {
		t.Run(version, func(t *testing.T) {
			var mu sync.Mutex
			var live strings.Builder
			var last float64
			const want = "first\nzweitens: ä\nlast\n"
			all := make(chan struct{})
			co := &sdk.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
				mu.Lock()
				defer mu.Unlock()
				live.WriteString(r.Params.Message)
				if r.Params.ProgressToken != "tok" || r.Params.Progress <= last {
					t.Errorf("progress %v after %v with token %v", r.Params.Progress, last, r.Params.ProgressToken)
				}
				last = r.Params.Progress
				if live.Len() == len(want) {
					close(all)
				}
			}}
			s := connect(t, w.set, mcp.Options{}, co, version)
			p := &sdk.CallToolParams{Name: "execute", Arguments: map[string]any{"command": "echo first; echo zweitens: ä; echo last"}}
			p.SetProgressToken("tok")
			res, err := s.CallTool(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			if got := text(t, res); !strings.Contains(got, "first") {
				t.Errorf("result %q", got)
			}
			<-all // the SDK's client handles notifications beside responses
			mu.Lock()
			defer mu.Unlock()
			if live.String() != want {
				t.Errorf("live output %q", live.String())
			}
		})
	}
}
