package backend

import (
	"context"
	"time"

	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/policy"
)

// Limits of the specification (file-tools.md 0.2).
const (
	// DefaultReadLimit is the number of lines of a read without a limit of its own.
	DefaultReadLimit = 2000
	// DefaultGlobTime is how long a glob looks before it returns what it has.
	DefaultGlobTime = 5 * time.Second
	// DefaultGrepTime is how long a grep looks before it returns what it has.
	DefaultGrepTime = 15 * time.Second
)

// Options configure an [FS]. The zero value is right for most uses.
type Options struct {
	Hooks Hooks
	// WorkDir is where relative paths start; empty means what the driver says ([driver.Located]), else "/".
	WorkDir string
	// GlobTime and GrepTime bound a search; 0 means the default.
	GlobTime, GrepTime time.Duration
}

// Hooks are the policy of a file system. Rules are data and cost nothing on fast paths; the functions force the generic path.
type Hooks struct {
	// Rules are judged on the typed path and, on the opened file, on the resolved one.
	Rules policy.PathRules
	// Before may refuse an operation with an error that says why.
	Before func(ctx context.Context, op, path string) error
	// After sees the outcome of an operation.
	After func(ctx context.Context, op, path string, err error)
	// Visible leaves entries out of listings and searches.
	Visible func(driver.Info) bool
	// Content may refuse the new content of a write or an edit.
	Content func(ctx context.Context, path string, content []byte) error
}

// Window is a range of lines.
type Window struct {
	// Offset is the first line, counted from 0; a negative one counts as 0.
	Offset int
	// Limit is the number of lines; a negative one counts as 0.
	Limit int
	// Column is the first character shown of the first line, counted from 1; 0 means 1.
	Column int
	// MaxBytes bounds Lines.Text: reading stops at the end of the line that passes it. A single longer line is cut there too.
	// 0 means no bound.
	MaxBytes int
}

// Lines is a window of a text file.
type Lines struct {
	Info driver.Info
	// Text holds the lines joined by LF, without the last line's ending; CRLF has become LF and invalid UTF-8 U+FFFD.
	Text string
	// Start and End are the first and last line of Text, counted from 1. Both are 0 when the window holds none.
	Start, End int
	// Total is the number of lines of the file, or 0 when it is not known because the file is too large to count.
	Total int
	// More says that lines follow End (also when MaxBytes stopped the read).
	More bool
	// Blank says that the whole file is empty or only white space; Text is then empty.
	Blank bool
	// NoFinalNewline says that the window reaches the end of the file and the file does not end with a newline.
	NoFinalNewline bool
	// Invalid says that bytes of the window were no UTF-8.
	Invalid bool
	// LineChars is the full length, in characters, of the last line of Text when MaxBytes cut it; else 0.
	LineChars int
}

// RangeError says that a window begins after the end of the file.
type RangeError struct{ Offset, Total int }

// BinaryError says that a file is no text.
type BinaryError struct {
	Path string
	Size int64
	MIME string
}

// WriteOptions are the options of [FS.Write].
type WriteOptions struct {
	// CreateOnly makes an existing file an error ([fs.ErrExist]).
	CreateOnly bool
	// IfVersion, when not empty, must be the version of the file that is replaced.
	IfVersion string
}

// Edit is an exact replacement.
type Edit struct {
	Old, New string
	// All replaces every occurrence; without it Old must occur once.
	All bool
	// IfVersion, when not empty, must be the version of the file, else [driver.ErrConflict].
	IfVersion string
}

// EditResult is what an edit did.
type EditResult struct {
	Info driver.Info
	// Count is the number of replacements.
	Count int
	// Added and Removed count the lines that the edit added and removed.
	Added, Removed int
}

// MatchError says that an edit found no single place to apply to.
type MatchError struct {
	Old string
	// Count is how often Old occurs.
	Count int
	// WithoutNewline is how often Old without its final newline occurs at all, when the file ends with that and no newline.
	WithoutNewline int
	// Line and Text are the closest line, when there is one. Line counts from 1.
	Line int
	Text string
}

// Listing is a directory.
type Listing struct {
	// Entries are sorted by path.
	Entries []driver.Info
	// Unreadable counts entries that could not be described.
	Unreadable int
	// Failed are the parts of a backend with routes that could not answer; the rest is complete.
	Failed []RouteError
}

// RouteError is the failure of one part of a backend with routes.
type RouteError struct {
	// Path is the prefix of the route, or the directory of the driver that the routes lie in.
	Path string
	Err  error
}

// GlobQuery asks for the regular files whose path below Dir matches.
type GlobQuery struct {
	Pattern string
	// Dir is the directory to search; empty means WorkDir.
	Dir string
	// Max bounds the number of paths; 0 means no bound.
	Max int
}

// GlobResult is the answer to a [GlobQuery].
type GlobResult struct {
	// Paths are sorted.
	Paths []string
	// Truncated says that the time or Max ended the search early.
	Truncated bool
	// Unreadable counts directories that could not be read.
	Unreadable int
	// Failed are the parts of a backend with routes that could not answer, in path order.
	Failed []RouteError
}

// GrepQuery asks for the lines that contain a literal text.
type GrepQuery struct {
	Text string
	// Path is a directory or a file; empty means WorkDir.
	Path string
	// Glob filters files by their path below Path, in the language of the glob tool.
	Glob string
	// Max bounds the number of matches; 0 means no bound.
	Max int
	// Hidden searches names that begin with a dot; NoIgnore searches what ignore files leave out.
	Hidden, NoIgnore bool
}

// Match is a line that contains the text.
type Match struct {
	Path string
	// Line counts from 1.
	Line int
	// Text is the line without its ending, invalid UTF-8 replaced by U+FFFD.
	Text string
}

// GrepResult is the answer to a [GrepQuery].
type GrepResult struct {
	// Matches are sorted by path, then by line.
	Matches []Match
	// Truncated says that the time or Max ended the search early.
	Truncated bool
	// Files left out: hidden names, ignored ones, binary and unreadable ones. A directory that was skipped counts as one.
	Hidden, Ignored, Binary, Unreadable int
	// Failed are the parts of a backend with routes that could not answer, in path order.
	Failed []RouteError
}

// Transfer is one file of an upload or a download.
type Transfer struct {
	Path string
	// Content is what to write, or what was read.
	Content []byte
	// Err is the outcome for this file alone. [TransferCode] gives its code.
	Err error
}
