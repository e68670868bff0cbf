package state

import (
	"errors"
	"slices"
	"sync"
)

// ErrClosed is the error of a write to a transaction whose owner has ended.
var ErrClosed = errors.New("state: the transaction is closed: its call or hook has ended")

// Tx is one writer's view of the state: reads see the base and the writer's own updates. It is safe for concurrent use.
type Tx struct {
	mu      sync.Mutex
	state   State
	updates []Update
	closed  bool
}

// NewTx returns a transaction on a state.
func NewTx(base State) *Tx { return &Tx{state: base} }

// State returns the state as the writer sees it.
func (t *Tx) State() State {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state
}

// Write applies updates, all or none.
func (t *Tx) Write(us ...Update) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.write(us)
}

func (t *Tx) write(us []Update) error {
	if t.closed {
		return ErrClosed
	}
	s, err := t.state.Apply(us...)
	if err != nil {
		return err
	}
	t.state = s
	t.updates = append(t.updates, us...)
	return nil
}

// Change reads and writes in one step: no other write comes between. f returns the updates to apply.
func (t *Tx) Change(f func(State) ([]Update, error)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	us, err := f(t.state)
	if err != nil {
		return err
	}
	return t.write(us)
}

// Updates returns what was written so far, in order.
func (t *Tx) Updates() []Update {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clip(t.updates)
}

// Close ends the transaction and returns what was written. Later writes are [ErrClosed].
func (t *Tx) Close() []Update {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	return slices.Clip(t.updates)
}
