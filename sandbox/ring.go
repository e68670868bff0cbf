package sandbox

import "sort"

// span is a run of kept bytes of one stream that were also neighbours in the output.
type span struct {
	off    int64
	stream Stream
	n      int
}

// ring keeps the first and the last bytes of what is added, in bounded memory.
type ring struct {
	headMax, tailMax int
	head             []byte
	headSpans        []span
	tail             []byte // circular; grows to tailMax as needed
	start, size      int
	tailSpans        []span
	skipped          int64 // bytes that were dropped between head and tail
}

// add keeps p, which begins at offset off of the output.
func (r *ring) add(off int64, s Stream, p []byte) {
	if n := min(len(p), r.headMax-len(r.head)); n > 0 {
		r.head = append(r.head, p[:n]...)
		r.headSpans = push(r.headSpans, off, s, n)
		off, p = off+int64(n), p[n:]
	}
	if over := len(p) - r.tailMax; over >= 0 && len(p) > 0 {
		r.skipped += int64(r.size + over)
		r.start, r.size, r.tailSpans = 0, 0, r.tailSpans[:0]
		off, p = off+int64(over), p[over:]
	}
	if len(p) == 0 {
		return
	}
	r.drop(r.size + len(p) - r.tailMax)
	r.grow(r.size + len(p))
	at := (r.start + r.size) % len(r.tail)
	n := copy(r.tail[at:], p)
	copy(r.tail, p[n:])
	r.size += len(p)
	r.tailSpans = push(r.tailSpans, off, s, len(p))
}

// push adds a span, or makes the last one longer.
func push(list []span, off int64, s Stream, n int) []span {
	if k := len(list) - 1; k >= 0 && list[k].stream == s && list[k].off+int64(list[k].n) == off {
		list[k].n += n
		return list
	}
	return append(list, span{off, s, n})
}

// drop forgets the first n bytes of the tail.
func (r *ring) drop(n int) {
	if n <= 0 {
		return
	}
	r.skipped += int64(n)
	r.start = (r.start + n) % len(r.tail)
	r.size -= n
	i := 0
	for ; n > 0 && r.tailSpans[i].n <= n; i++ {
		n -= r.tailSpans[i].n
	}
	if n > 0 {
		r.tailSpans[i].off += int64(n)
		r.tailSpans[i].n -= n
	}
	r.tailSpans = r.tailSpans[i:] // append copies the rest when the array is used up
}

// grow makes room for n bytes in the tail.
func (r *ring) grow(n int) {
	if n <= len(r.tail) {
		return
	}
	b := make([]byte, min(r.tailMax, max(n, 2*len(r.tail), 4<<10)))
	k := copy(b, r.tail[r.start:min(len(r.tail), r.start+r.size)])
	copy(b[k:], r.tail[:r.size-k])
	r.tail, r.start = b, 0
}

// each yields the kept runs in order. The data is valid until the next add.
func (r *ring) each(yield func(off int64, s Stream, data []byte)) {
	at := 0
	for _, sp := range r.headSpans {
		yield(sp.off, sp.stream, r.head[at:at+sp.n])
		at += sp.n
	}
	at = 0
	for _, sp := range r.tailSpans {
		first, second := r.slice(at, sp.n)
		yield(sp.off, sp.stream, first)
		if len(second) > 0 {
			yield(sp.off+int64(len(first)), sp.stream, second)
		}
		at += sp.n
	}
}

// slice returns n bytes of the tail from position at, in the order of the output.
func (r *ring) slice(at, n int) (first, second []byte) {
	from := (r.start + at) % len(r.tail)
	if from+n <= len(r.tail) {
		return r.tail[from : from+n], nil
	}
	return r.tail[from:], r.tail[:from+n-len(r.tail)]
}

// next copies the run at offset off, at most limit bytes. It is for a ring to which everything is added: kept offsets have
// no holes but the one between head and tail, which is told as Skipped.
func (r *ring) next(off int64, limit int) (Chunk, bool) {
	if off < int64(len(r.head)) {
		i := sort.Search(len(r.headSpans), func(i int) bool { return r.headSpans[i].off > off }) - 1
		sp := r.headSpans[i]
		end := min(sp.off+int64(sp.n), off+int64(limit))
		return Chunk{Offset: off, Stream: sp.stream, Data: append([]byte(nil), r.head[off:end]...)}, true
	}
	tail := int64(len(r.head)) + r.skipped
	switch {
	case off < tail:
		return Chunk{Offset: off, Skipped: tail - off}, true
	case off >= tail+int64(r.size):
		return Chunk{}, false
	}
	i := sort.Search(len(r.tailSpans), func(i int) bool { return r.tailSpans[i].off > off }) - 1
	sp := r.tailSpans[i]
	n := min(int(sp.off+int64(sp.n)-off), limit)
	first, second := r.slice(int(off-tail), n)
	return Chunk{Offset: off, Stream: sp.stream, Data: append(append([]byte(nil), first...), second...)}, true
}
