package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/script"
	"github.com/deepagents-go/deepagents/run"
	"github.com/deepagents-go/deepagents/thread"
	"github.com/deepagents-go/deepagents/thread/memory"
	"github.com/deepagents-go/deepagents/tool"
)

// printer is a tool that writes n pieces of live output.
func printer() tool.Tool {
	return fn("print", tool.Hints{}, func(ctx context.Context, a map[string]any) (tool.Result, error) {
		s, _ := run.From(ctx)
		for i := range int(a["n"].(float64)) {
			if _, err := fmt.Fprintf(s.Output(), "%d", i); err != nil {
				return tool.Result{}, err
			}
		}
		return tool.Text("printed"), nil
	})
}

func types(evs []agent.Event) []string {
	var out []string
	for _, ev := range evs {
		out = append(out, ev.Data.Type())
	}
	return out
}

// collect reads events until they end.
func collect(t testing.TB, seq func(func(agent.Event, error) bool)) []agent.Event {
	t.Helper()
	var out []agent.Event
	for ev, err := range seq {
		if err != nil {
			t.Errorf("events: %v", err)
			break
		}
		out = append(out, ev)
	}
	return out
}

func contiguous(t testing.TB, evs []agent.Event, from int64) {
	t.Helper()
	for i, ev := range evs {
		if ev.Seq != from+int64(i) {
			t.Errorf("event %d has the number %d, want %d (%s)", i, ev.Seq, from+int64(i), ev.Data.Type())
			return
		}
		if ev.Time.IsZero() || ev.Thread != "t" || ev.Run == "" {
			t.Errorf("envelope: %+v", ev)
		}
	}
}

// Numbers go on without a gap over several runs; every reader sees the same, whenever it begins and wherever it resumes.
func TestEventNumbers(t *testing.T) {
	r := newRig(t, agent.Config{Tools: []tool.Tool{printer()}},
		script.Line{Reasoning: "hmm", Text: "let me", ToolCalls: []script.ToolCall{call("a", "print", `{"n":3}`)}}, say("done"), say("more"))
	next := int64(1)
	for i := range 2 {
		run, err := r.agent.Start(context.Background(), agent.Input{Thread: "t", Text: "go"})
		if err != nil {
			t.Fatal(err)
		}
		if run.Before() != next-1 {
			t.Errorf("run %d begins after %d, want %d", i, run.Before(), next-1)
		}
		var wg sync.WaitGroup
		got := make([][]agent.Event, 8)
		for k := range got {
			wg.Go(func() { got[k] = collect(t, run.Events(context.Background(), run.Before())) })
		}
		wg.Wait()
		if _, err := wait(t, run); err != nil {
			t.Fatal(err)
		}
		late := collect(t, run.Events(context.Background(), run.Before()))
		contiguous(t, late, next)
		for k, g := range got {
			if !slices.Equal(types(g), types(late)) {
				t.Errorf("reader %d saw %v", k, types(g))
			}
		}
		for cut := range late {
			rest := collect(t, run.Events(context.Background(), late[cut].Seq))
			if len(rest) != len(late)-cut-1 {
				t.Errorf("after %d came %d events, want %d", late[cut].Seq, len(rest), len(late)-cut-1)
			}
			contiguous(t, rest, late[cut].Seq+1)
		}
		if i == 0 {
			equal(t, "types", slices.Compact(types(late)), []string{
				"run.started", "reasoning.delta", "message.delta", "message.completed", "tool.requested", "tool.started", "tool.output",
				"tool.completed", "message.delta", "message.completed", "run.completed",
			})
		}
		next = late[len(late)-1].Seq + 1
	}
}

// What is stored is what was seen: the durable events are equal, and whatever is missing is announced by one gap.
func TestStoredEvents(t *testing.T) {
	r := newRig(t, agent.Config{Tools: []tool.Tool{printer(), textTool("read")}},
		calls(call("a", "print", `{"n":3}`), call("b", "read")), calls(call("c", "read")), say("done"), calls(call("d", "nope")), say("more"))
	var live []agent.Event
	for range 2 {
		run, err := r.agent.Start(context.Background(), agent.Input{Thread: "t", Text: "go"})
		if err != nil {
			t.Fatal(err)
		}
		live = append(live, collect(t, run.Events(context.Background(), run.Before()))...)
		if _, err := wait(t, run); err != nil {
			t.Fatal(err)
		}
	}
	bySeq := make(map[int64]string)
	for _, ev := range live {
		bySeq[ev.Seq] = string(mustJSON(ev))
	}
	last := live[len(live)-1].Seq
	for after := int64(0); after <= last; after++ {
		stored := collect(t, r.agent.StoredEvents(context.Background(), "t", after))
		gap := agent.Gap{From: 1, To: 0}
		next := after + 1
		for _, ev := range stored {
			if g, ok := ev.Data.(agent.Gap); ok {
				if gap.To != 0 || g.From != next || g.To > last || g.To < g.From {
					t.Fatalf("after %d: gap %+v at %d, after %+v", after, g, next, gap)
				}
				gap = g
				continue
			}
			if ev.Seq < next {
				t.Fatalf("after %d: event %d comes when %d is due", after, ev.Seq, next)
			}
			for ; next < ev.Seq; next++ {
				if next < gap.From || next > gap.To {
					t.Fatalf("after %d: event %d is missing, and no gap says so (%+v)", after, next, gap)
				}
			}
			next = ev.Seq + 1
			if string(mustJSON(ev)) != bySeq[ev.Seq] {
				t.Errorf("event %d was\n%s and is stored as\n%s", ev.Seq, bySeq[ev.Seq], mustJSON(ev))
			}
		}
		if next != last+1 && after != last {
			t.Errorf("after %d the stored events end at %d, want %d", after, next-1, last)
		}
	}
}

// A slow reader stalls neither the run nor the others, and gets everything in the end; breaking ends only that reader.
func TestSlowReader(t *testing.T) {
	r := newRig(t, agent.Config{Tools: []tool.Tool{printer()}}, calls(call("a", "print", `{"n":2000}`)), say("done"))
	run, err := r.agent.Start(context.Background(), agent.Input{Thread: "t", Text: "go"})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	var slow []agent.Event
	var wg sync.WaitGroup
	wg.Go(func() {
		for ev, err := range run.Events(context.Background(), 0) {
			if err != nil {
				t.Error(err)
				return
			}
			if len(slow) == 0 {
				<-ended // the whole run goes by
			}
			slow = append(slow, ev)
		}
	})
	for range run.Events(context.Background(), 0) {
		break
	}
	if _, err := wait(t, run); err != nil {
		t.Fatal(err)
	}
	close(ended)
	wg.Wait()
	contiguous(t, slow, 1)
	if n := len(slow); n < 2000 || slow[n-1].Data.Type() != "run.completed" {
		t.Errorf("%d events, the last is %s", n, slow[n-1].Data.Type())
	}
}

// A reader that fell behind what is kept gets one gap, and every durable event.
func TestGapAfterOverflow(t *testing.T) {
	s := memory.NewWith(memory.Options{MaxEvents: 100})
	defer s.Close()
	r := newRig(t, agent.Config{Threads: s, Tools: []tool.Tool{printer()}}, calls(call("a", "print", `{"n":20000}`)), say("done"))
	run, err := r.agent.Start(context.Background(), agent.Input{Thread: "t", Text: "go"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := wait(t, run); err != nil {
		t.Fatal(err)
	}
	evs := collect(t, run.Events(context.Background(), 0))
	gaps := 0
	var durable []string
	next := int64(1)
	for _, ev := range evs {
		switch d := ev.Data.(type) {
		case agent.Gap:
			gaps++
			if d.From != next || d.To <= d.From {
				t.Errorf("gap %+v at %d", d, next)
			}
		case agent.ToolOutput, agent.MessageDelta:
		default:
			durable = append(durable, d.Type())
		}
		if _, ok := ev.Data.(agent.Gap); !ok {
			if ev.Seq < next {
				t.Errorf("event %d comes again", ev.Seq)
			}
			next = ev.Seq + 1
		}
	}
	if gaps != 1 {
		t.Errorf("%d gaps", gaps)
	}
	equal(t, "durable events", durable, []string{
		"run.started", "message.completed", "tool.requested", "tool.started", "tool.completed", "message.completed", "run.completed",
	})
}

// Deltas carry the message's id and the attempt; a new attempt voids the earlier ones.
func TestDeltaAttempts(t *testing.T) {
	retry := &mw{name: "retry", wrapModel: func(next agent.ModelFunc) agent.ModelFunc {
		return func(ctx context.Context, r agent.Request) (agent.Response, error) {
			res, err := next(ctx, r)
			if errors.Is(err, model.ErrOverloaded) {
				return next(ctx, r)
			}
			return res, err
		}
	}}
	bad := say("wrong start")
	bad.Error = model.Overloaded
	r := newRig(t, agent.Config{Middleware: []agent.Middleware{retry}}, bad, say("right"))
	run, err := r.agent.Start(context.Background(), agent.Input{Thread: "t", Text: "go"})
	if err != nil {
		t.Fatal(err)
	}
	texts := map[int]string{}
	var id string
	for _, ev := range collect(t, run.Events(context.Background(), 0)) {
		switch d := ev.Data.(type) {
		case agent.MessageDelta:
			texts[d.Attempt] += d.Text
			if id != "" && d.MessageID != id {
				t.Error("the attempts of one turn have two message ids")
			}
			id = d.MessageID
		case agent.MessageCompleted:
			if d.MessageID != id || d.Content != "right" {
				t.Errorf("%+v", d)
			}
		}
	}
	if texts[1] != "wrong start" || texts[2] != "right" || len(texts) != 2 {
		t.Errorf("%v", texts)
	}
	if _, err := wait(t, run); err != nil {
		t.Error(err)
	}
}

// Stream: the error of Start, and the error of the run last; Wait of a reader's context ends that reader only.
func TestStreamErrors(t *testing.T) {
	r := newRig(t, agent.Config{Limits: agent.Limits{Turns: 1}, Tools: []tool.Tool{textTool("x")}}, calls(call("a", "x")), say("done"))
	n := 0
	for _, err := range r.agent.Stream(context.Background(), agent.Input{Text: "no thread"}) {
		n++
		if !errors.Is(err, agent.ErrNoThread) {
			t.Error(err)
		}
	}
	if n != 1 {
		t.Errorf("%d items", n)
	}
	var last error
	var lastEvent agent.Event
	for ev, err := range r.agent.Stream(context.Background(), agent.Input{Thread: "t", Text: "go"}) {
		if last = err; err == nil {
			lastEvent = ev
		}
	}
	if !errors.Is(last, agent.ErrTurnLimit) {
		t.Error(last)
	}
	if c, ok := lastEvent.Data.(agent.RunCompleted); !ok || c.Status != "limit" || c.ExitCode != 6 || !strings.Contains(c.Error, "1 turns") {
		t.Errorf("%+v", lastEvent)
	}
	begun := make(chan string, 10)
	r = newRig(t, agent.Config{Tools: hang(begun)}, calls(call("u", "unsafe")))
	run, err := r.agent.Start(context.Background(), agent.Input{Thread: "t", Text: "go"})
	if err != nil {
		t.Fatal(err)
	}
	drain(t, begun, 1)
	mine := errors.New("mine")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(mine)
	last = nil
	for _, err := range run.Events(ctx, 0) {
		last = err
	}
	if !errors.Is(last, mine) {
		t.Errorf("a reader whose context ended: %v", last)
	}
	run.Cancel(nil)
	if _, err := wait(t, run); !errors.Is(err, agent.ErrCancelled) {
		t.Error(err)
	}
}

// A goroutine that a tool left behind cannot write events after the end, nor take numbers of the next run.
func TestStrayOutput(t *testing.T) {
	var out io.Writer
	stray := fn("stray", tool.Hints{}, func(ctx context.Context, _ map[string]any) (tool.Result, error) {
		s, _ := run.From(ctx)
		out = s.Output()
		return tool.Text("ok"), nil
	})
	r := newRig(t, agent.Config{Tools: []tool.Tool{stray}}, calls(call("a", "stray")), say("done"), say("more"))
	run, err := r.agent.Start(context.Background(), agent.Input{Thread: "t", Text: "go"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := wait(t, run); err != nil {
		t.Fatal(err)
	}
	for range 200 {
		if _, err := io.WriteString(out, "stray"); err != nil {
			t.Fatal(err)
		}
	}
	evs := collect(t, run.Events(context.Background(), 0))
	if last := evs[len(evs)-1]; last.Data.Type() != "run.completed" {
		t.Errorf("the last event is %s", last.Data.Type())
	}
	next, err := r.agent.Start(context.Background(), agent.Input{Thread: "t", Text: "again"})
	if err != nil {
		t.Fatal(err)
	}
	if next.Before() != evs[len(evs)-1].Seq {
		t.Errorf("the next run begins after %d, want %d", next.Before(), evs[len(evs)-1].Seq)
	}
	if _, err := wait(t, next); err != nil {
		t.Error(err)
	}
}

// Events of sub-agents carry their namespace.
func TestNestedEvents(t *testing.T) {
	p := newProbe(lines(calls(call("t", "task", `{"do":"x"}`)), say("done"), as("helper", calls(call("a", "n"))), as("helper", say("helped"))))
	helper := mustNew(t, agent.Config{Name: "helper", Model: p, Tools: []tool.Tool{textTool("n")}})
	r := newRig(t, agent.Config{Model: p, Tools: []tool.Tool{task(helper)}})
	run, err := r.agent.Start(context.Background(), agent.Input{Thread: "t", Text: "go"})
	if err != nil {
		t.Fatal(err)
	}
	evs := collect(t, run.Events(context.Background(), 0))
	res, err := wait(t, run)
	if err != nil {
		t.Fatal(err)
	}
	contiguous(t, evs, 1)
	taskID := messages(res)[1].ID + ".t"
	var inside []string
	for _, ev := range evs {
		if len(ev.NS) > 0 {
			equal(t, "namespace", ev.NS, []string{taskID})
			inside = append(inside, ev.Data.Type())
		}
	}
	equal(t, "inside", slices.Compact(inside), []string{
		"subagent.started", "message.completed", "tool.requested", "tool.started", "tool.completed", "message.delta", "message.completed",
	})
}

// The JSON of an event is one flat object with the envelope and the fields of its data.
func TestEventJSON(t *testing.T) {
	r := newRig(t, agent.Config{Tools: []tool.Tool{printer()}}, calls(call("a", "print", `{"n":1}`)), say("done"))
	meta := map[string]json.RawMessage{"cwd": json.RawMessage(`"/w"`)}
	run, err := r.agent.Start(context.Background(), agent.Input{Thread: "t", Text: "go"}, agent.WithMeta(meta), agent.WithRunID("run-1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range collect(t, run.Events(context.Background(), 0)) {
		var m map[string]any
		if err := json.Unmarshal(mustJSON(ev), &m); err != nil {
			t.Fatal(err)
		}
		if m["v"] != 1.0 || m["seq"] != float64(ev.Seq) || m["type"] != ev.Data.Type() || m["thread_id"] != "t" || m["run_id"] != "run-1" || m["ts"] == "" {
			t.Errorf("%v", m)
		}
		if ev.Data.Type() == "run.started" && m["cwd"] != "/w" {
			t.Errorf("meta is missing: %v", m)
		}
	}
	if res, err := wait(t, run); err != nil || res.Status != thread.Done {
		t.Error(err)
	}
}

// What a call streams is kept while it runs, also when a sibling ends or the model of a sub-agent does.
func TestOutputOutlivesASibling(t *testing.T) {
	printed, release := make(chan struct{}), make(chan struct{})
	slow := fn("slow", tool.Hints{}, func(ctx context.Context, _ map[string]any) (tool.Result, error) {
		s, _ := run.From(ctx)
		if _, err := io.WriteString(s.Output(), "precious"); err != nil {
			return tool.Result{}, err
		}
		close(printed)
		<-release
		return tool.Text("slow"), nil
	})
	quick := fn("quick", tool.Hints{}, func(context.Context, map[string]any) (tool.Result, error) {
		<-printed
		return tool.Text("quick"), nil
	})
	r := newRig(t, agent.Config{Tools: []tool.Tool{slow, quick}}, calls(call("a", "slow"), call("b", "quick")), say("done"))
	run, err := r.agent.Start(context.Background(), agent.Input{Thread: "t", Text: "go"})
	if err != nil {
		t.Fatal(err)
	}
	for ev, err := range run.Events(context.Background(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if c, ok := ev.Data.(agent.ToolCompleted); ok && c.Name == "quick" {
			break
		}
	}
	deadline := time.Now().Add(patience)
	for kept := false; !kept; {
		_, evs, err := r.store.Events(context.Background(), "t", 0)
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("the output of a running call is not kept: %v", err)
		}
		for _, ev := range evs {
			kept = kept || strings.Contains(string(ev.Data), "precious")
		}
		time.Sleep(10 * time.Millisecond)
	}
	close(release)
	if _, err := wait(t, run); err != nil {
		t.Error(err)
	}
}
