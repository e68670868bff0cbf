package backendtest

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/deepagents-go/deepagents/backend"
	"github.com/deepagents-go/deepagents/backend/driver"
)

const writers = 8

func (e *env) concurrentEdits() {
	var want strings.Builder
	for i := range writers {
		fmt.Fprintf(&want, "line %d of %d\n", i, writers)
	}
	e.put("/f", want.String())
	Edits(e.T, []*backend.FS{e.fs(backend.Options{}), e.fs(backend.Options{})}, "/f")
}

// Edits lets several FS edit different lines of one file at once and fails when an edit is lost. The file holds the lines
// "line 0 of 8\n" to "line 7 of 8\n". Call it with FS over different drivers of one storage to test that these exclude each other.
func Edits(t TB, fss []*backend.FS, path string) {
	t.Helper()
	const rounds = 3
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			f := fss[i%len(fss)]
			for r := range rounds {
				was := fmt.Sprintf("line %d of %d%s\n", i, writers, strings.Repeat("+", r))
				now := fmt.Sprintf("line %d of %d%s\n", i, writers, strings.Repeat("+", r+1))
				if _, err := f.Edit(t.Context(), path, backend.Edit{Old: was, New: now}); err != nil {
					t.Errorf("edit of line %d: %v", i, err)
				}
			}
		})
	}
	wg.Wait()
	b, _, err := fss[0].ReadAll(t.Context(), path, 0)
	if err != nil {
		t.Errorf("reading the result: %v", err)
	}
	if got := strings.Count(string(b), strings.Repeat("+", rounds)+"\n"); got != writers {
		t.Errorf("%d of %d writers' edits are there:\n%s", got, writers, b)
	}
}

func (e *env) concurrentCreate() {
	var wg sync.WaitGroup
	var mu sync.Mutex
	winner := ""
	for i := range writers {
		wg.Go(func() {
			mine := fmt.Sprint(i)
			_, err := e.d.Write(e.ctx, "/once", strings.NewReader(mine), driver.WriteOptions{CreateOnly: true})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil && winner != "":
				e.Errorf("both %s and %s created the file", winner, mine)
			case err == nil:
				winner = mine
			case !errors.Is(err, fs.ErrExist):
				e.Errorf("CreateOnly: %v", err)
			}
		})
	}
	wg.Wait()
	e.holds("/once", winner)
}

// concurrentReaders checks that a reader sees one version, whole.
func (e *env) concurrentReaders() {
	const size = 200_000
	content := func(i int) string { return strings.Repeat(string(rune('a'+i%26)), size) }
	e.put("/w", content(0))
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(done)
		for i := range 20 {
			if _, err := e.d.Write(e.ctx, "/w", strings.NewReader(content(i)), driver.WriteOptions{}); err != nil {
				e.Errorf("Write: %v", err)
			}
		}
	})
	for range 2 {
		wg.Go(func() {
			for {
				s, err := e.get("/w")
				if err != nil || len(s) != size || strings.Count(s, s[:1]) != size {
					e.Errorf("a reader saw %d bytes of several versions (%v)", len(s), err)
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	wg.Wait()
}
