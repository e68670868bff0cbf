package cli

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/thread"
)

// shownChars bounds what progress shows of arguments and results.
const shownChars = 160

// progress is one line about an event for a person, or "".
func progress(ev agent.Event) string {
	indent := strings.Repeat("  ", len(ev.NS))
	switch d := ev.Data.(type) {
	case agent.RunStarted:
		verb := "thread"
		if d.Resumed {
			verb = "resuming thread"
		}
		return fmt.Sprintf("%s %s, model %s", verb, ev.Thread, Plain(d.Model))
	case agent.MessageCompleted:
		if d.Finish == "stop" || strings.TrimSpace(d.Content) == "" {
			return ""
		}
		return indent + Plain(d.Content)
	case agent.ToolRequested:
		return indent + "> " + Plain(d.Name) + " " + short(string(d.Args)+d.RawArgs)
	case agent.ToolCompleted:
		return indent + completed(d)
	case agent.ApprovalResolved:
		return indent + resolved(d)
	case agent.SubagentStarted:
		return indent + "sub-agent " + Plain(d.Name)
	}
	return ""
}

func completed(d agent.ToolCompleted) string {
	s := "< " + string(d.Status)
	if d.ExitCode != nil {
		s += fmt.Sprintf(", exit %d", *d.ExitCode)
	}
	if d.DurationMS >= 1000 {
		s += fmt.Sprintf(", %s", (time.Duration(d.DurationMS) * time.Millisecond).Round(100*time.Millisecond))
	}
	if d.Status != thread.OK || d.ExitCode != nil && *d.ExitCode != 0 {
		s += ": " + short(d.Content)
	}
	return s
}

func resolved(d agent.ApprovalResolved) string {
	s := "  " + Plain(d.Decision) + " by " + Plain(d.By)
	if d.Reason != "" {
		s += ": " + Plain(d.Reason)
	}
	if d.Fix != "" {
		s += " (allowed by " + Plain(d.Fix) + ")"
	}
	return s
}

// short is the beginning of a text, on one line.
func short(s string) string {
	s = strings.Join(strings.Fields(Plain(s)), " ")
	if utf8.RuneCountInString(s) <= shownChars {
		return s
	}
	return string([]rune(s)[:shownChars]) + "..."
}

// Plain replaces what would drive a terminal, such as escape sequences in the output of a command.
func Plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			return '\uFFFD'
		}
		return r
	}, s)
}
