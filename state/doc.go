// Package state holds the state of a thread: typed keys with reducers, updates that can be stored, and snapshots that cost
// nothing because every value is persistent.
//
// A [Key] is declared once, as a package variable of the code that owns it, and is the only way to read or write its value. A
// [State] is immutable; a [Tx] is one writer's view of it. A reducer must be associative and must not change its arguments:
// updates are replayed, in the order of the log, whenever a thread is loaded.
package state
