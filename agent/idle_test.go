package agent_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/thread/memory"
	"github.com/deepagents-go/deepagents/tool"
)

// TestIdleThreads keeps 1,000 finished threads of about 20 messages in one process below 64 MiB.
func TestIdleThreads(t *testing.T) {
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	store := memory.New()
	a, err := agent.New(agent.Config{Model: noops(9), Threads: store, Tools: []tool.Tool{noop(func() {})}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		if _, err := a.Run(t.Context(), agent.Input{Thread: fmt.Sprintf("t%d", i), Text: "go"}); err != nil {
			t.Fatal(err)
		}
	}
	grown := int64(heap()) - int64(before)
	t.Logf("1,000 threads of 20 messages: %.1f MiB", float64(grown)/(1<<20))
	if grown > 64<<20 {
		t.Errorf("1,000 idle threads take %d bytes, more than 64 MiB", grown)
	}
	runtime.KeepAlive(store)
	runtime.KeepAlive(a)
}
