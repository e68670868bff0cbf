package proc

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"sync/atomic"
)

// Marks gives out marks that share a random prefix, so that all trees of one owner can be found together.
type Marks struct {
	prefix uint64
	n      atomic.Uint64
}

const marksEach = 1_000_000_000

// NewMarks returns a source of marks with a new prefix.
func NewMarks() *Marks {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	// Nineteen decimal digits, the first of them 1: below 2^63, and never the value of a limit that somebody means.
	return &Marks{prefix: marksEach + binary.LittleEndian.Uint64(b[:])%marksEach}
}

// Next returns the next mark.
func (m *Marks) Next() uint64 { return m.prefix*marksEach + m.n.Add(1)%marksEach }

// Prefix returns the decimal digits that all marks begin with.
func (m *Marks) Prefix() string { return fmt.Sprint(m.prefix) }
