package storetest_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/deepagents-go/deepagents/store"
	"github.com/deepagents-go/deepagents/store/memory"
	"github.com/deepagents-go/deepagents/store/storetest"
)

// plain is a store without a time to live.
type plain struct{ store.Store }

func (p plain) Put(ctx context.Context, ns store.Namespace, key string, value json.RawMessage, o store.PutOptions) (store.Item, error) {
	if o.TTL > 0 {
		return store.Item{}, errors.ErrUnsupported
	}
	return p.Store.Put(ctx, ns, key, value, o)
}

func (p plain) Batch(ctx context.Context, ops []store.Op) ([]store.Outcome, error) {
	return store.Sequence(ctx, p, ops), nil
}

// TestNoTTL runs the suite on a store without a time to live.
func TestNoTTL(t *testing.T) {
	storetest.Run(t, func(_ *testing.T, now func() time.Time) store.Store {
		return plain{memory.New(memory.Options{Now: now})}
	}, storetest.Options{NoTTL: true})
}
