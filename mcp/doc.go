// Package mcp serves the tools of an [agent.Toolset] to any client of the Model Context Protocol: no model and no key are needed.
//
// [Serve] speaks JSON-RPC on standard input and output and keeps everything else away from the latter. Approval questions of the
// toolset's policy become elicitations of the client when the toolset was made with [Ask]: as a request for clients up to
// protocol version 2025-11-25, as an answer that asks for input for newer ones. Nothing a tool does happens before the answer.
package mcp
