package state

import (
	"slices"

	"github.com/deepagents-go/deepagents/message"
)

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

// Stamped returns the update with an id on every message that had none, so that replaying it always gives the same messages.
func (u Update) Stamped(newID func() string) Update {
	if u.Key != Messages.Name() || u.Overwrites {
		return u
	}
	cs, ok := u.value.([]message.Change)
	if !ok {
		return u
	}
	var out []message.Change
	for i, c := range cs {
		if c.Add == nil || c.Add.ID != "" {
			continue
		}
		if out == nil {
			out = slices.Clone(cs)
		}
		m := c.Add.Clone()
		m.ID = newID()
		out[i] = message.Add(m)
	}
	if out != nil {
		u.value = out
	}
	return u
}
