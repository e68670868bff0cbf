package sandbox

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// ErrEmptyCommand is the cause of the [InvalidCommand] for an empty command line.
var ErrEmptyCommand = errors.New("command must be a non-empty string")

// DefaultMaxOutput is the number of characters of output that [Format] shows.
const DefaultMaxOutput = 100_000

// FormatOptions are the options of [Format].
type FormatOptions struct {
	// Max is the number of characters of output shown; 0 means [DefaultMaxOutput].
	Max int
	// Tail is how many of them are taken from the end when the output is longer, with "... [N bytes omitted] ..." between the two
	// parts. 0 cuts at Max and says so, which is the older form.
	Tail int
	// Saved, when not empty, is the path of the whole output; it is named where bytes were omitted.
	Saved string
	// Compat gives the older texts: an extra "Exit code: N" line, and no partial output after a timeout.
	Compat bool
}

// Format returns the text that a model sees for a command that has ended: standard output, then the lines of standard error
// behind "[stderr] ", what ended the command if it was not its own doing, the exit code, the background processes, and whether
// output was cut. Bytes that are not UTF-8 are shown as U+FFFD.
func Format(r Result, o FormatOptions) string {
	if o.Max <= 0 {
		o.Max = DefaultMaxOutput
	}
	text, cut := shown(r, o)
	if why := ending(r); why != "" {
		switch {
		case text == "" || o.Compat && r.Exit.Reason == TimedOut:
			text = why
		default:
			text = strings.TrimSuffix(text, "\n") + "\n\n" + why
		}
	} else if text == "" {
		text = "<no output>"
	}
	if o.Compat && r.Exit.Code != 0 && exitKnown(r.Exit) && r.Exit.Reason != TimedOut {
		text = strings.TrimRight(text, " \t\r\n") + "\n\nExit code: " + strconv.Itoa(r.Exit.Code)
	}
	return text + statusLines(r.Exit, cut)
}

// FormatError returns the text for a command that could not be started, and whether the error is of that kind.
func FormatError(err error) (text string, ok bool) {
	var se *StartError
	if !errors.As(err, &se) {
		return "", false
	}
	if errors.Is(err, ErrEmptyCommand) {
		text = "Error: Command must be a non-empty string."
	} else {
		text = fmt.Sprintf("Error executing command (%s): %v", se.Kind, se.Err)
	}
	return text + statusLines(Exit{Code: 1, Reason: Exited}, false), true
}

// exitKnown reports whether there is an exit code to show.
func exitKnown(e Exit) bool { return e.Reason != Lost && e.Reason != Cancelled }

func statusLines(e Exit, cut bool) string {
	var b strings.Builder
	if exitKnown(e) {
		verb := "succeeded"
		if e.Code != 0 {
			verb = "failed"
		}
		fmt.Fprintf(&b, "\n[Command %s with exit code %d]", verb, e.Code)
	}
	if e.Background > 0 {
		fmt.Fprintf(&b, "\n[%d background process(es) still running]", e.Background)
	}
	if cut {
		b.WriteString("\n[Output was truncated due to size limits]")
	}
	return b.String()
}

// ending returns the line that says why a command did not end by itself.
func ending(r Result) string {
	switch r.Exit.Reason {
	case TimedOut:
		after := "after its time limit"
		if r.Limit > 0 {
			after = "after " + seconds(r.Limit) + " seconds"
		}
		if r.Custom {
			return "Error: Command timed out " + after + " (custom timeout). The command may be stuck or require more time."
		}
		return "Error: Command timed out " + after + ". For long-running commands, re-run using the timeout parameter."
	case Cancelled:
		return "Error: Command was cancelled, and its processes were ended."
	case Lost:
		return "Error: No exit status received. Whether the command took effect is unknown."
	case OutMemory:
		return "Error: Command was ended because it used more memory than it may."
	case OutPids:
		return "Error: Command was ended because it started more processes than it may."
	}
	return ""
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }

// shown returns the output within the limit, and whether anything is missing.
func shown(r Result, o FormatOptions) (string, bool) {
	pieces := assemble(r)
	chars, missing, last := 0, int64(0), -1
	for i, p := range pieces {
		chars += utf8.RuneCountInString(p.text)
		missing += p.skipped
		if p.skipped > 0 {
			last = i
		}
	}
	atEnd := last >= 0 && last == len(pieces)-1
	switch {
	case chars > o.Max && o.Tail <= 0:
		head := cutHead(pieces, o.Max)
		return head + "\n\n" + truncatedAt(o.Max, o.Saved), true
	case chars > o.Max:
		tail := min(o.Tail, o.Max)
		return cutMiddle(pieces, o.Max-tail, tail, o.Saved), true
	case atEnd && o.Tail <= 0:
		head := join(pieces[:last+1], o.Saved, false)
		return head + "\n\n" + truncatedAt(len(head), o.Saved), true
	}
	return join(pieces, o.Saved, true), missing > 0
}

func truncatedAt(n int, saved string) string {
	if saved != "" {
		return fmt.Sprintf("... Output truncated at %d bytes; all output: %s", n, saved)
	}
	return fmt.Sprintf("... Output truncated at %d bytes.", n)
}

func omitted(n int64, saved string) string {
	if saved != "" {
		return fmt.Sprintf("... [%d bytes omitted; all output: %s] ...", n, saved)
	}
	return fmt.Sprintf("... [%d bytes omitted] ...", n)
}

// piece is text that is shown, and the number of bytes that are missing after it.
type piece struct {
	text    string
	skipped int64
}

// assemble puts the text together: all of standard output, then standard error line by line.
func assemble(r Result) []piece {
	out := pieces(r, Stdout)
	err := pieces(r, Stderr)
	if len(err) == 0 {
		return out
	}
	const space = " \t\r\n\v\f"
	err[0].text = strings.TrimLeft(err[0].text, space)
	for i := range err {
		switch {
		case err[i].skipped > 0:
			err[i].text = strings.TrimSuffix(err[i].text, "\n")
		case i == len(err)-1:
			err[i].text = strings.TrimRight(err[i].text, space)
		}
		// After a gap a new line begins too.
		if err[i].text != "" || err[i].skipped == 0 {
			err[i].text = "[stderr] " + strings.ReplaceAll(err[i].text, "\n", "\n[stderr] ")
		}
	}
	if k := len(out) - 1; k >= 0 && out[k].skipped == 0 {
		out[k].text += "\n"
	}
	return append(out, err...)
}

// pieces returns the kept text of a stream.
func pieces(r Result, s Stream) []piece {
	spans := r.Spans
	if spans == nil && len(r.Output) > 0 {
		spans = []Span{{Stdout, len(r.Output), r.Truncated}}
	}
	var out []piece
	var data []byte
	flush := func(skipped int64) {
		if len(data) == 0 && skipped == 0 {
			return
		}
		text := data
		if len(out) > 0 && out[len(out)-1].skipped > 0 {
			// Bytes of a character whose beginning is missing are missing too.
			cut := 0
			for cut < len(text) && cut < utf8.UTFMax-1 && !utf8.RuneStart(text[cut]) {
				cut++
			}
			out[len(out)-1].skipped += int64(cut)
			text = text[cut:]
		}
		if skipped > 0 {
			whole := wholeRunes(text)
			skipped += int64(len(text) - whole)
			text = text[:whole]
		}
		out = append(out, piece{valid(text), skipped})
		data = nil
	}
	at := 0
	for _, sp := range spans {
		if sp.Stream == s {
			data = append(data, r.Output[at:at+sp.Len]...)
			if sp.Skipped > 0 {
				flush(sp.Skipped)
			}
		}
		at += sp.Len
	}
	flush(0)
	return out
}

// wholeRunes returns the length of b without a character that is cut off at its end.
func wholeRunes(b []byte) int {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-i:]) {
				return len(b) - i
			}
			break
		}
	}
	return len(b)
}

// valid shows each byte that is not UTF-8 as U+FFFD.
func valid(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return string([]rune(string(b)))
}

// join puts the pieces together, with a line for what is missing after each but, unless last is set, the last.
func join(list []piece, saved string, last bool) string {
	var b strings.Builder
	for i, p := range list {
		b.WriteString(p.text)
		if p.skipped > 0 && (last || i < len(list)-1) {
			b.WriteString(gapLine(p.text, omitted(p.skipped, saved), i < len(list)-1))
		}
	}
	return b.String()
}

// gapLine puts a line of its own behind text.
func gapLine(text, line string, more bool) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		line = "\n" + line
	}
	if more {
		line += "\n"
	}
	return line
}

// cutHead returns the first n characters.
func cutHead(list []piece, n int) string {
	var b strings.Builder
	for _, p := range list {
		head := p.text[:prefixLen(p.text, n)]
		b.WriteString(head)
		if n -= utf8.RuneCountInString(head); n <= 0 {
			break
		}
	}
	return b.String()
}

// cutMiddle returns the first and the last characters with the number of bytes between them.
func cutMiddle(list []piece, head, tail int, saved string) string {
	var all strings.Builder
	var missing int64
	for _, p := range list {
		all.WriteString(p.text)
		missing += p.skipped
	}
	text := all.String()
	a := prefixLen(text, head)
	z := suffixStart(text, tail)
	missing += int64(z - a)
	return text[:a] + gapLine(text[:a], omitted(missing, saved), true) + text[z:]
}

// prefixLen returns the length in bytes of the first n characters of valid text.
func prefixLen(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

// suffixStart returns where the last n characters of valid text begin.
func suffixStart(s string, n int) int {
	i := len(s)
	for ; n > 0 && i > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:i])
		i -= size
	}
	return i
}
