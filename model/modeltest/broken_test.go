package modeltest_test

import (
	"context"
	"errors"
	"iter"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/modeltest"
	"github.com/deepagents-go/deepagents/model/script"
)

// broken is a model with one fault.
type broken struct {
	model.Model
	fault string
}

func (b broken) Name() string {
	if b.fault == "name" {
		return "gpt"
	}
	return b.Model.Name()
}

func (b broken) Stream(ctx context.Context, r *model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		if b.fault == "ignores the context" {
			ctx = context.WithoutCancel(ctx)
		}
		if b.fault == "forgets results" {
			short := *r
			short.Messages = slices.DeleteFunc(slices.Clone(r.Messages), func(m *message.Message) bool { return m.Role == message.Tool })
			r = &short
		}
		var ended error
		for d, err := range b.Model.Stream(ctx, r) {
			switch ended = err; {
			case err != nil && b.fault == "plain errors":
				err = errors.New(err.Error())
			case err != nil && b.fault == "retryable cancel" && ctx.Err() != nil:
				err = &model.Error{Kind: model.Connection, Err: err}
			case err != nil && b.fault == "swallows errors":
				return
			case d.Finish != "" && b.fault == "no finish":
				return
			case d.Call != nil && b.fault == "loses arguments":
				d.Call = &model.CallDelta{Index: d.Call.Index, ID: d.Call.ID, Name: d.Call.Name}
			}
			if !yield(d, err) {
				if b.fault == "leaks on break" {
					go func() { select {} }()
				}
				return
			}
		}
		if b.fault == "goes on" && ended == nil {
			yield(model.Delta{Text: "more"}, nil)
		}
	}
}

const faultEnv = "MODELTEST_FAULT"

// TestBroken runs in a process of its own, since it fails.
func TestBroken(t *testing.T) {
	fault := os.Getenv(faultEnv)
	if fault == "" {
		t.Skip("only in the process that TestSuiteFindsFaults starts")
	}
	modeltest.Run(t, modeltest.Options{New: func(_ *testing.T, lines ...script.Line) model.Model {
		if fault == "ignores the context" {
			for i := range lines {
				lines[i].DelayMS = min(lines[i].DelayMS, 10)
			}
		}
		return broken{script.New(lines...), fault}
	}})
}

func TestSuiteFindsFaults(t *testing.T) {
	for fault, want := range map[string]string{
		"none":                "",
		"name":                "TestBroken/Name",
		"ignores the context": "TestBroken/Cancelled",
		"plain errors":        "TestBroken/Errors",
		"retryable cancel":    "TestBroken/CancelInTheMiddle",
		"swallows errors":     "TestBroken/Cut",
		"no finish":           "TestBroken/Answers",
		"loses arguments":     "TestBroken/Answers/one_call",
		"forgets results":     "TestBroken/Conversation",
		"leaks on break":      "TestBroken/Break",
		"goes on":             "TestBroken/Concurrent",
	} {
		t.Run(fault, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBroken$")
			cmd.Env = append(os.Environ(), faultEnv+"="+fault)
			out, err := cmd.CombinedOutput()
			if (err != nil) != (want != "") || want != "" && !strings.Contains(string(out), "--- FAIL: "+want) {
				t.Errorf("the suite ends with %v, want a failure of %q:\n%s", err, want, out)
			}
		})
	}
}
