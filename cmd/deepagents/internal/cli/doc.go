// Package cli is what the commands of the binary do, without their flags: opening what a run works with, what a thread remembers of
// it, the outputs of a run, the answers to its questions, and exit codes.
package cli
