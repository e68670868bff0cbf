// Package backendtest is the conformance suite of drivers. One line of a test runs it:
//
//	backendtest.Run(t, func(t *testing.T) driver.Driver { return newDriver(t) })
//
// Traits after it say what the driver does not have ([ImplicitDirs], [NoVersions], [NoRemove], [Sequential]); [RunContext] is for
// drivers that work inside a run only.
//
// It judges the driver by its own contract and by what [backend.FS] makes of it: windows of lines, exact edits, globs, searches, many
// writers at once, hostile names and contents, sources that fail, contexts that end.
package backendtest
