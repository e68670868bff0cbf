package provider

import "github.com/deepagents-go/deepagents/message"

// NoResult is the answer of a call for which the conversation holds none.
const NoResult = "Error: no result of this call was recorded."

// Arrange returns the conversation in the order that every dialect accepts: each assistant message is followed at once by one
// result for each of its calls, in call order. Results that came later move up, what stood between them moves behind them, a
// missing result becomes [NoResult], a second result of a call is left out and a result without a call becomes a user message.
// A conversation in order is returned as it is.
func Arrange(msgs []*message.Message) []*message.Message {
	if ordered(msgs) {
		return msgs
	}
	out := make([]*message.Message, 0, len(msgs)+2)
	for i := 0; i < len(msgs); {
		m := msgs[i]
		i++
		if m.Role == message.Tool {
			out = append(out, orphan(m))
			continue
		}
		out = append(out, m)
		if m.Role != message.Assistant {
			continue
		}
		end := i
		for end < len(msgs) && msgs[end].Role != message.Assistant {
			end++
		}
		out = appendTurn(out, m, msgs[i:end])
		i = end
	}
	return out
}

// appendTurn appends the answers of m's calls, then everything else that follows m.
func appendTurn(out []*message.Message, m *message.Message, rest []*message.Message) []*message.Message {
	calls := m.Calls()
	ours := make(map[string]bool, len(calls))
	for _, c := range calls {
		ours[c.ID] = true
		out = append(out, answer(c, rest))
	}
	for _, r := range rest {
		switch {
		case r.Role != message.Tool:
			out = append(out, r)
		case !ours[r.CallID]:
			out = append(out, orphan(r))
		}
	}
	return out
}

func answer(c message.ToolCall, rest []*message.Message) *message.Message {
	for _, r := range rest {
		if r.Role == message.Tool && r.CallID == c.ID {
			return r
		}
	}
	return message.NewTool(c, message.Error, NoResult)
}

func orphan(m *message.Message) *message.Message {
	parts := make(message.Parts, 0, len(m.Parts)+1)
	parts = append(parts, message.Text{Text: "Result of an earlier call of " + m.Name + ":"})
	return &message.Message{Role: message.User, Parts: append(parts, m.Parts...)}
}

// ordered reports whether each call is followed by its result and each result follows its call.
func ordered(msgs []*message.Message) bool {
	for i := 0; i < len(msgs); i++ {
		switch m := msgs[i]; m.Role {
		case message.Tool:
			return false
		case message.Assistant:
			for _, p := range m.Parts {
				c, ok := p.(message.ToolCall)
				if !ok {
					continue
				}
				if i++; i == len(msgs) || msgs[i].Role != message.Tool || msgs[i].CallID != c.ID {
					return false
				}
			}
		case message.User, message.System:
		}
	}
	return true
}
