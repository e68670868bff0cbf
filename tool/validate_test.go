package tool_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/deepagents-go/deepagents/tool"
)

const everything = `{"type":"object","required":["s"],"properties":{
	"s":{"type":"string"},
	"i":{"type":"integer","minimum":1,"maximum":100},
	"big":{"type":"integer"},
	"x":{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":10},
	"b":{"type":"boolean"},
	"e":{"type":"string","enum":["a<b","c","\u00e9"]},
	"ie":{"type":"integer","enum":[1,2]},
	"l":{"type":"array","items":{"type":"string"}},
	"o":{"type":"object","properties":{"n":{"type":"integer","minimum":1},"k":{"type":"string"}},"required":["k"]},
	"edits":{"type":"array","items":{"type":"object","properties":{"old":{"type":"string"}},"required":["old"]}},
	"p":{"type":"string","pattern":"^x"},
	"any":{},
	"none":{"type":["null","string"]}
}}`

func validator(t testing.TB, schema string) *tool.Validator {
	t.Helper()
	v, err := tool.NewValidator(tool.Spec{Name: "t", Input: json.RawMessage(schema)})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestArgs is the leniency of file-tools.md 2 and what stays refused. A want that begins with "!" is a problem.
func TestArgs(t *testing.T) {
	v := validator(t, everything)
	for _, c := range []struct{ name, args, want string }{
		{"as it is", `{"s":"x","i":5}`, `{"s":"x","i":5}`},
		{"spaces stay", ` { "s" : "x" } `, ` { "s" : "x" } `},
		{"numeric string", `{"s":"","i":"5"}`, `{"i":5,"s":""}`},
		{"numeric string with spaces", `{"s":"","i":" 5 "}`, `{"i":5,"s":""}`},
		{"signed string", `{"s":"","i":"+5"}`, `{"i":5,"s":""}`},
		{"leading zeros in a string", `{"s":"","i":"007"}`, `{"i":7,"s":""}`},
		{"whole float", `{"s":"","i":5.0}`, `{"i":5,"s":""}`},
		{"whole float in a string", `{"s":"","i":"5.0"}`, `{"i":5,"s":""}`},
		{"exponent", `{"s":"","i":1e2}`, `{"i":100,"s":""}`},
		{"fraction for a whole number", `{"s":"","i":5.5}`, `!i: must be a whole number`},
		{"word for a whole number", `{"s":"","i":"five"}`, `!i: must be a whole number`},
		{"empty string for a number", `{"s":"","i":""}`, `!i: must be a whole number`},
		{"boolean for a number", `{"s":"","i":true}`, `!i: must be a whole number`},
		{"list for a number", `{"s":"","i":[1]}`, `!i: must be a whole number`},
		{"too small", `{"s":"","i":0}`, `!i: must be at least 1, got 0`},
		{"too small in a string", `{"s":"","i":"-3"}`, `!i: must be at least 1, got -3`},
		{"too large", `{"s":"","i":101}`, `!i: must be at most 100, got 101`},
		{"greatest int64", `{"s":"","big":9223372036854775807}`, `{"s":"","big":9223372036854775807}`},
		{"past int64", `{"s":"","big":9223372036854775808}`, `!big: must be a whole number`},
		{"huge float", `{"s":"","big":1e300}`, `!big: must be a whole number`},
		{"beyond floats", `{"s":"","x":1e400}`, `!x: must be a number`},
		{"infinity", `{"s":"","x":"Inf"}`, `!x: must be a number`},
		{"not a number", `{"s":"","x":"NaN"}`, `!x: must be a number`},
		{"number", `{"s":"","x":2.5}`, `{"s":"","x":2.5}`},
		{"number in a string", `{"s":"","x":"2.50"}`, `{"s":"","x":2.5}`},
		{"exclusive minimum", `{"s":"","x":0}`, `!x: must be greater than 0, got 0`},
		{"exclusive maximum", `{"s":"","x":10}`, `!x: must be less than 10, got 10`},
		{"true", `{"s":"","b":true}`, `{"s":"","b":true}`},
		{"one", `{"s":"","b":1}`, `{"b":true,"s":""}`},
		{"zero", `{"s":"","b":0}`, `{"b":false,"s":""}`},
		{"true in a string", `{"s":"","b":"true"}`, `{"b":true,"s":""}`},
		{"False in a string", `{"s":"","b":"False"}`, `{"b":false,"s":""}`},
		{"one in a string", `{"s":"","b":"1"}`, `{"b":true,"s":""}`},
		{"two", `{"s":"","b":2}`, `!b: must be true or false`},
		{"yes", `{"s":"","b":"yes"}`, `!b: must be true or false`},
		{"number for a string", `{"s":5}`, `!s: must be a string`},
		{"unknown argument", `{"s":"","zz":[1]}`, `{"s":"","zz":[1]}`},
		{"a known name in another case", `{"s":"x","S":"y","I":-5}`, `{"s":"x"}`},
		{"null for an optional one", `{"s":"","i":null,"l":null,"b":null,"e":null}`, `{"s":""}`},
		{"null that may be", `{"s":"","none":null,"any":null}`, `{"s":"","none":null,"any":null}`},
		{"null for a required one", `{"s":null}`, `!s: must be a string`},
		{"required", `{}`, `!s: this argument is required`},
		{"enum", `{"s":"","e":"c"}`, `{"s":"","e":"c"}`},
		{"enum with a sign that JSON may escape", `{"s":"","e":"a<b"}`, `{"s":"","e":"a<b"}`},
		{"enum, escaped", `{"s":"","e":"a\u003cb"}`, `{"s":"","e":"a\u003cb"}`},
		{"enum, not ASCII", `{"s":"","e":"\u00e9"}`, `{"s":"","e":"\u00e9"}`},
		{"not in the enum", `{"s":"","e":"d"}`, "!e: must be one of \"a<b\", \"c\", \"\u00e9\""},
		{"enum of numbers", `{"s":"","ie":"2"}`, `{"ie":2,"s":""}`},
		{"not in the enum of numbers", `{"s":"","ie":3}`, `!ie: must be one of 1, 2`},
		{"list", `{"s":"","l":["a"]}`, `{"s":"","l":["a"]}`},
		{"no list", `{"s":"","l":"a"}`, `!l: must be a list`},
		{"list of others", `{"s":"","l":["a",5]}`, `!l[]: type: 5 has type "integer", want "string"`},
		{"no object", `{"s":"","o":[]}`, `!o: must be an object`},
		{"object without a required field", `{"s":"","o":{}}`, `!o: required: missing properties: ["k"]`},
		{"object in a list", `{"s":"","edits":[{"old":"a"},{"old":5}]}`, `!edits[].old: type: 5 has type "integer", want "string"`},
		{"pattern", `{"s":"","p":"y"}`, `!p: pattern: "y" does not match regular expression "^x"`},
		{"last of duplicate keys", `{"s":5,"s":"x"}`, `{"s":5,"s":"x"}`},
		{"last of duplicate keys is wrong", `{"s":"x","s":5}`, `!s: must be a string`},
		{"no object at all", `[1]`, `!arguments: must be a JSON object`},
		{"null", `null`, `!arguments: must be a JSON object`},
		{"no JSON", `{"s":`, `!arguments: must be a JSON object`},
		{"nothing", ``, `!arguments: must be a JSON object`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := v.Args(json.RawMessage(c.args))
			if want, bad := strings.CutPrefix(c.want, "!"); bad {
				var ae *tool.ArgsError
				if !errors.As(err, &ae) || strings.Join(ae.Problems, "; ") != want || got != nil {
					t.Fatalf("got %s, %v; want the problem %s", got, err, want)
				}
				return
			}
			if err != nil || string(got) != c.want {
				t.Fatalf("got %s, %v; want %s", got, err, c.want)
			}
		})
	}
}

// TestArgsErrorText is harness.md 2.3.
func TestArgsErrorText(t *testing.T) {
	_, err := validator(t, everything).Args(json.RawMessage(`{"x":"a","b":7}`))
	want := "Error invoking tool 't' with kwargs {\"x\":\"a\",\"b\":7} with error:\n" +
		" b: must be true or false\n s: this argument is required\n x: must be a number\n Please fix the error and try again."
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// TestArgsWholeSchema has keywords that speak of the arguments as a whole.
func TestArgsWholeSchema(t *testing.T) {
	for _, c := range []struct{ name, schema, args, want string }{
		{"no schema", ``, `{"a":[1]}`, `{"a":[1]}`},
		{"no properties", `{"type":"object"}`, `{"a":[1]}`, `{"a":[1]}`},
		{"refused extras are taken out", `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`, `{"a":"x","zz":1}`, `{"a":"x"}`},
		{"extras with a type", `{"type":"object","additionalProperties":{"type":"string"}}`, `{"zz":1}`, `!arguments: type`},
		{"pattern properties", `{"type":"object","patternProperties":{"^n":{"type":"integer"}},"additionalProperties":false}`, `{"n1":"x"}`, `!^n: type`},
		{"at least one", `{"type":"object","minProperties":1}`, `{}`, `!minProperties`},
		{"any of", `{"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}]}`, `{}`, `!anyOf`},
		{"reference", `{"type":"object","properties":{"e":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"object","properties":{"n":{"type":"string"}}}}}`, `{"e":{"n":1}}`, `!n: type`},
		{"property named properties", `{"type":"object","properties":{"properties":{"type":"object","properties":{"a/b":{"type":"string"}}}}}`, `{"properties":{"a/b":1}}`, `!properties.a/b: type`},
		{"length", `{"type":"object","properties":{"a":{"type":"string","minLength":2}}}`, `{"a":"x"}`, `!a: minLength`},
		{"constant", `{"type":"object","properties":{"a":{"type":"string","const":"y"}}}`, `{"a":"x"}`, `!a: const`},
		{"multiple", `{"type":"object","properties":{"a":{"type":"integer","multipleOf":2}}}`, `{"a":3}`, `!a: multipleOf`},
		{"required without a property", `{"type":"object","required":["a"]}`, `{}`, `!a: this argument is required`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := validator(t, c.schema).Args(json.RawMessage(c.args))
			if want, bad := strings.CutPrefix(c.want, "!"); bad {
				var ae *tool.ArgsError
				if !errors.As(err, &ae) || !strings.Contains(ae.Problems[0], want) {
					t.Fatalf("got %s, %v; want %s in a problem", got, err, want)
				}
				return
			}
			if err != nil || string(got) != c.want {
				t.Fatalf("got %s, %v; want %s", got, err, c.want)
			}
		})
	}
}

func TestNewValidatorErrors(t *testing.T) {
	for _, schema := range []string{`{`, `5`, `{"type":7}`, `{"properties":{"a":{"$ref":"#/$defs/none"}}}`, `{"properties":{"a":{"type":"string","pattern":"("}}}`} {
		if _, err := tool.NewValidator(tool.Spec{Name: "t", Input: json.RawMessage(schema)}); err == nil || !strings.Contains(err.Error(), `"t"`) {
			t.Errorf("%s: %v", schema, err)
		}
	}
}

// FuzzArgs holds that what was accepted is JSON, is accepted again, and stays as it is.
func FuzzArgs(f *testing.F) {
	for _, s := range []string{
		`{"s":"x","i":"5","b":1}`, `{"s":"","i":"+5","x":"0x1p2"}`, `{"s":"","s":1}`, `{"S":"a","s":"b"}`, `{"s":"","o":{"k":"a","n":1}}`,
		`{"s":"","l":null,"any":{"a":[]}}`, `null`, `[]`, `{"s":"\ud800"}`, `{"s":"","i":1e2,"e":"a\u003cb"}`, `{"s":"","x":-0}`,
	} {
		f.Add([]byte(s))
	}
	v := validator(f, everything)
	f.Fuzz(func(t *testing.T, args []byte) {
		before := bytes.Clone(args)
		one, err := v.Args(args)
		if !bytes.Equal(before, args) {
			t.Fatal("the arguments given were changed")
		}
		if err != nil {
			if len(err.Error()) == 0 {
				t.Fatal("an error without text")
			}
			return
		}
		if !json.Valid(one) {
			t.Fatalf("not JSON: %s", one)
		}
		two, err := v.Args(one)
		if err != nil || !bytes.Equal(one, two) {
			t.Fatalf("%s became %s, %v", one, two, err)
		}
	})
}

func BenchmarkArgs(b *testing.B) {
	v := validator(b, `{"type":"object","required":["path"],"properties":{"path":{"type":"string"},"offset":{"type":"integer","minimum":0},"limit":{"type":"integer","minimum":1}}}`)
	args := json.RawMessage(`{"path":"/src/main.go","offset":0,"limit":100}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.Args(args); err != nil {
			b.Fatal(err)
		}
	}
}
