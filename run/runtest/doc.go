// Package runtest has a run for tests: a [Scope] that a test of a tool, a driver or a model puts into the context with
// [github.com/deepagents-go/deepagents/run.With], and looks at afterwards.
package runtest
