package store

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// Store keeps items by namespace and key. It is safe for concurrent use.
type Store interface {
	// Get returns an item, or [ErrNotFound].
	Get(ctx context.Context, ns Namespace, key string, o GetOptions) (Item, error)
	// Put creates or replaces an item. CreatedAt is kept when an item is replaced.
	Put(ctx context.Context, ns Namespace, key string, value json.RawMessage, o PutOptions) (Item, error)
	// Delete removes an item; one that is not there is no error.
	Delete(ctx context.Context, ns Namespace, key string) error
	// Search returns the items in the namespaces that begin with prefix.
	Search(ctx context.Context, prefix Namespace, q Query) ([]Item, error)
	// Namespaces lists namespaces, sorted.
	Namespaces(ctx context.Context, q NamespaceQuery) ([]Namespace, error)
	// Batch runs operations in order, in one round trip where the store can.
	Batch(ctx context.Context, ops []Op) ([]Outcome, error)
}

// Namespace is a path of labels. Labels are not empty and hold no ".".
type Namespace []string

// Item is one stored value.
type Item struct {
	Namespace Namespace
	Key       string
	// Value is a JSON object.
	Value                json.RawMessage
	CreatedAt, UpdatedAt time.Time
	// Version changes with every put, for PutOptions.IfVersion.
	Version string
	// Score ranks search results; 0 without a query.
	Score float64
}

// GetOptions are the options of a read.
type GetOptions struct {
	// KeepTTL leaves the item's time to live as it is; without it a read refreshes it.
	KeepTTL bool
}

// PutOptions are the options of a write.
type PutOptions struct {
	// TTL is how long the item lives; 0 means the store's default. A store without TTL returns [errors.ErrUnsupported].
	TTL time.Duration
	// CreateOnly and IfVersion make the write conditional, else [ErrConflict].
	CreateOnly bool
	IfVersion  string
	// NoIndex leaves the item out of queries; Index names the paths that are indexed, all by default.
	NoIndex bool
	Index   []string
}

// Query selects items.
type Query struct {
	// Text ranks items by their meaning or their words.
	Text string
	// Filter maps paths of the value to what they must be: a value, or an operator object such as {"$gte": 3}.
	Filter map[string]json.RawMessage
	// KeyPrefix selects keys.
	KeyPrefix string
	// Limit is 10 when 0; Offset skips items.
	Limit, Offset int
	KeepTTL       bool
}

// NamespaceQuery selects namespaces. "*" in Prefix and Suffix matches one label.
type NamespaceQuery struct {
	Prefix, Suffix Namespace
	// MaxDepth cuts namespaces, before duplicates are dropped; 0 means no cut.
	MaxDepth int
	// Limit is 100 when 0.
	Limit, Offset int
}

// Op is one operation of a batch: exactly one of its fields is set.
type Op struct {
	Get    *GetOp
	Put    *PutOp
	Delete *GetOp
	Search *SearchOp
}

// GetOp names an item.
type GetOp struct {
	Namespace Namespace
	Key       string
	Options   GetOptions
}

// PutOp writes an item.
type PutOp struct {
	Namespace Namespace
	Key       string
	Value     json.RawMessage
	Options   PutOptions
}

// SearchOp searches.
type SearchOp struct {
	Prefix Namespace
	Query  Query
}

// Outcome is the result of one operation of a batch.
type Outcome struct {
	Items []Item
	Err   error
}

// The sentinels of stores.
var (
	ErrNotFound  = errors.New("store: no such item")
	ErrConflict  = errors.New("store: the item is not the version that was expected")
	ErrNamespace = errors.New("store: invalid namespace")
)
