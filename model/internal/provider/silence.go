package provider

import (
	"context"
	"fmt"
	"io"
	"time"
)

// SilenceError is the cause of a context that [Silence] ended.
type SilenceError struct{ After time.Duration }

// Error says how long nothing came.
func (e *SilenceError) Error() string { return fmt.Sprintf("nothing came for %v", e.After) }

// Watch ends a request from which nothing comes for too long. It counts only between Begin and End, so that neither the wait
// before a retry nor a slow reader of the stream counts.
type Watch struct {
	timer *time.Timer
	after time.Duration
}

// Silence returns a context that ends with a [*SilenceError] when something that the watch sees begin does not end in time,
// and a function that frees it. A limit of 0 or less is none.
func Silence(ctx context.Context, after time.Duration) (context.Context, *Watch, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &Watch{after: after}
	if after > 0 {
		w.timer = time.AfterFunc(after, func() { cancel(&SilenceError{after}) })
		w.timer.Stop()
	}
	return ctx, w, func() { w.End(); cancel(nil) }
}

// Begin starts the count.
func (w *Watch) Begin() {
	if w.timer != nil {
		w.timer.Reset(w.after)
	}
}

// End stops it.
func (w *Watch) End() {
	if w.timer != nil {
		w.timer.Stop()
	}
}

// Reader returns r, each read of which is watched.
func (w *Watch) Reader(r io.ReadCloser) io.ReadCloser { return &watched{r, w} }

type watched struct {
	io.ReadCloser
	w *Watch
}

func (r *watched) Read(p []byte) (int, error) {
	r.w.Begin()
	defer r.w.End()
	return r.ReadCloser.Read(p)
}
