// Package agent is the loop: a model that is asked, tools that are called, middleware around both, and a journal that makes every
// run resumable.
//
// An [Agent] is built once by [New] and runs any number of threads at the same time. [Agent.Start] returns a [Run], whose events
// any number of readers follow. A [Toolset] is the same tools under the same policy without a model, for clients that bring
// their own.
package agent
