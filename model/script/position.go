package script

import (
	"strings"

	"github.com/deepagents-go/deepagents/message"
)

// next returns the turn that answers a conversation, or nil when no line is left.
func (r *role) next(msgs []*message.Message, attempt int) *turn {
	if r.plain {
		n := 0
		for _, m := range msgs {
			if r.said(m) {
				n++
			}
		}
		if turns := r.blocks[0].turns; n < len(turns) {
			return &turns[n]
		}
		return nil
	}
	c := cursor{role: r, played: make([]int, len(r.blocks))}
	for _, m := range msgs {
		switch {
		case m.Role == message.User:
			c.hear(m.Text())
		case r.said(m):
			c.pass(m)
		}
	}
	for failed := attempt - 1; ; failed-- {
		t := c.peek()
		if t == nil || t.fail == "" || failed <= 0 {
			return t
		}
		c.advance()
	}
}

// said reports whether a message is a turn of this agent. The loop writes its agent's name into them; others have none.
func (r *role) said(m *message.Message) bool {
	return m.Role == message.Assistant && (m.Name == "" || m.Name == r.agent)
}

// cursor is a place in a role while a conversation is repeated.
type cursor struct {
	role   *role
	played []int // lines played of each block
	at     int   // no block before it is eligible and has lines left, for this user text
	user   string
}

// hear takes the newest user text.
func (c *cursor) hear(text string) {
	if text != "" {
		c.user, c.at = text, 0
	}
}

// peek returns the next turn of the first eligible block that has one, or nil.
func (c *cursor) peek() *turn {
	for ; c.at < len(c.role.blocks); c.at++ {
		b := &c.role.blocks[c.at]
		if n := c.played[c.at]; n < len(b.turns) && strings.Contains(c.user, b.when) {
			return &b.turns[n]
		}
	}
	return nil
}

// advance goes past the turn that peek returned.
func (c *cursor) advance() { c.played[c.at]++ }

// pass goes past the line that an assistant message came from, and past the error lines that its retries met before.
func (c *cursor) pass(m *message.Message) {
	for {
		t := c.peek()
		if t == nil {
			return
		}
		c.advance()
		if t.fail == "" || m.Finish == "" {
			return
		}
	}
}

// userText returns the text of the newest user message that has one.
func userText(msgs []*message.Message) string {
	for i := len(msgs) - 1; i >= 0; i-- {
		if msgs[i].Role != message.User {
			continue
		}
		if t := msgs[i].Text(); t != "" {
			return t
		}
	}
	return ""
}

// newestResults returns the tool messages after the last assistant message.
func newestResults(msgs []*message.Message) []*message.Message {
	var results []*message.Message
	for i := len(msgs) - 1; i >= 0 && msgs[i].Role != message.Assistant; i-- {
		if msgs[i].Role == message.Tool {
			results = append(results, msgs[i])
		}
	}
	for i, j := 0, len(results)-1; i < j; i, j = i+1, j-1 {
		results[i], results[j] = results[j], results[i]
	}
	return results
}
