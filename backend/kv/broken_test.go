package kv_test

import (
	"context"
	"errors"
	"testing"

	"github.com/deepagents-go/deepagents/backend/kv"
	"github.com/deepagents-go/deepagents/middleware/filesystem"
	"github.com/deepagents-go/deepagents/store"
	"github.com/deepagents-go/deepagents/store/memory"
)

// broken is a store that fails.
type broken struct {
	store.Store
	err error
}

func (b broken) Search(context.Context, store.Namespace, store.Query) ([]store.Item, error) {
	return nil, b.err
}

// TestBrokenStore has the cases in which T errors "boom".
func TestBrokenStore(t *testing.T) {
	boom := errors.New("boom")
	d := newKV(t, kv.Options{Store: broken{memory.New(memory.Options{}), boom}})
	x := newTools(t, d, filesystem.Options{})
	for _, c := range []struct{ tool, args, want string }{
		{"glob", `{"pattern":"*.py"}`, "[err] Error: glob failed: boom"},
		{"grep", `{"pattern":"k"}`, "[err] boom"},
		{"ls", `{"path":"/"}`, "[err] Error: Listing of '/' aborted: boom"},
		{"delete", `{"file_path":"/d"}`, "[err] Error deleting '/d': boom"},
	} {
		if got := x.call(c.tool, c.args); got != c.want {
			t.Errorf("%s %s\n got %q\nwant %q", c.tool, c.args, got, c.want)
		}
	}
}
