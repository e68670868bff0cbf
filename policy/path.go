package policy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/deepagents-go/deepagents/internal/glob"
)

// PathRule allows, denies or asks about paths. Within an ordered list the first rule that names the kind and matches the path
// decides; without one the path is allowed.
//
// Patterns are globs over the whole absolute path. They match names that begin with a dot like any other name, and "X/**"
// covers X itself (design decision F12).
type PathRule struct {
	// Name says where the rule comes from, for messages ("default deny", "flag --deny"). Optional.
	Name string `json:"name,omitempty"`
	// Kinds are [Read] and [Write]; empty means both.
	Kinds []Kind `json:"kinds,omitempty"`
	// Paths are the patterns; each begins with "/".
	Paths    []string `json:"paths"`
	Decision Decision `json:"decision"`
	// Listed keeps the names of denied paths in listings; only their content is refused.
	Listed bool `json:"listed,omitempty"`
}

// Validate reports the first mistake in the rule: a pattern that does not begin with "/", that holds "..", "~", "." or nothing as
// a component, or that is no valid glob.
func (r PathRule) Validate() error {
	for _, k := range r.Kinds {
		if k != Read && k != Write {
			return fmt.Errorf("permission kind must be read or write: %q", string(k))
		}
	}
	for _, p := range r.Paths {
		parts := strings.Split(strings.ReplaceAll(p, `\`, "/"), "/")
		switch {
		case !strings.HasPrefix(p, "/"):
			return fmt.Errorf("Permission path must start with '/': '%s'", p)
		case slices.Contains(parts, ".."):
			return fmt.Errorf("Permission path must not contain '..': '%s'", p)
		case slices.Contains(parts, "~"):
			return fmt.Errorf("Permission path must not contain '~': '%s'", p)
		}
		if clean := clean(p); clean != p {
			return fmt.Errorf("permission path '%s': write it as '%s'", p, clean)
		}
		if err := glob.Validate(p); err != nil {
			return fmt.Errorf("permission path '%s': %w", p, err)
		}
	}
	return nil
}

// clean drops empty and "." components, which no clean path has: a pattern with one would cover nothing.
func clean(p string) string {
	parts := strings.Split(p, "/")
	kept := slices.DeleteFunc(slices.Clone(parts[1:]), func(s string) bool { return s == "" || s == "." })
	c := "/" + strings.Join(kept, "/")
	if c != "/" && parts[len(parts)-1] == "" {
		c += "/"
	}
	return c
}

// Covers reports whether the rule speaks of this kind of action on this path.
func (r PathRule) Covers(k Kind, path string) bool {
	if len(r.Kinds) > 0 && !slices.Contains(r.Kinds, k) {
		return false
	}
	for _, p := range r.Paths {
		if glob.MatchPath(p, path) {
			return true
		}
	}
	return false
}

func (r PathRule) verdict(k Kind, path string) Verdict {
	v := Verdict{Decision: r.Decision, Rule: r.Name}
	if v.Rule == "" {
		v.Rule = strings.Join(r.Paths, ", ")
	}
	if r.Decision == Deny {
		v.Reason = fmt.Sprintf("permission denied for %s on %s", k, path)
	}
	return v
}

// PathRules is an ordered list of rules. It is a [Judge].
type PathRules []PathRule

// Validate reports the first mistake in the list.
func (rs PathRules) Validate() error {
	for _, r := range rs {
		if err := r.Validate(); err != nil {
			return err
		}
	}
	return nil
}

// Decide returns the verdict on one path: the first covering rule's, else [Allow].
func (rs PathRules) Decide(k Kind, path string) (Verdict, PathRule) {
	for _, r := range rs {
		if r.Covers(k, path) {
			return r.verdict(k, path), r
		}
	}
	return Verdict{}, PathRule{}
}

// Judge decides about the path of a read or a write; other actions are allowed. Denials below the path of a subtree write are
// the business of the file system's guard, which sees every entry.
func (rs PathRules) Judge(_ context.Context, a Action) Verdict {
	if a.Kind != Read && a.Kind != Write {
		return Verdict{}
	}
	v, _ := rs.Decide(a.Kind, a.Path)
	return v
}
