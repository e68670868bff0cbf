package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model/script"
	"github.com/deepagents-go/deepagents/state"
	"github.com/deepagents-go/deepagents/thread"
)

// threadInfo is a thread in the JSON of threads list and threads show.
type threadInfo struct {
	Thread  string    `json:"thread_id"`
	Created time.Time `json:"created,omitzero"`
	Updated time.Time `json:"updated,omitzero"`
	Records int64     `json:"records,omitempty"`
	Bytes   int64     `json:"bytes,omitempty"`
	// Status is that of the last run: running, crashed, or the status of its run.completed event.
	Status string `json:"status"`
	Owner  string `json:"owner,omitempty"`
	// The rest is told by show only.
	Settings map[string]json.RawMessage `json:"settings,omitempty"`
	Pending  []string                   `json:"pending,omitempty"`
	Messages []*message.Message         `json:"messages,omitempty"`
}

// ListThreads prints the threads, sorted by id: as a table, or as one JSON array.
func ListThreads(ctx context.Context, s thread.Store, out io.Writer, asJSON bool) error {
	infos := []threadInfo{}
	for i, err := range s.List(ctx) {
		if err != nil {
			return err
		}
		x := threadInfo{Thread: i.Thread, Created: i.Created, Updated: i.Updated, Records: i.Records, Bytes: i.Bytes, Owner: i.Owner}
		infos = append(infos, x)
	}
	for i := range infos {
		last, err := lastRun(ctx, s, infos[i].Thread)
		if err != nil {
			return err
		}
		infos[i].Status = statusOf(last, infos[i].Owner)
	}
	if asJSON {
		return printJSON(out, infos)
	}
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "THREAD\tSTATUS\tUPDATED\tRECORDS")
	for _, i := range infos {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\n", i.Thread, i.Status, i.Updated.Local().Format(time.DateTime), i.Records)
	}
	return w.Flush()
}

// lastRun returns the end of the newest run, nil when it has none.
func lastRun(ctx context.Context, s thread.Store, id string) (*thread.RunEnded, error) {
	q := thread.Query{Kinds: []thread.Kind{thread.KindRunStarted, thread.KindRunEnded}, Reverse: true}
	for r, err := range s.Read(ctx, id, q) {
		if err != nil {
			return nil, err
		}
		b, err := thread.Decode(r)
		if err != nil {
			return nil, err
		}
		ended, _ := b.(*thread.RunEnded)
		return ended, nil
	}
	return nil, nil
}

func statusOf(last *thread.RunEnded, owner string) string {
	switch {
	case owner != "":
		return "running"
	case last == nil:
		return "crashed"
	}
	return last.Cause
}

// ShowThread prints where a thread stands and its conversation.
func ShowThread(ctx context.Context, s thread.Store, id string, c Again, out io.Writer, asJSON bool) error {
	v, err := LoadThread(ctx, s, id)
	if err != nil {
		return err
	}
	x := threadInfo{Thread: id, Pending: Pending(v.Open()), Messages: state.Messages.In(v.Root.State).Slice()}
	for i, err := range s.List(ctx) {
		if err != nil {
			return err
		}
		if i.Thread == id {
			x.Created, x.Updated, x.Records, x.Bytes, x.Owner = i.Created, i.Updated, i.Records, i.Bytes, i.Owner
		}
	}
	x.Status = statusOf(v.RunEnded, x.Owner)
	if v.RunStarted != nil {
		x.Settings = v.RunStarted.Meta
	}
	if asJSON {
		return printJSON(out, x)
	}
	return showText(out, x, c, v)
}

func showText(out io.Writer, x threadInfo, c Again, v *thread.View) error {
	b := fmt.Appendf(nil, "thread   %s\nstatus   %s\n", x.Thread, x.Status)
	for _, f := range [][2]string{{"model", "model_spec"}, {"cwd", "cwd"}, {"mode", "mode"}, {"backend", "backend"}, {"sandbox", "sandbox"}} {
		var value string
		if json.Unmarshal(x.Settings[f[1]], &value) == nil && value != "" {
			b = fmt.Appendf(b, "%-8s %s\n", f[0], Plain(value))
		}
	}
	for _, m := range x.Messages {
		b = fmt.Appendf(b, "\n[%s]", m.Role)
		if m.Role == message.Tool {
			b = fmt.Appendf(b, " %s (%s)", Plain(m.Name), m.Status)
		}
		b = append(b, '\n')
		if t := m.Text(); t != "" {
			b = append(append(b, Plain(t)...), '\n')
		}
		for _, call := range m.Calls() {
			b = fmt.Appendf(b, "> %s %s\n", Plain(call.Name), short(string(call.Args)+call.Raw))
		}
	}
	if open := v.Open(); len(open) > 0 {
		b = fmt.Appendf(b, "\n%s\n", Questions(x.Thread, c, open))
	}
	_, err := out.Write(b)
	return err
}

// DeleteThread deletes a thread. An unknown one, or one that is in use, is an error.
func DeleteThread(ctx context.Context, s thread.Store, id string) error {
	if err := thread.ValidThread(id); err != nil {
		return Usage(err)
	}
	if _, err := s.Head(ctx, id); err != nil {
		return err
	}
	return s.Delete(ctx, id)
}

// ExportThread prints a thread: "jsonl" is the events of all its runs, "script" what its model said, to be played again.
func ExportThread(ctx context.Context, s thread.Store, id, as string, out io.Writer) error {
	if err := oneOf("--as", as, "jsonl", "script"); err != nil {
		return err
	}
	v, err := LoadThread(ctx, s, id)
	if err != nil {
		return err
	}
	if as == "script" {
		name := ""
		if v.RunStarted != nil {
			name = v.RunStarted.Agent
		}
		return script.Write(out, script.FromMessages(name, state.Messages.In(v.Root.State).Slice()))
	}
	a, err := agent.New(agent.Config{Model: script.New(), Threads: s})
	if err != nil {
		return err
	}
	o := Output{Format: OutputJSONL, Out: out}
	for ev, err := range a.StoredEvents(ctx, id, 0) {
		if err != nil {
			return err
		}
		if err := o.Event(ev); err != nil {
			return err
		}
	}
	return nil
}

func printJSON(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
