package provider

import (
	"strings"

	"github.com/deepagents-go/deepagents/message"
)

// Empty stands for the result of a tool that returned nothing: some servers refuse an empty text.
const Empty = "(no output)"

// ResultText returns the texts of a tool message joined by LF. Dialects that have no mark for errors get it in the text.
func ResultText(m *message.Message, markError bool) string {
	text := m.Text()
	if markError && m.Status == message.Error && !strings.HasPrefix(strings.ToLower(text), "error") {
		text = "Error: " + text
	}
	return text
}
