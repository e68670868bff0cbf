package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/model/script"
	"github.com/deepagents-go/deepagents/thread"
	"github.com/deepagents-go/deepagents/thread/memory"
	"github.com/deepagents-go/deepagents/thread/sqlite"
	"github.com/deepagents-go/deepagents/tool"
)

type none struct{}

// noop is the trivial tool of the benchmarks; called sees every call.
func noop(called func()) tool.Tool {
	return tool.New(tool.Spec{Name: "noop", Hints: tool.Hints{ReadOnly: true}}, func(context.Context, none) (string, error) {
		called()
		return "ok", nil
	})
}

// noops is a script of n turns with one call each, and an answer.
func noops(n int) *script.Model {
	lines := make([]script.Line, 0, n+1)
	for i := range n {
		lines = append(lines, script.Line{ToolCalls: []script.ToolCall{{ID: fmt.Sprintf("c%d", i), Name: "noop"}}})
	}
	return script.New(append(lines, script.Line{Text: "done"})...)
}

func runTurns(b *testing.B, store thread.Store, id string, turns int, called func()) {
	b.Helper()
	a, err := agent.New(agent.Config{Model: noops(turns), Tools: []tool.Tool{noop(called)}, Threads: store})
	if err != nil {
		b.Fatal(err)
	}
	res, err := a.Run(b.Context(), agent.Input{Thread: id, Text: "go"})
	if err != nil || res.Turns != turns+1 {
		b.Fatal(err, res)
	}
}

// BenchmarkTurn runs 1,000 turns on memory threads. early and late are turns 10 to 110 and 900 to 1,000.
func BenchmarkTurn(b *testing.B) {
	const turns = 1000
	var early, late time.Duration
	b.ReportAllocs()
	for b.Loop() {
		at := make([]time.Time, 0, turns)
		runTurns(b, memory.New(), "t", turns, func() { at = append(at, time.Now()) })
		early += at[110].Sub(at[10])
		late += at[turns-1].Sub(at[turns-101])
	}
	per := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 / float64(b.N) }
	b.ReportMetric(per(b.Elapsed())/turns, "µs/turn")
	b.ReportMetric(per(early)/100, "µs/early-turn")
	b.ReportMetric(per(late)/100, "µs/late-turn")
	b.ReportMetric(float64(late)/float64(early), "late/early")
}

// BenchmarkTurnSQLite runs 300 turns on sqlite threads and reports what a turn writes and how often it syncs.
func BenchmarkTurnSQLite(b *testing.B) {
	const turns = 300
	s, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "threads.db"), sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	n := 0
	for b.Loop() {
		n++
		runTurns(b, s, fmt.Sprintf("t%d", n), turns, func() {})
	}
	st := s.Stats()
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/turns, "µs/turn")
	commits := float64(n * (2*turns + 2)) // input, two a turn, the answer
	b.ReportMetric(float64(st.Durable)/commits, "syncs/commit")
	b.ReportMetric(growth(b, s, "t1"), "late/early-bytes")
}

// growth compares the record bytes that the last tenth of a thread wrote with those of the second tenth.
func growth(b *testing.B, s thread.Store, id string) float64 {
	var sizes []int
	for r, err := range s.Read(b.Context(), id, thread.Query{Prefix: true}) {
		if err != nil {
			b.Fatal(err)
		}
		if r.Kind != thread.KindSnapshot {
			sizes = append(sizes, len(r.Data))
		}
	}
	sum := func(xs []int) (n int) {
		for _, x := range xs {
			n += x
		}
		return n
	}
	tenth := len(sizes) / 10
	return float64(sum(sizes[len(sizes)-tenth:])) / float64(sum(sizes[tenth:2*tenth]))
}

// BenchmarkEventJSON is what one streamed token costs a subscriber.
func BenchmarkEventJSON(b *testing.B) {
	e := agent.Event{Seq: 7, Thread: "t", Run: "r", Data: agent.MessageDelta{MessageID: "m", Text: "hello world", Attempt: 1}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := json.Marshal(e); err != nil {
			b.Fatal(err)
		}
	}
}

// TestConcurrentRuns lets 200 runs meet inside their tool: if one waited for another, none would get through.
func TestConcurrentRuns(t *testing.T) {
	const n = 200
	var inside sync.WaitGroup
	inside.Add(n)
	a, err := agent.New(agent.Config{Model: noops(1), Threads: memory.New(), Tools: []tool.Tool{noop(func() {
		inside.Done()
		inside.Wait()
	})}})
	if err != nil {
		t.Fatal(err)
	}
	var runs sync.WaitGroup
	for i := range n {
		runs.Go(func() {
			if _, err := a.Run(t.Context(), agent.Input{Thread: fmt.Sprintf("t%d", i), Text: "go"}); err != nil {
				t.Error(err)
			}
		})
	}
	runs.Wait()
}
