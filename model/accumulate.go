package model

import (
	"cmp"
	"slices"
	"strings"

	"github.com/deepagents-go/deepagents/message"
)

// Accumulator builds a message from deltas. The zero value is ready. After a cut, Message returns what arrived.
type Accumulator struct {
	parts  []any // *textRun, *call or message.Part
	calls  map[int]*call
	usage  *message.Usage
	finish Finish
	id     string
}

type textRun struct {
	reasoning bool
	signed    message.Reasoning // what came after the text: Provider and Opaque
	b         strings.Builder
}

type call struct {
	CallDelta
	args strings.Builder
}

// Add takes the next delta.
func (a *Accumulator) Add(d Delta) {
	if d.Reasoning != "" {
		a.text(d.Reasoning, true)
	}
	if d.Text != "" {
		a.text(d.Text, false)
	}
	if d.Call != nil {
		a.call(d.Call)
	}
	if d.Part != nil {
		a.part(d.Part)
	}
	if d.Usage != nil {
		a.usage = d.Usage
	}
	a.finish = cmp.Or(d.Finish, a.finish)
	a.id = cmp.Or(d.MessageID, a.id)
}

func (a *Accumulator) text(s string, reasoning bool) {
	if r := a.run(reasoning); r != nil {
		r.b.WriteString(s)
		return
	}
	r := &textRun{reasoning: reasoning}
	r.b.WriteString(s)
	a.parts = append(a.parts, r)
}

// run returns the last part when it is an unsigned run of that kind, or nil.
func (a *Accumulator) run(reasoning bool) *textRun {
	if n := len(a.parts); n > 0 {
		if r, ok := a.parts[n-1].(*textRun); ok && r.reasoning == reasoning && r.signed.Provider == "" {
			return r
		}
	}
	return nil
}

// part takes a whole part. Reasoning without text signs the reasoning that was streamed just before it.
func (a *Accumulator) part(p message.Part) {
	if s, ok := p.(message.Reasoning); ok && s.Text == "" && s.Provider != "" {
		if r := a.run(true); r != nil {
			r.signed = s
			return
		}
	}
	a.parts = append(a.parts, p)
}

func (a *Accumulator) call(d *CallDelta) {
	c := a.calls[d.Index]
	if c == nil {
		c = &call{CallDelta: CallDelta{Index: d.Index}}
		if a.calls == nil {
			a.calls = make(map[int]*call, 1)
		}
		a.calls[d.Index] = c
		a.parts = append(a.parts, c)
	}
	c.ID = cmp.Or(d.ID, c.ID)
	c.Name = cmp.Or(d.Name, c.Name)
	c.Provider = cmp.Or(d.Provider, c.Provider)
	if d.Opaque != nil {
		c.Opaque = slices.Clone(d.Opaque)
	}
	c.args.WriteString(d.Args)
}

// Finish returns why the answer ended, or "" while it has not.
func (a *Accumulator) Finish() Finish { return a.finish }

// Message returns the message so far. When the answer was cut ([Length], or no Finish at all), the last tool call is marked
// invalid unless its arguments are complete, and so is every call whose arguments are not.
func (a *Accumulator) Message() *message.Message {
	m := &message.Message{ID: a.id, Role: message.Assistant, Usage: a.usage, Finish: string(a.finish)}
	m.Parts = make(message.Parts, 0, len(a.parts))
	for _, p := range a.parts {
		switch p := p.(type) {
		case *textRun:
			if p.reasoning {
				m.Parts = append(m.Parts, message.Reasoning{Text: p.b.String(), Provider: p.signed.Provider, Opaque: p.signed.Opaque})
			} else {
				m.Parts = append(m.Parts, message.Text{Text: p.b.String()})
			}
		case *call:
			m.Parts = append(m.Parts, a.toolCall(p))
		case message.Part:
			m.Parts = append(m.Parts, p)
		}
	}
	return m
}

func (a *Accumulator) toolCall(c *call) message.ToolCall {
	t := message.ParseCall(c.ID, c.Name, c.args.String())
	t.Provider, t.Opaque = c.Provider, c.Opaque
	if cut := a.finish == Length || a.finish == ""; cut && (t.Invalid != "" || a.isLast(c)) {
		t.Raw, t.Args = c.args.String(), nil
		t.Invalid = CutOff
	}
	return t
}

// CutOff is the reason on a call that the output limit or a lost connection cut.
const CutOff = "the arguments were cut off before they were complete"

func (a *Accumulator) isLast(c *call) bool {
	return a.parts[len(a.parts)-1] == any(c)
}
