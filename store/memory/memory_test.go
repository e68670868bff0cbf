package memory_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/deepagents-go/deepagents/store"
	"github.com/deepagents-go/deepagents/store/memory"
	"github.com/deepagents-go/deepagents/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSuite(t *testing.T) {
	storetest.Run(t, func(_ *testing.T, now func() time.Time) store.Store { return memory.New(memory.Options{Now: now}) })
}

// animals embeds a text by the animals in it.
func animals(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, t := range texts {
		for _, a := range []string{"zebra", "lion", "tiger", "paris"} {
			out[i] = append(out[i], float32(strings.Count(strings.ToLower(t), a))+0.001)
		}
	}
	return out, nil
}

func TestSuiteWithEmbedder(t *testing.T) {
	storetest.Run(t, func(_ *testing.T, now func() time.Time) store.Store {
		return memory.New(memory.Options{Now: now, Embed: animals})
	})
}
