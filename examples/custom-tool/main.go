// Custom-tool gives an agent a tool made of a Go function: the schema of its arguments comes from their type, wrong arguments are
// told to the model, and an error is a result that the model can act on.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/deepagents-go/deepagents"
	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/script"
	"github.com/deepagents-go/deepagents/tool"
)

// trackIn are the arguments of the tool, and Parcel is its result.
type trackIn struct {
	Number string `json:"number" jsonschema:"number of the parcel, as P-1234"`
}

// Parcel is what is known of a parcel.
type Parcel struct {
	Status string `json:"status"`
	City   string `json:"city"`
}

// track is the tool. It reads only, so that it may run again after a crash.
func track(parcels map[string]Parcel) tool.Tool {
	return tool.New(
		tool.Spec{Name: "track_parcel", Description: "Says where a parcel is.", Hints: tool.Hints{ReadOnly: true}},
		func(_ context.Context, in trackIn) (Parcel, error) {
			p, ok := parcels[in.Number]
			if !ok {
				return Parcel{}, fmt.Errorf("no parcel has the number %q; numbers look like P-1234", in.Number)
			}
			return p, nil
		},
	)
}

const conversation = `
{"text":"I look it up.","tool_calls":[{"name":"track_parcel","args":{"parcel":"17"}}]}
{"expect":["number: "],"tool_calls":[{"name":"track_parcel","args":{"number":"17"}}]}
{"expect":["numbers look like P-1234"],"tool_calls":[{"name":"track_parcel","args":{"number":"P-0017"}}]}
{"expect":["Ghent"],"text":"Parcel P-0017 is in Ghent and out for delivery."}
`

func main() {
	m, err := script.Parse("parcels", strings.NewReader(conversation))
	if err != nil {
		log.Fatal(err)
	}
	if err := run(context.Background(), m, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, m model.Model, out io.Writer) error {
	parcels := map[string]Parcel{"P-0017": {Status: "out for delivery", City: "Ghent"}}
	a, err := deepagents.New(deepagents.Config{Model: m, Tools: []tool.Tool{track(parcels)}})
	if err != nil {
		return err
	}
	for ev, err := range a.Stream(ctx, agent.Input{Text: "Where is parcel 17?"}) {
		if err != nil {
			return err
		}
		switch e := ev.Data.(type) {
		case agent.ToolRequested:
			fmt.Fprintf(out, "> %s %s\n", e.Name, e.Args)
		case agent.ToolCompleted:
			fmt.Fprintf(out, "< %s: %s\n", e.Status, e.Content)
		case agent.RunCompleted:
			fmt.Fprintln(out, e.Result)
		}
	}
	return nil
}
