package model_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/model"
)

func TestAccumulator(t *testing.T) {
	var a model.Accumulator
	for _, d := range []model.Delta{
		{MessageID: "m1"},
		{Reasoning: "th"},
		{Reasoning: "ink"},
		{Text: "he"},
		{Text: "llo"},
		{Call: &model.CallDelta{Index: 0, ID: "a", Name: "ls", Args: `{"pa`}},
		{Call: &model.CallDelta{Index: 1, ID: "b", Name: "rm", Args: `[`}},
		{Call: &model.CallDelta{Index: 0, Args: `th":"/"}`}},
		{Text: "!"},
		{Usage: &message.Usage{Input: 1}},
		{Usage: &message.Usage{Input: 3, Output: 4, Total: 7}},
		{Finish: model.ToolCalls},
	} {
		a.Add(d)
	}
	want := &message.Message{
		ID: "m1", Role: message.Assistant, Finish: "tool_calls", Usage: &message.Usage{Input: 3, Output: 4, Total: 7},
		Parts: message.Parts{
			message.Reasoning{Text: "think"},
			message.Text{Text: "hello"},
			message.ParseCall("a", "ls", `{"path":"/"}`),
			message.ParseCall("b", "rm", `[`),
			message.Text{Text: "!"},
		},
	}
	if d := cmp.Diff(want, a.Message()); d != "" {
		t.Error(d)
	}
}

// TestAccumulatorCut is decision A4 and case A08: a call that was cut is never valid, even when its text happens to parse.
func TestAccumulatorCut(t *testing.T) {
	for _, finish := range []model.Finish{model.Length, ""} {
		var a model.Accumulator
		a.Add(model.Delta{Call: &model.CallDelta{Index: 0, ID: "a", Name: "ls", Args: `{}`}})
		a.Add(model.Delta{Call: &model.CallDelta{Index: 1, ID: "b", Name: "write_file", Args: `{"file_path":"/x"}`}})
		if finish != "" {
			a.Add(model.Delta{Finish: finish})
		}
		calls := a.Message().Calls()
		if calls[0].Invalid != "" {
			t.Errorf("finish %q: the complete call is invalid: %s", finish, calls[0].Invalid)
		}
		if calls[1].Invalid != model.CutOff || calls[1].Raw == "" {
			t.Errorf("finish %q: the last call is valid: %+v", finish, calls[1])
		}
	}
}

// TestAccumulatorSignature: reasoning without text signs what was streamed before it, and nothing else is lost.
func TestAccumulatorSignature(t *testing.T) {
	seal := func(s string) model.Delta {
		return model.Delta{Part: message.Reasoning{Provider: "p", Opaque: json.RawMessage(s)}}
	}
	var a model.Accumulator
	for _, d := range []model.Delta{
		seal(`0`), {Reasoning: "a"}, {Reasoning: "b"}, seal(`1`), seal(`2`), {Reasoning: "c"}, {Text: "t"}, seal(`3`), {Finish: model.Stop},
	} {
		a.Add(d)
	}
	want := message.Parts{
		message.Reasoning{Provider: "p", Opaque: json.RawMessage(`0`)},
		message.Reasoning{Text: "ab", Provider: "p", Opaque: json.RawMessage(`1`)},
		message.Reasoning{Provider: "p", Opaque: json.RawMessage(`2`)},
		message.Reasoning{Text: "c"},
		message.Text{Text: "t"},
		message.Reasoning{Provider: "p", Opaque: json.RawMessage(`3`)},
	}
	if d := cmp.Diff(want, a.Message().Parts); d != "" {
		t.Error(d)
	}
}

func TestOptionsHideSecrets(t *testing.T) {
	o := model.OpenOptions{
		APIKey: "sk-secret", BaseURL: "https://user:sk-secret@host/v1?key=sk-secret", Retries: 3,
		Headers: map[string]string{"X-Key": "sk-secret"},
	}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("open", "options", o, "pointer", &o)
	for _, s := range []string{fmt.Sprint(o), fmt.Sprintf("%v %+v %#v %s", o, o, o, &o), log.String()} {
		if strings.Contains(s, "secret") || !strings.Contains(s, "Retries: 3") || !strings.Contains(s, "X-Key") {
			t.Errorf("options print as %s", s)
		}
	}
}

func TestErrorKinds(t *testing.T) {
	for kind, sentinel := range map[model.Kind]error{
		model.RateLimited: model.ErrRateLimited, model.ContextOverflow: model.ErrContextOverflow, model.Auth: model.ErrAuth,
		model.Overloaded: model.ErrOverloaded, model.Refused: model.ErrRefused,
	} {
		err := fmt.Errorf("call: %w", &model.Error{Kind: kind, Provider: "p", Status: 400, Err: errors.New("why")})
		if !errors.Is(err, sentinel) {
			t.Errorf("%s: sentinel not found", kind)
		}
		if errors.Is(&model.Error{Kind: model.Other}, sentinel) {
			t.Errorf("%s: found in another kind", kind)
		}
	}
}

// TestAccumulatorSignedReasoning: a signature that comes after streamed reasoning belongs to it, and closes it.
func TestAccumulatorSignedReasoning(t *testing.T) {
	sign := func(s string) message.Reasoning { return message.Reasoning{Provider: "p", Opaque: []byte(s)} }
	var a model.Accumulator
	for _, d := range []model.Delta{
		{Part: sign(`"alone"`)},
		{Reasoning: "one"},
		{Part: sign(`"1"`)},
		{Reasoning: "t"},
		{Reasoning: "wo"},
		{Part: sign(`"2"`)},
		{Part: sign(`"3"`)},
		{Text: "x"},
		{Part: sign(`"4"`)},
		{Finish: model.Stop},
	} {
		a.Add(d)
	}
	want := message.Parts{
		sign(`"alone"`),
		message.Reasoning{Text: "one", Provider: "p", Opaque: []byte(`"1"`)},
		message.Reasoning{Text: "two", Provider: "p", Opaque: []byte(`"2"`)},
		sign(`"3"`),
		message.Text{Text: "x"},
		sign(`"4"`),
	}
	if d := cmp.Diff(want, a.Message().Parts); d != "" {
		t.Error(d)
	}
}
