package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/deepagents-go/deepagents/store"
)

var embedTests = []test{{"ranking", embedRanking}, {"errors", embedErrors}}

var errEmbed = errors.New("the embedder failed")

// embed counts colours, two of which are close. The text "fail" fails.
func embed(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, t := range texts {
		if t == "fail" {
			return nil, errEmbed
		}
		count := func(w string) float32 { return float32(strings.Count(t, w)) }
		out[i] = []float32{count("red") + 0.9*count("pink"), count("green"), count("blue")}
	}
	return out, ctx.Err()
}

func embedRanking(f *fixture) {
	f.put("e", "1", `{"t":"green"}`, store.PutOptions{})
	f.put("e", "2", `{"t":"red red","n":1}`, store.PutOptions{NoIndex: true})
	f.put("e", "3", `{"t":"pink green"}`, store.PutOptions{})
	f.put("e", "4", `{"t":"pink"}`, store.PutOptions{})
	f.put("e", "5", `{"t":"blue","u":"red"}`, store.PutOptions{Index: []string{"t", "u"}})
	f.put("e", "6", `{"t":"blue","u":"red"}`, store.PutOptions{Index: []string{"t"}})
	f.put("e", "7", `{"t":null}`, store.PutOptions{})
	f.finds("e", store.Query{Text: "red"}, "e:4 e:5 e:3 e:1 e:6 e:2 e:7")
	f.finds("e", store.Query{Text: "red", Limit: 2, Offset: 1}, "e:5 e:3")
	f.finds("e", store.Query{Text: "red", Filter: filter(`{"t":{"$gte":"pink"}}`)}, "e:4 e:3 e:2")
	items, err := f.s.Search(f.ctx, nil, store.Query{Text: "red", Limit: 20})
	if err != nil || len(items) != 7 || items[0].Score < 0.999 || items[0].Score > 1.001 || items[5].Score != 0 || items[6].Score != 0 {
		f.Errorf("%+v, %v", items, err)
	}
	f.put("e", "4", `{"t":"blue"}`, store.PutOptions{})
	f.is("Delete", f.s.Delete(f.ctx, ns("e"), "5"), nil)
	f.finds("e", store.Query{Text: "red", Limit: 1}, "e:3")
	f.finds("e", store.Query{}, "e:1 e:2 e:3 e:4 e:6 e:7")
}

func embedErrors(f *fixture) {
	f.put("e", "k", `{"t":"red"}`, store.PutOptions{})
	_, err := f.s.Put(f.ctx, ns("e"), "k", json.RawMessage(`{"t":"fail"}`), store.PutOptions{})
	f.is("Put", err, errEmbed)
	f.holds("e", "k", `{"t":"red"}`)
	_, err = f.s.Search(f.ctx, nil, store.Query{Text: "fail"})
	f.is("Search", err, errEmbed)
	f.put("e", "k", `{"t":"fail"}`, store.PutOptions{NoIndex: true})
}
