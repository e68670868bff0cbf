package wire

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
)

// gemini is Google's Gemini API.
type gemini struct{}

func (gemini) match(path string) bool {
	return strings.HasSuffix(path, ":streamGenerateContent") || strings.HasSuffix(path, ":generateContent")
}

type geminiRequest struct {
	Contents []geminiContent  `json:"contents"`
	System   *geminiContent   `json:"systemInstruction"`
	Tools    []geminiTools    `json:"tools"`
	Choice   *geminiChoice    `json:"toolConfig"`
	Config   geminiConfig     `json:"generationConfig"`
	Safety   json.RawMessage  `json:"safetySettings"`
	Cached   string           `json:"cachedContent"`
	names    map[string]bool  // of the functions
	version  int              // of the model, 3 for gemini-3-pro
	tools    []geminiFunction // all of them
}

type geminiContent struct {
	Role  string       `json:"role"`
	Parts []geminiPart `json:"parts"`
}

type geminiTools struct {
	Functions []geminiFunction `json:"functionDeclarations"`
}

type geminiFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parametersJsonSchema"`
	Old         json.RawMessage `json:"parameters"`
}

type geminiChoice struct {
	Calling struct {
		Mode    string   `json:"mode"`
		Allowed []string `json:"allowedFunctionNames"`
	} `json:"functionCallingConfig"`
}

type geminiConfig struct {
	Temperature *float64        `json:"temperature"`
	TopP        *float64        `json:"topP"`
	TopK        *float64        `json:"topK"`
	MaxTokens   int             `json:"maxOutputTokens"`
	Stop        []string        `json:"stopSequences"`
	Candidates  int             `json:"candidateCount"`
	Seed        *int            `json:"seed"`
	MIME        string          `json:"responseMimeType"`
	Schema      json.RawMessage `json:"responseJsonSchema"`
	OldSchema   json.RawMessage `json:"responseSchema"`
	Thinking    *struct {
		Level   string `json:"thinkingLevel"`
		Budget  *int   `json:"thinkingBudget"`
		Include bool   `json:"includeThoughts"`
	} `json:"thinkingConfig"`
}

type geminiPart struct {
	Text      *string `json:"text"`
	Thought   bool    `json:"thought"`
	Signature string  `json:"thoughtSignature"`
	Call      *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
	Response *struct {
		ID       string         `json:"id"`
		Name     string         `json:"name"`
		Response map[string]any `json:"response"`
		Parts    []geminiPart   `json:"parts"`
	} `json:"functionResponse"`
	Inline *struct {
		MIME string `json:"mimeType"`
		Data string `json:"data"`
	} `json:"inlineData"`
	File *struct {
		MIME string `json:"mimeType"`
		URI  string `json:"fileUri"`
	} `json:"fileData"`
	Code   json.RawMessage `json:"executableCode"`
	Output json.RawMessage `json:"codeExecutionResult"`
}

func (gemini) decode(r *http.Request, body []byte) (*call, error) {
	q := geminiRequest{names: make(map[string]bool)}
	if err := strictJSON(body, &q); err != nil {
		return nil, err
	}
	_, name, _ := strings.Cut(r.URL.Path, "/models/")
	name, method, _ := strings.Cut(name, ":")
	if _, err := fmt.Sscanf(name, "gemini-%d", &q.version); err != nil && strings.HasPrefix(name, "gemini-") {
		q.version = 3 // gemini-flash-latest
	}
	if err := q.check(r); err != nil {
		return nil, err
	}
	c := &call{model: name, stream: method == "streamGenerateContent"}
	c.Settings = model.Settings{Temperature: q.Config.Temperature, MaxTokens: q.Config.MaxTokens}
	if t := q.Config.Thinking; t != nil {
		c.Settings.Effort = t.Level
	}
	c.Schema = q.Config.Schema
	for _, f := range q.tools {
		c.Tools = append(c.Tools, model.Tool{Name: f.Name, Description: f.Description, Input: f.Parameters})
	}
	if q.Choice != nil {
		c.Choice = map[string]string{"ANY": "any", "NONE": "none"}[q.Choice.Calling.Mode]
		if len(q.Choice.Calling.Allowed) == 1 {
			c.Choice = q.Choice.Calling.Allowed[0]
		}
	}
	if q.System != nil {
		c.System, _ = q.System.messageParts(nil)
	}
	var ids []string
	for _, content := range q.Contents {
		c.Messages, ids = content.messages(c.Messages, ids)
	}
	return c, nil
}

// messages appends what a content means. ids are those of the calls that it answers; it returns those that it makes.
func (c geminiContent) messages(out []*message.Message, ids []string) ([]*message.Message, []string) {
	rest := c
	for i, p := range c.Parts {
		if p.Response == nil {
			break
		}
		rest.Parts = c.Parts[i+1:]
		t := &message.Message{Role: message.Tool, Name: p.Response.Name, CallID: ids[i], Status: message.Success}
		for key, v := range p.Response.Response {
			if key == "error" {
				t.Status = message.Error
			}
			t.Parts = append(t.Parts, message.Text{Text: fmt.Sprint(v)})
		}
		media, _ := geminiContent{Parts: p.Response.Parts}.messageParts(nil)
		t.Parts = append(t.Parts, media...)
		out = append(out, t)
	}
	if len(rest.Parts) == 0 {
		return out, nil
	}
	m := &message.Message{Role: message.User}
	if c.Role == "model" {
		m.Role = message.Assistant
	}
	m.Parts, ids = rest.messageParts(nil)
	return append(out, m), ids
}

// messageParts returns the parts, and the ids of the calls among them.
func (c geminiContent) messageParts(ids []string) (message.Parts, []string) {
	parts := make(message.Parts, 0, len(c.Parts))
	for _, p := range c.Parts {
		switch {
		case p.Text != nil && p.Thought:
			parts = append(parts, message.Reasoning{Text: *p.Text})
		case p.Text != nil && *p.Text != "":
			parts = append(parts, message.Text{Text: *p.Text})
		case p.Call != nil:
			id := p.Call.ID
			if id == "" {
				id = fmt.Sprint("call_", len(ids))
			}
			ids = append(ids, id)
			parts = append(parts, message.ParseCall(id, p.Call.Name, string(p.Call.Args)))
		case p.Inline != nil:
			data, _ := base64.StdEncoding.DecodeString(p.Inline.Data) // checked before
			parts = append(parts, message.Media{Kind: geminiKind(p.Inline.MIME), MIME: p.Inline.MIME, Data: data})
		case p.File != nil:
			parts = append(parts, message.Media{Kind: geminiKind(p.File.MIME), MIME: p.File.MIME, URL: p.File.URI})
		}
	}
	return parts, ids
}

func geminiKind(mime string) message.MediaKind {
	kind, _, _ := strings.Cut(mime, "/")
	if k := message.MediaKind(kind); slices.Contains([]message.MediaKind{message.Image, message.Audio, message.Video}, k) {
		return k
	}
	return message.File
}

func (gemini) failure(p problem) (int, any) {
	code, status := http.StatusBadRequest, "INVALID_ARGUMENT"
	switch p.kind {
	case model.RateLimited:
		code, status = http.StatusTooManyRequests, "RESOURCE_EXHAUSTED"
	case model.Overloaded, model.Connection:
		code, status = http.StatusServiceUnavailable, "UNAVAILABLE"
	case model.Auth:
		p.text = "API key not valid. Please pass a valid API key. " + p.text
	case model.ContextOverflow:
		p.text = "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576). " + p.text
	case model.Refused, model.Invalid, model.Other:
	}
	return code, map[string]any{"error": map[string]any{"code": code, "message": p.text, "status": status}}
}

func (gemini) encoder(c *call, id string) encoder { return &geminiEncoder{id: id, model: c.model} }

// geminiEncoder writes calls whole, as the service does: a call goes out when the next thing begins.
type geminiEncoder struct {
	id, model string
	open      *model.CallDelta
	args      strings.Builder
	calls     int
}

func (e *geminiEncoder) chunk(fields map[string]any) event {
	fields["responseId"], fields["modelVersion"] = e.id, e.model
	return event{data: plainJSON(fields)}
}

// plainJSON encodes without the escapes that are for HTML: arguments of calls keep their bytes.
func plainJSON(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return strconv.Quote(err.Error())
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (e *geminiEncoder) parts(parts ...any) event {
	return e.chunk(map[string]any{"candidates": []any{map[string]any{
		"index": 0, "content": map[string]any{"role": "model", "parts": parts},
	}}})
}

func (e *geminiEncoder) begin() []event { return nil }

func (e *geminiEncoder) delta(d model.Delta) []event {
	switch {
	case d.Text != "":
		return append(e.flush(), e.parts(map[string]any{"text": d.Text}))
	case d.Reasoning != "":
		return append(e.flush(), e.parts(map[string]any{"text": d.Reasoning, "thought": true}))
	case d.Call != nil:
		var out []event
		if e.open == nil || e.open.Index != d.Call.Index {
			out = e.flush()
			first := *d.Call
			e.open = &first
		}
		e.args.WriteString(d.Call.Args)
		return out
	}
	return nil
}

// flush writes the call that is open.
func (e *geminiEncoder) flush() []event {
	if e.open == nil {
		return nil
	}
	part := geminiCall(e.open.ID, e.open.Name, e.args.String(), e.calls == 0)
	e.calls++
	e.open = nil
	e.args.Reset()
	return []event{e.parts(part)}
}

// geminiCall is a call. Arguments that are no object are sent as a string, which the service itself never does. The first call
// of an answer is signed.
func geminiCall(id, name, text string, first bool) map[string]any {
	args := json.RawMessage(text)
	var object map[string]any
	switch {
	case strings.TrimSpace(text) == "":
		args = json.RawMessage("{}")
	case json.Unmarshal(args, &object) != nil || object == nil:
		args, _ = json.Marshal(text) // a string cannot fail
	}
	part := map[string]any{"functionCall": map[string]any{"id": id, "name": name, "args": args}}
	if first {
		part["thoughtSignature"] = geminiSignature(name, args)
	}
	return part
}

const geminiSigned = "d2lyZ"

// geminiSignature signs a call, so that a change of it is seen when it comes back. Spaces and escapes may change.
func geminiSignature(name string, args json.RawMessage) string {
	var v any
	dec := json.NewDecoder(strings.NewReader(string(args)))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return ""
	}
	same, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return base64.StdEncoding.EncodeToString(append([]byte("wire:"+name+":"), same...))
}

func (e *geminiEncoder) finish(f model.Finish, u *message.Usage) []event {
	out := e.flush()
	last := map[string]any{"candidates": []any{map[string]any{
		"index": 0, "content": map[string]any{"role": "model", "parts": []any{map[string]any{"text": ""}}}, "finishReason": geminiFinish(f),
	}}}
	if u != nil {
		// The counters grow from chunk to chunk.
		part := *u
		part.Output, part.Reasoning = part.Output/2, part.Reasoning/2
		out = append(out, e.chunk(map[string]any{"usageMetadata": geminiUsage(&part)}))
		last["usageMetadata"] = geminiUsage(u)
	}
	return append(out, e.chunk(last))
}

func geminiFinish(f model.Finish) string {
	switch f {
	case model.Length:
		return "MAX_TOKENS"
	case model.Refusal:
		return "SAFETY"
	case model.Stop, model.ToolCalls:
	}
	return "STOP"
}

func geminiUsage(u *message.Usage) map[string]any {
	return map[string]any{
		"promptTokenCount": u.Input + u.CacheRead + u.CacheWrite, "cachedContentTokenCount": u.CacheRead,
		"candidatesTokenCount": u.Output - u.Reasoning, "thoughtsTokenCount": u.Reasoning, "totalTokenCount": u.Total,
	}
}

func (e *geminiEncoder) fail(p problem) []event {
	_, body := gemini{}.failure(p)
	return append(e.flush(), event{data: body})
}

func (e *geminiEncoder) whole(m *message.Message) any {
	var parts []any
	calls := 0
	for _, p := range m.Parts {
		switch p := p.(type) {
		case message.Text:
			parts = append(parts, map[string]any{"text": p.Text})
		case message.Reasoning:
			parts = append(parts, map[string]any{"text": p.Text, "thought": true})
		case message.ToolCall:
			parts = append(parts, geminiCall(p.ID, p.Name, argsText(p), calls == 0))
			calls++
		case message.Media, message.Opaque:
		}
	}
	out := map[string]any{"responseId": e.id, "modelVersion": e.model, "candidates": []any{map[string]any{
		"index": 0, "content": map[string]any{"role": "model", "parts": parts}, "finishReason": geminiFinish(model.Finish(m.Finish)),
	}}}
	if m.Usage != nil {
		out["usageMetadata"] = geminiUsage(m.Usage)
	}
	return out
}

var errNoKey = errors.New("the header x-goog-api-key is missing")
