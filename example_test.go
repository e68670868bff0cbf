package deepagents_test

import (
	"context"
	"fmt"

	"github.com/deepagents-go/deepagents"
	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/model/script"
	"github.com/deepagents-go/deepagents/policy"
)

// An agent whose files are in its thread; the model plays a script.
func ExampleNew() {
	m := script.New(
		script.Line{ToolCalls: []script.ToolCall{{Name: "write_file", Args: []byte(`{"file_path":"/notes.md","content":"# Plan"}`)}}},
		script.Line{ToolCalls: []script.ToolCall{{Name: "ls", Args: []byte(`{"path":"/"}`)}}},
		script.Line{Expect: []string{"notes.md"}, Text: "The plan is in /notes.md."},
	)
	a, err := deepagents.New(deepagents.Config{Model: m, Mode: policy.EditMode})
	if err != nil {
		fmt.Println(err)
		return
	}
	res, err := a.Run(context.Background(), agent.Input{Text: "Make a plan."})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(res.Text, res.Files)
	// Output: The plan is in /notes.md. [/notes.md]
}
