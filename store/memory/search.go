package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/deepagents-go/deepagents/store"
	"github.com/deepagents-go/deepagents/store/internal/nskey"
)

// hit is an item that a search found; only ranked ones have a score.
type hit struct {
	e      *entry
	ranked bool
	score  float64
}

// Search implements [store.Store].
func (s *Store) Search(ctx context.Context, prefix store.Namespace, q store.Query) ([]store.Item, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := q.Check(); err != nil {
		return nil, err
	}
	score, err := s.scorer(ctx, q.Text)
	if err != nil {
		return nil, err
	}
	hits, err := s.find(ctx, prefix, q, score)
	if err != nil {
		return nil, err
	}
	if score != nil {
		slices.SortStableFunc(hits, func(a, b hit) int {
			if a.ranked != b.ranked {
				if a.ranked {
					return -1
				}
				return 1
			}
			return cmp.Compare(b.score, a.score)
		})
	}
	hits = hits[min(q.Offset, len(hits)):]
	hits = hits[:min(q.Max(), len(hits))]
	now := s.now()
	out := make([]store.Item, len(hits))
	for i, h := range hits {
		s.refresh(h.e, now, q.KeepTTL)
		out[i] = h.e.copy()
		out[i].Score = h.score
	}
	return out, nil
}

// find returns what matches in order; without a score no more than the window needs.
func (s *Store) find(ctx context.Context, prefix store.Namespace, q store.Query, score func(*entry) hit) ([]hit, error) {
	filter, err := store.NewFilter(q.Filter)
	if err != nil {
		return nil, err
	}
	now := s.now()
	var hits []hit
	for e := range s.scan(ctx, nskey.Encode(prefix), q.KeyPrefix) {
		switch {
		case !e.alive(now), !filter.Match(e.item.Value):
			continue
		case score != nil:
			hits = append(hits, score(e))
			continue
		}
		if hits = append(hits, hit{e: e}); len(hits)-q.Offset >= q.Max() {
			break
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return hits, nil
}

// scan yields the items of the namespaces that begin with ns and the keys that begin with key, in order, until the context ends. It
// jumps over the other keys.
func (s *Store) scan(ctx context.Context, ns, key string) iter.Seq[*entry] {
	return func(yield func(*entry) bool) {
		items := s.snapshot()
		n := 0
		for from := ns; ; {
			next := ""
			for k, e := range items.From(from) {
				if n++; !strings.HasPrefix(k, ns) || n%1024 == 0 && ctx.Err() != nil {
					return
				}
				if strings.HasPrefix(e.item.Key, key) {
					if !yield(e) {
						return
					}
					continue
				}
				keys := k[:len(k)-len(e.item.Key)] // the namespace and its mark
				if e.item.Key < key {
					next = keys + key
				} else {
					next = nskey.Next(keys)
				}
				break
			}
			if from = next; from == "" {
				return
			}
		}
	}
}

// scorer returns what ranks items for a text; nil without one.
func (s *Store) scorer(ctx context.Context, text string) (func(*entry) hit, error) {
	if text == "" {
		return nil, nil
	}
	if s.o.Embed == nil {
		words := store.Words(text)
		return func(e *entry) hit {
			n := 0
			for _, w := range words {
				if _, ok := slices.BinarySearch(e.words, w); ok {
					n++
				}
			}
			if n == 0 {
				return hit{e: e}
			}
			return hit{e, true, float64(n) / float64(len(words))}
		}, nil
	}
	v, err := s.o.Embed(ctx, []string{text})
	if err == nil && len(v) != 1 {
		err = errors.New("no vector")
	}
	if err != nil {
		return nil, fmt.Errorf("store: embed the query: %w", err)
	}
	return func(e *entry) hit {
		h := hit{e: e}
		for i, x := range e.vectors {
			if c := store.Cosine(v[0], x); i == 0 || c > h.score {
				h.ranked, h.score = true, c
			}
		}
		return h
	}, nil
}
