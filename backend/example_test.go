package backend_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing/fstest"

	"github.com/deepagents-go/deepagents/backend"
	"github.com/deepagents-go/deepagents/backend/disk"
	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/policy"
)

// Files of the host, with a rule that protects some of them.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	d, err := disk.New(dir, disk.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = d.Close() }()
	f, err := backend.New(d, backend.Options{Hooks: backend.Hooks{Rules: policy.PathRules{
		{Kinds: []policy.Kind{policy.Write}, Paths: []string{"/vendor/**"}, Decision: policy.Deny},
	}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	_, err = f.Write(ctx, "src/main.go", []byte("package main\r\n\r\nfunc main() {}\r\n"), backend.WriteOptions{})
	fmt.Println("write:", err)
	r, err := f.Edit(ctx, "/src/main.go", backend.Edit{Old: "func main() {}\n", New: "func main() {\n}\n"})
	fmt.Println("edit:", r.Count, r.Added, r.Removed, err)
	g, err := f.Grep(ctx, backend.GrepQuery{Text: "func", Glob: "*.go"})
	fmt.Println("grep:", g.Matches, err)
	_, err = f.Write(ctx, "/vendor/x", nil, backend.WriteOptions{})
	fmt.Println("denied:", errors.Is(err, policy.ErrDenied))
	_, err = f.Write(ctx, "../x", nil, backend.WriteOptions{})
	fmt.Println(err)
	// Output:
	// write: <nil>
	// edit: 1 2 1 <nil>
	// grep: [{/src/main.go 3 func main() {}] <nil>
	// denied: true
	// Path traversal not allowed: ../x
}

// A window of lines of any file system that Go knows.
func ExampleFS_Read() {
	f, err := backend.New(driver.FromFS(fstest.MapFS{"poem.txt": {Data: []byte("one\ntwo\nthree\nfour\n")}}), backend.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	l, err := f.Read(context.Background(), "/poem.txt", backend.Window{Offset: 1, Limit: 2})
	fmt.Printf("%q lines %d-%d of %d, more: %v, %v\n", l.Text, l.Start, l.End, l.Total, l.More, err)
	// Output: "two\nthree" lines 2-3 of 4, more: true, <nil>
}
