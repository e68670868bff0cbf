package words

import "testing"

func TestLongest(t *testing.T) {
	for text, want := range map[string]string{
		"":                  "",
		"one":               "one",
		"a longer word":     "longer",
		"red green yellows": "yellows",
		"four five nine":    "four",
	} {
		if got := Longest(text); got != want {
			t.Errorf("Longest(%q) = %q, want %q", text, got, want)
		}
	}
}
