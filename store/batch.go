package store

import "context"

// Sequence runs the operations of a batch one by one with the methods of a store. It is the Batch of stores where a round trip
// costs nothing. Once the context has ended, what is left fails with its error.
func Sequence(ctx context.Context, s Store, ops []Op) []Outcome {
	out := make([]Outcome, len(ops))
	for i, op := range ops {
		if out[i].Err = ctx.Err(); out[i].Err == nil {
			out[i] = one(ctx, s, op)
		}
	}
	return out
}

func one(ctx context.Context, s Store, op Op) (o Outcome) {
	var item Item
	if o.Err = op.Check(); o.Err != nil {
		return o
	}
	switch {
	case op.Get != nil:
		item, o.Err = s.Get(ctx, op.Get.Namespace, op.Get.Key, op.Get.Options)
	case op.Put != nil:
		item, o.Err = s.Put(ctx, op.Put.Namespace, op.Put.Key, op.Put.Value, op.Put.Options)
	case op.Delete != nil:
		o.Err = s.Delete(ctx, op.Delete.Namespace, op.Delete.Key)
		return o
	case op.Search != nil:
		o.Items, o.Err = s.Search(ctx, op.Search.Prefix, op.Search.Query)
		return o
	default:
		o.Namespaces, o.Err = s.Namespaces(ctx, *op.Namespaces)
		return o
	}
	if o.Err == nil {
		o.Items = []Item{item}
	}
	return o
}
