package nskey_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/deepagents-go/deepagents/store/internal/nskey"
)

func labels(r *rand.Rand) []string {
	parts := []string{"a", "\x00", "\x01", "\xff", "-", "b", "\x00\x01"}
	out := make([]string, r.IntN(4))
	for i := range out {
		for range 1 + r.IntN(3) {
			out[i] += parts[r.IntN(len(parts))]
		}
	}
	return out
}

// TestOrder compares the order of encoded namespaces with that of their labels, and ranges with prefixes.
func TestOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		a, b := labels(r), labels(r)
		x, y := nskey.Encode(a), nskey.Encode(b)
		if got, want := cmp.Compare(x, y), slices.Compare(a, b); got != want {
			t.Fatalf("%q against %q: %d, want %d", a, b, got, want)
		}
		back, err := nskey.Decode(x)
		if err != nil || !slices.Equal(back, a) {
			t.Fatalf("%q came back as %q, %v", a, back, err)
		}
		below := len(b) >= len(a) && slices.Equal(b[:len(a)], a)
		if got := strings.HasPrefix(y, x); got != below {
			t.Fatalf("%q below %q: %v", b, a, got)
		}
		next := nskey.Next(x)
		if got := y >= x && (next == "" || y < next); got != below {
			t.Fatalf("%q in the range of %q: %v", b, a, got)
		}
	}
	if _, err := nskey.Decode("a"); err == nil {
		t.Error("a label without an end is decoded")
	}
}
