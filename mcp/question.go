package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/policy"
)

// maxShown bounds how much of a call a question shows, in bytes.
const maxShown = 16 << 10

// approval is an approval question, and request one call in it, as a person reads them.
type (
	approval struct{ agent.Approval }
	request  struct{ agent.ApprovalRequest }
)

func parseApproval(value []byte) (approval, error) {
	var a approval
	if err := json.Unmarshal(value, &a.Approval); err != nil {
		return a, fmt.Errorf("mcp: approval question: %w", err)
	}
	if len(a.ActionRequests) == 0 {
		return a, errors.New("mcp: the approval question names no call")
	}
	return a, nil
}

// message is what the person reads.
func (a approval) message() string {
	texts := make([]string, len(a.ActionRequests))
	for i, r := range a.ActionRequests {
		texts[i] = request{r}.message()
	}
	return strings.Join(texts, "\n\n")
}

func (r request) message() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Allow %s", oneLine(r.Name))
	if on := r.targets(); on != "" {
		b.WriteString(" on " + oneLine(on))
	}
	b.WriteString("?\n\n")
	b.WriteString(shorten(visible(r.detail())))
	if r.Reason != "" {
		fmt.Fprintf(&b, "\n\nWhy you are asked: %s.", oneLine(r.Reason))
	}
	return b.String()
}

// targets names the paths and hosts of a call.
func (r request) targets() string {
	var on []string
	for _, a := range r.Actions {
		switch {
		case a.Kind == policy.Network && a.Host != "":
			on = append(on, a.Host)
		case a.Path != "" && a.Subtree:
			on = append(on, a.Path+" and everything below it")
		case a.Path != "":
			on = append(on, a.Path)
		}
	}
	return strings.Join(on, ", ")
}

// detail shows what the call does: the command, the change of a file, or the arguments.
func (r request) detail() string {
	var in struct {
		Command    *string `json:"command"`
		Old        *string `json:"old_string"`
		New        *string `json:"new_string"`
		ReplaceAll bool    `json:"replace_all"`
		Content    *string `json:"content"`
	}
	known := json.Unmarshal(r.Args, &in) == nil
	switch {
	case known && in.Command != nil && r.does(policy.Execute):
		return *in.Command + r.rest("command")
	case known && in.Old != nil && in.New != nil:
		head := ""
		if in.ReplaceAll {
			head = "Every occurrence:\n"
		}
		return head + prefixed("- ", *in.Old) + prefixed("+ ", *in.New) + r.rest("old_string", "new_string", "replace_all", r.pathArg())
	case known && in.Content != nil && r.does(policy.Write):
		what := prefixed("+ ", *in.Content)
		if *in.Content == "" {
			what = "The file becomes empty."
		}
		return what + r.rest("content", r.pathArg())
	}
	if len(r.Args) > 0 {
		return "Arguments: " + indent(r.Args)
	}
	return r.Description
}

func (r request) does(k policy.Kind) bool {
	for _, a := range r.Actions {
		if a.Kind == k {
			return true
		}
	}
	return false
}

// pathArg is the argument that the headline shows.
func (r request) pathArg() string {
	if r.targets() == "" {
		return ""
	}
	return "file_path"
}

// rest shows the arguments beside those that were shown.
func (r request) rest(shown ...string) string {
	var m map[string]json.RawMessage
	if json.Unmarshal(r.Args, &m) != nil {
		return ""
	}
	for _, name := range shown {
		delete(m, name)
	}
	if len(m) == 0 {
		return ""
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return ""
	}
	return "\n\nOther arguments: " + indent(raw)
}

func indent(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

// prefixed puts a mark before every line.
func prefixed(mark, text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(mark)
		b.WriteString(strings.TrimSuffix(line, "\n"))
		b.WriteByte('\n')
	}
	return b.String()
}

// shorten cuts a long text at a line or character and says how much is missing.
func shorten(s string) string {
	s = strings.TrimRight(s, "\n")
	if len(s) <= maxShown {
		return s
	}
	cut := strings.LastIndexByte(s[:maxShown], '\n')
	if cut < maxShown/2 {
		cut = len(strings.ToValidUTF8(s[:maxShown], ""))
	}
	return fmt.Sprintf("%s\n[%d more bytes are not shown]", s[:cut], len(s)-cut)
}

// visible replaces characters that a screen hides or obeys, so that what is approved is what is seen.
func visible(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range s {
		switch {
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp):
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// oneLine makes a name visible on one line.
func oneLine(s string) string { return strings.ReplaceAll(visible(s), "\n", `\n`) }
