package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/tool"
)

// ResultText is the text of a tool's result as a model sees it. Media are named, since a terminal cannot show them.
func ResultText(r tool.Result) (string, error) {
	var parts []string
	for _, p := range r.Parts {
		switch p := p.(type) {
		case message.Text:
			parts = append(parts, p.Text)
		case message.Media:
			parts = append(parts, fmt.Sprintf("[%s, %s, %d bytes]", p.Kind, p.MIME, len(p.Data)))
		}
	}
	if r.Body != nil {
		b, err := io.ReadAll(r.Body)
		if cerr := r.Body.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return "", err
		}
		parts = append(parts, string(b))
	}
	return strings.Join(parts, "\n"), nil
}

// ResultExit is nil for a tool that did its work, also when that was to run a command that failed: with propagate its exit code
// counts.
func ResultExit(r tool.Result, propagate bool) error {
	if r.Status == message.Error {
		return &ExitError{Code: ExitFailure}
	}
	if a, ok := r.Artifact.(tool.Artifact); ok && propagate && a.ExitCode != nil && *a.ExitCode != 0 {
		return &ExitError{Code: *a.ExitCode & 0xff}
	}
	return nil
}
