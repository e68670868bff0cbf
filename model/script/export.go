package script

import (
	"cmp"
	"strings"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
)

// FromMessages returns the lines that play the assistant messages of a conversation again, for an agent; empty means "main".
//
// A replay says the same text, reasoning and calls with the same ids, finish and usage. Texts are joined by LF as
// [message.Message.Text] does and come before the calls, arguments are equal as JSON, and what only a provider understands
// (opaque blocks, signatures, media, a refusal as the finish) is left out. A call without a name is called "unnamed".
func FromMessages(agent string, msgs []*message.Message) []Line {
	if agent == mainAgent {
		agent = ""
	}
	var lines []Line
	for _, m := range msgs {
		if m.Role == message.Assistant {
			lines = append(lines, fromMessage(agent, m))
		}
	}
	return lines
}

func fromMessage(agent string, m *message.Message) Line {
	l := Line{V: version, Agent: agent, Text: m.Text()}
	if m.Usage != nil {
		u := *m.Usage
		l.Usage = &u
	}
	var thoughts []string
	cut := m.Finish == string(model.Length)
	ids := make(map[string]bool)
	for _, p := range m.Parts {
		switch p := p.(type) {
		case message.Reasoning:
			if p.Text != "" {
				thoughts = append(thoughts, p.Text)
			}
		case message.ToolCall:
			l.ToolCalls = append(l.ToolCalls, fromCall(p, ids))
			cut = cut || p.Invalid == model.CutOff
		}
	}
	l.Reasoning = strings.Join(thoughts, "\n")
	switch {
	case cut:
		l.Finish = model.Length
	case m.Finish == string(model.Stop) && len(l.ToolCalls) > 0, m.Finish == string(model.ToolCalls) && len(l.ToolCalls) == 0:
		l.Finish = model.Finish(m.Finish)
	}
	return l
}

// fromCall leaves out an id that the line already has, so that the line stays valid.
func fromCall(c message.ToolCall, ids map[string]bool) ToolCall {
	out := ToolCall{Name: cmp.Or(c.Name, "unnamed")}
	if !ids[c.ID] {
		out.ID = c.ID
	}
	ids[c.ID] = true
	switch {
	case c.Invalid != "":
		out.ArgsRaw = c.Raw
	case string(c.Args) != "{}":
		out.Args = c.Args
	}
	return out
}
