package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// PromptSources are where the prompt of a run comes from.
type PromptSources struct {
	// Args are the arguments of the command: none, "-", or words.
	Args []string
	// File is --prompt-file.
	File string
	// Stdin is read when it is asked for, or Piped.
	Stdin io.Reader
	Piped bool
	// Notice gets a line when standard input does not end for a while; nil gets none.
	Notice io.Writer
}

// Piped reports whether a file is a pipe or a regular file, as opposed to a terminal or the null device.
func Piped(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && (info.Mode()&os.ModeNamedPipe != 0 || info.Mode().IsRegular())
}

// Prompt returns the prompt. With a prompt and a piped standard input, the input follows in a fenced block.
func (p PromptSources) Prompt(ctx context.Context) (string, error) {
	text := strings.Join(p.Args, " ")
	dash := text == "-" || p.File == "-"
	switch {
	case text != "" && p.File != "":
		return "", Usagef("give a prompt or --prompt-file, not both")
	case dash:
		text = ""
	case p.File != "":
		b, err := readFile(ctx, "prompt file", p.File)
		if err != nil {
			return "", err
		}
		text = string(b)
	}
	var input string
	if dash || p.Piped {
		b, err := readAll(ctx, "standard input", p.Stdin, p.Notice)
		if err != nil {
			return "", err
		}
		input = string(b)
	}
	text = join(strings.TrimSpace(text), input)
	if strings.TrimSpace(text) == "" {
		return "", Usagef("no prompt: give it as an argument, with --prompt-file FILE, or on standard input")
	}
	return text, nil
}

// join puts the input in a fence behind the prompt. The fence is longer than any in the input.
func join(prompt, input string) string {
	if prompt == "" {
		return strings.TrimSpace(input)
	}
	if strings.TrimSpace(input) == "" {
		return prompt
	}
	fence := "```"
	for strings.Contains(input, fence) {
		fence += "`"
	}
	return fmt.Sprintf("%s\n\n%s\n%s\n%s", prompt, fence, strings.TrimSuffix(input, "\n"), fence)
}

// Arguments returns the arguments of a tool: the text, or what is on standard input when that is "-".
func Arguments(ctx context.Context, text string, stdin io.Reader) (json.RawMessage, error) {
	raw := []byte(text)
	if text == "-" {
		var err error
		if raw, err = readAll(ctx, "standard input", stdin, nil); err != nil {
			return nil, err
		}
	}
	if !json.Valid(raw) {
		return nil, Usagef("the arguments are not JSON: %s", short(string(raw)))
	}
	return raw, nil
}

// maxPrompt bounds what is read from standard input.
const maxPrompt = 16 << 20

// noticeTime is how long standard input may be silent before that is said: a pipe that is never closed looks like a program that
// hangs.
const noticeTime = 3 * time.Second

// readAll reads everything, or until the context ends.
func readAll(ctx context.Context, what string, r io.Reader, notice io.Writer) ([]byte, error) {
	type result struct {
		b   []byte
		err error
	}
	done := make(chan result, 1)
	go func() {
		b, err := io.ReadAll(io.LimitReader(r, maxPrompt+1))
		done <- result{b, err}
	}()
	if notice != nil {
		t := time.AfterFunc(noticeTime, func() {
			fmt.Fprintln(notice, "deepagents: reading standard input up to its end; use </dev/null to go on without it")
		})
		defer t.Stop()
	}
	select {
	case x := <-done:
		if x.err == nil && len(x.b) > maxPrompt {
			x.err = errors.New("more than 16 MiB")
		}
		if x.err != nil {
			return nil, Usagef("%s: %w", what, x.err)
		}
		return x.b, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// readFile reads a file that may be a FIFO: opening one waits for a writer, so that happens where the context can leave it behind.
func readFile(ctx context.Context, what, path string) ([]byte, error) {
	f := &lateFile{path: path}
	defer f.close()
	return readAll(ctx, what, f, nil)
}

// lateFile opens its file at the first read.
type lateFile struct {
	path string
	mu   sync.Mutex
	f    *os.File
}

func (l *lateFile) Read(p []byte) (int, error) {
	l.mu.Lock()
	f := l.f
	l.mu.Unlock()
	if f == nil {
		var err error
		if f, err = os.Open(l.path); err != nil {
			return 0, err
		}
		l.mu.Lock()
		l.f = f
		l.mu.Unlock()
	}
	return f.Read(p)
}

func (l *lateFile) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f != nil {
		l.f.Close()
	}
}
