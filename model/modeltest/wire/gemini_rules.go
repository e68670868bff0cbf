package wire

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

var geminiName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$`)

// check returns what the service would refuse.
func (q *geminiRequest) check(r *http.Request) error {
	c := geminiChecker{q: q}
	if r.Header.Get("X-Goog-Api-Key") == "" && r.Header.Get("Authorization") == "" {
		c.errs = append(c.errs, errNoKey)
	}
	c.functions()
	c.config()
	if q.System != nil {
		c.need(len(q.System.Parts) > 0, "systemInstruction: no parts")
		c.parts("systemInstruction", "user", q.System.Parts)
	}
	c.need(len(q.Contents) > 0, "contents is not specified")
	for i, content := range q.Contents {
		c.content(i, content)
	}
	c.need(len(c.open) == 0, "the calls %q have no function response", c.open)
	return errors.Join(c.errs...)
}

type geminiChecker struct {
	q    *geminiRequest
	errs []error
	open []geminiOpen
}

// geminiOpen is a call without a response.
type geminiOpen struct{ id, name string }

func (c *geminiChecker) need(ok bool, format string, args ...any) {
	if !ok {
		c.errs = append(c.errs, fmt.Errorf(format, args...))
	}
}

func (c *geminiChecker) functions() {
	q := c.q
	for _, t := range q.Tools {
		q.tools = append(q.tools, t.Functions...)
	}
	for _, f := range q.tools {
		c.need(geminiName.MatchString(f.Name), "invalid function name %q", f.Name)
		c.need(!q.names[f.Name], "duplicate function declaration %q", f.Name)
		q.names[f.Name] = true
		if f.Parameters != nil {
			var s struct {
				Type       any
				Properties map[string]json.RawMessage
			}
			c.need(json.Unmarshal(f.Parameters, &s) == nil && s.Type == "object" && len(s.Properties) > 0,
				"parameters of %q: should be non-empty for OBJECT type", f.Name)
		}
	}
	if ch := q.Choice; ch != nil {
		mode := ch.Calling.Mode
		c.need(len(q.tools) > 0, "function calling config is set without function_declarations")
		c.need(slices.Contains([]string{"AUTO", "ANY", "NONE"}, mode), "mode %q", mode)
		c.need(len(ch.Calling.Allowed) == 0 || mode == "ANY", "allowed_function_names should only be set when mode is ANY")
		for _, n := range ch.Calling.Allowed {
			c.need(q.names[n], "allowed_function_names: %q is not declared", n)
		}
	}
}

func (c *geminiChecker) config() {
	g := c.q.Config
	c.need(g.Schema == nil || g.MIME == "application/json", "responseJsonSchema wants responseMimeType application/json")
	c.need(g.Schema == nil || c.q.version >= 3 || len(c.q.tools) == 0, "function calling with a response mime type 'application/json' is unsupported")
	if t := g.Thinking; t != nil {
		c.need(t.Level == "" || c.q.version >= 3, "thinking level is not supported for this model")
		c.need(t.Level == "" || t.Budget == nil, "both thinkingLevel and thinkingBudget are set")
		c.need(slices.Contains([]string{"", "minimal", "low", "medium", "high"}, strings.ToLower(t.Level)), "thinkingLevel %q", t.Level)
		c.need(t.Budget == nil || *t.Budget != 0 || !t.Include, "includeThoughts is only enabled when thinking is enabled")
	}
}

func (c *geminiChecker) content(i int, content geminiContent) {
	at := fmt.Sprintf("contents[%d]", i)
	c.need(content.Role == "user" || content.Role == "model", "%s: please use a valid role: user, model", at)
	c.need(i > 0 || content.Role == "user", "the first content must be the user's")
	c.need(i < len(c.q.Contents)-1 || content.Role == "user", "the last content must be the user's")
	c.need(i == 0 || content.Role != c.q.Contents[i-1].Role, "%s: two contents of one role", at)
	c.need(len(content.Parts) > 0, "%s: contents.parts must not be empty", at)
	if content.Role == "user" {
		c.responses(at, content.Parts)
	}
	c.parts(at, content.Role, content.Parts)
	first := true
	for _, p := range content.Parts {
		if p.Call == nil {
			continue
		}
		c.need(!first || c.q.version < 3 || p.Signature != "", "%s: function call %q is missing a thought_signature", at, p.Call.Name)
		c.open = append(c.open, geminiOpen{p.Call.ID, p.Call.Name})
		first = false
	}
}

// responses checks that a content answers the calls before it, once each, in order and at its beginning.
func (c *geminiChecker) responses(at string, parts []geminiPart) {
	n := 0
	for _, p := range parts {
		if p.Response != nil {
			n++
		}
	}
	if n != len(c.open) {
		c.need(false, "%s: the number of function response parts (%d) must equal that of the function call parts (%d)", at, n, len(c.open))
		c.open = nil
		return
	}
	for i, call := range c.open {
		r := parts[i].Response
		if r == nil {
			c.need(false, "%s: function responses must come first", at)
			break
		}
		c.need(r.Name == call.name && r.ID == call.id, "%s: the response to %+v is for %q, %q", at, call, r.ID, r.Name)
		c.need(len(r.Response) > 0, "%s: the response to %q is empty", at, r.Name)
		c.need(len(r.Parts) == 0 || c.q.version >= 3, "%s: multimodal function responses are not supported by this model", at)
		c.parts(at, "response", r.Parts)
	}
	c.open = nil
}

func (c *geminiChecker) parts(at, role string, parts []geminiPart) {
	for i, p := range parts {
		c.part(fmt.Sprintf("%s.parts[%d]", at, i), role, p)
	}
}

func (c *geminiChecker) part(at, role string, p geminiPart) {
	n := 0
	for _, set := range []bool{p.Text != nil, p.Call != nil, p.Response != nil, p.Inline != nil, p.File != nil, p.Code != nil, p.Output != nil} {
		if set {
			n++
		}
	}
	c.need(n == 1, "%s: required oneof field 'data' must have one initialized field, not %d", at, n)
	c.need(role == "model" || !p.Thought && p.Signature == "" && p.Call == nil && p.Code == nil, "%s: only a model thinks and calls", at)
	c.need(role == "user" || p.Response == nil, "%s: a function response of the model", at)
	c.need(role != "response" || p.Inline != nil || p.File != nil, "%s: a response takes media only", at)
	switch {
	case p.Text != nil:
		c.need(*p.Text != "" || p.Signature != "", "%s: unable to submit request because it must have a text parameter", at)
	case p.Call != nil:
		c.need(geminiName.MatchString(p.Call.Name), "%s: name %q", at, p.Call.Name)
		c.need(len(p.Call.Args) == 0 || p.Call.Args[0] == '{', "%s: args is no object", at)
		c.need(!strings.HasPrefix(p.Signature, geminiSigned) || p.Signature == geminiSignature(p.Call.Name, p.Call.Args), "%s: thought signature is not valid", at)
	case p.Inline != nil:
		data, err := base64.StdEncoding.DecodeString(p.Inline.Data)
		c.need(err == nil && len(data) > 0, "%s: inlineData is empty or no base64", at)
		c.need(geminiMedia(p.Inline.MIME), "%s: unsupported MIME type: %s", at, p.Inline.MIME)
	case p.File != nil:
		c.need(p.File.URI != "" && geminiMedia(p.File.MIME), "%s: fileData %+v", at, *p.File)
	}
}

func geminiMedia(mime string) bool {
	kind, sub, _ := strings.Cut(mime, "/")
	switch kind {
	case "audio", "video", "text":
		return sub != ""
	case "image":
		return slices.Contains([]string{"png", "jpeg", "webp", "heic", "heif"}, sub)
	}
	return mime == "application/pdf"
}
