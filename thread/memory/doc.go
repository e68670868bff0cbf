// Package memory keeps threads in the memory of the process: for tests, for agents whose threads need not outlive the process,
// and as the reference for other stores. Nothing is written anywhere; Durable appends are as durable as the others.
//
// Leases exclude holders inside the process. A holder that stops renewing is replaced when its time to live is over.
package memory
