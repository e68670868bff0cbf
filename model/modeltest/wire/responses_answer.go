package wire

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
)

func (responses) failure(p problem) (int, any) { return chat{}.failure(p) }

func (responses) encoder(c *call, id string) encoder {
	return &responsesEncoder{id: "resp_" + id, suffix: id, model: c.model, call: -1}
}

// responsesEncoder sends items one after the other: the open one grows until something of another kind comes.
type responsesEncoder struct {
	id, suffix, model string
	seq               int
	items             []any
	kind              string // of the open item
	call              int    // its call
	text              strings.Builder
	name, callID      string
}

func (e *responsesEncoder) event(name string, fields map[string]any) event {
	fields["type"], fields["sequence_number"] = name, e.seq
	e.seq++
	return event{name: name, data: fields}
}

func (e *responsesEncoder) response(status string, u *message.Usage) map[string]any {
	out := map[string]any{
		"id": e.id, "object": "response", "created_at": 1, "model": e.model, "status": status, "error": nil,
		"incomplete_details": nil, "output": e.items, "usage": nil,
	}
	if u != nil {
		out["usage"] = map[string]any{
			"input_tokens": u.Input + u.CacheRead + u.CacheWrite, "output_tokens": u.Output, "total_tokens": u.Total,
			"input_tokens_details":  map[string]any{"cached_tokens": u.CacheRead, "cache_write_tokens": u.CacheWrite},
			"output_tokens_details": map[string]any{"reasoning_tokens": u.Reasoning},
		}
	}
	return out
}

func (e *responsesEncoder) begin() []event {
	return []event{
		e.event("response.created", map[string]any{"response": e.response("in_progress", nil)}),
		e.event("response.in_progress", map[string]any{"response": e.response("in_progress", nil)}),
	}
}

func (e *responsesEncoder) delta(d model.Delta) []event {
	switch {
	case d.Text != "":
		kind := "output_text"
		if d.Finish == model.Refusal {
			kind = "refusal"
		}
		return e.grow(kind, d.Text)
	case d.Reasoning != "":
		return e.grow("reasoning", d.Reasoning)
	case d.Call != nil:
		return e.grow("call", d.Call.Args, d.Call)
	}
	return nil
}

// grow adds a piece to the open item, or closes it and opens another.
func (e *responsesEncoder) grow(kind, piece string, c ...*model.CallDelta) []event {
	var out []event
	if e.kind != kind || len(c) > 0 && e.call != c[0].Index {
		out = e.done("completed")
		e.kind, e.call = kind, -1
		if len(c) > 0 {
			e.call, e.name, e.callID = c[0].Index, c[0].Name, c[0].ID
		}
		out = append(out, e.event("response.output_item.added", map[string]any{
			"output_index": len(e.items), "item": e.item("in_progress", ""),
		}))
		if p := e.part(""); p != nil {
			name := "response.content_part.added"
			if kind == "reasoning" {
				name = "response.reasoning_summary_part.added"
			}
			out = append(out, e.event(name, e.place(map[string]any{"part": p})))
		}
	}
	e.text.WriteString(piece)
	if piece == "" {
		return out
	}
	name := map[string]string{
		"output_text": "response.output_text.delta", "refusal": "response.refusal.delta",
		"reasoning": "response.reasoning_summary_text.delta", "call": "response.function_call_arguments.delta",
	}[kind]
	return append(out, e.event(name, e.place(map[string]any{"delta": piece})))
}

func (e *responsesEncoder) itemID() string {
	prefix := map[string]string{"output_text": "msg_", "refusal": "msg_", "reasoning": "rs_", "call": "fc_"}[e.kind]
	return fmt.Sprintf("%s%s_%d", prefix, e.suffix, len(e.items))
}

func (e *responsesEncoder) place(fields map[string]any) map[string]any {
	fields["item_id"], fields["output_index"] = e.itemID(), len(e.items)
	switch e.kind {
	case "reasoning":
		fields["summary_index"] = 0
	case "output_text", "refusal":
		fields["content_index"] = 0
	}
	return fields
}

// part is the content part of the open item, or nil when it has none.
func (e *responsesEncoder) part(text string) map[string]any {
	switch e.kind {
	case "output_text":
		return map[string]any{"type": "output_text", "text": text, "annotations": []any{}}
	case "refusal":
		return map[string]any{"type": "refusal", "refusal": text}
	case "reasoning":
		return map[string]any{"type": "summary_text", "text": text}
	}
	return nil
}

func (e *responsesEncoder) item(status, text string) map[string]any {
	switch e.kind {
	case "reasoning":
		i := map[string]any{"id": e.itemID(), "type": "reasoning", "summary": []any{}}
		if text != "" {
			i["summary"] = []any{e.part(text)}
			i["encrypted_content"] = sealed + base64.StdEncoding.EncodeToString([]byte(text))
		}
		return i
	case "call":
		return map[string]any{
			"id": e.itemID(), "type": "function_call", "status": status, "call_id": e.callID, "name": e.name, "arguments": text,
		}
	}
	content := []any{}
	if text != "" {
		content = append(content, e.part(text))
	}
	return map[string]any{"id": e.itemID(), "type": "message", "status": status, "role": "assistant", "content": content}
}

// done closes the open item.
func (e *responsesEncoder) done(status string) []event {
	if e.kind == "" {
		return nil
	}
	text := e.text.String()
	var out []event
	switch e.kind {
	case "output_text":
		out = append(out, e.event("response.output_text.done", e.place(map[string]any{"text": text})))
	case "refusal":
		out = append(out, e.event("response.refusal.done", e.place(map[string]any{"refusal": text})))
	case "reasoning":
		out = append(out, e.event("response.reasoning_summary_text.done", e.place(map[string]any{"text": text})))
	case "call":
		out = append(out, e.event("response.function_call_arguments.done", e.place(map[string]any{"arguments": text})))
	}
	i := e.item(status, text)
	out = append(out, e.event("response.output_item.done", map[string]any{"output_index": len(e.items), "item": i}))
	e.items = append(e.items, i)
	e.kind = ""
	e.text.Reset()
	return out
}

func (e *responsesEncoder) finish(f model.Finish, u *message.Usage) []event {
	if f == model.Length {
		out := e.done("incomplete")
		r := e.response("incomplete", u)
		r["incomplete_details"] = map[string]any{"reason": "max_output_tokens"}
		return append(out, e.event("response.incomplete", map[string]any{"response": r}))
	}
	out := e.done("completed")
	return append(out, e.event("response.completed", map[string]any{"response": e.response("completed", u)}))
}

func (e *responsesEncoder) fail(p problem) []event {
	_, code, kind := openAIError(p)
	if code == nil {
		code = kind
	}
	r := e.response("failed", nil)
	r["error"] = map[string]any{"code": code, "message": p.text}
	return []event{e.event("response.failed", map[string]any{"response": r})}
}

func (e *responsesEncoder) whole(m *message.Message) any {
	for _, p := range m.Parts {
		switch p := p.(type) {
		case message.Text:
			kind := "output_text"
			if m.Finish == string(model.Refusal) {
				kind = "refusal"
			}
			e.grow(kind, p.Text)
		case message.Reasoning:
			e.grow("reasoning", p.Text)
		case message.ToolCall:
			e.done("completed")
			e.grow("call", argsText(p), &model.CallDelta{ID: p.ID, Name: p.Name})
		}
	}
	e.done("completed")
	return e.response("completed", m.Usage)
}
