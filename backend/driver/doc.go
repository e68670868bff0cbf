// Package driver is the contract of everything that stores files: five methods that an author writes, and a handful of optional
// interfaces that make a driver faster or tell more about it.
//
// The semantics that a model sees (line windows, edits, globs, searches) are not here: package backend builds them on top of any
// driver, so that they are the same everywhere. A driver is judged by backend/backendtest, in one line of a test.
//
// Paths are clean and absolute ("/a/b", the root is "/"); callers clean them, drivers need not. Drivers are comparable, normally
// pointers, because caches are keyed by them.
package driver
