package filesystem_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/deepagents-go/deepagents/agent"
	"github.com/deepagents-go/deepagents/middleware/filesystem"
	"github.com/deepagents-go/deepagents/model"
	"github.com/deepagents-go/deepagents/sandbox/host"
)

var (
	_ agent.ToolSource   = (*filesystem.Middleware)(nil)
	_ agent.StateOwner   = (*filesystem.Middleware)(nil)
	_ agent.AbsentTools  = (*filesystem.Middleware)(nil)
	_ agent.ModelWrapper = (*filesystem.Middleware)(nil)
)

func TestWrapModel(t *testing.T) {
	w := shellWorld(t, host.Options{}, defaults)
	var all []model.Tool
	for _, tl := range w.m.Tools() {
		s := tl.Spec()
		all = append(all, model.Tool{Name: s.Name, Description: s.Description, Input: s.Input})
	}
	var seen []model.Tool
	ask := w.m.WrapModel(func(_ context.Context, r agent.Request) (agent.Response, error) {
		seen = r.Tools
		return agent.Response{}, nil
	})
	request := func(tools []model.Tool) map[string]string {
		if _, err := ask(context.Background(), agent.Request{Request: model.Request{Tools: tools}}); err != nil {
			t.Fatal(err)
		}
		out := map[string]string{}
		for _, s := range seen {
			out[s.Name] = s.Description
		}
		return out
	}
	if d := request(all); !strings.Contains(d["grep"], "run rg through execute") || !strings.Contains(d["execute"], "grep for searching") {
		t.Error("with every tool, the advice is missing")
	}
	without := func(name string) []model.Tool {
		return slices.DeleteFunc(slices.Clone(all), func(s model.Tool) bool { return s.Name == name })
	}
	if d := request(without("execute")); strings.Contains(d["grep"], "execute") {
		t.Errorf("grep advises a tool that is not there: %s", d["grep"])
	}
	if d := request(without("grep")); strings.Contains(d["execute"], "grep") || !strings.Contains(d["execute"], "glob for finding") {
		t.Errorf("execute: %s", d["execute"])
	}
	changed := without("execute")
	for i := range changed {
		changed[i].Description += " (changed)"
	}
	if d := request(changed); !strings.Contains(d["grep"], "rg through execute") {
		t.Error("another middleware's text was replaced")
	}
}
