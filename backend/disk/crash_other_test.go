//go:build !unix

package disk_test

// child does nothing: the tests that start other processes need signals.
func child(string) {}
