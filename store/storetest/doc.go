// Package storetest is the suite that every [store.Store] passes. A store runs it in one line:
//
//	storetest.Run(t, func(t *testing.T, now func() time.Time) store.Store { return memory.New(memory.Options{Now: now}) })
package storetest
