package memory_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/deepagents-go/deepagents/thread"
	"github.com/deepagents-go/deepagents/thread/memory"
	"github.com/deepagents-go/deepagents/thread/threadtest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStore(t *testing.T) {
	threadtest.Run(t, func(*testing.T) thread.Store { return memory.New() })
}

// TestLeaseClock shows the time to live with a clock of our own.
func TestLeaseClock(t *testing.T) {
	now := time.Unix(1000, 0)
	s := memory.NewWith(memory.Options{Now: func() time.Time { return now }})
	ctx := context.Background()
	a, err := s.Acquire(ctx, "t", "a", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(59 * time.Second)
	if _, err := s.Acquire(ctx, "t", "b", time.Minute); !errors.Is(err, thread.ErrBusy) {
		t.Fatalf("within the time to live: %v", err)
	}
	if err := a.Renew(ctx); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Minute)
	if err := a.Renew(ctx); err != nil {
		t.Fatalf("nobody took it: %v", err)
	}
	now = now.Add(time.Minute)
	b, err := s.Acquire(ctx, "t", "b", time.Minute)
	if err != nil {
		t.Fatalf("the time is over: %v", err)
	}
	if err := a.Renew(ctx); !errors.Is(err, thread.ErrFenced) {
		t.Fatalf("the first holder: %v", err)
	}
	if b.Fence() <= a.Fence() {
		t.Fatalf("fences %d, %d", a.Fence(), b.Fence())
	}
}

func TestEventBounds(t *testing.T) {
	ctx := context.Background()
	s := memory.NewWith(memory.Options{MaxEvents: 3, MaxEventBytes: 100})
	add := func(seq int64, size int) {
		t.Helper()
		if err := s.AppendEvents(ctx, "t", 0, []thread.Event{{Seq: seq, Data: make(json.RawMessage, size)}}); err != nil {
			t.Fatal(err)
		}
	}
	want := func(first int64, n int) {
		t.Helper()
		got, es, err := s.Events(ctx, "t", 0)
		if err != nil || got != first || len(es) != n {
			t.Fatalf("first %d, %d events, %v; want %d, %d", got, len(es), err, first, n)
		}
	}
	for i := range 5 {
		add(int64(i+1), 1)
	}
	want(3, 3)
	add(6, 99)
	want(5, 2)
	add(7, 200)
	want(7, 1)
}

// TestIdleThreads holds the size of many small threads: 1,000 threads of 20 messages in 64 MiB.
func TestIdleThreads(t *testing.T) {
	ctx := context.Background()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	s := memory.New()
	for i := range 1000 {
		id := fmt.Sprintf("t%d", i)
		for range 20 {
			rs := []thread.Record{record(thread.KindModel, 300), record(thread.KindCallEnded, 300), record(thread.KindCommit, 100)}
			if _, err := s.Append(ctx, id, thread.Append{ExpectSeq: -1, Records: rs}); err != nil {
				t.Fatal(err)
			}
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if used := int64(after.HeapAlloc) - int64(before.HeapAlloc); used > 48<<20 {
		t.Fatalf("1,000 threads take %d KiB", used>>10)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func record(k thread.Kind, size int) thread.Record {
	return thread.Record{V: 1, ID: "r-0123456789", RunID: "run-1", Kind: k, Time: time.Unix(1, 0), Data: make([]byte, size)}
}

func BenchmarkAppend(b *testing.B) {
	ctx := context.Background()
	s := memory.New()
	l, err := s.Acquire(ctx, "t", "bench", time.Hour)
	if err != nil {
		b.Fatal(err)
	}
	a := thread.Append{Fence: l.Fence(), ExpectSeq: -1, Durable: true, Records: []thread.Record{record(thread.KindModel, 300)}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Append(ctx, "t", a); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	ctx := context.Background()
	s := memory.New()
	a := thread.Append{ExpectSeq: -1, Records: []thread.Record{record(thread.KindModel, 300)}}
	for range 1000 {
		if _, err := s.Append(ctx, "t", a); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range s.Read(ctx, "t", thread.Query{}) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != 1000 {
			b.Fatal(n)
		}
	}
}
