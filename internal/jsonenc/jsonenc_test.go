package jsonenc_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/deepagents-go/deepagents/internal/jsonenc"
)

func std(t *testing.T, s string) string {
	t.Helper()
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSuffix(buf.Bytes(), []byte("\n")))
}

// FuzzString compares with encoding/json.
func FuzzString(f *testing.F) {
	for _, s := range []string{"", "plain", "a\"b\\c\n\r\t\b\f\x00\x1f\x7f", "é\u2028\u2029\U0001F600", "\xff\xc3", "<&>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := string(jsonenc.String(nil, s)), std(t, s); got != want {
			t.Errorf("%q: got %s, want %s", s, got, want)
		}
	})
}

func TestObject(t *testing.T) {
	o := jsonenc.Begin([]byte("x"))
	o.String("a", "1")
	o.NonEmpty("none", "")
	o.Int("n", -3)
	o.True("no", false)
	o.True("yes", true)
	o.Raw("r", json.RawMessage(`[1]`))
	o.Raw("nil", nil)
	o.Value("v", map[string]int{"k": 1})
	got, err := o.End()
	if want := `x{"a":"1","n":-3,"yes":true,"r":[1],"v":{"k":1}}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v", got, err)
	}
	o = jsonenc.Begin(nil)
	o.Raw("r", json.RawMessage(`{"a":`))
	if _, err := o.End(); err == nil || err.Error() != `r: not valid JSON: "{\"a\":"` {
		t.Errorf("raw text that is no JSON: %v", err)
	}
	o = jsonenc.Begin(nil)
	o.Value("v", func() {})
	if _, err := o.End(); err == nil {
		t.Error("no error for a value that has no JSON")
	}
}
