// Package sqlite keeps threads in one SQLite file that any number of processes on one machine share.
//
// Appends that arrive together, of any thread, share one transaction and so one fsync; an append that is not durable costs none.
// A lease is a row and a kernel lock: when its holder dies, even by SIGKILL, the next one takes it at once. Besides the file
// there are threads.db-wal and threads.db-shm (SQLite's) and threads.db.lock, which is empty and never removed. The file must be
// on a local disk, and nothing else may open it with plain file calls while a process uses it: closing such a descriptor drops
// SQLite's locks.
package sqlite
