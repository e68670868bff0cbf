package statefs_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/backend/statefs"
	"github.com/deepagents-go/deepagents/run"
	"github.com/deepagents-go/deepagents/run/runtest"
	"github.com/deepagents-go/deepagents/state"
)

// An agent does this with the context of a call: the driver reads and writes the state that the call sees.
func Example() {
	files := statefs.New(statefs.Options{})
	schema, err := state.NewSchema(files.Fields()...)
	if err != nil {
		fmt.Println(err)
		return
	}
	tx := state.NewTx(schema.New())
	ctx := run.With(context.Background(), &runtest.Scope{Tx: tx})

	if _, err := files.Write(ctx, "/notes/todo.txt", strings.NewReader("water the plants\n"), driver.WriteOptions{}); err != nil {
		fmt.Println(err)
		return
	}
	for i, err := range files.List(ctx, "/", driver.ListOptions{}) {
		fmt.Println(i.Path, i.IsDir(), err)
	}
	f, _ := statefs.Files.Get(tx).Get("/notes/todo.txt")
	fmt.Print(f.Content)

	_, err = files.Stat(context.Background(), "/notes")
	fmt.Println(err)
	// Output:
	// /notes true <nil>
	// water the plants
	// stat /notes: not inside a run: files of this backend live in the state of a thread; call it with the context that a tool or a hook gets, or use a backend that stands alone, like disk
}
