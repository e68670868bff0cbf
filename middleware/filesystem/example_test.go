package filesystem_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing/fstest"

	"github.com/deepagents-go/deepagents/backend"
	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/middleware/filesystem"
	"github.com/deepagents-go/deepagents/tool"
)

// The file tools over a read-only file system: no delete, no execute.
func ExampleNew() {
	files := fstest.MapFS{"notes/todo.txt": {Data: []byte("buy milk\ncall home\n")}}
	fs, err := backend.New(driver.FromFS(files), backend.Options{})
	if err != nil {
		panic(err)
	}
	m, err := filesystem.New(filesystem.Options{FS: fs})
	if err != nil {
		panic(err)
	}
	for _, t := range m.Tools() {
		if t.Spec().Name != "read_file" {
			continue
		}
		res, err := t.Call(context.Background(), tool.Call{Args: json.RawMessage(`{"file_path":"/notes/todo.txt","limit":1}`)})
		if err != nil {
			panic(err)
		}
		fmt.Println(res.Parts[0].(message.Text).Text)
	}
	// Output:
	// @@ lines 1-1 of 2 | next offset 1 @@
	// buy milk
}
