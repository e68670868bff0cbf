package anthropic

import (
	"encoding/base64"
	"encoding/json"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/deepagents-go/deepagents/internal/jsonenc"
	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model/internal/provider"
)

// piece is a message as the blocks that it becomes.
type piece struct {
	assistant bool
	// blocks are joined by commas, without brackets.
	blocks []byte
	// marks are the places in blocks where a cache mark is wanted and can stand.
	marks []int
	// ids are the ids of the calls, or of the one that is answered.
	ids []string
	// thinks says that the first block is thinking, signed by this provider.
	thinks bool
}

// encoder encodes one message. ids replace the ids of its calls, in order; nil leaves them.
type encoder struct {
	piece
	provider string
	ids      []string
	// keep is the length of blocks up to the last one that may end an answer: thinking may not.
	keep int
}

func encode(providerName string, m *message.Message, ids []string) piece {
	e := encoder{provider: providerName, ids: ids}
	switch m.Role {
	case message.Tool:
		e.result(m)
	case message.Assistant:
		e.assistant = true
		for _, p := range m.Parts {
			e.assistantPart(p)
		}
		e.blocks = e.blocks[:e.keep]
		e.thinks = e.thinks && e.keep > 0
	case message.User, message.System:
		for _, p := range m.Parts {
			e.userPart(p)
		}
	}
	e.blocks = slices.Clip(e.blocks)
	return e.piece
}

func (e *encoder) comma() {
	if len(e.blocks) > 0 {
		e.blocks = append(e.blocks, ',')
	}
}

// add appends a block.
func (e *encoder) add(block []byte) {
	e.comma()
	e.blocks = append(e.blocks, block...)
	e.keep = len(e.blocks)
}

func (e *encoder) assistantPart(p message.Part) {
	switch p := p.(type) {
	case message.Text:
		e.text(p)
	case message.Media:
		e.text(message.Text{Text: provider.LeftOut(p)})
	case message.Reasoning:
		if p.Provider == e.provider && len(p.Opaque) > 0 {
			e.thinking(p)
		}
	case message.Opaque:
		if p.Provider == e.provider {
			e.opaque(p)
		}
	case message.ToolCall:
		e.call(p)
	}
}

func (e *encoder) userPart(p message.Part) {
	switch p := p.(type) {
	case message.Text:
		e.text(p)
	case message.Media:
		e.add(media(nil, p))
	case message.Reasoning, message.Opaque, message.ToolCall: // nobody but a model says these
	}
}

// text appends a text block. The API refuses blank ones.
func (e *encoder) text(t message.Text) {
	if blank(t.Text) {
		return
	}
	e.add(textBlock(nil, t.Text))
	if t.Cache {
		e.marks = append(e.marks, len(e.blocks)-1)
	}
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

func textBlock(b []byte, text string) []byte {
	b = append(b, `{"type":"text","text":`...)
	return append(jsonenc.String(b, text), '}')
}

// signature is what is kept of a block of thinking besides its text.
type signature struct {
	Signature string `json:"signature"`
}

func (e *encoder) thinking(r message.Reasoning) {
	var s signature
	if json.Unmarshal(r.Opaque, &s) != nil || s.Signature == "" {
		return
	}
	e.thinks = e.thinks || len(e.blocks) == 0
	e.comma()
	e.blocks = append(e.blocks, `{"type":"thinking","thinking":`...)
	e.blocks = jsonenc.String(e.blocks, r.Text)
	e.blocks = append(e.blocks, `,"signature":`...)
	e.blocks = append(jsonenc.String(e.blocks, s.Signature), '}')
}

// opaque appends a block as it came.
func (e *encoder) opaque(o message.Opaque) {
	var t struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(o.Data, &t) != nil || t.Type == "" {
		return
	}
	if t.Type != redacted {
		e.add(o.Data)
		return
	}
	e.thinks = e.thinks || len(e.blocks) == 0
	e.comma()
	e.blocks = append(e.blocks, o.Data...)
}

const redacted = "redacted_thinking"

func (e *encoder) call(c message.ToolCall) {
	id := e.id(c.ID)
	b := append([]byte(nil), `{"type":"tool_use","id":`...)
	b = jsonenc.String(b, id)
	b = append(b, `,"name":`...)
	b = jsonenc.String(b, c.Name)
	b = append(b, `,"input":`...)
	switch {
	case c.Invalid != "" || !json.Valid(c.Args):
		b = append(b, `{"invalid_arguments":`...)
		b = append(jsonenc.String(b, c.Raw), '}')
	default:
		b = append(b, c.Args...)
	}
	e.add(append(b, '}'))
}

// id returns the id of the next call and notes it.
func (e *encoder) id(own string) string {
	id := wireID(own)
	if n := len(e.piece.ids); n < len(e.ids) {
		id = e.ids[n]
	}
	e.piece.ids = append(e.piece.ids, id)
	return id
}

// wireID returns the id in the letters that the API takes. Ids that differ stay different.
func wireID(id string) string {
	ok := id != ""
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		ok = false
		return '_'
	}, id)
	if ok {
		return id
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	return clean + "_" + strconv.FormatUint(uint64(h.Sum32()), 36)
}

// result appends a tool message. The API takes no empty error, and no media in one: an error with media says in its text that
// it is one.
func (e *encoder) result(m *message.Message) {
	var content []byte
	mark, hasMedia := false, false
	for _, p := range m.Parts {
		from := len(content)
		if from > 0 {
			content = append(content, ',')
		}
		switch p := p.(type) {
		case message.Text:
			if blank(p.Text) {
				content = content[:from]
				continue
			}
			content = textBlock(content, p.Text)
			mark = mark || p.Cache
		case message.Media:
			content = media(content, p)
			hasMedia = true
		case message.Reasoning, message.Opaque, message.ToolCall:
			content = content[:from]
		}
	}
	isError := m.Status == message.Error
	if isError && hasMedia {
		isError = false
		content = append(append(textBlock(nil, "Error:"), ','), content...)
	}
	if len(content) == 0 && isError {
		content = textBlock(nil, provider.Empty)
	}
	b := append([]byte(nil), `{"type":"tool_result","tool_use_id":`...)
	b = jsonenc.String(b, e.id(m.CallID))
	if len(content) > 0 {
		b = append(b, `,"content":[`...)
		b = append(append(b, content...), ']')
	}
	if isError {
		b = append(b, `,"is_error":true`...)
	}
	e.add(append(b, '}'))
	if mark {
		e.marks = append(e.marks, len(e.blocks)-1)
	}
}

// media appends an image, a PDF document or a text, else a text that says that something was left out.
func media(b []byte, m message.Media) []byte {
	kind, mime := "", strings.ToLower(m.MIME)
	switch {
	case m.Kind == message.Image && (mime == "image/jpg" || mime == ""):
		kind, mime = "image", "image/jpeg"
		if m.MIME == "" && len(m.Data) > 0 {
			mime = sniffImage(m.Data)
		}
	case m.Kind == message.Image && slices.Contains(imageTypes(), mime):
		kind = "image"
	case m.Kind == message.File && provider.IsPDF(m):
		kind, mime = "document", "application/pdf"
	case m.Kind == message.File && m.ID != "":
		kind = "document"
	}
	if kind == "" || mime == "" && m.ID == "" {
		if text, ok := provider.Document(m); ok {
			return textBlock(b, text)
		}
		return textBlock(b, provider.LeftOut(m))
	}
	b = append(b, `{"type":"`...)
	b = append(b, kind...)
	b = append(b, `","source":`...)
	b = source(b, m, mime)
	if kind == "document" && m.Name != "" {
		b = append(b, `,"title":`...)
		b = jsonenc.String(b, m.Name)
	}
	return append(b, '}')
}

func source(b []byte, m message.Media, mime string) []byte {
	switch {
	case m.ID != "":
		b = append(b, `{"type":"file","file_id":`...)
		b = jsonenc.String(b, m.ID)
	case m.URL != "":
		b = append(b, `{"type":"url","url":`...)
		b = jsonenc.String(b, m.URL)
	default:
		b = append(b, `{"type":"base64","media_type":"`...)
		b = append(b, mime...)
		b = append(b, `","data":"`...)
		b = base64.StdEncoding.AppendEncode(b, m.Data)
		b = append(b, '"')
	}
	return append(b, '}')
}

func imageTypes() []string { return []string{"image/jpeg", "image/png", "image/gif", "image/webp"} }

// sniffImage returns the type of an image by its first bytes, or "".
func sniffImage(data []byte) string {
	for prefix, mime := range map[string]string{
		"\xff\xd8\xff": "image/jpeg", "\x89PNG\r\n\x1a\n": "image/png", "GIF8": "image/gif",
	} {
		if strings.HasPrefix(string(data[:min(len(data), 8)]), prefix) {
			return mime
		}
	}
	if len(data) > 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP" {
		return "image/webp"
	}
	return ""
}
