package store

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// Store keeps items by namespace and key. It is safe for concurrent use. Values go in and out as copies. Items whose time to live is
// over are not there any more, for no method.
type Store interface {
	// Get returns an item, or [ErrNotFound].
	Get(ctx context.Context, ns Namespace, key string, o GetOptions) (Item, error)
	// Put creates or replaces an item. CreatedAt is kept when an item is replaced. The value must be a JSON object, else
	// [ErrValue]; the namespace must pass [Namespace.Check], the key must be valid UTF-8 and not empty, else [ErrKey].
	Put(ctx context.Context, ns Namespace, key string, value json.RawMessage, o PutOptions) (Item, error)
	// Delete removes an item; one that is not there is no error.
	Delete(ctx context.Context, ns Namespace, key string) error
	// Search returns the items in the namespaces that begin with prefix, all for an empty one, sorted by namespace and key. With
	// Query.Text the best come first, and those that do not match, or are not indexed, last with Score 0.
	Search(ctx context.Context, prefix Namespace, q Query) ([]Item, error)
	// Namespaces lists namespaces, sorted.
	Namespaces(ctx context.Context, q NamespaceQuery) ([]Namespace, error)
	// Batch runs operations in order, in one round trip where the store can. The answer has one Outcome for each, with its own
	// error; the error of Batch itself says that the outcomes are not known.
	Batch(ctx context.Context, ops []Op) ([]Outcome, error)
}

// Namespace is a path of labels, compared label by label. [Namespace.Check] has the rules.
type Namespace []string

// Item is one stored value.
type Item struct {
	Namespace Namespace
	Key       string
	// Value is a JSON object, byte for byte as it was put.
	Value json.RawMessage
	// CreatedAt and UpdatedAt are in UTC; UpdatedAt is never earlier.
	CreatedAt, UpdatedAt time.Time
	// Version changes with every put, for PutOptions.IfVersion. An item that is deleted and put again has a new one.
	Version string
	// Score ranks the results of a search with a text, higher is better; 0 without a text or without a match.
	Score float64
}

// GetOptions are the options of a read.
type GetOptions struct {
	// KeepTTL leaves the item's time to live as it is; without it a read starts it anew.
	KeepTTL bool
}

// PutOptions are the options of a write.
type PutOptions struct {
	// TTL is how long the item lives after the last write or read; 0 means the store's default, negative means for ever. A store
	// without TTL returns [errors.ErrUnsupported] for a positive one.
	TTL time.Duration
	// CreateOnly is [ErrConflict] when the item exists, IfVersion, when not empty, unless it exists with that version.
	CreateOnly bool
	IfVersion  string
	// NoIndex leaves the item out of Query.Text; Index names the parts of the value that it is found by, as [Texts] reads them;
	// empty means the store's default, which is the whole value.
	NoIndex bool
	Index   []string
}

// Query selects items.
type Query struct {
	// Text ranks items by their meaning or their words.
	Text string
	// Filter maps fields of the value to what they must be; see [NewFilter].
	Filter map[string]json.RawMessage
	// KeyPrefix selects the keys that begin with it.
	KeyPrefix string
	// Limit is [DefaultLimit] when 0; Offset skips items. Negative ones are [ErrQuery].
	Limit, Offset int
	// KeepTTL leaves the time to live of the items that are returned as it is.
	KeepTTL bool
}

// The limits of queries that name none.
const (
	DefaultLimit          = 10
	DefaultNamespaceLimit = 100
)

// NamespaceQuery selects namespaces that hold an item. "*" in Prefix and Suffix matches one label.
type NamespaceQuery struct {
	Prefix, Suffix Namespace
	// MaxDepth cuts namespaces to that many labels, before duplicates are dropped; 0 means no cut.
	MaxDepth int
	// Limit is [DefaultNamespaceLimit] when 0; Offset skips namespaces. Negative ones are [ErrQuery].
	Limit, Offset int
}

// Op is one operation of a batch: exactly one of its fields is set, else its outcome is [ErrQuery].
type Op struct {
	Get        *GetOp
	Put        *PutOp
	Delete     *GetOp
	Search     *SearchOp
	Namespaces *NamespaceQuery
}

// GetOp names an item. A deletion has no options.
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
	// Items has the item of a Get or a Put, and what a Search found.
	Items      []Item
	Namespaces []Namespace
	Err        error
}

// The sentinels of stores.
var (
	ErrNotFound  = errors.New("store: no such item")
	ErrConflict  = errors.New("store: the item is not the version that was expected")
	ErrNamespace = errors.New("store: invalid namespace")
	ErrKey       = errors.New("store: a key must be valid UTF-8 and not empty")
	ErrValue     = errors.New("store: a value must be a JSON object")
	ErrQuery     = errors.New("store: invalid query")
)
