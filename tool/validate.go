package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/deepagents-go/deepagents/internal/jsonenc"
)

// Validator checks arguments against the input schema of a tool. It is built once and safe for concurrent use.
type Validator struct {
	name  string
	top   *jsonschema.Schema
	full  *jsonschema.Resolved
	plain bool
}

// NewValidator returns the validator of a tool. A schema that is no JSON Schema is an error.
func NewValidator(s Spec) (*Validator, error) {
	v := &Validator{name: s.Name, top: new(jsonschema.Schema), plain: true}
	if len(s.Input) == 0 {
		return v, nil
	}
	if err := json.Unmarshal(s.Input, v.top); err != nil {
		return nil, fmt.Errorf("tool %q: input schema: %w", s.Name, err)
	}
	var err error
	if v.full, err = v.top.Resolve(nil); err != nil {
		return nil, fmt.Errorf("tool %q: input schema: %w", s.Name, err)
	}
	v.plain = isPlain(v.top)
	return v, nil
}

// isPlain reports whether the top-level checks below are the whole schema, so that the general validator need not run.
func isPlain(s *jsonschema.Schema) bool {
	for _, p := range s.Properties {
		if !scalar(p.Type) || len(p.Types) > 0 || p.Ref != "" || p.DynamicRef != "" || p.Pattern != "" || p.MinLength != nil ||
			p.MaxLength != nil || p.MultipleOf != nil || p.Const != nil || p.Not != nil || p.If != nil ||
			len(p.AllOf)+len(p.AnyOf)+len(p.OneOf) > 0 {
			return false
		}
	}
	return (s.AdditionalProperties == nil || refusesAll(s.AdditionalProperties)) && len(s.PatternProperties) == 0 &&
		s.PropertyNames == nil && s.Not == nil && s.If == nil && len(s.Enum) == 0 && s.Const == nil && len(s.Types) == 0 &&
		len(s.AllOf)+len(s.AnyOf)+len(s.OneOf) == 0 && s.MinProperties == nil && s.MaxProperties == nil && s.Ref == "" &&
		s.DynamicRef == "" && len(s.DependentRequired)+len(s.DependentSchemas) == 0 && s.UnevaluatedProperties == nil
}

func scalar(t string) bool {
	return t == "string" || t == "integer" || t == "number" || t == "boolean"
}

// ArgsError says which arguments are wrong.
type ArgsError struct {
	Tool string
	Args json.RawMessage
	// Problems are "field: problem", sorted by field.
	Problems []string
}

// Error is the text that a model can act on (harness.md 2.3).
func (e *ArgsError) Error() string {
	return fmt.Sprintf("Error invoking tool '%s' with kwargs %s with error:\n %s\n Please fix the error and try again.",
		e.Tool, shorten(e.Args), strings.Join(e.Problems, "\n "))
}

// maxEcho is how much of the arguments an error repeats: the model has them, and they may be a whole file.
const maxEcho = 2000

func shorten(args json.RawMessage) string {
	if len(args) <= maxEcho {
		return string(args)
	}
	return fmt.Sprintf("%s... (%d bytes)", strings.ToValidUTF8(string(args[:maxEcho]), ""), len(args))
}

// Args returns the arguments in the form the schema wants, or an [*ArgsError]. It is as lenient as Deep Agents: a number may
// come as a string and a boolean as 0, 1, "true" or "false", a null for an optional field means that it is left out, and
// unknown arguments are ignored.
func (v *Validator) Args(args json.RawMessage) (json.RawMessage, error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(args, &m); err != nil || m == nil {
		return nil, &ArgsError{v.name, args, []string{"arguments: must be a JSON object"}}
	}
	var problems []string
	changed := false
	for _, name := range slices.Sorted(maps.Keys(m)) {
		p, ok := v.top.Properties[name]
		if !ok {
			if v.drops(name) {
				delete(m, name)
				changed = true
			}
			continue
		}
		raw, problem := coerce(p, m[name])
		switch {
		case isNull(m[name]) && !slices.Contains(v.top.Required, name) && problem != "":
			delete(m, name)
			changed = true
		case problem != "":
			problems = append(problems, name+": "+problem)
		case !bytes.Equal(raw, m[name]):
			m[name] = raw
			changed = true
		}
	}
	for _, name := range v.top.Required {
		if _, ok := m[name]; !ok {
			problems = append(problems, name+": this argument is required")
		}
	}
	if len(problems) > 0 {
		slices.Sort(problems)
		return nil, &ArgsError{v.name, args, problems}
	}
	if changed {
		var err error
		if args, err = json.Marshal(m); err != nil {
			return nil, &ArgsError{v.name, args, []string{"arguments: " + err.Error()}}
		}
	}
	if err := v.general(args); err != nil {
		return nil, err
	}
	return args, nil
}

// drops reports whether an unknown argument is taken out: one that the schema refuses, and one that differs from a known one
// in case only, which encoding/json would read in place of the known one that was checked.
func (v *Validator) drops(name string) bool {
	if refusesAll(v.top.AdditionalProperties) && len(v.top.PatternProperties) == 0 {
		return true
	}
	for known := range v.top.Properties {
		if strings.EqualFold(known, name) {
			return true
		}
	}
	return false
}

func (v *Validator) general(args json.RawMessage) error {
	if v.plain || v.full == nil {
		return nil
	}
	var val any
	if err := json.Unmarshal(args, &val); err != nil {
		return &ArgsError{v.name, args, []string{"arguments: " + err.Error()}}
	}
	if err := v.full.Validate(val); err != nil {
		return &ArgsError{v.name, args, []string{problem(err)}}
	}
	return nil
}

// problem turns an error of the general validator, "validating <location in the schema>: <reason>" several times over, into
// "field: reason".
func problem(err error) string {
	const mark = "validating "
	s := err.Error()
	if i := strings.LastIndex(s, ": "+mark); i >= 0 {
		s = s[i+2:]
	}
	where, why, ok := strings.Cut(strings.TrimPrefix(s, mark), ": ")
	if !ok {
		return "arguments: " + s
	}
	return fieldOf(where) + ": " + why
}

// fieldOf names the field that a location in a schema speaks of: "/properties/edits/items/properties/old" is "edits[].old".
func fieldOf(location string) string {
	var b strings.Builder
	parts := strings.Split(location, "/")
	for i := 0; i < len(parts); i++ {
		switch {
		case (parts[i] == "properties" || parts[i] == "patternProperties") && i+1 < len(parts):
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			i++
			b.WriteString(strings.NewReplacer("~1", "/", "~0", "~").Replace(parts[i]))
		case parts[i] == "items":
			b.WriteString("[]")
		}
	}
	if b.Len() == 0 {
		return "arguments"
	}
	return b.String()
}

func isNull(raw json.RawMessage) bool { return string(bytes.TrimSpace(raw)) == "null" }

// coerce returns a value in the type that the property wants, or what is wrong with it.
func coerce(p *jsonschema.Schema, raw json.RawMessage) (out json.RawMessage, problem string) {
	raw = bytes.TrimSpace(raw)
	switch p.Type {
	case "string":
		if raw[0] != '"' {
			return nil, "must be a string"
		}
	case "integer", "number":
		if raw, problem = number(raw, p.Type == "integer"); problem == "" {
			problem = outside(p, raw)
		}
	case "boolean":
		raw, problem = boolean(raw)
	case "array":
		if raw[0] != '[' {
			return nil, "must be a list"
		}
	case "object":
		if raw[0] != '{' {
			return nil, "must be an object"
		}
	}
	if problem != "" {
		return nil, problem
	}
	if len(p.Enum) > 0 && !inEnum(p.Enum, raw) {
		return nil, "must be one of " + enumNames(p.Enum)
	}
	return raw, ""
}

func boolean(raw json.RawMessage) (json.RawMessage, string) {
	switch strings.ToLower(strings.Trim(string(raw), `"`)) {
	case "true", "1":
		return json.RawMessage("true"), ""
	case "false", "0":
		return json.RawMessage("false"), ""
	}
	return nil, "must be true or false"
}

func number(raw json.RawMessage, whole bool) (json.RawMessage, string) {
	want := "must be a number"
	if whole {
		want = "must be a whole number"
	}
	s := string(raw)
	if raw[0] == '"' {
		if err := json.Unmarshal(raw, &s); err != nil {
			return nil, want
		}
		s = strings.TrimSpace(s)
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return strconv.AppendInt(nil, n, 10), ""
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) || whole && (f != math.Trunc(f) || math.Abs(f) > 1<<53) {
		return nil, want
	}
	if whole {
		return strconv.AppendInt(nil, int64(f), 10), ""
	}
	return strconv.AppendFloat(nil, f, 'g', -1, 64), ""
}

// outside says which bound a number passes.
func outside(p *jsonschema.Schema, raw json.RawMessage) string {
	if p.Minimum == nil && p.Maximum == nil && p.ExclusiveMinimum == nil && p.ExclusiveMaximum == nil {
		return ""
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	switch {
	case err != nil:
		return "must be a number"
	case p.Minimum != nil && f < *p.Minimum:
		return fmt.Sprintf("must be at least %v, got %s", *p.Minimum, raw)
	case p.Maximum != nil && f > *p.Maximum:
		return fmt.Sprintf("must be at most %v, got %s", *p.Maximum, raw)
	case p.ExclusiveMinimum != nil && f <= *p.ExclusiveMinimum:
		return fmt.Sprintf("must be greater than %v, got %s", *p.ExclusiveMinimum, raw)
	case p.ExclusiveMaximum != nil && f >= *p.ExclusiveMaximum:
		return fmt.Sprintf("must be less than %v, got %s", *p.ExclusiveMaximum, raw)
	}
	return ""
}

func inEnum(enum []any, raw json.RawMessage) bool {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return false
	}
	return slices.ContainsFunc(enum, func(e any) bool { return reflect.DeepEqual(e, v) })
}

func enumNames(enum []any) string {
	names := make([]string, len(enum))
	for i, e := range enum {
		if s, ok := e.(string); ok {
			names[i] = string(jsonenc.String(nil, s))
			continue
		}
		names[i] = fmt.Sprint(e)
		if e == nil {
			names[i] = "null"
		}
	}
	return strings.Join(names, ", ")
}
