package ignore

import (
	"bytes"
	"strings"

	"github.com/deepagents-go/deepagents/internal/glob"
)

// MaxSize is how many bytes of an ignore file are read.
const MaxSize = 1 << 20

// rule is one line of an ignore file.
type rule struct {
	pat     glob.IgnorePattern
	negate  bool
	dirOnly bool
}

// File is a compiled ignore file.
type File struct{ rules []rule }

// Parse reads the content of an ignore file. Lines that can match nothing are skipped, as git does.
func Parse(content []byte) *File {
	f := &File{}
	content = bytes.TrimPrefix(content, []byte("\xef\xbb\xbf"))
	for line := range bytes.SplitSeq(content, []byte{'\n'}) {
		line = bytes.TrimSuffix(line, []byte{'\r'})
		if r, ok := parseLine(string(line)); ok {
			f.rules = append(f.rules, r)
		}
	}
	return f
}

func parseLine(s string) (rule, bool) {
	var r rule
	if strings.HasPrefix(s, "#") {
		return r, false
	}
	s = trimSpaces(s)
	if s, r.negate = strings.CutPrefix(s, "!"); s == "" {
		return r, false
	}
	if t, ok := strings.CutSuffix(s, "/"); ok {
		s, r.dirOnly = t, true
	}
	var ok bool
	r.pat, ok = glob.CompileIgnore(s)
	return r, ok
}

// trimSpaces takes trailing spaces off, but not one that a backslash protects.
func trimSpaces(s string) string {
	end := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case ' ':
			continue
		case '\\':
			i++
		}
		end = min(i+1, len(s))
	}
	return s[:end]
}

// verdict is the last rule that covers a path: 1 left out, -1 taken back in, 0 none.
func (f *File) verdict(rel string, dir bool) int {
	for i := len(f.rules) - 1; i >= 0; i-- {
		r := &f.rules[i]
		if r.dirOnly && !dir || !r.pat.Match(rel) {
			continue
		}
		if r.negate {
			return -1
		}
		return 1
	}
	return 0
}

// Chain is the ignore files that count in a directory: its own and those of the directories above. A nil Chain ignores nothing.
type Chain struct {
	up *Chain
	// base is the directory of these files, "" or ending with a slash.
	base        string
	git, ignore *File
}

// Push adds the files of a directory; either may be nil. The directory is relative to where paths start, "" for that itself.
func (c *Chain) Push(dir string, git, ignore *File) *Chain {
	if git == nil && ignore == nil {
		return c
	}
	if dir != "" {
		dir += "/"
	}
	return &Chain{up: c, base: dir, git: git, ignore: ignore}
}

// Ignored reports whether a path is left out. A deeper file wins over a higher one, and any .ignore over any .gitignore. That a
// directory above is left out is the walker's business: it does not enter it.
func (c *Chain) Ignored(path string, dir bool) bool {
	if c == nil {
		return false
	}
	for n := c; n != nil; n = n.up {
		if n.ignore != nil {
			if v := n.ignore.verdict(path[len(n.base):], dir); v != 0 {
				return v > 0
			}
		}
	}
	for n := c; n != nil; n = n.up {
		if n.git != nil {
			if v := n.git.verdict(path[len(n.base):], dir); v != 0 {
				return v > 0
			}
		}
	}
	return false
}
