package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/modeltest/wire"
	"github.com/deepagents-go/deepagents/model/script"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func post(s http.Handler, path, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
	return w
}

const (
	chatPath      = "/v1/chat/completions"
	responsesPath = "/v1/responses"
)

// chatBody is a body of Chat with these messages.
func chatBody(messages string) string {
	return `{"model":"m","stream":true,"messages":[` + messages + `]}`
}

func responsesBody(items string) string {
	return `{"model":"m","stream":true,"store":false,"input":[` + items + `]}`
}

// Pieces of requests.
const (
	user   = `{"role":"user","content":"hi"}`
	called = `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"ls","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"ls","arguments":"{}"}}]}`
	toolA  = `{"role":"tool","tool_call_id":"a","content":"A"}`
	toolB  = `{"role":"tool","tool_call_id":"b","content":"B"}`

	item  = `{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}`
	callA = `{"type":"function_call","call_id":"a","name":"ls","arguments":"{}"}`
	callB = `{"type":"function_call","call_id":"b","name":"ls","arguments":"{}"}`
	outA  = `{"type":"function_call_output","call_id":"a","output":"A"}`
	outB  = `{"type":"function_call_output","call_id":"b","output":"B"}`
	think = `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"sealed:eA=="}`
	said  = `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"x"}]}`
)

// TestRules: each body that is refused breaks one rule; those that are accepted show that nothing else is wrong with it.
func TestRules(t *testing.T) {
	fn := func(name, args string) string {
		return `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"` + name + `","arguments":"` + args + `"}}]},` + toolA
	}
	tools := func(rest string) string {
		return `{"model":"m","stream":true,"messages":[` + user + `],"tools":[{"type":"function","function":{"name":"ls","parameters":{"type":"object"}}}]` + rest + `}`
	}
	format := func(strict, schema string) string {
		return `{"model":"m","stream":true,"messages":[` + user + `],"response_format":{"type":"json_schema","json_schema":{"name":"r","strict":` + strict + `,"schema":` + schema + `}}}`
	}
	list := func(ss ...string) string { return strings.Join(ss, ",") }
	for name, c := range map[string]struct {
		path, body string
		want       string // in the error; empty: accepted
	}{
		"chat":                       {chatPath, chatBody(list(user, called, toolA, toolB, user)), ""},
		"chat: no JSON":              {chatPath, `{`, "EOF"},
		"chat: no model":             {chatPath, `{"messages":[` + user + `]}`, "model is missing"},
		"chat: no message":           {chatPath, chatBody(``), "no message"},
		"chat: unknown field":        {chatPath, `{"model":"m","messages":[` + user + `],"foo":1}`, "foo"},
		"chat: unknown role":         {chatPath, chatBody(`{"role":"robot","content":"x"}`), "robot"},
		"chat: empty user":           {chatPath, chatBody(`{"role":"user","content":""}`), "empty"},
		"chat: empty list":           {chatPath, chatBody(`{"role":"user","content":[]}`), "empty list"},
		"chat: empty part":           {chatPath, chatBody(`{"role":"user","content":[{"type":"text","text":""}]}`), "empty"},
		"chat: empty answer":         {chatPath, chatBody(list(user, `{"role":"assistant","content":null}`)), "neither"},
		"chat: image as a result":    {chatPath, chatBody(list(user, called, `{"role":"tool","tool_call_id":"a","content":[{"type":"image_url","image_url":{"url":"https://x"}}]}`, toolB)), "may not stand"},
		"chat: bad data URL":         {chatPath, chatBody(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,!"}}]}`), "illegal base64"},
		"chat: results out of order": {chatPath, chatBody(list(user, called, toolB, toolA)), "answers call"},
		"chat: one result":           {chatPath, chatBody(list(user, called, toolA)), "no result"},
		"chat: twice":                {chatPath, chatBody(list(user, called, toolA, toolB, toolB)), "answers call"},
		"chat: user between":         {chatPath, chatBody(list(user, called, toolA, user, toolB)), "must stand"},
		"chat: orphan":               {chatPath, chatBody(list(user, toolA)), "answers call"},
		"chat: ids twice":            {chatPath, chatBody(list(user, strings.ReplaceAll(called, `"b"`, `"a"`), toolA, toolA)), "have the id"},
		"chat: name":                 {chatPath, chatBody(list(user, fn("a.b", "{}"))), "legal name"},
		"chat: arguments":            {chatPath, chatBody(list(user, fn("ls", "{"))), "no JSON object"},
		"chat: array of arguments":   {chatPath, chatBody(list(user, fn("ls", "[]"))), "no JSON object"},
		"chat: arguments are right":  {chatPath, chatBody(list(user, fn("ls", "{}"))), ""},
		"chat: tools":                {chatPath, tools(`,"tool_choice":"required"`), ""},
		"chat: choice":               {chatPath, tools(`,"tool_choice":{"type":"function","function":{"name":"rm"}}`), "no tool"},
		"chat: choice without tools": {chatPath, `{"model":"m","messages":[` + user + `],"tool_choice":"auto"}`, "only allowed with tools"},
		"chat: tool twice":           {chatPath, strings.Replace(tools(``), `"tools":[`, `"tools":[{"type":"function","function":{"name":"ls","parameters":{"type":"object"}}},`, 1), "two tools"},
		"chat: schema of a tool":     {chatPath, strings.Replace(tools(``), `{"type":"object"}`, `{}`, 1), "type object"},
		"chat: schema":               {chatPath, format("true", `{"type":"object","properties":{},"required":[],"additionalProperties":false}`), ""},
		"chat: not strict":           {chatPath, format("true", `{"type":"object","properties":{"a":{}},"required":[],"additionalProperties":false}`), "require all"},
		"chat: open":                 {chatPath, format("true", `{"type":"object"}`), "additionalProperties"},

		"responses":                        {responsesPath, responsesBody(list(item, think, callA, callB, outA, outB, said)), ""},
		"responses: text":                  {responsesPath, `{"model":"m","input":"hi"}`, ""},
		"responses: more after calls":      {responsesPath, responsesBody(list(item, callA, said, outA)), ""},
		"responses: empty instructions":    {responsesPath, `{"model":"m","input":"hi","instructions":""}`, "empty"},
		"responses: out of order":          {responsesPath, responsesBody(list(item, callA, callB, outB, outA)), "answers call"},
		"responses: no output":             {responsesPath, responsesBody(list(item, callA, item)), "must stand"},
		"responses: no output at the end":  {responsesPath, responsesBody(list(item, callA)), "no result"},
		"responses: reasoning alone":       {responsesPath, responsesBody(list(item, think)), "must have the item"},
		"responses: reasoning before user": {responsesPath, responsesBody(list(item, think, item)), "must have the item"},
		"responses: foreign reasoning":     {responsesPath, responsesBody(list(item, strings.Replace(think, "sealed:", "x", 1), said)), "none of ours"},
		"responses: reasoning not kept":    {responsesPath, responsesBody(list(item, `{"type":"reasoning","id":"rs_1","summary":[]}`, said)), "not found"},
		"responses: chat's part":           {responsesPath, responsesBody(`{"type":"message","role":"user","content":[{"type":"text","text":"x"}]}`), "may not stand"},
		"responses: unknown item":          {responsesPath, responsesBody(`{"type":"robot"}`), "robot"},
		"responses: empty output":          {responsesPath, responsesBody(list(item, callA, `{"type":"function_call_output","call_id":"a","output":""}`)), "empty"},
	} {
		t.Run(name, func(t *testing.T) {
			w := post(wire.New(wire.Options{Model: always{}}), c.path, c.body)
			if c.want == "" {
				if w.Code != http.StatusOK {
					t.Errorf("status %d: %s", w.Code, w.Body)
				}
				return
			}
			var e struct {
				Error struct{ Message, Type string } `json:"error"`
			}
			err := json.Unmarshal(w.Body.Bytes(), &e)
			if w.Code != http.StatusBadRequest || err != nil || !strings.Contains(e.Error.Message, c.want) || e.Error.Type != "invalid_request_error" {
				t.Errorf("status %d, want 400 and %q: %s", w.Code, c.want, w.Body)
			}
		})
	}
}

// always is a model that says yes.
type always struct{}

func (always) Name() string { return "test:always" }

func (always) Stream(context.Context, *model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		_ = yield(model.Delta{Text: "yes"}, nil) && yield(model.Delta{Finish: model.Stop}, nil)
	}
}

// TestWhole: a client that wants no stream gets one JSON value.
func TestWhole(t *testing.T) {
	line := script.Line{
		Reasoning: "hm", Text: "I look.", ToolCalls: []script.ToolCall{{ID: "a", Name: "ls"}, {ID: "b", Name: "ls", ArgsRaw: "{"}},
		Usage: &message.Usage{Input: 1, Output: 2, Total: 3},
	}
	for path, want := range map[string][]string{
		chatPath:      {`"object":"chat.completion"`, `"content":"I look."`, `"arguments":"{}"`, `"arguments":"{"`, `"finish_reason":"tool_calls"`, `"prompt_tokens":1`},
		responsesPath: {`"object":"response"`, `"status":"completed"`, `"text":"I look."`, `"call_id":"b"`, `"encrypted_content"`, `"input_tokens":1`},
	} {
		body := chatBody(user)
		if path == responsesPath {
			body = responsesBody(item)
		}
		w := post(wire.New(wire.Options{Model: script.New(line)}), path, strings.Replace(body, `"stream":true`, `"stream":false`, 1))
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json" || !json.Valid(w.Body.Bytes()) {
			t.Errorf("status %d, %s: %s", w.Code, w.Header(), w.Body)
		}
		for _, s := range want {
			if !strings.Contains(w.Body.String(), s) {
				t.Errorf("%s is not in %s", s, w.Body)
			}
		}
	}
}

// TestErrorLines: the script's errors are HTTP errors, a request that is sent again gets the next line.
func TestErrorLines(t *testing.T) {
	s := wire.New(wire.Options{RetryAfter: 1500 * time.Millisecond, Model: script.New(
		script.Line{Error: model.RateLimited}, script.Line{Error: model.Overloaded}, script.Line{Error: model.ContextOverflow}, script.Line{Error: model.Auth}, script.Line{Text: "at last"},
	)})
	for i, want := range []struct {
		status int
		after  string
		text   string
	}{
		{429, "2", "rate_limit_exceeded"},
		{503, "2", "server_error"},
		{400, "", "context_length_exceeded"},
		{401, "", "invalid_api_key"},
		{200, "", "at last"},
		{429, "2", "rate_limit_exceeded"},
	} {
		w := post(s, chatPath, strings.Replace(chatBody(user), `"stream":true`, `"stream":false`, 1))
		if w.Code != want.status || w.Header().Get("Retry-After") != want.after || !strings.Contains(w.Body.String(), want.text) {
			t.Errorf("request %d: %d, Retry-After %q: %s", i, w.Code, w.Header().Get("Retry-After"), w.Body)
		}
	}
	w := post(s, chatPath, chatBody(user+`,{"role":"assistant","content":"at last"},`+user))
	if w.Code != http.StatusBadRequest || w.Header().Get("X-Should-Retry") != "false" || !strings.Contains(w.Body.String(), "script exhausted") {
		t.Errorf("an exhausted script: %d %s", w.Code, w.Body)
	}
}

func TestOthers(t *testing.T) {
	s := wire.New(wire.Options{Model: script.New(script.Line{Agent: "helper", Text: "help"})})
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1/models", nil))
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"id":"lines"`) {
		t.Errorf("models: %d %s", w.Code, w.Body)
	}
	if w := post(s, "/v2/other", "{}"); w.Code != http.StatusNotFound {
		t.Errorf("another path: %d", w.Code)
	}
	r := httptest.NewRequest(http.MethodPost, chatPath, strings.NewReader(chatBody(user)))
	r.Header.Set(wire.AgentHeader, "helper")
	w = httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if !strings.Contains(w.Body.String(), `"content":"`) || !strings.HasSuffix(w.Body.String(), "data: [DONE]\n\n") {
		t.Errorf("the helper: %d %s", w.Code, w.Body)
	}
}

// TestCut: the connection is cut at that byte, not one earlier or later.
func TestCut(t *testing.T) {
	for _, n := range []int{1, 20, 200} {
		srv := httptest.NewServer(wire.New(wire.Options{Model: always{}, Faults: func(int) *wire.Fault { return &wire.Fault{CutAfter: n} }}))
		c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		res, err := c.Post(srv.URL+chatPath, "application/json", strings.NewReader(chatBody(user)))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(res.Body)
		res.Body.Close()
		srv.Close()
		if len(got) != n || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d bytes and %v, want %d and an unexpected end", len(got), err, n)
		}
	}
}
