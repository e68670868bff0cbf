package state

import "github.com/deepagents-go/deepagents/message"

// Messages is the conversation of the agent. Every agent has it.
var Messages = NewKey("messages", message.List.Apply, Options{})

// Append returns the update that adds messages, or replaces those that have the same ID.
func Append(ms ...*message.Message) Update {
	cs := make([]message.Change, len(ms))
	for i, m := range ms {
		cs[i] = message.Add(m)
	}
	return Messages.Update(cs)
}
