package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/tool"
)

// maxBody bounds the streamed body of a result.
const maxBody = 10 << 20

// result turns the result of a tool into the protocol's.
func (s *server) result(spec tool.Spec, r tool.Result) *sdk.CallToolResult {
	out := &sdk.CallToolResult{IsError: r.Status == message.Error}
	for _, p := range r.Parts {
		if c := content(p); c != nil {
			out.Content = append(out.Content, c)
		}
	}
	if r.Body != nil {
		text, err := readBody(r.Body)
		if err != nil {
			out.IsError = true
			text += fmt.Sprintf("\nError: the rest of the result could not be read: %v", err)
		}
		out.Content = append(out.Content, &sdk.TextContent{Text: text})
	}
	if len(out.Content) == 0 {
		out.Content = []sdk.Content{&sdk.TextContent{}}
	}
	if isObjectSchema(spec.Output) {
		out.StructuredContent = s.structured(spec.Name, r, out.IsError)
	}
	return out
}

// structured returns the data of a result whose tool promises some, or nil when an error has none. Clients refuse a success
// without data; the least is an empty object.
func (s *server) structured(name string, r tool.Result, failed bool) any {
	if r.Artifact != nil {
		raw, err := json.Marshal(r.Artifact)
		if err == nil && bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
			return json.RawMessage(raw)
		}
		s.log.Error("the artifact of a result is no JSON object", "tool", name, "error", err)
	}
	if failed {
		return nil
	}
	return json.RawMessage("{}")
}

// content turns a part into the protocol's content. What only a model's provider understands has none.
func content(p message.Part) sdk.Content {
	switch p := p.(type) {
	case message.Text:
		return &sdk.TextContent{Text: p.Text}
	case message.Media:
		return media(p)
	}
	return nil
}

func media(m message.Media) sdk.Content {
	switch {
	case m.URL != "":
		return &sdk.ResourceLink{URI: m.URL, Name: nameOf(m), MIMEType: m.MIME}
	case m.ID != "":
		return &sdk.TextContent{Text: fmt.Sprintf("[%s %s, kept by a model provider under the id %s]", m.Kind, nameOf(m), m.ID)}
	case m.Kind == message.Image:
		return &sdk.ImageContent{Data: m.Data, MIMEType: m.MIME}
	case m.Kind == message.Audio:
		return &sdk.AudioContent{Data: m.Data, MIMEType: m.MIME}
	}
	data := m.Data
	if data == nil {
		data = []byte{}
	}
	uri := url.URL{Scheme: "file", Path: "/" + strings.TrimLeft(nameOf(m), "/")}
	return &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: uri.String(), MIMEType: m.MIME, Blob: data}}
}

func nameOf(m message.Media) string {
	if m.Name != "" {
		return m.Name
	}
	return string(m.Kind)
}

// readBody reads a streamed body, up to maxBody bytes.
func readBody(rc io.ReadCloser) (string, error) {
	defer rc.Close()
	b, err := io.ReadAll(io.LimitReader(rc, maxBody+1))
	cut := ""
	if len(b) > maxBody {
		b = b[:maxBody]
		cut = fmt.Sprintf("\n[The rest of the result, past %d bytes, was left out.]", maxBody)
	}
	return strings.ToValidUTF8(string(b), "\uFFFD") + cut, err
}

func closeBody(r tool.Result) {
	if r.Body != nil {
		r.Body.Close() //nolint:gosec // the result is discarded
	}
}
