// Package sandbox is the contract of places where commands run: a [Sandbox] stores files like any driver and starts processes
// whose output is streamed, bounded and never lost.
//
// The packages below this one implement it; sandbox/sandboxtest certifies an implementation in one line. What a sandbox really
// keeps a command from doing is said by [Policy], not by its name.
package sandbox
