package openai_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/modeltest/wire"
	"github.com/deepagents-go/deepagents/model/openai"
)

var update = flag.Bool("update", false, "write the golden files")

func ptr[T any](v T) *T { return &v }

var goldenTools = []model.Tool{
	{Name: "ls", Description: "Lists a directory.", Input: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)},
	{Name: "now", Description: "Tells the time."},
}

func goldenRequests() map[string]*model.Request {
	call := message.ToolCall{ID: "call_1", Name: "ls", Args: json.RawMessage(`{"path": "/a"}`)}
	second := message.ToolCall{ID: "call_2", Name: "now", Args: json.RawMessage(`{}`)}
	image := message.Media{Kind: message.Image, MIME: "image/png", Data: []byte("png")}
	pdf := message.Media{Kind: message.File, MIME: "application/pdf", Data: []byte("%PDF"), Name: "a.pdf"}
	user := message.NewUser("hello")
	return map[string]*model.Request{
		"plain": {Messages: []*message.Message{user}, Settings: model.Settings{Temperature: ptr(0.0), MaxTokens: 100}},
		"tools": {
			System: message.Parts{message.Text{Text: "Be brief."}, message.Text{Text: "Be kind."}}, Tools: goldenTools, Choice: "any",
			Messages: []*message.Message{
				user,
				{Role: message.Assistant, Parts: message.Parts{message.Text{Text: "I look."}, call, second}},
				message.NewTool(call, message.Success, "a.txt"),
				message.NewTool(second, message.Error, "no clock"),
			},
		},
		"choice": {Messages: []*message.Message{user}, Tools: goldenTools, Choice: "ls"},
		"invalid call": {Messages: []*message.Message{
			user,
			{Role: message.Assistant, Parts: message.Parts{message.ParseCall("call_1", "made up/name", `{"pa`)}},
			message.NewTool(call, message.Error, "Error: the arguments are not valid JSON"),
		}},
		"media": {Messages: []*message.Message{
			{Role: message.User, Parts: message.Parts{
				message.Text{Text: "see"},
				image, pdf,
				message.Media{Kind: message.Image, URL: "https://example.org/a.png"},
				message.Media{Kind: message.Video, MIME: "video/mp4", Data: []byte("mp4"), Name: "a.mp4"},
				message.Media{Kind: message.File, MIME: "text/csv", Data: []byte("a,b"), Name: "a.csv"},
			}},
			{Role: message.Assistant, Parts: message.Parts{call, second}},
			{Role: message.Tool, Name: "ls", CallID: "call_1", Parts: message.Parts{message.Text{Text: "one image"}, image}},
			{Role: message.Tool, Name: "now", CallID: "call_2", Parts: message.Parts{pdf}},
		}},
		"order": {Messages: []*message.Message{
			user,
			{Role: message.Assistant, Parts: message.Parts{call, second}},
			message.NewTool(second, message.Success, "noon"),
			message.NewUser("and hurry"),
			message.NewTool(call, message.Success, "a.txt"),
		}},
		"reasoning": {Settings: model.Settings{Effort: "high"}, Messages: []*message.Message{
			user,
			{Role: message.Assistant, Parts: message.Parts{
				message.Reasoning{Text: "sealed", Provider: "openai", Opaque: json.RawMessage(`{"id":"rs_1", "type":"reasoning","summary":[],"encrypted_content":"sealed:c2VhbGVk"}`)},
				message.Reasoning{Text: "in a field", Provider: "openai", Opaque: json.RawMessage(`{"field":"reasoning_content"}`)},
				message.Reasoning{Text: "another provider's", Provider: "other", Opaque: json.RawMessage(`{"signature":"x"}`)},
				message.Text{Text: "I look."},
				message.Opaque{Provider: "openai", Data: json.RawMessage(`{"type":"message","id":"msg_1","phase":"commentary"}`)},
				message.ToolCall{ID: "call_1", Name: "ls", Args: json.RawMessage(`{}`), Provider: "openai", Opaque: json.RawMessage(`{"type":"function_call","id":"fc_1"}`)},
			}},
			message.NewTool(call, message.Success, "a.txt"),
		}},
		"schema": {
			Messages: []*message.Message{user}, SchemaName: "Report",
			Schema: json.RawMessage(`{"type":"object","properties":{"sum":{"type":"integer"}},"required":["sum"],"additionalProperties":false}`),
		},
		"loose schema": {Messages: []*message.Message{user}, Schema: json.RawMessage(`{"type":"object","properties":{"sum":{"type":"integer"}}}`)},
	}
}

// TestBodies compares request bodies with testdata. The server checks them too.
func TestBodies(t *testing.T) {
	for name, r := range goldenRequests() {
		for _, api := range apis {
			t.Run(name+"/"+string(api), func(t *testing.T) {
				got := body(t, openai.Options{API: api, Model: "gpt-5.1", Quirks: openai.Quirks{Reasons: ptr(name != "plain")}}, r)
				var b bytes.Buffer
				if err := json.Indent(&b, got, "", "  "); err != nil {
					t.Fatal(err)
				}
				b.WriteByte('\n')
				golden(t, strings.ReplaceAll(name, " ", "-")+"."+string(api)+".json", b.Bytes())
			})
		}
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s differs (-want +got):\n%s", path, d)
	}
}

// body returns what a model sends. The request must be accepted.
func body(t testing.TB, o openai.Options, r *model.Request) []byte {
	t.Helper()
	var got []byte
	o.HTTPClient = &http.Client{Transport: direct{wire.New(wire.Options{
		Model: &listener{}, OnRequest: func(_ *http.Request, b []byte) { got = bytes.Clone(b) },
	})}}
	if _, err := ask(t.Context(), open(t, o), r); err != nil {
		t.Fatalf("%v\n%s", err, got)
	}
	return got
}

// TestQuirks looks for what each quirk adds to a body or takes from it.
func TestQuirks(t *testing.T) {
	r := &model.Request{
		Tools: goldenTools, Choice: "any", Settings: model.Settings{MaxTokens: 7, Effort: "low", Temperature: ptr(0.5)},
		Schema: json.RawMessage(`{"type":"object"}`),
		Messages: []*message.Message{
			message.NewUser("hello"), message.NewSystem("a note"),
			{Role: message.Assistant, Parts: message.Parts{
				message.Reasoning{Text: "thought", Provider: "openai", Opaque: json.RawMessage(`{"field":"reasoning"}`)},
				message.ParseCall("call_long", "ls", "{broken"),
			}},
			message.NewTool(message.ToolCall{ID: "call_long", Name: "ls"}, message.Error, "no"),
		},
	}
	for name, c := range map[string]struct {
		q         openai.Quirks
		has, lost string
	}{
		"MaxTokens":      {openai.Quirks{MaxTokens: true}, `"max_tokens":7`, `max_completion_tokens`},
		"ShortCallIDs":   {openai.Quirks{ShortCallIDs: true}, `"tool_call_id":"`, `call_long`},
		"SystemFirst":    {openai.Quirks{SystemFirst: true}, `{"role":"user","content":[{"type":"text","text":"a note"}]}`, `"role":"system"`},
		"DropReasoning":  {openai.Quirks{DropReasoning: true}, `"tool_calls"`, `thought`},
		"ReasoningField": {openai.Quirks{ReasoningField: "reasoning_content"}, `"reasoning_content":"","reasoning":"thought"`, `"reasoning_details"`},
		"NoUsage":        {openai.Quirks{NoUsage: true}, `"stream":true`, `stream_options`},
		"NoEffort":       {openai.Quirks{NoEffort: true}, `"temperature":0.5`, `reasoning_effort`},
		"JSONObject":     {openai.Quirks{JSONObject: true}, `"response_format":{"type":"json_object"}`, `json_schema`},
		"Reasons":        {openai.Quirks{Reasons: ptr(true)}, `"reasoning_effort":"low"`, `temperature`},
		"Body":           {openai.Quirks{Body: map[string]any{"seed": 1}}, `"seed":1`, `"user":`},
	} {
		t.Run(name, func(t *testing.T) {
			got := body(t, openai.Options{Quirks: c.q}, r)
			if !bytes.Contains(got, []byte(c.has)) || bytes.Contains(got, []byte(c.lost)) {
				t.Errorf("want %s and no %s in\n%s", c.has, c.lost, got)
			}
		})
	}
}

// TestStrict: only a schema that the API can enforce is sent as strict.
func TestStrict(t *testing.T) {
	const object = `{"type":"object","properties":{"a":%s},"required":["a"],"additionalProperties":false}`
	for schema, want := range map[string]bool{
		fmt.Sprintf(object, `{"type":"string","enum":["x"]}`):                         true,
		fmt.Sprintf(object, `{"type":["string","null"],"description":"d"}`):           true,
		fmt.Sprintf(object, fmt.Sprintf(object, `{"type":"integer"}`)):                true,
		fmt.Sprintf(object, `{"type":"array","items":{"anyOf":[{"type":"number"}]}}`): true,
		fmt.Sprintf(object, `{"type":"object"}`):                                      false,
		fmt.Sprintf(object, `{"type":["object","null"]}`):                             false,
		fmt.Sprintf(object, `{"type":"array","items":{"type":"object"}}`):             false,
		fmt.Sprintf(object, `{"oneOf":[{"type":"string"}]}`):                          false,
		fmt.Sprintf(object, `true`):                                                   false,
		`{"type":"object","properties":{"a":{}},"additionalProperties":false}`:        false,
	} {
		for _, api := range apis {
			r := hello()
			r.Schema = json.RawMessage(schema)
			if got := bytes.Contains(body(t, openai.Options{API: api}, r), []byte(`"strict":true`)); got != want {
				t.Errorf("%s: %s is strict: %v", api, schema, got)
			}
		}
	}
}

// TestBadSchemas are told before anything is sent.
func TestBadSchemas(t *testing.T) {
	for _, api := range apis {
		for _, r := range []*model.Request{
			{Tools: []model.Tool{{Name: "ls", Input: json.RawMessage(`{`)}}}, {Tools: []model.Tool{{Name: "ls", Input: json.RawMessage(`[]`)}}}, {Schema: json.RawMessage(`"x"`)},
		} {
			m, _ := hear(t, openai.Options{API: api})
			if _, err := ask(t.Context(), m, r); kindOf(t, err).Kind != model.Invalid || !strings.Contains(err.Error(), "schema") {
				t.Errorf("%s: %v", api, err)
			}
		}
	}
}

// TestRawArguments cannot ask the strict server, which refuses broken arguments.
func TestRawArguments(t *testing.T) {
	for _, api := range apis {
		var got []byte
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b := new(bytes.Buffer)
			_, _ = b.ReadFrom(r.Body)
			got = b.Bytes()
			w.WriteHeader(http.StatusBadRequest)
		})
		o := openai.Options{API: api, Quirks: openai.Quirks{RawArguments: true, AnyIsRequired: "any"}, HTTPClient: &http.Client{Transport: direct{h}}}
		r := goldenRequests()["invalid call"]
		r.Tools, r.Choice = goldenTools, "any"
		if _, err := ask(t.Context(), open(t, o), r); err == nil {
			t.Fatal("no error")
		}
		if !bytes.Contains(got, []byte(`"arguments":"{\"pa"`)) || !bytes.Contains(got, []byte(`"tool_choice":"any"`)) {
			t.Errorf("%s: the raw arguments are not in %s", api, got)
		}
	}
}

// TestPrefix: a longer conversation begins with the bytes of the shorter one.
func TestPrefix(t *testing.T) {
	for _, api := range apis {
		r := goldenRequests()["media"]
		o := openai.Options{API: api}
		short := body(t, o, r)
		longer := *r
		longer.Messages = append(longer.Messages[:len(longer.Messages):len(longer.Messages)], message.NewAssistant("done"), message.NewUser("more"))
		if got := body(t, o, &longer); !bytes.HasPrefix(got, bytes.TrimSuffix(short, []byte("]}"))) {
			t.Errorf("%s: the prefix changed:\n%s\n%s", api, short, got)
		}
	}
}
