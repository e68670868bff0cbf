package state_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/deepagents-go/deepagents/state"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTx(t *testing.T) {
	base := apply(t, all(t).New(), sum.Update(1))
	tx := state.NewTx(base)
	if err := tx.Write(sum.Update(2), last.Update("a"), last.Update("b")); err != nil {
		t.Fatal(err)
	}
	if sum.Get(tx) != 3 || last.Get(tx) != "b" {
		t.Errorf("its own writes read as %d, %q", sum.Get(tx), last.Get(tx))
	}
	if sum.In(base) != 1 {
		t.Error("the base changed")
	}
	if err := tx.Write(sum.Update(100), picky.Update(-1)); err == nil {
		t.Error("no error")
	}
	boom := errors.New("boom")
	if err := tx.Change(func(state.State) ([]state.Update, error) { return []state.Update{sum.Update(50)}, boom }); !errors.Is(err, boom) {
		t.Errorf("error %v", err)
	}
	if sum.Get(tx) != 3 || len(tx.Updates()) != 3 {
		t.Errorf("a refused write left something: %d, %d updates", sum.Get(tx), len(tx.Updates()))
	}
	early := tx.Updates()
	if err := tx.Write(sum.Update(4)); err != nil {
		t.Fatal(err)
	}
	_ = append(early, sum.Update(1000))
	us := tx.Close()
	if len(us) != 4 {
		t.Fatalf("%d updates", len(us))
	}
	if got := sum.In(apply(t, base, us...)); got != sum.Get(tx) || got != 7 {
		t.Errorf("the updates give %d, the transaction read %d", got, sum.Get(tx))
	}
	if err := tx.Write(sum.Update(1)); !errors.Is(err, state.ErrClosed) {
		t.Errorf("write after close: %v", err)
	}
	err := tx.Change(func(state.State) ([]state.Update, error) { return nil, nil })
	if !errors.Is(err, state.ErrClosed) {
		t.Errorf("change after close: %v", err)
	}
	if len(tx.Close()) != 4 || sum.Get(tx) != 7 {
		t.Error("a second close changed something")
	}
}

// TestTxChangeIsAtomic has many writers that each read and write: none gets lost. It is for the race detector too.
func TestTxChangeIsAtomic(t *testing.T) {
	tx := state.NewTx(all(t).New())
	const writers, each = 8, 50
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				err := tx.Change(func(s state.State) ([]state.Update, error) {
					return []state.Update{sum.Overwrite(sum.In(s) + 1), words.Update([]string{fmt.Sprint(w, i)})}, nil
				})
				if err != nil {
					t.Error(err)
					return
				}
				if len(words.Get(tx)) == 0 || len(tx.Updates()) < 2 {
					t.Error("a read sees nothing")
				}
			}
		})
	}
	wg.Wait()
	if sum.Get(tx) != writers*each || len(words.Get(tx)) != writers*each {
		t.Errorf("%d counted, %d words", sum.Get(tx), len(words.Get(tx)))
	}
	if got := len(tx.Close()); got != 2*writers*each {
		t.Errorf("%d updates", got)
	}
}
