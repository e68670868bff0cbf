// Package thread is the journal of threads: one append-only log of records for each thread, sub-agents included, from which the
// state at any moment is folded.
//
// A [Store] keeps opaque records and gives them their order; [Journal] writes the records of a run and folds them back, with the
// keys of the agent, into a [View]: the state, what is pending, what comes next. The rules are in design.md 3; each has a test
// beside journal.go or in package agent.
//
// Stores live in the packages below this one (memory, sqlite) and are certified by threadtest.
package thread
