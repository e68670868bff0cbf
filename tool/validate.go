package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
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
		if !scalar(p.Type) || len(p.Types) > 0 || p.Ref != "" || p.Pattern != "" || p.MinLength != nil || p.MaxLength != nil ||
			p.Minimum != nil || p.Maximum != nil || p.ExclusiveMinimum != nil || p.ExclusiveMaximum != nil || p.MultipleOf != nil ||
			p.Const != nil || p.Not != nil || p.If != nil || len(p.AllOf)+len(p.AnyOf)+len(p.OneOf) > 0 {
			return false
		}
	}
	return s.AdditionalProperties == nil && len(s.PatternProperties) == 0 && s.PropertyNames == nil && s.Not == nil && s.If == nil &&
		len(s.AllOf)+len(s.AnyOf)+len(s.OneOf) == 0 && s.MinProperties == nil && s.MaxProperties == nil && s.Ref == "" &&
		len(s.DependentRequired)+len(s.DependentSchemas) == 0 && s.UnevaluatedProperties == nil
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
		e.Tool, e.Args, strings.Join(e.Problems, "\n "))
}

// Args returns the arguments in the form the schema wants, or an [*ArgsError]. It is as lenient as Deep Agents: a number may
// come as a string and a boolean as 0, 1, "true" or "false", a null for an optional field means that it is left out, and
// unknown arguments are ignored.
func (v *Validator) Args(args json.RawMessage) (json.RawMessage, error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(args, &m); err != nil {
		return nil, &ArgsError{v.name, args, []string{"arguments: must be a JSON object"}}
	}
	var problems []string
	changed := false
	for _, name := range slices.Sorted(maps.Keys(m)) {
		p, ok := v.top.Properties[name]
		if !ok {
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
	return args, v.general(args)
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
		return &ArgsError{v.name, args, []string{"arguments: " + lastReason(err)}}
	}
	return nil
}

// lastReason leaves out the schema locations that the validator puts in front of its reason.
func lastReason(err error) string {
	s := err.Error()
	if i := strings.LastIndex(s, ": validating "); i >= 0 {
		s = s[i+2:]
	}
	return s
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
	case "integer":
		return number(raw, true)
	case "number":
		return number(raw, false)
	case "boolean":
		switch strings.ToLower(strings.Trim(string(raw), `"`)) {
		case "true", "1":
			return json.RawMessage("true"), ""
		case "false", "0":
			return json.RawMessage("false"), ""
		}
		return nil, "must be true or false"
	case "array":
		if raw[0] != '[' {
			return nil, "must be a list"
		}
	case "object":
		if raw[0] != '{' {
			return nil, "must be an object"
		}
	}
	if len(p.Enum) > 0 && !inEnum(p.Enum, raw) {
		return nil, "must be one of " + enumNames(p.Enum)
	}
	return raw, ""
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
	if _, err := strconv.ParseInt(s, 10, 64); err == nil {
		return json.RawMessage(s), ""
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) || whole && (f != math.Trunc(f) || math.Abs(f) > 1<<53) {
		return nil, want
	}
	if whole {
		return json.RawMessage(strconv.FormatInt(int64(f), 10)), ""
	}
	return json.RawMessage(strconv.FormatFloat(f, 'g', -1, 64)), ""
}

func inEnum(enum []any, raw json.RawMessage) bool {
	for _, e := range enum {
		if b, err := json.Marshal(e); err == nil && bytes.Equal(b, raw) {
			return true
		}
	}
	return false
}

func enumNames(enum []any) string {
	names := make([]string, len(enum))
	for i, e := range enum {
		b, err := json.Marshal(e)
		if err != nil {
			b = fmt.Append(nil, e)
		}
		names[i] = string(b)
	}
	return strings.Join(names, ", ")
}
