package sandbox

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// TestRing compares the ring with the obvious: all bytes in one slice, of which the head and the tail are kept.
func TestRing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		headMax, tailMax := rapid.IntRange(0, 40).Draw(t, "head"), rapid.IntRange(0, 40).Draw(t, "tail")
		r := ring{headMax: headMax, tailMax: tailMax}
		var all []byte
		var streams []Stream
		for range rapid.IntRange(0, 30).Draw(t, "writes") {
			p := rapid.SliceOfN(rapid.Byte(), 1, 60).Draw(t, "data")
			s := rapid.SampledFrom([]Stream{Stdout, Stderr}).Draw(t, "stream")
			r.add(int64(len(all)), s, p)
			all = append(all, p...)
			for range p {
				streams = append(streams, s)
			}
		}
		head := min(headMax, len(all))
		tail := max(head, len(all)-tailMax)
		if r.skipped != int64(tail-head) {
			t.Fatalf("skipped %d, want %d", r.skipped, tail-head)
		}
		var kept []byte
		r.each(func(off int64, s Stream, data []byte) {
			if !bytes.Equal(all[off:off+int64(len(data))], data) {
				t.Fatalf("wrong bytes at %d", off)
			}
			for i := range data {
				if streams[off+int64(i)] != s {
					t.Fatalf("byte %d is of stream %d", off+int64(i), s)
				}
			}
			kept = append(kept, data...)
		})
		if want := append(append([]byte(nil), all[:head]...), all[tail:]...); !bytes.Equal(kept, want) {
			t.Fatalf("kept %d bytes, want %d", len(kept), len(want))
		}
		limit := rapid.IntRange(1, 50).Draw(t, "limit")
		off := int64(rapid.IntRange(0, len(all)).Draw(t, "from"))
		for {
			c, ok := r.next(off, limit)
			if !ok {
				break
			}
			if c.Offset != off || len(c.Data) > limit || (len(c.Data) == 0) == (c.Skipped == 0) {
				t.Fatalf("chunk %+v at %d", c, off)
			}
			if !bytes.Equal(c.Data, all[off:off+int64(len(c.Data))]) {
				t.Fatalf("wrong bytes at %d", off)
			}
			if c.Skipped > 0 && off+c.Skipped != int64(tail) {
				t.Fatalf("skipped %d at %d, the tail begins at %d", c.Skipped, off, tail)
			}
			off += int64(len(c.Data)) + c.Skipped
		}
		if off != int64(len(all)) {
			t.Fatalf("read to %d of %d", off, len(all))
		}
	})
}
