// Hello runs an agent whose model is a script, with the real file tools on the files of its thread, and prints every event.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/deepagents-go/deepagents"
	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/model/script"
)

func main() {
	model := script.New( // any model.Model, such as one of model/openai or model/anthropic
		script.Line{ToolCalls: []script.ToolCall{{Name: "write_file", Args: json.RawMessage(`{"file_path":"/hello.txt","content":"Hello, world!\n"}`)}}},
		script.Line{ToolCalls: []script.ToolCall{{Name: "read_file", Args: json.RawMessage(`{"file_path":"/hello.txt"}`)}}},
		script.Line{Expect: []string{"Hello, world!"}, Text: "The file greets the world."},
	)
	a, err := deepagents.New(deepagents.Config{Model: model})
	if err != nil {
		log.Fatal(err)
	}
	for event, err := range a.Stream(context.Background(), agent.Input{Text: "Write a greeting into a file and read it back."}) {
		if err != nil {
			log.Fatal(err)
		}
		line, _ := json.Marshal(event) // an event is always JSON
		fmt.Fprintln(os.Stdout, string(line))
	}
}
