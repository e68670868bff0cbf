// Package threadtest certifies a [thread.Store]: every sentence of the contract, and a random history against a naive model.
//
//	func TestStore(t *testing.T) {
//		threadtest.Run(t, func(t *testing.T) thread.Store { return mystore.Open(t.TempDir()) })
//	}
package threadtest
