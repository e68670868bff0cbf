package demo

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/cmd/deepagents/internal/cli"
	"github.com/deepagents-go/deepagents/message"
)

// show prints an event for a person and counts it.
func (d *demo) show(ev agent.Event) {
	d.sum.events = ev.Seq
	switch e := ev.Data.(type) {
	case agent.MessageCompleted:
		if e.Role == message.Assistant && e.Content != "" {
			d.print("\nscript: %s\n", cli.Plain(e.Content))
		}
	case agent.ToolRequested:
		d.sum.call(e)
		d.pending = append(d.pending, result{id: e.TaskID})
		d.print("> %s %s\n", cli.Plain(e.Name), d.arguments(e.Name, e.Args))
	case agent.FileChanged:
		d.sum.change(fmt.Sprintf("%s (%s, +%d -%d)", d.relative(e.Path), e.Op, e.Added, e.Removed))
	case agent.ToolCompleted:
		if e.ExitCode != nil {
			d.sum.exit(e.ToolCallID, *e.ExitCode)
		}
		d.result(e)
	}
}

// result is what is shown of a call's result; empty while the call runs.
type result struct{ id, text string }

// result prints results in the order of their calls, however they end.
func (d *demo) result(e agent.ToolCompleted) {
	for i := range d.pending {
		if d.pending[i].id == e.TaskID {
			d.pending[i].text = fmt.Sprintf("< %s: %s%s", cli.Plain(e.Name), e.Status, d.excerpt(e))
		}
	}
	for len(d.pending) > 0 && d.pending[0].text != "" {
		d.print("%s", d.pending[0].text)
		d.pending = d.pending[1:]
	}
}

// arguments shows the arguments of a call, shortened: what a call changes is shown where it is approved.
func (d *demo) arguments(name string, raw json.RawMessage) string {
	var a struct {
		Path    string `json:"file_path"`
		Command string `json:"command"`
	}
	_ = json.Unmarshal(raw, &a) // what does not fit is shown as it is
	switch {
	case name == "execute" && a.Command != "":
		return cli.Plain(a.Command)
	case a.Path != "":
		return cli.Plain(a.Path)
	}
	return cli.Plain(string(raw))
}

// shownLines bounds what is shown of a result.
const shownLines = 8

// excerpt is the exit code and the first lines of a result.
func (d *demo) excerpt(e agent.ToolCompleted) string {
	s := ""
	if e.ExitCode != nil {
		s = fmt.Sprintf(", exit %d", *e.ExitCode)
	}
	if e.DurationMS >= 1000 {
		s += fmt.Sprintf(", %s", (time.Duration(e.DurationMS) * time.Millisecond).Round(100*time.Millisecond))
	}
	s += "\n"
	lines := strings.Split(strings.TrimRight(cli.Plain(e.Content), "\n"), "\n")
	if e.Name == "read_file" && len(lines) > 4 {
		return s + fmt.Sprintf("    (%d lines)\n", len(lines))
	}
	for i, line := range lines {
		if i == shownLines {
			return s + fmt.Sprintf("    (%d more lines)\n", len(lines)-i)
		}
		s += strings.TrimRight("    "+d.shorten(line), " ") + "\n"
	}
	return s
}

// shorten replaces the project's directory, which says nothing to the reader.
func (d *demo) shorten(s string) string {
	return strings.ReplaceAll(s, d.dir+string(filepath.Separator), "")
}

func (d *demo) relative(path string) string {
	if rel, err := filepath.Rel(d.dir, filepath.FromSlash(path)); err == nil {
		return filepath.ToSlash(rel)
	}
	return path
}

// question shows what is to be approved: the command, or the change.
func (d *demo) question(r agent.ApprovalRequest) string {
	var a struct {
		Old string `json:"old_string"`
		New string `json:"new_string"`
	}
	_ = json.Unmarshal(r.Args, &a) // an empty change is not shown
	s := fmt.Sprintf("  ? %s\n    because %s\n", d.shorten(cli.Plain(r.Description)), cli.Plain(r.Reason))
	for _, side := range []struct{ mark, text string }{{"-", a.Old}, {"+", a.New}} {
		if side.text == "" {
			continue
		}
		for line := range strings.SplitSeq(strings.TrimRight(cli.Plain(side.text), "\n"), "\n") {
			s += "    " + side.mark + " " + line + "\n"
		}
	}
	return s
}

// summary counts what happened.
type summary struct {
	turns, approvals int
	events           int64
	took             time.Duration
	usage            message.Usage
	calls            []string // the names, in order
	files            []string
	commands         []command
}

type command struct {
	id, line string
	exit     *int
}

func (s *summary) add(r *agent.Result) {
	s.turns += r.Turns
	s.usage = s.usage.Add(r.Usage)
}

func (s *summary) call(e agent.ToolRequested) {
	s.calls = append(s.calls, e.Name)
	var a struct {
		Command string `json:"command"`
	}
	if e.Name == "execute" && json.Unmarshal(e.Args, &a) == nil {
		s.commands = append(s.commands, command{id: e.ToolCallID, line: a.Command})
	}
}

func (s *summary) change(file string) {
	if !slices.Contains(s.files, file) {
		s.files = append(s.files, file)
	}
}

func (s *summary) exit(id string, code int) {
	for i := range s.commands {
		if s.commands[i].id == id {
			s.commands[i].exit = &code
		}
	}
}

// verdict says how the newest run of the test ended, if that is what the newest command was.
func (s *summary) verdict(test string) string {
	if len(s.commands) == 0 {
		return notRun
	}
	switch last := s.commands[len(s.commands)-1]; {
	case last.line != test || last.exit == nil:
		return notRun
	case *last.exit == 0:
		return passes
	}
	return fails
}

// The verdicts.
const (
	passes = "passes"
	fails  = "fails"
	notRun = "was not run to the end"
)

func (s *summary) text(d *demo) string {
	var commands []string
	for _, c := range s.commands {
		end := "not run"
		if c.exit != nil {
			end = fmt.Sprintf("exit %d", *c.exit)
		}
		commands = append(commands, fmt.Sprintf("%s (%s)", cli.Plain(c.line), end))
	}
	return fmt.Sprintf("the test %s\n", s.verdict(d.project.test)) +
		fmt.Sprintf("turns %d, tool calls %d, approvals %d, events %d, %s\n", s.turns, len(s.calls), s.approvals, s.events, s.took.Round(10*time.Millisecond)) +
		"files changed: " + list(s.files) + "\n" +
		"commands: " + list(commands) + "\n" +
		fmt.Sprintf("model requests: %d over HTTP, %d bytes sent; tokens: %d in, %d out (a script uses none)\n",
			d.endpoint.requests.Load(), d.endpoint.bytes.Load(), s.usage.Input, s.usage.Output)
}

func list(ss []string) string {
	if len(ss) == 0 {
		return "none"
	}
	return strings.Join(ss, ", ")
}
