package policy

import (
	"context"
	"fmt"
	"strings"
)

// Kind is what an [Action] does to the thing it names.
type Kind string

// The kinds of actions.
const (
	// Read looks at a path: its content, its entries or its metadata.
	Read Kind = "read"
	// Write creates, changes or removes a path.
	Write Kind = "write"
	// Execute runs a shell command.
	Execute Kind = "execute"
	// Network reaches a host.
	Network Kind = "network"
	// Use calls a tool that says nothing more exact about itself.
	Use Kind = "use"
)

// Action is one thing a tool call is about to do. It is judged before the call, and calls of one message whose actions
// conflict run one after the other.
type Action struct {
	Kind Kind `json:"kind"`
	// Tool is the name of the tool that acts. The agent fills it in.
	Tool string `json:"tool,omitempty"`
	// Path is a clean absolute path (Read, Write).
	Path string `json:"path,omitempty"`
	// Subtree says that everything below Path is touched too.
	Subtree bool `json:"subtree,omitempty"`
	// Command is the text given to the shell (Execute).
	Command string `json:"command,omitempty"`
	// Host is a host name, with a port where it matters (Network).
	Host string `json:"host,omitempty"`
	// ReadOnly says that the tool declares this use to change nothing (Use).
	ReadOnly bool `json:"read_only,omitempty"`
}

// String describes the action for a person: "write /a.txt", "execute go test ./...".
func (a Action) String() string {
	what := a.Tool
	switch a.Kind {
	case Read, Write:
		what = a.Path
		if a.Subtree && what != "/" {
			what += "/**"
		}
	case Execute:
		what = a.Command
	case Network:
		what = a.Host
	case Use:
	}
	return strings.TrimSpace(string(a.Kind) + " " + what)
}

// Conflicts reports whether the order of two actions matters: both touch one path (or one lies in the other's subtree) and at
// least one writes. Execute counts as reading every path, as it may.
func (a Action) Conflicts(b Action) bool {
	a, aok := a.touches()
	b, bok := b.touches()
	if !aok || !bok || (a.Kind == Read && b.Kind == Read) {
		return false
	}
	return a.Path == b.Path || a.Subtree && Below(b.Path, a.Path) || b.Subtree && Below(a.Path, b.Path)
}

// touches reduces an action to the paths it reads or writes.
func (a Action) touches() (Action, bool) {
	switch a.Kind {
	case Read, Write:
		return a, true
	case Execute:
		return Action{Kind: Read, Path: "/", Subtree: true}, true
	default:
		return a, false
	}
}

// Below reports whether path lies strictly below dir. Both are clean and absolute.
func Below(path, dir string) bool {
	if dir == "/" {
		return path != "/"
	}
	return len(path) > len(dir) && path[len(dir)] == '/' && path[:len(dir)] == dir
}

// Decision is the answer to an action. A greater decision is stricter.
type Decision int

// The decisions, from the most lenient to the strictest.
const (
	Allow Decision = iota
	Ask
	Deny
)

var decisionNames = [...]string{"allow", "ask", "deny"}

// String returns "allow", "ask" or "deny".
func (d Decision) String() string {
	if d < 0 || int(d) >= len(decisionNames) {
		return fmt.Sprintf("decision(%d)", int(d))
	}
	return decisionNames[d]
}

// MarshalText encodes the decision by name.
func (d Decision) MarshalText() ([]byte, error) {
	if d < 0 || int(d) >= len(decisionNames) {
		return nil, fmt.Errorf("policy: unknown decision %d", int(d))
	}
	return []byte(d.String()), nil
}

// UnmarshalText decodes a name. "interrupt", Deep Agents' word for ask, is understood.
func (d *Decision) UnmarshalText(b []byte) error {
	switch string(b) {
	case "allow":
		*d = Allow
	case "ask", "interrupt":
		*d = Ask
	case "deny":
		*d = Deny
	default:
		return fmt.Errorf("policy: unknown decision %q, want allow, ask or deny", b)
	}
	return nil
}

// Verdict is a decision with its reason.
type Verdict struct {
	Decision Decision `json:"decision"`
	// Reason says in a few words why, for the model and for a person.
	Reason string `json:"reason,omitempty"`
	// Rule is the rule, mode or hook that decided.
	Rule string `json:"rule,omitempty"`
	// Fix names the flag, option or rule that would allow the action.
	Fix string `json:"fix,omitempty"`
}

// Stricter returns the stricter of two verdicts, and v when they are equally strict.
func (v Verdict) Stricter(w Verdict) Verdict {
	if w.Decision > v.Decision {
		return w
	}
	return v
}

// Judge decides about actions. A judge is called from many goroutines.
type Judge interface {
	Judge(ctx context.Context, a Action) Verdict
}

// JudgeFunc is a function as a [Judge].
type JudgeFunc func(ctx context.Context, a Action) Verdict

// Judge calls f.
func (f JudgeFunc) Judge(ctx context.Context, a Action) Verdict { return f(ctx, a) }

// Judges asks each judge; the strictest verdict wins, the first of several equally strict ones. No judge means [Allow].
type Judges []Judge

// Judge asks every judge.
func (js Judges) Judge(ctx context.Context, a Action) Verdict {
	var v Verdict
	for _, j := range js {
		if j == nil {
			continue
		}
		v = v.Stricter(j.Judge(ctx, a))
	}
	return v
}

// DeniedError is the error of an action that a rule, a mode or a person refused. [errors.Is] finds [ErrDenied] in it.
type DeniedError struct {
	Action  Action
	Verdict Verdict
}

// Error says what was denied, why, and what would allow it.
func (e *DeniedError) Error() string {
	s := fmt.Sprintf("%s denied", e.Action)
	if e.Verdict.Reason != "" {
		s += ": " + e.Verdict.Reason
	}
	if e.Verdict.Fix != "" {
		s += " (" + e.Verdict.Fix + ")"
	}
	return s
}

// Is reports whether target is [ErrDenied].
func (e *DeniedError) Is(target error) bool { return target == ErrDenied }

// ErrDenied is found in every error that a verdict caused.
var ErrDenied = deniedSentinel{}

type deniedSentinel struct{}

func (deniedSentinel) Error() string { return "denied by policy" }
