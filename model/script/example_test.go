package script_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/script"
)

func ExampleNew() {
	m := script.New(
		script.Line{Text: "I look.", ToolCalls: []script.ToolCall{{ID: "c1", Name: "ls", Args: json.RawMessage(`{"path":"/"}`)}}},
		script.Line{Expect: []string{"README"}, Text: "There is a README."},
	)
	talk := []*message.Message{message.NewUser("What is there?")}
	for {
		var a model.Accumulator
		for d, err := range m.Stream(context.Background(), &model.Request{Messages: talk}) {
			if err != nil {
				fmt.Println(err)
				return
			}
			a.Add(d)
		}
		answer := a.Message()
		fmt.Println(answer.Finish, answer.Text())
		talk = append(talk, answer)
		for _, c := range answer.Calls() {
			talk = append(talk, message.NewTool(c, message.Success, "['/README.md']"))
		}
	}
	// Output:
	// tool_calls I look.
	// stop There is a README.
	// lines:2: script exhausted: no line is left for agent "main", whose thread holds 2 assistant messages; the newest user text is "What is there?"
}

func ExampleFromMessages() {
	talk := []*message.Message{message.NewUser("hi"), message.NewAssistant("Hello!")}
	if err := script.Write(os.Stdout, script.FromMessages("main", talk)); err != nil {
		fmt.Println(err)
	}
	// Output: {"v":1,"text":"Hello!"}
}
