package sandbox

import (
	"io"
	"slices"
	"sync"
)

// collector keeps the output of a command for [Run]: the head and the tail of each stream, so that a flood on one does not wash
// away the other.
type collector struct {
	o RunOptions

	mu       sync.Mutex
	closed   bool
	rings    [2]ring
	end      int64
	missing  int64 // bytes the sandbox itself had not kept
	live     io.Writer
	spill    io.WriteCloser
	spilled  int64
	spillErr error
}

func newCollector(o RunOptions) *collector {
	bound := func(n, def int) int {
		if n == 0 {
			return def
		}
		return max(n, 0)
	}
	if o.SpillMax == 0 {
		o.SpillMax = DefaultSpill
	}
	c := &collector{o: o, live: o.Live}
	for i := range c.rings {
		c.rings[i] = ring{headMax: bound(o.Head, DefaultHead), tailMax: bound(o.Tail, DefaultTail)}
	}
	return c
}

// add takes output; data is not kept.
func (c *collector) add(s Stream, data []byte) {
	if len(data) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	if c.live != nil {
		if _, err := c.live.Write(data); err != nil {
			c.live = nil
		}
	}
	if s != Stderr {
		s = Stdout
	}
	r := &c.rings[s-1]
	c.spillBefore(r, data)
	r.add(c.end, s, data)
	c.end += int64(len(data))
}

// lost notes output that the sandbox did not keep.
func (c *collector) lost(n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.missing += n
	c.end += n
}

// spillBefore opens the spill when data will not fit, and writes data once it is open.
func (c *collector) spillBefore(r *ring, data []byte) {
	if c.o.Spill == nil || c.spillErr != nil {
		return
	}
	if c.spill == nil {
		if len(r.head)+r.size+len(data) <= r.headMax+r.tailMax {
			return
		}
		if c.spill, c.spillErr = c.o.Spill(); c.spillErr != nil {
			c.spill = nil
			return
		}
		c.merge(func(_ int64, _ Stream, kept []byte) { c.writeSpill(kept) })
	}
	c.writeSpill(data)
}

func (c *collector) writeSpill(data []byte) {
	data = data[:min(int64(len(data)), c.o.SpillMax-c.spilled)]
	if len(data) == 0 || c.spillErr != nil {
		return
	}
	n, err := c.spill.Write(data)
	c.spilled += int64(n)
	c.spillErr = err
}

// merge yields what both rings keep, in the order of arrival.
func (c *collector) merge(yield func(off int64, s Stream, data []byte)) {
	type run struct {
		off  int64
		s    Stream
		data []byte
	}
	var runs []run
	for i := range c.rings {
		c.rings[i].each(func(off int64, s Stream, data []byte) { runs = append(runs, run{off, s, data}) })
	}
	slices.SortFunc(runs, func(a, b run) int { return int(min(max(a.off-b.off, -1), 1)) })
	for _, r := range runs {
		yield(r.off, r.s, r.data)
	}
}

// finish closes the collector and makes the result of what it has.
func (c *collector) finish() Result {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	res := Result{Spans: []Span{}, Truncated: c.missing}
	if c.spill != nil {
		if err := c.spill.Close(); c.spillErr == nil {
			c.spillErr = err
		}
	}
	res.Spilled, res.SpillErr = c.spilled, c.spillErr
	heads := [2]int{len(c.rings[0].head), len(c.rings[1].head)}
	gaps := [2]int64{c.rings[0].skipped, c.rings[1].skipped}
	res.Truncated += gaps[0] + gaps[1]
	// The gap of a stream stands after the last byte of its head.
	gap := func(i int) {
		if heads[i] == 0 && gaps[i] > 0 {
			res.Spans = addSpan(res.Spans, Span{Stream: Stream(i + 1), Skipped: gaps[i]})
			gaps[i] = 0
		}
	}
	gap(0)
	gap(1)
	c.merge(func(_ int64, s Stream, data []byte) {
		i := int(s) - 1
		res.Output = append(res.Output, data...)
		res.Spans = addSpan(res.Spans, Span{Stream: s, Len: len(data)})
		if heads[i] > 0 {
			heads[i] -= len(data)
			gap(i)
		}
	})
	if c.missing > 0 {
		res.Spans = addSpan(res.Spans, Span{Stream: Stdout, Skipped: c.missing})
	}
	return res
}

// addSpan appends a span, or makes the last one longer.
func addSpan(list []Span, s Span) []Span {
	if k := len(list) - 1; k >= 0 && list[k].Stream == s.Stream && list[k].Skipped == 0 {
		list[k].Len += s.Len
		list[k].Skipped = s.Skipped
		return list
	}
	return append(list, s)
}
