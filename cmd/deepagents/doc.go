// Command deepagents runs deep agents from the command line, and serves their tools to other programs. This package is flags and
// wiring; what the commands do is in internal/cli.
package main
