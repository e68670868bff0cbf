package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/mcp"
	"github.com/deepagents-go/deepagents/policy"
	"github.com/deepagents-go/deepagents/run"
	"github.com/deepagents-go/deepagents/tool"
)

func filled(pairs ...any) *sdk.ElicitResult {
	content := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		content[pairs[i].(string)] = pairs[i+1]
	}
	return &sdk.ElicitResult{Action: "accept", Content: content}
}

func bothVersions(t *testing.T, f func(t *testing.T, version string)) {
	for _, v := range []string{oldVersion, newVersion} {
		t.Run(v, func(t *testing.T) { f(t, v) })
	}
}

func TestAnswersOfAPerson(t *testing.T) {
	const write = `{"file_path":"/a.txt","content":"new\n"}`
	bothVersions(t, func(t *testing.T, version string) {
		for _, c := range []struct {
			name   string
			answer *sdk.ElicitResult
			want   string
			file   string
		}{
			{"approve", filled("decision", "approve"), "/a.txt", "new\n"},
			{"approve with a reason", filled("decision", "approve", "reason", "fine"), "/a.txt", "new\n"},
			{"reject", filled("decision", "reject"), "[err] User rejected the tool call for `write_file` with id mcp-1.", "old\n"},
			{"reject with a reason", filled("decision", "reject", "reason", "not now"), "[err] User rejected the tool call for `write_file` with reason: not now", "old\n"},
			{"decline", &sdk.ElicitResult{Action: "decline"}, "[err] User rejected the tool call for `write_file`", "old\n"},
			{"cancel", &sdk.ElicitResult{Action: "cancel"}, "dismissed without an answer (--mode edit)", "old\n"},
			{"accept nothing", &sdk.ElicitResult{Action: "accept"}, "holds no decision", "old\n"},
			{"unknown action", &sdk.ElicitResult{Action: "ok", Content: map[string]any{"decision": "approve"}}, "dismissed without an answer", "old\n"},
		} {
			t.Run(c.name, func(t *testing.T) {
				w := serveDir(t, policy.AskMode, map[string]string{"a.txt": "old\n"})
				asked := 0
				s := connect(t, w.set, mcp.Options{}, answering(func(p *sdk.ElicitParams) *sdk.ElicitResult {
					asked++
					if got := w.file(t, "a.txt"); got != "old\n" {
						t.Errorf("the file holds %q before the answer", got)
					}
					return c.answer
				}), version)
				res := call(t, s, "write_file", write)
				if got := text(t, res); !strings.Contains(got, c.want) || res.IsError != (c.file == "old\n") {
					t.Errorf("result %q, want %q", got, c.want)
				}
				if got := w.file(t, "a.txt"); got != c.file {
					t.Errorf("the file holds %q, want %q", got, c.file)
				}
				if asked != 1 {
					t.Errorf("asked %d times", asked)
				}
				if got := text(t, call(t, s, "read_file", `{"file_path":"/a.txt"}`)); !strings.Contains(got, strings.TrimSpace(c.file)) || asked != 1 {
					t.Errorf("reading asked, or gave %q", got)
				}
			})
		}
	})
}

// An answer outside of the form is refused by the SDK's client before it is sent; a client of another kind may send it.
func TestAnUnknownDecisionDenies(t *testing.T) {
	w := serveDir(t, policy.AskMode, nil)
	p := start(t, t.Context(), w.set, mcp.Options{})
	r := newRaw(t, p.in, p.out)
	r.initialize(oldVersion)
	r.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write_file","arguments":{"file_path":"/a.txt","content":"x"}}}`)
	q := r.next()
	if got := field(t, q, "method"); got != `"elicitation/create"` {
		t.Fatalf("the server sent %s", q)
	}
	if got := field(t, q, "params", "requestedSchema", "properties", "decision", "enum"); got != `["approve","reject"]` {
		t.Errorf("choices %s", got)
	}
	r.send(`{"jsonrpc":"2.0","id":` + field(t, q, "id") + `,"result":{"action":"accept","content":{"decision":"APPROVE"}}}`)
	if got := r.next(); !strings.Contains(got, `"isError":true`) || !strings.Contains(got, "asking failed") {
		t.Errorf("result %s", got)
	}
	if got := w.file(t, "a.txt"); got != "<none>" {
		t.Errorf("the file holds %q", got)
	}
}

func TestAClientThatCannotAskIsDenied(t *testing.T) {
	urlOnly := &sdk.ClientOptions{
		ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			return filled("decision", "approve"), nil
		},
		Capabilities: &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{URL: &sdk.URLElicitationCapabilities{}}},
	}
	bothVersions(t, func(t *testing.T, version string) {
		for name, co := range map[string]*sdk.ClientOptions{"no elicitation": nil, "no forms": urlOnly} {
			w := serveDir(t, policy.AskMode, map[string]string{"a.txt": "old\n"})
			s := connect(t, w.set, mcp.Options{}, co, version)
			got := text(t, call(t, s, "write_file", `{"file_path":"/a.txt","content":"x"}`))
			want := "[err] Error: write /a.txt denied: mode ask asks before files are changed, and this MCP client cannot ask anybody (it has no elicitation) (--mode edit)"
			if got != want {
				t.Errorf("%s: write_file\n got %s\nwant %s", name, got, want)
			}
			got = text(t, call(t, s, "execute", `{"command":"touch b.txt"}`))
			if !strings.Contains(got, "execute touch b.txt denied") || !strings.Contains(got, "--mode yolo") {
				t.Errorf("%s: execute %q", name, got)
			}
			if got := w.file(t, "a.txt") + w.file(t, "b.txt"); got != "old\n<none>" {
				t.Errorf("%s: files %q", name, got)
			}
		}
	})
}

func TestAClientThatFailsToAskIsDenied(t *testing.T) {
	w := serveDir(t, policy.AskMode, nil)
	co := &sdk.ClientOptions{ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		return nil, errors.New("no screen")
	}}
	s := connect(t, w.set, mcp.Options{}, co, oldVersion)
	if got := text(t, call(t, s, "execute", `{"command":"touch b"}`)); !strings.Contains(got, "asking failed") || !strings.Contains(got, "no screen") {
		t.Errorf("result %q", got)
	}
	if got := w.file(t, "b"); got != "<none>" {
		t.Errorf("b holds %q", got)
	}
}

func TestModesDecideWithoutAsking(t *testing.T) {
	for mode, want := range map[policy.Mode]struct{ write, execute bool }{
		policy.Plan: {}, policy.EditMode: {write: true}, policy.Yolo: {write: true, execute: true},
	} {
		w := serveDir(t, mode, nil)
		s := connect(t, w.set, mcp.Options{}, nil, "")
		if res := call(t, s, "write_file", `{"file_path":"/a","content":"x"}`); res.IsError == want.write {
			t.Errorf("mode %s: write_file %q", mode, text(t, res))
		}
		if res := call(t, s, "execute", `{"command":"true"}`); res.IsError == want.execute {
			t.Errorf("mode %s: execute %q", mode, text(t, res))
		}
	}
}

// What a person reads before deciding.
func TestQuestions(t *testing.T) {
	w := serveDir(t, policy.AskMode, map[string]string{"a.txt": "old\n"}, tool.WithActions(
		tool.New(tool.Spec{Name: "fetch", Input: json.RawMessage(`{"type":"object"}`)}, func(context.Context, struct{}) (string, error) { return "", nil }),
		func(context.Context, tool.Call) ([]policy.Action, error) {
			return []policy.Action{{Kind: policy.Network, Host: "go.dev"}}, nil
		}))
	var asked string
	s := connect(t, w.set, mcp.Options{}, answering(func(p *sdk.ElicitParams) *sdk.ElicitResult {
		asked = p.Message
		return filled("decision", "reject")
	}), "")
	const files, commands = "\n\nWhy you are asked: mode ask asks before files are changed.", "\n\nWhy you are asked: mode ask asks before commands run."
	for _, c := range []struct{ name, args, want string }{
		{"execute", `{"command":"rm -rf build\nmake"}`, "Allow execute?\n\nrm -rf build\nmake" + commands},
		{"execute", `{"command":"make","timeout":9}`, "Allow execute?\n\nmake\n\nOther arguments: {\n  \"timeout\": 9\n}" + commands},
		{"execute", `{"command":"echo ok\u202e\u001b[8m; rm x\u200b\r"}`, `Allow execute?` + "\n\n" + `echo ok\u{202e}\u{1b}[8m; rm x\u{200b}\u{d}` + commands},
		{"write_file", `{"file_path":"/n.txt","content":"a\nb"}`, "Allow write_file on /n.txt?\n\n+ a\n+ b" + files},
		{"write_file", `{"file_path":"/n.txt","content":""}`, "Allow write_file on /n.txt?\n\nThe file becomes empty." + files},
		{"edit_file", `{"file_path":"/a.txt","old_string":"old","new_string":"new\nnext"}`, "Allow edit_file on /a.txt?\n\n- old\n+ new\n+ next" + files},
		{
			"edit_file", `{"file_path":"/a.txt","old_string":"old","new_string":"new","replace_all":true}`,
			"Allow edit_file on /a.txt?\n\nEvery occurrence:\n- old\n+ new" + files,
		},
		{"delete", `{"file_path":"/d"}`, "Allow delete on /d and everything below it?\n\nArguments: {\n  \"file_path\": \"/d\"\n}" + files},
		{
			"fetch", `{"old_string":"o","new_string":"n","where":"x"}`,
			"Allow fetch on go.dev?\n\n- o\n+ n\n\n\nOther arguments: {\n  \"where\": \"x\"\n}\n\nWhy you are asked: mode ask asks before the network is reached.",
		},
		{"fetch", `{"url":"x"}`, "Allow fetch on go.dev?\n\nArguments: {\n  \"url\": \"x\"\n}\n\nWhy you are asked: mode ask asks before the network is reached."},
		{"write_file", `{"file_path":"/x\ny","content":"z"}`, `Allow write_file on /x\ny?` + "\n\n+ z" + files},
	} {
		asked = ""
		call(t, s, c.name, c.args)
		if asked != c.want {
			t.Errorf("%s %s\n got %q\nwant %q", c.name, c.args, asked, c.want)
		}
	}
	call(t, s, "write_file", map[string]any{"file_path": "/big", "content": strings.Repeat("0123456789\n", 10_000)})
	if len(asked) > 17<<10 || !strings.Contains(asked, "\n+ 0123456789\n[113620 more bytes are not shown]\n") {
		t.Errorf("a large content is asked with %d bytes: ...%q", len(asked), asked[max(0, len(asked)-150):])
	}
	call(t, s, "execute", map[string]any{"command": strings.Repeat("ä", 10_000)})
	if len(asked) > 17<<10 || !strings.Contains(asked, "ä\n[3616 more bytes are not shown]\n") {
		t.Errorf("a long command is asked with %d bytes: ...%q", len(asked), asked[max(0, len(asked)-150):])
	}
}

func TestAskOutsideOfACall(t *testing.T) {
	if _, err := mcp.Ask(t.Context(), run.Question{Kind: "approval"}); !errors.Is(err, agent.ErrNobody) {
		t.Errorf("outside of a call: %v", err)
	}
	asks := tool.New(tool.Spec{Name: "asks"}, func(ctx context.Context, _ struct{}) (string, error) {
		return run.Interrupt[string](ctx, run.Question{Kind: "input", Value: "your name?"})
	})
	ts, err := agent.NewToolset(agent.Config{Tools: []tool.Tool{asks}}, mcp.Ask)
	if err != nil {
		t.Fatal(err)
	}
	s := connect(t, ts, mcp.Options{}, answering(func(*sdk.ElicitParams) *sdk.ElicitResult { return filled() }), "")
	if got := text(t, call(t, s, "asks", nil)); !strings.Contains(got, `questions of the kind "input" have no form`) {
		t.Errorf("another kind: %q", got)
	}
}

// twice names a second action while it runs, so that two questions belong to one call.
func twice(ran *[]string) tool.Tool {
	return tool.WithActions(
		tool.New(tool.Spec{Name: "twice"}, func(ctx context.Context, _ struct{}) (string, error) {
			s, _ := run.From(ctx)
			for _, host := range []string{"a.example", "b.example", "b.example"} {
				if err := s.Allow(ctx, policy.Action{Kind: policy.Network, Host: host}); err != nil {
					return "", err
				}
			}
			*ran = append(*ran, "ran")
			return "done", nil
		}),
		func(context.Context, tool.Call) ([]policy.Action, error) {
			return []policy.Action{{Kind: policy.Execute, Command: "first"}}, nil
		})
}

func TestSeveralQuestionsInOneCall(t *testing.T) {
	bothVersions(t, func(t *testing.T, version string) {
		var ran []string
		ts, err := agent.NewToolset(agent.Config{Tools: []tool.Tool{twice(&ran)}, Policy: policy.Judges{policy.AskMode}}, mcp.Ask)
		if err != nil {
			t.Fatal(err)
		}
		var asked []string
		s := connect(t, ts, mcp.Options{}, answering(func(p *sdk.ElicitParams) *sdk.ElicitResult {
			head, _, _ := strings.Cut(p.Message, "?")
			asked = append(asked, head)
			return filled("decision", "approve")
		}), version)
		if got := text(t, call(t, s, "twice", nil)); got != "done" {
			t.Errorf("result %q", got)
		}
		want := "Allow twice,Allow twice on a.example,Allow twice on b.example,Allow twice on b.example"
		if got := strings.Join(asked, ","); got != want || len(ran) != 1 {
			t.Errorf("asked %s, want %s; ran %d times", got, want, len(ran))
		}
	})
}

// roundTrips is a client that handles requests for input by hand.
func roundTrips(t *testing.T, w *world) *sdk.ClientSession {
	t.Helper()
	co := answering(func(*sdk.ElicitParams) *sdk.ElicitResult { t.Error("the form was shown"); return filled() })
	co.MultiRoundTrip = &sdk.MultiRoundTripOptions{Disabled: true}
	return connect(t, w.set, mcp.Options{}, co, newVersion)
}

func TestRequestStateIsGoodForOneUseOfOneCall(t *testing.T) {
	w := serveDir(t, policy.AskMode, nil)
	s := roundTrips(t, w)
	params := func(content string) *sdk.CallToolParams {
		return &sdk.CallToolParams{Name: "write_file", Arguments: json.RawMessage(`{"file_path":"/a.txt","content":"` + content + `"}`)}
	}
	answers := func(res *sdk.CallToolResult) sdk.InputResponseMap {
		m := sdk.InputResponseMap{}
		for key := range res.InputRequests {
			m[key] = filled("decision", "approve")
		}
		return m
	}
	first := func() *sdk.CallToolResult {
		t.Helper()
		res, err := s.CallTool(t.Context(), params("x"))
		if err != nil || !res.NeedsInput() || len(res.InputRequests) != 1 || res.RequestState == "" {
			t.Fatalf("first round: %s, %v", asJSON(t, res), err)
		}
		return res
	}
	refused := func(what string, p *sdk.CallToolParams) {
		t.Helper()
		if res, err := s.CallTool(t.Context(), p); err == nil || !strings.Contains(err.Error(), "requestState") {
			t.Errorf("%s: %s, %v", what, asJSON(t, res), err)
		}
		if got := w.file(t, "a.txt"); got != "<none>" {
			t.Fatalf("%s: the file holds %q", what, got)
		}
	}
	asks := func(what string, p *sdk.CallToolParams) {
		t.Helper()
		res, err := s.CallTool(t.Context(), p)
		if err != nil || !res.NeedsInput() || w.file(t, "a.txt") != "<none>" {
			t.Errorf("%s: %s, %v; the file holds %q", what, asJSON(t, res), err, w.file(t, "a.txt"))
		}
	}

	res := first()
	p := params("x")
	p.InputResponses = answers(res)
	asks("answers without a state", p)
	p.RequestState = "forged"
	refused("a forged state", p)
	other := params("y")
	other.InputResponses, other.RequestState = answers(res), res.RequestState
	refused("a state of other arguments", other)
	p.RequestState = res.RequestState
	refused("a state that was used up by a wrong call", p)

	res = first()
	p = params("x")
	p.RequestState = res.RequestState
	asks("a state without answers", p)

	res = first()
	p = params("x")
	p.RequestState, p.InputResponses = res.RequestState, sdk.InputResponseMap{"another": filled("decision", "approve")}
	asks("an answer to another question", p)

	res = first()
	p = params("x")
	p.RequestState, p.InputResponses = res.RequestState, answers(res)
	done, err := s.CallTool(t.Context(), p)
	if err != nil || done.IsError || w.file(t, "a.txt") != "x" {
		t.Errorf("approved: %s, %v; the file holds %q", asJSON(t, done), err, w.file(t, "a.txt"))
	}
	call(t, connect(t, serveDirAt(t, w.root).set, mcp.Options{}, nil, ""), "delete", `{"file_path":"/a.txt"}`)
	refused("a state that was used", p)
}

// The answer is for the server's own eyes: a content that is no decision denies.
func TestWrongAnswersInARoundDeny(t *testing.T) {
	w := serveDir(t, policy.AskMode, nil)
	s := roundTrips(t, w)
	for _, content := range []map[string]any{nil, {"decision": "yes"}, {"decision": true}, {"reason": "approve"}} {
		p := &sdk.CallToolParams{Name: "execute", Arguments: json.RawMessage(`{"command":"touch a"}`)}
		res, err := s.CallTool(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		p.RequestState, p.InputResponses = res.RequestState, sdk.InputResponseMap{}
		for key := range res.InputRequests {
			p.InputResponses[key] = &sdk.ElicitResult{Action: "accept", Content: content}
		}
		res, err = s.CallTool(t.Context(), p)
		if err != nil || !res.IsError || !strings.Contains(text(t, res), "holds no decision") || w.file(t, "a") != "<none>" {
			t.Errorf("%v: %s, %v", content, asJSON(t, res), err)
		}
	}
}

func TestCancelWhileAsking(t *testing.T) {
	w := serveDir(t, policy.AskMode, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	co := &sdk.ClientOptions{ElicitationHandler: func(hctx context.Context, _ *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		cancel()
		<-hctx.Done() // the server takes its question back
		return nil, hctx.Err()
	}}
	s := connect(t, w.set, mcp.Options{}, co, oldVersion)
	_, err := s.CallTool(ctx, &sdk.CallToolParams{Name: "write_file", Arguments: map[string]any{"file_path": "/a", "content": "x"}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	// The path is free again for the next call.
	if got := text(t, call(t, s, "read_file", `{"file_path":"/a"}`)); !strings.Contains(got, "not found") {
		t.Errorf("read %q", got)
	}
}

// A client from the future negotiates an older version, and is asked in that version's way.
func TestAClientAheadOfTheHandshakeIsAsked(t *testing.T) {
	w := serveDir(t, policy.AskMode, nil)
	p := start(t, t.Context(), w.set, mcp.Options{})
	r := newRaw(t, p.in, p.out)
	if got := field(t, r.initialize("2099-01-01"), "result", "protocolVersion"); got != `"`+oldVersion+`"` {
		t.Fatalf("version %s", got)
	}
	r.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"execute","arguments":{"command":"echo x > a"}}}`)
	q := r.next()
	if got := field(t, q, "method"); got != `"elicitation/create"` {
		t.Fatalf("the server sent %s", q)
	}
	r.send(`{"jsonrpc":"2.0","id":` + field(t, q, "id") + `,"result":{"action":"accept","content":{"decision":"approve"}}}`)
	if got := r.next(); !strings.Contains(got, `"exit_code":0`) || w.file(t, "a") != "x\n" {
		t.Errorf("result %s; the file holds %q", got, w.file(t, "a"))
	}
}
