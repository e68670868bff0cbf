package backendtest

import "context"

// TB is what [Edits] needs of a test.
type TB interface {
	Helper()
	Context() context.Context
	Errorf(format string, args ...any)
}
