// Package memory keeps the items of a store in the memory of the process: for tests, for agents whose memories need not outlive it,
// and as the reference for other stores.
package memory
