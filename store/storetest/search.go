package storetest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/deepagents-go/deepagents/store"
)

var searchTests = []test{
	{"prefix and order", searchOrder},
	{"window", searchWindow},
	{"filters", searchFilters},
	{"bad queries", searchRefused},
	{"text", searchText},
	{"index", searchIndex},
}

func searchOrder(f *fixture) {
	f.finds("", store.Query{}, "")
	for _, n := range []string{"b", "a-b", "a/z", "a", "a/b/c", "a/b", "ab", "B"} {
		f.put(n, "k", `{}`, store.PutOptions{})
	}
	f.put("a", "K", `{}`, store.PutOptions{})
	f.put("a", "k-", `{}`, store.PutOptions{})
	f.put("a", "kk", `{}`, store.PutOptions{})
	f.finds("", store.Query{Limit: 99}, "B:k a:K a:k a:k- a:kk a/b:k a/b/c:k a/z:k a-b:k ab:k b:k")
	f.finds("a", store.Query{}, "a:K a:k a:k- a:kk a/b:k a/b/c:k a/z:k")
	f.finds("a/b", store.Query{}, "a/b:k a/b/c:k")
	f.finds("a/b/c/d", store.Query{}, "")
	f.finds("c", store.Query{}, "")
	f.finds("a", store.Query{KeyPrefix: "k"}, "a:k a:k- a:kk a/b:k a/b/c:k a/z:k")
	f.finds("a", store.Query{KeyPrefix: "kk"}, "a:kk")
	f.finds("a", store.Query{KeyPrefix: "x"}, "")
}

// searchWindow has case K05.
func searchWindow(f *fixture) {
	var all []string
	for i := range 15 {
		f.put("a", fmt.Sprintf("%02d", i), fmt.Sprintf(`{"i":%d}`, i), store.PutOptions{})
		all = append(all, fmt.Sprintf("a:%02d", i))
	}
	want := func(from, to int) string { return strings.Join(all[from:to], " ") }
	f.finds("a", store.Query{}, want(0, 10))
	f.finds("a", store.Query{Limit: 3, Offset: 4}, want(4, 7))
	f.finds("a", store.Query{Limit: 100, Offset: 12}, want(12, 15))
	f.finds("a", store.Query{Offset: 15}, "")
	f.finds("a", store.Query{Offset: 99}, "")
	f.finds("a", store.Query{Filter: filter(`{"i":{"$gte":5}}`), Limit: 2, Offset: 3}, want(8, 10))
	f.finds("a", store.Query{Filter: filter(`{"i":{"$gte":5}}`)}, want(5, 15))
}

// searchFilters has case K04.
func searchFilters(f *fixture) {
	f.put("f", "1", `{"n":1,"s":"a","b":true,"o":{"x":1,"y":{"z":"q"}},"l":[1,{"a":2}]}`, store.PutOptions{})
	f.put("f", "2", `{"n":2.5,"s":"b","b":false,"o":{"x":2},"l":[1]}`, store.PutOptions{})
	f.put("f", "3", `{"n":10,"s":"B","b":null,"o":null}`, store.PutOptions{})
	f.put("f", "4", `{"n":"10","s":""}`, store.PutOptions{})
	f.put("f", "5", `{"n":9007199254740993}`, store.PutOptions{})
	for _, c := range []struct{ filter, want string }{
		{`{}`, "1 2 3 4 5"},
		{`{"n":1}`, "1"},
		{`{"n":1.0}`, "1"},
		{`{"n":1e1}`, "3"},
		{`{"n":"10"}`, "4"},
		{`{"n":9007199254740993}`, "5"},
		{`{"n":9007199254740992}`, ""},
		{`{"n":{"$eq":2.5}}`, "2"},
		{`{"n":{"$ne":1}}`, "2 3 4 5"},
		{`{"n":{"$gt":2.5}}`, "3 5"},
		{`{"n":{"$gte":2.5}}`, "2 3 5"},
		{`{"n":{"$lt":10}}`, "1 2"},
		{`{"n":{"$lte":10}}`, "1 2 3"},
		{`{"n":{"$gt":1,"$lt":10}}`, "2"},
		{`{"n":{"$gt":9007199254740992}}`, "5"},
		{`{"n":{"$gt":null}}`, ""},
		{`{"n":{}}`, ""},
		{`{"s":"a"}`, "1"},
		{`{"s":{"$gte":"a"}}`, "1 2"},
		{`{"s":{"$lt":"a"}}`, "3 4"},
		{`{"b":true}`, "1"},
		{`{"b":null}`, "3 4 5"},
		{`{"b":{"$ne":null}}`, "1 2"},
		{`{"b":{"$gt":false}}`, ""},
		{`{"o":{"x":1}}`, "1"},
		{`{"o":{"x":{"$gte":1}}}`, "1 2"},
		{`{"o":{"y":{"z":"q"}}}`, "1"},
		{`{"o":{"$eq":{"x":2}}}`, "2"},
		{`{"o":{"$eq":{"x":1}}}`, ""},
		{`{"o":{"w":null}}`, "1 2"},
		{`{"l":[1,{"a":2}]}`, "1"},
		{`{"l":[{"$lt":5}]}`, "2"},
		{`{"l":[1,{"a":{"$gt":1}}]}`, "1"},
		{`{"l":[]}`, ""},
		{`{"n":1,"s":"b"}`, ""},
		{`{"n":{"$gte":1},"s":"b"}`, "2"},
		{`{"missing":1}`, ""},
	} {
		want := ""
		if c.want != "" {
			want = "f:" + strings.ReplaceAll(c.want, " ", " f:")
		}
		f.finds("f", store.Query{Filter: filter(c.filter)}, want)
	}
}

func searchRefused(f *fixture) {
	f.put("a", "k", `{"n":1}`, store.PutOptions{})
	for name, q := range map[string]store.Query{
		"limit": {Limit: -1}, "offset": {Offset: -1},
		"operator":   {Filter: filter(`{"n":{"$like":"x"}}`)},
		"nested":     {Filter: filter(`{"m":{"x":[{"$in":[1]}]}}`)},
		"mixed":      {Filter: filter(`{"n":{"$gt":1,"x":2}}`)},
		"at the top": {Filter: filter(`{"$gt":1}`)},
		"no JSON":    {Filter: map[string]json.RawMessage{"n": json.RawMessage("{")}},
	} {
		_, err := f.s.Search(f.ctx, nil, q)
		f.is(name, err, store.ErrQuery)
	}
	for _, q := range []store.NamespaceQuery{{Limit: -1}, {Offset: -1}, {MaxDepth: -1}} {
		_, err := f.s.Namespaces(f.ctx, q)
		f.is(fmt.Sprintf("%+v", q), err, store.ErrQuery)
	}
}

// searchText uses words that no store can fail to tell apart.
func searchText(f *fixture) {
	f.put("t", "1", `{"text":"the weather in Paris"}`, store.PutOptions{})
	f.put("t", "2", `{"text":"recipes for a zebra cake","n":5}`, store.PutOptions{})
	f.put("t", "3", `{"text":"nothing of note","n":7}`, store.PutOptions{})
	f.put("u", "4", `{"text":"zebra"}`, store.PutOptions{})
	for _, text := range []string{"zebra", "ZEBRA cake?", `zebra" OR (`} {
		items, err := f.s.Search(f.ctx, ns("t"), store.Query{Text: text})
		if err != nil || names(items) != "t:2 t:1 t:3" {
			f.Errorf("Search for %q: %s, %v", text, names(items), err)
			continue
		}
		if items[0].Score <= items[1].Score {
			f.Errorf("scores %v and %v", items[0].Score, items[1].Score)
		}
	}
	f.finds("t", store.Query{Text: "zebra", Limit: 1}, "t:2")
	f.finds("t", store.Query{Text: "zebra", Limit: 1, Offset: 1}, "t:1")
	f.finds("t", store.Query{Text: "zebra", Filter: filter(`{"n":7}`)}, "t:3")
	f.finds("t", store.Query{Text: "zebra", Filter: filter(`{"n":{"$gt":1}}`)}, "t:2 t:3")
	f.put("t", "2", `{"text":"cars"}`, store.PutOptions{})
	f.put("t", "3", `{"text":"zebra"}`, store.PutOptions{})
	f.finds("t", store.Query{Text: "zebra"}, "t:3 t:1 t:2")
	f.is("Delete", f.s.Delete(f.ctx, ns("t"), "3"), nil)
	f.finds("", store.Query{Text: "zebra", Limit: 1}, "u:4")
}

func searchIndex(f *fixture) {
	f.put("t", "1", `{"text":"zebra"}`, store.PutOptions{NoIndex: true})
	f.put("t", "2", `{"a":{"b":"zebra"},"c":"lion"}`, store.PutOptions{Index: []string{"c"}})
	f.put("t", "3", `{"a":{"b":"zebra"},"c":"lion"}`, store.PutOptions{Index: []string{"a.b"}})
	f.finds("", store.Query{Text: "zebra"}, "t:3 t:1 t:2")
	f.finds("", store.Query{Text: "lion"}, "t:2 t:1 t:3")
	f.put("t", "4", `{"xs":[{"t":"x"},{"t":"tiger"}],"y":"bear"}`, store.PutOptions{Index: []string{"xs[*].t"}})
	f.finds("", store.Query{Text: "tiger", Limit: 1}, "t:4")
	f.finds("", store.Query{Text: "bear", Limit: 1}, "t:1")
	items, err := f.s.Search(f.ctx, nil, store.Query{Text: "zebra", Limit: 10})
	if err != nil || items[len(items)-1].Score != 0 {
		f.Errorf("%+v, %v: an item that does not match has a score", items, err)
	}
	f.put("t", "3", `{"a":{"b":"zebra"}}`, store.PutOptions{NoIndex: true})
	f.finds("", store.Query{Text: "zebra"}, "t:1 t:2 t:3 t:4")
}
