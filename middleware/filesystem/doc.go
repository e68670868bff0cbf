// Package filesystem offers files and a shell to a model as eight tools: ls, read_file, write_file, edit_file, delete, glob, grep
// and execute.
//
// It turns what [backend.FS] and [sandbox.Run] return into the texts a model sees: headers, notices, limits and error texts, each
// rule in one file. What a file operation means is decided in package backend, whether a call may run is decided by the agent;
// nothing of either lives here.
package filesystem
