package sqlite_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/deepagents-go/deepagents/thread"
	"github.com/deepagents-go/deepagents/thread/sqlite"
)

// A thread is leased, appended to and read back.
func Example() {
	if err := example(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 1 input {"text":"hello"}
	// 2 commit {"step":0}
}

func example() error {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "threads")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	s, err := sqlite.Open(ctx, filepath.Join(dir, "threads.db"), sqlite.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	lease, err := s.Acquire(ctx, "my-thread", fmt.Sprint("process ", os.Getpid()), 30*time.Second)
	if err != nil {
		return err
	}
	_, err = s.Append(ctx, "my-thread", thread.Append{
		Fence: lease.Fence(), Durable: true, Records: []thread.Record{
			{V: thread.Version, ID: "r1", Kind: thread.KindInput, Time: time.Now(), Data: json.RawMessage(`{"text":"hello"}`)},
			{V: thread.Version, ID: "r2", Kind: thread.KindCommit, Time: time.Now(), Data: json.RawMessage(`{"step":0}`)},
		},
	})
	if err != nil {
		return err
	}
	for r, err := range s.Read(ctx, "my-thread", thread.Query{}) {
		if err != nil {
			return err
		}
		fmt.Println(r.Seq, r.Kind, string(r.Data))
	}
	return lease.Release(ctx)
}
