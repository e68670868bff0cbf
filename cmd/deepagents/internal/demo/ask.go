package demo

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/thread"
)

// ask answers the open questions.
func (d *demo) ask(ctx context.Context, open []thread.OpenInterrupt) ([]agent.Answer, error) {
	var out []agent.Answer
	for _, q := range open {
		var v agent.Approval
		if err := json.Unmarshal(q.Value, &v); err != nil || q.Kind != agent.KindApproval {
			return nil, fmt.Errorf("the demo cannot answer a question of kind %q", q.Kind)
		}
		decisions := make([]agent.Decision, 0, len(v.ActionRequests))
		for _, r := range v.ActionRequests {
			d.print("%s", d.question(r))
			yes, err := d.answers.yes(ctx)
			if err != nil {
				return nil, err
			}
			d.sum.approvals++
			if yes {
				decisions = append(decisions, agent.Decision{Type: "approve"})
			} else {
				decisions = append(decisions, agent.Decision{Type: "reject", Message: rejection})
			}
		}
		out = append(out, agent.Answer{Interrupt: q.ID, Value: agent.Decisions(decisions...)})
	}
	return out, nil
}

// answers reads what a person answers.
type answers struct {
	in    io.Reader
	out   io.Writer
	lines chan string
}

const help = "    The model is a script: it understands y and n only. To talk to a model: deepagents run -m PROVIDER:MODEL TASK; see deepagents models list\n"

// yes asks until there is a yes or a no. Without a person, and at the end of the input, it answers by itself.
func (a *answers) yes(ctx context.Context) (bool, error) {
	if a.in == nil {
		fmt.Fprintln(a.out, "  ? approved without asking: nobody is at a terminal")
		return true, nil
	}
	for {
		fmt.Fprint(a.out, "  ? approve [y/n] ")
		line, err := a.line(ctx)
		if errors.Is(err, io.EOF) {
			fmt.Fprintln(a.out, "\n    no answer: rejected")
			return false, nil
		}
		if err != nil {
			fmt.Fprintln(a.out)
			return false, err
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return true, nil
		case "n", "no":
			return false, nil
		}
		fmt.Fprint(a.out, help)
	}
}

// line reads a line, or until the context ends. The reader goes on in the background then: the process is about to end.
func (a *answers) line(ctx context.Context) (string, error) {
	if a.lines == nil {
		a.lines = make(chan string)
		go func() {
			defer close(a.lines)
			for s := bufio.NewScanner(a.in); s.Scan(); {
				select {
				case a.lines <- s.Text():
				case <-ctx.Done():
					return
				}
			}
		}()
	}
	select {
	case s, ok := <-a.lines:
		if !ok {
			return "", io.EOF
		}
		return s, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
