package agent_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/model/script"
	"github.com/deepagents-go/deepagents/thread/memory"
	"github.com/deepagents-go/deepagents/tool"
)

type none struct{}

func trivial() tool.Tool {
	return tool.New(tool.Spec{Name: "noop", Hints: tool.Hints{ReadOnly: true}}, func(context.Context, none) (string, error) { return "ok", nil })
}

// BenchmarkTurn runs scripts of 1,000 turns with one trivial call each.
func BenchmarkTurn(b *testing.B) {
	const turns = 1000
	lines := make([]script.Line, 0, turns+1)
	for i := range turns {
		lines = append(lines, script.Line{ToolCalls: []script.ToolCall{{ID: fmt.Sprintf("c%d", i), Name: "noop"}}})
	}
	lines = append(lines, script.Line{Text: "done"})
	m := script.New(lines...)
	b.ReportAllocs()
	for b.Loop() {
		a, err := agent.New(agent.Config{Model: m, Tools: []tool.Tool{trivial()}, Threads: memory.New()})
		if err != nil {
			b.Fatal(err)
		}
		res, err := a.Run(b.Context(), agent.Input{Thread: "t", Text: "go"})
		if err != nil || res.Turns != turns+1 {
			b.Fatal(err, res)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/turns, "µs/turn")
}
