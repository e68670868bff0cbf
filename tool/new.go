package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/deepagents-go/deepagents/message"
	"github.com/deepagents-go/deepagents/policy"
)

// New makes a tool of a function. The input schema is inferred from In unless spec has one; struct tags `json` name the fields
// and `jsonschema` describes them. Out is a [Result], a string, or anything else, which is encoded as JSON.
//
// New panics when In has no schema, because that is a mistake in the program; [Make] returns the error.
func New[In, Out any](spec Spec, fn func(context.Context, In) (Out, error)) Tool {
	t, err := Make(spec, fn)
	if err != nil {
		panic(err)
	}
	return t
}

// Make is [New] with an error: no name, no function, or an In that has no JSON Schema.
func Make[In, Out any](spec Spec, fn func(context.Context, In) (Out, error)) (Tool, error) {
	if spec.Name == "" || fn == nil {
		return nil, fmt.Errorf("tool %q: a tool needs a name and a function", spec.Name)
	}
	if spec.Input == nil {
		var err error
		if spec.Input, err = infer[In](); err != nil {
			return nil, fmt.Errorf("tool %q: input schema: %w", spec.Name, err)
		}
	}
	return &funcTool[In, Out]{spec: spec, fn: fn}, nil
}

// infer returns the schema of a type as encoding/json reads it.
func infer[In any]() (json.RawMessage, error) {
	s, err := jsonschema.For[In](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[[]byte]():          {Type: "string", ContentEncoding: "base64"},
		reflect.TypeFor[json.RawMessage](): {},
	}})
	if err != nil {
		return nil, err
	}
	relax(s)
	if s.Type != "object" {
		return nil, fmt.Errorf("%s is no struct or map: arguments are an object", reflect.TypeFor[In]())
	}
	return json.Marshal(s)
}

// relax drops what some model APIs refuse: "additionalProperties": false, and "null" beside the type of an optional field.
func relax(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if refusesAll(s.AdditionalProperties) {
		s.AdditionalProperties = nil
	}
	relax(s.AdditionalProperties)
	if len(s.Types) > 0 && s.Types[0] == "null" {
		s.Types = s.Types[1:]
	}
	if len(s.Types) == 1 {
		s.Type, s.Types = s.Types[0], nil
	}
	for _, p := range s.Properties {
		relax(p)
	}
	relax(s.Items)
}

// refusesAll reports whether a schema is "false".
func refusesAll(s *jsonschema.Schema) bool {
	return s != nil && reflect.DeepEqual(*s, jsonschema.Schema{Not: &jsonschema.Schema{}})
}

type funcTool[In, Out any] struct {
	spec Spec
	fn   func(context.Context, In) (Out, error)
}

func (t *funcTool[In, Out]) Spec() Spec { return t.spec }

func (t *funcTool[In, Out]) Call(ctx context.Context, c Call) (Result, error) {
	var in In
	if err := json.Unmarshal(c.Args, &in); err != nil {
		return Result{}, fmt.Errorf("arguments of %s: %w", t.spec.Name, err)
	}
	out, err := t.fn(ctx, in)
	if err != nil {
		return Result{}, err
	}
	switch v := any(out).(type) {
	case Result:
		return v, nil
	case string:
		return Text(v), nil
	default:
		var buf bytes.Buffer
		enc := json.NewEncoder(&buf)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(v); err != nil {
			return Result{}, fmt.Errorf("result of %s: %w", t.spec.Name, err)
		}
		text := string(bytes.TrimSuffix(buf.Bytes(), []byte("\n")))
		return Result{Parts: message.Parts{message.Text{Text: text}}, Artifact: v}, nil
	}
}

// WithActions returns the tool with a function that names its actions.
func WithActions(t Tool, actions func(ctx context.Context, c Call) ([]policy.Action, error)) Tool {
	return &acting{t, actions}
}

type acting struct {
	Tool
	actions func(ctx context.Context, c Call) ([]policy.Action, error)
}

func (a *acting) Actions(ctx context.Context, c Call) ([]policy.Action, error) {
	return a.actions(ctx, c)
}
