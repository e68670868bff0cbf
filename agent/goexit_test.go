package agent_test

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"strings"
	"testing"

	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/model/script"
	"github.com/deepagents-go/deepagents/thread"
	"github.com/deepagents-go/deepagents/tool"
)

// leaver ends the goroutine that asks it the first time.
type leaver struct {
	model.Model
	left *bool
}

func (m leaver) Stream(ctx context.Context, r *model.Request) iter.Seq2[model.Delta, error] {
	if !*m.left {
		*m.left = true
		runtime.Goexit()
	}
	return m.Model.Stream(ctx, r)
}

// TestGoexit: code that ends its goroutine (a test's FailNow does) ends the run with an error, and the thread goes on afterwards.
func TestGoexit(t *testing.T) {
	for name, script := range map[string][]script.Line{
		"alone":   {calls(call("a", "leave")), say("done")},
		"beside":  {calls(call("a", "leave"), call("b", "echo")), say("done")},
		"hook":    {say("done")},
		"wrapper": {say("done")},
		"model":   {say("done")},
	} {
		t.Run(name, func(t *testing.T) {
			left := false
			leave := func() {
				if !left {
					left = true
					runtime.Goexit()
				}
			}
			tl := fn("leave", tool.Hints{ReadOnly: true}, func(context.Context, map[string]any) (tool.Result, error) {
				leave()
				return tool.Text("stayed"), nil
			})
			m := &mw{name: "m"}
			switch name {
			case "hook":
				m.beforeModel = func(context.Context, *agent.Turn) error { leave(); return nil }
			case "wrapper":
				m.wrapModel = func(next agent.ModelFunc) agent.ModelFunc {
					return func(ctx context.Context, r agent.Request) (agent.Response, error) { leave(); return next(ctx, r) }
				}
			case "model":
				m.wrapModel = func(next agent.ModelFunc) agent.ModelFunc {
					return func(ctx context.Context, r agent.Request) (agent.Response, error) {
						r.Model = leaver{r.Model, &left}
						return next(ctx, r)
					}
				}
			}
			r := newRig(t, agent.Config{Tools: []tool.Tool{tl, textTool("echo")}, Middleware: []agent.Middleware{m}}, script...)
			res, err := r.try(agent.Input{Text: "go"})
			if !errors.Is(err, agent.ErrGoexit) || res == nil || res.Status != thread.Stopped {
				t.Fatalf("%v %+v", err, res)
			}
			if res := r.run(agent.Input{}); res.Text != "done" {
				t.Errorf("it goes on with %q", res.Text)
			}
		})
	}
}

// TestUnknownJump: a jump to a place that does not exist is an error, and closes no calls.
func TestUnknownJump(t *testing.T) {
	broken := true
	m := &mw{name: "m", afterModel: func(_ context.Context, x *agent.Turn) error {
		if broken && len(x.Calls()) > 0 {
			x.Jump("tools")
		}
		return nil
	}}
	r := newRig(t, agent.Config{Tools: []tool.Tool{textTool("echo")}, Middleware: []agent.Middleware{m}}, calls(call("a", "echo")), say("done"))
	if _, err := r.try(agent.Input{Text: "go"}); err == nil || !strings.Contains(err.Error(), `jump to "tools"`) {
		t.Fatal(err)
	}
	broken = false
	if res := r.run(agent.Input{}); res.Text != "done" || strings.Contains(results(res)[0], "ended the turn") {
		t.Errorf("%q %q", res.Text, results(res))
	}
}
