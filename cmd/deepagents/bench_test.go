package main

import (
	"bufio"
	"io"
	"os/exec"
	"testing"
)

// BenchmarkVersion is the start of the program: the target is 30 ms.
func BenchmarkVersion(b *testing.B) {
	for b.Loop() {
		if err := exec.Command("deepagents", "version").Run(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkInitialize is the start of an MCP server up to its first answer, and its end: the target is 100 ms.
func BenchmarkInitialize(b *testing.B) {
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
		`"clientInfo":{"name":"bench","version":"1"}}}` + "\n"
	dir := b.TempDir()
	for b.Loop() {
		cmd := exec.Command("deepagents", "mcp", "--root", dir)
		in, err := cmd.StdinPipe()
		if err != nil {
			b.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		if _, err := io.WriteString(in, hello); err != nil {
			b.Fatal(err)
		}
		if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			b.Fatal(err)
		}
		if err := in.Close(); err != nil {
			b.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			b.Fatal(err)
		}
	}
}
