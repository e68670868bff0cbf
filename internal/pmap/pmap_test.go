package pmap_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/deepagents-go/deepagents/internal/pmap"
)

// TestAgainstMap drives the map beside a plain one and checks that old versions never change.
func TestAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m pmap.Map[int]
		want := map[string]int{}
		type version struct {
			m    pmap.Map[int]
			want map[string]int
		}
		var old []version
		for i := range rapid.IntRange(1, 60).Draw(t, "ops") {
			key := fmt.Sprint(rapid.IntRange(0, 20).Draw(t, "key"))
			if rapid.Bool().Draw(t, "delete") {
				m = m.Delete(key)
				delete(want, key)
			} else {
				m = m.Set(key, i)
				want[key] = i
			}
			old = append(old, version{m, maps.Clone(want)})
		}
		for _, v := range old {
			if got := maps.Collect(v.m.All()); !maps.Equal(got, v.want) {
				t.Fatalf("got %v, want %v", got, v.want)
			}
			if v.m.Len() != len(v.want) {
				t.Fatalf("Len %d, want %d", v.m.Len(), len(v.want))
			}
			var keys []string
			for k := range v.m.All() {
				keys = append(keys, k)
			}
			if !slices.IsSorted(keys) {
				t.Fatalf("not sorted: %v", keys)
			}
			for k, n := range v.want {
				if got, ok := v.m.Get(k); !ok || got != n {
					t.Fatalf("Get(%q) = %d, %v", k, got, ok)
				}
			}
		}
	})
}

func TestPrefix(t *testing.T) {
	var m pmap.Map[int]
	for i, k := range []string{"/b/y", "/a", "/b", "/b/x", "/c"} {
		m = m.Set(k, i)
	}
	var got []string
	for k := range m.Prefix("/b/") {
		got = append(got, k)
	}
	if want := []string{"/b/x", "/b/y"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func BenchmarkSet(b *testing.B) {
	var m pmap.Map[int]
	for i := range 2000 {
		m = m.Set(fmt.Sprintf("%08d", i), i)
	}
	b.ReportAllocs()
	for b.Loop() {
		m.Set("00001000x", 1)
	}
}
