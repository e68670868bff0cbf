// Custom-backend serves the files of an embed.FS to an agent: a read-only backend of its own, in one type.
package main

import (
	"context"
	"embed"
	"fmt"
	"log"

	"github.com/deepagents-go/deepagents"
	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/model/script"
)

//go:embed handbook
var handbook embed.FS

func main() {
	m := script.New(
		script.Line{ToolCalls: []script.ToolCall{{Name: "grep", Args: []byte(`{"pattern":"on call","output_mode":"content"}`)}}},
		script.Line{Expect: []string{"/teams/storage.md"}, ToolCalls: []script.ToolCall{
			{Name: "read_file", Args: []byte(`{"file_path":"/teams/storage.md"}`)},
			{Name: "write_file", Args: []byte(`{"file_path":"/note.txt","content":"x"}`)},
		}},
		script.Line{Expect: []string{"Mondays", "unsupported"}, Text: "The storage team changes who is on call on Mondays. Nothing can be written here."},
	)
	a, err := deepagents.New(deepagents.Config{Model: m, Backend: &Files{files: handbook, root: "handbook"}})
	if err != nil {
		log.Fatal(err)
	}
	res, err := a.Run(context.Background(), agent.Input{Text: "When does on call change hands?"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Text)
}
