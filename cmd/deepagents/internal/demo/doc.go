// Package demo is `deepagents demo`: a scripted model behind the HTTP interface of a provider, on this machine, that finds and
// fixes a fault in a small project. No AI runs; the client, the loop, the tools, the commands, the approvals and the recording are
// the real ones.
package demo
