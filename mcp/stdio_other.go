//go:build !unix

package mcp

import (
	"io"
	"os"
)

// stdio is standard input and output, taken from the rest of the process: what Go code prints goes to standard error meanwhile.
// A blocked Read cannot be interrupted here; it ends with the process.
type stdio struct{ stdout *os.File }

func takeStdio() (*stdio, error) {
	s := &stdio{stdout: os.Stdout}
	os.Stdout = os.Stderr
	return s, nil
}

func (s *stdio) in() io.Reader  { return stdinReader{os.Stdin} }
func (s *stdio) out() io.Writer { return stdoutWriter{s.stdout} }

// release gives standard output back.
func (s *stdio) release() { os.Stdout = s.stdout }

type stdinReader struct{ f *os.File }

func (r stdinReader) Read(p []byte) (int, error) { return r.f.Read(p) }

type stdoutWriter struct{ f *os.File }

func (w stdoutWriter) Write(p []byte) (int, error) { return w.f.Write(p) }
