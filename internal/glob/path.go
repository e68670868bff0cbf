package glob

import (
	"errors"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// ErrPattern is the error of a pattern that cannot be understood.
var ErrPattern = errors.New("invalid pattern")

// Validate reports whether the pattern is well formed.
func Validate(pattern string) error {
	if !doublestar.ValidatePattern(pattern) {
		return ErrPattern
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
