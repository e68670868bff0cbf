package glob_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/deepagents-go/deepagents/internal/glob"
)

// FuzzMatchPath holds what rules rely on: nothing panics, a valid pattern that ends with "/**" covers its directory and
// everything below it, and a malformed pattern covers nothing.
func FuzzMatchPath(f *testing.F) {
	for _, s := range []string{"/a", "/a/{b,c}", "/a/[x-z]", `/a\*`, "/**/x", "/a/[", "/{a", "/é/?"} {
		f.Add(s, "/a/b")
	}
	f.Fuzz(func(t *testing.T, pattern, path string) {
		ok := glob.MatchPath(pattern, path)
		if err := glob.Validate(pattern); err != nil {
			if !errors.Is(err, glob.ErrPattern) {
				t.Fatalf("%q: %v", pattern, err)
			}
			if ok && strings.ContainsAny(pattern, `*?[{\`) && !doublestar.ValidatePattern(pattern) {
				t.Fatalf("the malformed pattern %q covers %q", pattern, path)
			}
			return
		}
		if !strings.HasPrefix(path, "/") || strings.Contains(path, "//") || strings.HasSuffix(path, "/") || strings.ContainsAny(path, `*?[]{}\,!^-`) {
			return
		}
		for _, p := range []string{path, path + "/x", path + "/.x/y"} {
			if !glob.MatchPath(path+"/**", p) {
				t.Fatalf("%q does not cover %q", path+"/**", p)
			}
		}
		if !glob.MatchPath(path, path) || !glob.MatchPath("/**", path) {
			t.Fatalf("%q is not covered", path)
		}
	})
}

// TestValidateForeign refuses what the glob tool understands and rules do not: such a rule would silently cover nothing.
func TestValidateForeign(t *testing.T) {
	for pattern, ok := range map[string]bool{
		"/a/{b,c}/**": true, "/a/[a-z]*": true, "/a/{b,{c,d}}": true,
		"/a/{1..3}": false, "/a/[[:alpha:]]*": false, "/a/{b}": false,
	} {
		if err := glob.Validate(pattern); (err == nil) != ok {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}
