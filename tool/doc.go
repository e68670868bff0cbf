// Package tool is the contract of tools: a [Tool] describes itself with a [Spec] and answers a [Call] with a [Result].
//
// Most tools are made with [New] from a function; the schema comes from its input type. Before a call reaches the function, the
// agent validates the arguments ([Validate]), judges the tool's actions ([Actor]) and journals the start of unsafe calls.
package tool
