package kv_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/backend/kv"
	"github.com/deepagents-go/deepagents/store"
	"github.com/deepagents-go/deepagents/store/memory"
)

func Example() {
	ctx := context.Background()
	s := memory.New(memory.Options{})
	files, err := kv.New(kv.Options{Store: s, Namespace: kv.Fixed("files", "helper")})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := files.Write(ctx, "/memories/user.md", strings.NewReader("Prefers tea.\n"), driver.WriteOptions{}); err != nil {
		fmt.Println(err)
		return
	}
	for i, err := range files.List(ctx, "/memories", driver.ListOptions{}) {
		fmt.Println(i.Path, i.Size, err)
	}
	items, err := s.Search(ctx, store.Namespace{"files"}, store.Query{})
	fmt.Println(items[0].Namespace, items[0].Key, err)
	// Output:
	// /memories/user.md 13 <nil>
	// [files helper] /memories/user.md <nil>
}
