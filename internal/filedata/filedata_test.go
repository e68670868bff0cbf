package filedata

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"
)

// FuzzFields compares the scanner with encoding/json: what one takes the other takes, with the same fields.
func FuzzFields(f *testing.F) {
	for _, s := range []string{
		`{}`, ` { } `, `{"content":"a\nb\u003c\ud83d\ude00\"\\","v":1}`, `{"a":[1,{"b":"}]"}],"c":{"d":"\\\""}}`, `{"a":1,}`, `{,}`, `{"a" 1}`, `{"a":"`,
		`{"a":"\x"}`, "{\"a\":\"\x01\"}", "{\"a\":\"\xff\"}", `{"a":1 2}`, `{"a":}`, `null`, `[]`, `{"a":1}}`, `{"a":"\ud800"}`, `{"a":1,"a":2}`, `{"a":"x""y"}`,
		`{"a":"x" }`, `{"\u0061":true}`, `{"a":]}`, `{"a":1]`, `{"a":"\u+123"}`, `{"":""}`, `{"a":{}`, `{"a":0"b"}`, `{`, `{"a":1"b":2}`, "{\"\":\"\x00\",\"\":0}",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var want map[string]json.RawMessage
		if err := json.Unmarshal([]byte(s), &want); err != nil || want == nil {
			want = nil
		}
		got, err := fields([]byte(s))
		if err == nil && got != nil {
			for name, raw := range got {
				if len(raw) > 0 && raw[0] == '"' {
					if _, err = unquote(raw); err != nil {
						got = nil // strings are checked when they are decoded
						break
					}
				} else if !json.Valid(raw) {
					t.Fatalf("%q of %q is not valid: %q", name, s, raw)
				}
			}
		}
		equal := maps.EqualFunc(got, want, func(a, b json.RawMessage) bool {
			if string(a) != string(b) {
				return false
			}
			if len(a) == 0 || a[0] != '"' {
				return true
			}
			var x string
			y, err := unquote(a)
			return json.Unmarshal(b, &x) == nil && err == nil && x == y
		})
		if !equal || (got == nil) != (want == nil) {
			t.Fatalf("%q:\n got %q\nwant %q", s, got, want)
		}
	})
}

func TestExtraIsACopy(t *testing.T) {
	raw := []byte(`{"content":"x","owner":"me"}`)
	var d Data
	if err := d.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	copy(raw, strings.Repeat("#", len(raw)))
	if got := string(d.Extra["owner"]); got != `"me"` || d.Content != "x" {
		t.Errorf("%s, %q", got, d.Content)
	}
	if err := d.UnmarshalJSON([]byte(`{"content":"x","bad":"` + "\x01" + `"}`)); err == nil {
		t.Error("a field that is no JSON is taken")
	}
}

func BenchmarkDecode(b *testing.B) {
	raw, err := New(strings.Repeat("some line of <text> & more\n", 40), time.Unix(0, 0), V2).MarshalJSON()
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		var d Data
		if err := d.UnmarshalJSON(raw); err != nil {
			b.Fatal(err)
		}
	}
}
