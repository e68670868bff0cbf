package runtest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/deepagents-go/deepagents/policy"
	"github.com/deepagents-go/deepagents/run"
	"github.com/deepagents-go/deepagents/run/runtest"
	"github.com/deepagents-go/deepagents/state"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestConcurrent is for the race detector: a tool may ask from many goroutines.
func TestConcurrent(t *testing.T) {
	s := &runtest.Scope{}
	ctx := run.With(t.Context(), s)
	var calls atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			fmt.Fprint(s.Output(), "x")
			_, _ = s.Ask(ctx, run.Question{})
			_ = s.Allow(ctx, policy.Action{Kind: policy.Use})
			_ = s.State().Write(state.RawUpdate("k", false, json.RawMessage("1")))
			n, err := run.Once(ctx, "n", func(context.Context) (int32, error) { return calls.Add(1), nil })
			if n != 1 || err != nil {
				t.Errorf("got %d, %v", n, err)
			}
		})
	}
	wg.Wait()
	if s.Written() != "xxxxxxxx" || len(s.Questions()) != 8 || len(s.Allowed()) != 8 || len(s.State().Updates()) != 8 || calls.Load() != 1 {
		t.Errorf("%q, %d questions, %d actions, %d updates, %d calls",
			s.Written(), len(s.Questions()), len(s.Allowed()), len(s.State().Updates()), calls.Load())
	}
}

func ExampleNew() {
	count := state.Last[int]("count", state.Options{})
	schema, err := state.NewSchema(count.Field())
	if err != nil {
		panic(err)
	}
	ctx, scope := runtest.New(context.Background(), schema.New())
	tool := func(ctx context.Context) error { // what is tested
		s, _ := run.From(ctx)
		fmt.Fprintln(s.Output(), "counting")
		return s.State().Write(count.Update(count.Get(s.State()) + 1))
	}
	if err := tool(ctx); err != nil {
		panic(err)
	}
	fmt.Print(scope.Written())
	fmt.Println(count.Get(scope.State()))
	// Output:
	// counting
	// 1
}
