package memory_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/deepagents-go/deepagents/store"
	"github.com/deepagents-go/deepagents/store/memory"
)

func Example() {
	ctx := context.Background()
	s := memory.New(memory.Options{})
	users := store.Namespace{"users"}
	for key, value := range map[string]string{"ann": `{"age":41,"likes":"tea and chess"}`, "bob": `{"age":17,"likes":"chess"}`} {
		if _, err := s.Put(ctx, users, key, json.RawMessage(value), store.PutOptions{}); err != nil {
			fmt.Println(err)
			return
		}
	}
	adults, err := s.Search(ctx, users, store.Query{Filter: map[string]json.RawMessage{"age": json.RawMessage(`{"$gte":18}`)}})
	fmt.Println(len(adults), adults[0].Key, err)
	tea, err := s.Search(ctx, users, store.Query{Text: "who likes tea?", Limit: 1})
	fmt.Println(tea[0].Key, err)
	_, err = s.Put(ctx, users, "ann", json.RawMessage(`{}`), store.PutOptions{IfVersion: "an old one"})
	fmt.Println(errors.Is(err, store.ErrConflict))
	// Output:
	// 1 ann <nil>
	// ann <nil>
	// true
}
