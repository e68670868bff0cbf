package store

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// reserved is the first label that belongs to others.
const reserved = "langgraph"

// Any is the label of a [NamespaceQuery] that matches every label.
const Any = "*"

// NamespaceError says which rule a namespace breaks. [errors.Is] finds [ErrNamespace] in it.
type NamespaceError struct {
	Namespace Namespace
	text      string
}

// Error returns one of the texts of harness.md 2.11.
func (e *NamespaceError) Error() string { return e.text }

// Unwrap returns [ErrNamespace].
func (e *NamespaceError) Unwrap() error { return ErrNamespace }

// Check returns a [*NamespaceError] for a namespace that nothing can be put into: one without labels, with a label that is empty,
// holds a period or is not valid UTF-8, or whose first label is "langgraph".
func (n Namespace) Check() error {
	fail := func(format string, args ...any) error {
		return &NamespaceError{Namespace: slices.Clone(n), text: fmt.Sprintf(format, args...)}
	}
	if len(n) == 0 {
		return fail("Namespace cannot be empty.")
	}
	for _, label := range n {
		switch {
		case label == "":
			return fail("Namespace labels cannot be empty strings. Got %q.", []string(n))
		case strings.Contains(label, "."):
			return fail("Invalid label %q in namespace %q. Namespace labels cannot contain periods ('.').", label, []string(n))
		case !utf8.ValidString(label):
			return fail("Invalid label %q in namespace %q. Namespace labels must be valid UTF-8.", label, []string(n))
		}
	}
	if n[0] == reserved {
		return fail("Root label for namespace cannot be %q. Got %q.", reserved, []string(n))
	}
	return nil
}

// Equal reports whether both have the same labels.
func (n Namespace) Equal(o Namespace) bool { return slices.Equal(n, o) }

// Compare orders namespaces label by label; a prefix comes first.
func (n Namespace) Compare(o Namespace) int { return slices.Compare(n, o) }

// Below reports whether the namespace begins with prefix.
func (n Namespace) Below(prefix Namespace) bool {
	return len(n) >= len(prefix) && slices.Equal(n[:len(prefix)], prefix)
}

// Check returns [ErrQuery] for a negative number.
func (q NamespaceQuery) Check() error {
	if q.MaxDepth < 0 || q.Limit < 0 || q.Offset < 0 {
		return fmt.Errorf("%w: depth, limit and offset must not be negative", ErrQuery)
	}
	return nil
}

// Matches reports whether a namespace, before it is cut, has the prefix and the suffix.
func (q NamespaceQuery) Matches(n Namespace) bool {
	return len(n) >= len(q.Prefix) && len(n) >= len(q.Suffix) &&
		matchLabels(n[:len(q.Prefix)], q.Prefix) && matchLabels(n[len(n)-len(q.Suffix):], q.Suffix)
}

func matchLabels(labels, pattern Namespace) bool {
	for i, p := range pattern {
		if p != Any && p != labels[i] {
			return false
		}
	}
	return true
}

// Select applies the query to all namespaces of a store: it filters, cuts, sorts, drops duplicates and takes the window. The result
// is a copy.
func (q NamespaceQuery) Select(all []Namespace) []Namespace {
	out := make([]Namespace, 0, min(len(all), DefaultNamespaceLimit))
	for _, n := range all {
		if !q.Matches(n) {
			continue
		}
		if q.MaxDepth > 0 && len(n) > q.MaxDepth {
			n = n[:q.MaxDepth]
		}
		out = append(out, n)
	}
	slices.SortFunc(out, Namespace.Compare)
	out = slices.CompactFunc(out, Namespace.Equal)
	limit := q.Limit
	if limit == 0 {
		limit = DefaultNamespaceLimit
	}
	out = out[min(q.Offset, len(out)):]
	out = out[:min(limit, len(out))]
	for i, n := range out {
		out[i] = slices.Clone(n)
	}
	return out
}
