package glob

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// ErrPattern is the error of a pattern that cannot be understood.
var ErrPattern = errors.New("invalid pattern")

// foreign are forms of the glob tool's language that the patterns of rules do not have: a rule that used one would cover nothing.
var foreign = regexp.MustCompile(`\[\[:|\{[^{},]*\}`)

// Validate reports whether the pattern of a rule is well formed. POSIX classes, ranges in braces and braces around one item are
// refused, because they would cover nothing.
func Validate(pattern string) error {
	if !doublestar.ValidatePattern(pattern) {
		return ErrPattern
	}
	if m := foreign.FindString(pattern); m != "" {
		return fmt.Errorf("%w: %s is not understood in a rule: write the alternatives out, as in {a,b} or [a-z]", ErrPattern, m)
	}
	return nil
}

// MatchPath reports whether a rule's pattern covers an absolute path. Wildcards match names that begin with a dot, and "X/**"
// covers X itself. A malformed pattern covers nothing; [Validate] finds it earlier.
func MatchPath(pattern, path string) bool {
	if !strings.ContainsAny(pattern, `*?[{\`) {
		return pattern == path || strings.TrimSuffix(pattern, "/") == path
	}
	ok, err := doublestar.Match(pattern, path)
	return ok && err == nil
}
