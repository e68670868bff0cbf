// Package sandboxtest is the suite that certifies a sandbox: what a command sees, how it ends, that its whole process tree ends with
// it, and that output is bounded, exact and never stalls anybody. One line of a test runs it:
//
//	sandboxtest.Run(t, func(t *testing.T) sandbox.Sandbox { ... })
//
// Commands are POSIX shell with the usual tools (cat, grep, head, seq, sleep, tr, yes); what a machine lacks beside them
// (setsid, nohup) is skipped with a printed reason.
package sandboxtest
