// Package deepagents assembles the default stack of a deep agent: the loop of package agent, the file tools and the shell of
// middleware/filesystem, an approval mode and path rules, over a backend and a sandbox.
//
// [New] returns an agent, [NewToolset] the same tools under the same policy without a model. Both refuse, with an error that names
// the fix, a combination that would be less safe than it looks.
package deepagents
