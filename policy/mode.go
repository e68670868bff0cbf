package policy

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Mode is an approval mode: one word for what may happen without a person. It is a [Judge].
type Mode string

// The modes, from the strictest to the most lenient. docs/terminal.md has the table.
const (
	// Plan allows reading only.
	Plan Mode = "plan"
	// AskMode allows reading and asks before every other action.
	AskMode Mode = "ask"
	// EditMode allows reading and writing files and asks before commands and the network.
	EditMode Mode = "edit"
	// Yolo allows everything that no rule denies.
	Yolo Mode = "yolo"
)

// Modes lists the modes, the strictest first.
func Modes() []Mode { return []Mode{Plan, AskMode, EditMode, Yolo} }

// ParseMode returns the mode of that name; "read" is another name of [Plan].
func ParseMode(s string) (Mode, error) {
	m := Mode(s)
	if s == "read" {
		m = Plan
	}
	if !slices.Contains(Modes(), m) {
		names := make([]string, 0, 4)
		for _, m := range Modes() {
			names = append(names, string(m))
		}
		return "", fmt.Errorf("unknown mode %q: use one of %s", s, strings.Join(names, ", "))
	}
	return m, nil
}

// Judge decides by the mode alone.
func (m Mode) Judge(_ context.Context, a Action) Verdict {
	if a.Kind == Read || m == Yolo || (a.Kind == Use && a.ReadOnly) {
		return Verdict{Rule: m.rule()}
	}
	if m == EditMode && a.Kind == Write {
		return Verdict{Rule: m.rule()}
	}
	fix := "--mode yolo"
	if a.Kind == Write {
		fix = "--mode edit"
	}
	if m == Plan {
		return Verdict{Decision: Deny, Reason: "plan mode only reads", Rule: m.rule(), Fix: fix}
	}
	return Verdict{Decision: Ask, Reason: "mode " + string(m) + " asks before " + a.Kind.verb(), Rule: m.rule(), Fix: fix}
}

func (m Mode) rule() string { return "mode " + string(m) }

func (k Kind) verb() string {
	switch k {
	case Write:
		return "files are changed"
	case Execute:
		return "commands run"
	case Network:
		return "the network is reached"
	case Read, Use:
	}
	return "a tool runs"
}
