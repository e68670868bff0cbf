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
// An update that cannot be read comes back as it is; applying it tells why.
func (u Update) Stamped(newID func() string) Update {
	if u.Key != Messages.Name() {
		return u
	}
	v, err := Messages.field.decodeUpdate(u)
	if err != nil {
		return u
	}
	switch v := v.(type) {
	case []message.Change:
		if cs, ok := stampChanges(v, newID); ok {
			return Messages.Update(cs)
		}
	case message.List:
		if l, ok := stampList(v, newID); ok {
			return Messages.Overwrite(l)
		}
	}
	return u
}

func stampChanges(cs []message.Change, newID func() string) (out []message.Change, changed bool) {
	for i, c := range cs {
		if c.Add == nil || c.Add.ID != "" {
			continue
		}
		if out == nil {
			out = slices.Clone(cs)
		}
		out[i] = message.Add(stamp(c.Add, newID))
	}
	return out, out != nil
}

func stampList(l message.List, newID func() string) (message.List, bool) {
	var out []*message.Message
	for i, m := range l.All() {
		if m.ID != "" {
			continue
		}
		if out == nil {
			out = slices.Clone(l.Slice())
		}
		out[i] = stamp(m, newID)
	}
	return message.NewList(out...), out != nil
}

func stamp(m *message.Message, newID func() string) *message.Message {
	m = m.Clone()
	m.ID = newID()
	return m
}
