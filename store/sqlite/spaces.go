package sqlite

import (
	"iter"

	"github.com/deepagents-go/deepagents/store"
	"github.com/deepagents-go/deepagents/store/internal/nskey"
)

// spaces yields the encoded namespaces that begin with a prefix, in order, with one jump in the index for each.
func (x *session) spaces(prefix string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		from, end := blob(prefix), after(prefix)
		for {
			var ns []byte
			_, err := x.c.one(x.ctx, "SELECT min(ns) FROM items WHERE ns >= ? AND ns < ?", []any{from, end}, []any{&ns})
			if err != nil || ns == nil {
				if err != nil {
					yield(nil, err)
				}
				return
			}
			if !yield(ns, nil) {
				return
			}
			from = append(append([]byte{}, ns...), 0) // the smallest name after it
		}
	}
}

func (x *session) namespaces(q store.NamespaceQuery) ([]store.Namespace, error) {
	var literal store.Namespace
	for _, l := range q.Prefix {
		if l == store.Any {
			break
		}
		literal = append(literal, l)
	}
	var all []store.Namespace
	for ns, err := range x.spaces(nskey.Encode(literal)) {
		if err != nil {
			return nil, err
		}
		labels, err := nskey.Decode(string(ns))
		if err != nil {
			return nil, err
		}
		if !q.Matches(labels) {
			continue
		}
		var n int
		found, err := x.c.one(x.ctx, "SELECT 1 FROM items WHERE ns = ? AND "+alive+" LIMIT 1", []any{ns, x.now.UnixNano()}, []any{&n})
		if err != nil {
			return nil, err
		}
		if found {
			all = append(all, labels)
		}
	}
	return q.Select(all), nil
}
