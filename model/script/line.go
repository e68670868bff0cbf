package script

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
)

// version is the version of the format that this package reads and writes.
const version = 1

// mainAgent is the agent of a line or a request that names none.
const mainAgent = "main"

// maxDelay bounds Line.DelayMS.
const maxDelay = 24 * time.Hour

// Line is one turn of a script. The zero value is an empty answer of the main agent. An empty field is the same as one that is
// left out.
type Line struct {
	// V is the version of the format; 0 means 1.
	V int `json:"v,omitempty"`
	// Agent is the agent that the line is for; empty means "main".
	Agent string `json:"agent,omitempty"`
	// When opens a block that plays only while the newest user text contains it.
	When string `json:"when,omitempty"`
	// Expect are texts of which each must occur in one of the newest tool results or in the newest user text.
	Expect []string `json:"expect,omitempty"`
	// Text and Reasoning are what the model says and thinks.
	Text      string     `json:"text,omitempty"`
	Reasoning string     `json:"reasoning,omitempty"`
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`
	// Finish is [model.Stop], [model.ToolCalls] or [model.Length]; empty means ToolCalls when there are calls, else Stop.
	Finish model.Finish `json:"finish,omitempty"`
	// Usage is reported as it is; a Total of 0 becomes the sum.
	Usage *message.Usage `json:"usage,omitempty"`
	// DelayMS is the time before the answer begins, in milliseconds, at most one day.
	DelayMS int64 `json:"delay_ms,omitempty"`
	// Error ends the turn with an error: [model.Overloaded], [model.RateLimited], [model.ContextOverflow] or [model.Auth].
	// What the line says is streamed before it.
	Error model.Kind `json:"error,omitempty"`
}

// ToolCall is a call in a [Line].
type ToolCall struct {
	// ID is unique within the line; empty means "call_<line>_<n>", n counted from 1.
	ID   string `json:"id,omitempty"`
	Name string `json:"name"`
	// Args is a JSON object; empty means {}.
	Args json.RawMessage `json:"args,omitempty"`
	// ArgsRaw is the text of the arguments when it is no JSON object. Args and ArgsRaw exclude each other.
	ArgsRaw string `json:"args_raw,omitempty"`
}

// check returns what is wrong with a line.
func (l *Line) check() error {
	switch {
	case l.V > version:
		return fmt.Errorf("the line has version %d, this program reads version %d: use a newer program", l.V, version)
	case l.V < 0:
		return fmt.Errorf("\"v\" is %d, want %d", l.V, version)
	case l.DelayMS < 0 || l.DelayMS > maxDelay.Milliseconds():
		return fmt.Errorf("\"delay_ms\" is %d, want 0 to %d", l.DelayMS, maxDelay.Milliseconds())
	}
	switch l.Finish {
	case "", model.Stop, model.ToolCalls, model.Length:
	default:
		return fmt.Errorf("unknown finish %q: use stop, tool_calls or length", l.Finish)
	}
	switch l.Error {
	case "", model.Overloaded, model.RateLimited, model.ContextOverflow, model.Auth:
	default:
		return fmt.Errorf("unknown error %q: use overloaded, rate_limited, context_overflow or auth", l.Error)
	}
	for _, e := range l.Expect {
		if e == "" {
			return errors.New("\"expect\" holds an empty text, which is found everywhere")
		}
	}
	if u := l.Usage; u != nil && min(u.Input, u.Output, u.Total, u.CacheRead, u.CacheWrite, u.Reasoning) < 0 {
		return errors.New("\"usage\" holds a negative number")
	}
	return l.checkCalls()
}

func (l *Line) checkCalls() error {
	ids := make(map[string]bool, len(l.ToolCalls))
	for i, c := range l.ToolCalls {
		switch {
		case c.Name == "":
			return fmt.Errorf("tool call %d has no name", i+1)
		case c.ID != "" && ids[c.ID]:
			return fmt.Errorf("two tool calls have the id %q", c.ID)
		case c.hasArgs() && c.ArgsRaw != "":
			return fmt.Errorf("tool call %d has both \"args\" and \"args_raw\"", i+1)
		case c.hasArgs() && message.ParseCall("", "", string(c.Args)).Invalid != "":
			return fmt.Errorf("\"args\" of tool call %d is no JSON object: broken arguments go into \"args_raw\"", i+1)
		}
		ids[c.ID] = true
	}
	return nil
}

func (c *ToolCall) hasArgs() bool { return len(c.Args) > 0 && string(c.Args) != "null" }

// argText returns the text of the arguments as the model would send it.
func (c *ToolCall) argText() string {
	if c.hasArgs() {
		return string(c.Args)
	}
	return c.ArgsRaw
}

// Write writes lines in the format that [Parse] reads. A line that Parse would refuse is an [*Error] with an empty File.
func Write(w io.Writer, lines []Line) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for i, l := range lines {
		if l.V == 0 {
			l.V = version
		}
		err := l.check()
		if err != nil {
			return &Error{Line: i + 1, Kind: Syntax, Text: err.Error(), Err: err}
		}
		if err := enc.Encode(l); err != nil {
			return fmt.Errorf("script: line %d: %w", i+1, err)
		}
	}
	return nil
}

// numbered is a line with its number in the file.
type numbered struct {
	Line
	no int
}

// parse reads JSON lines. Blank lines are left out.
func parse(name string, r io.Reader) ([]numbered, error) {
	var lines []numbered
	b := bufio.NewReaderSize(r, 64<<10)
	for no := 1; ; no++ {
		raw, err := b.ReadBytes('\n')
		end := errors.Is(err, io.EOF)
		if err != nil && !end {
			return nil, fmt.Errorf("script: %w", err)
		}
		if raw = bytes.TrimSpace(raw); len(raw) > 0 {
			l, err := parseLine(raw)
			if err != nil {
				return nil, &Error{File: name, Line: no, Kind: Syntax, Text: err.Error(), Err: err}
			}
			lines = append(lines, numbered{l, no})
		}
		if end {
			return lines, nil
		}
	}
}

func parseLine(raw []byte) (Line, error) {
	var l Line
	switch {
	case raw[0] != '{':
		return l, fmt.Errorf("want a JSON object, one a line, not %q", clip(string(raw), 40))
	case !utf8.Valid(raw):
		return l, errors.New("the line is not valid UTF-8")
	}
	// The version comes first: a newer line may hold fields that are unknown here.
	var v struct{ V int }
	if json.Unmarshal(raw, &v) == nil && v.V > version {
		return Line{V: v.V}, (&Line{V: v.V}).check()
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&l); err != nil {
		return l, readable(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return l, errors.New("there is something after the JSON object: one object a line")
	}
	return l, l.check()
}

// readable says in the words of the format what encoding/json says in those of Go.
func readable(err error) error {
	var te *json.UnmarshalTypeError
	switch {
	case errors.As(err, &te):
		return fmt.Errorf("wrong type: %q cannot be a JSON %s", te.Field, te.Value)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("bad JSON: the line ends inside the object: %w", err)
	case strings.HasPrefix(err.Error(), "json: unknown field"):
		return fmt.Errorf("%s: the fields are v, agent, when, expect, text, reasoning, tool_calls (id, name, args, args_raw), "+
			"finish, usage, delay_ms and error", strings.TrimPrefix(err.Error(), "json: "))
	}
	return fmt.Errorf("bad JSON: %w", err)
}

// clip cuts s after n characters and says so.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	chars := 0
	for i := range s {
		if chars == n {
			return s[:i] + "..."
		}
		chars++
	}
	return s
}
