package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

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
	n := 0
	for _, e := range s.snapshot().Prefix(nskey.Encode(prefix)) {
		if n++; n%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		switch {
		case !e.alive(now), len(e.item.Key) < len(q.KeyPrefix), e.item.Key[:len(q.KeyPrefix)] != q.KeyPrefix, !filter.Match(e.item.Value):
			continue
		case score != nil:
			hits = append(hits, score(e))
			continue
		}
		if hits = append(hits, hit{e: e}); len(hits)-q.Offset >= q.Max() {
			break
		}
	}
	return hits, nil
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
