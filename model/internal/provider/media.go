package provider

import (
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/deepagents-go/deepagents/message"
)

// DataURL returns the media's bytes as a data URL.
func DataURL(m message.Media) string {
	return "data:" + m.MIME + ";base64," + base64.StdEncoding.EncodeToString(m.Data)
}

// IsPDF reports whether the media is a PDF document.
func IsPDF(m message.Media) bool {
	return m.MIME == "application/pdf" || m.MIME == "" && strings.HasSuffix(strings.ToLower(m.Name), ".pdf")
}

// Document returns a file that is text as the text that stands for it; ok is false when it is none.
func Document(m message.Media) (text string, ok bool) {
	base, _, _ := strings.Cut(m.MIME, ";")
	textual := strings.HasPrefix(base, "text/") || base == "application/json" || base == "application/xml" ||
		base == "application/yaml" || strings.HasSuffix(base, "+json") || strings.HasSuffix(base, "+xml")
	if m.Kind != message.File || !textual || len(m.Data) == 0 || !utf8.Valid(m.Data) {
		return "", false
	}
	name := m.Name
	if name == "" {
		name = base
	}
	return "[" + name + "]\n" + string(m.Data), true
}

// LeftOut returns the text that stands for media that the model does not take.
func LeftOut(m message.Media) string {
	what := string(m.Kind)
	if m.Name != "" {
		what += fmt.Sprintf(" %q", m.Name)
	}
	if m.MIME != "" {
		what += " (" + m.MIME + ")"
	}
	return "[" + what + " left out: this model does not take it]"
}
