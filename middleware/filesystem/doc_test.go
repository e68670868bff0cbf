package filesystem_test

import (
	"os"
	"strings"
	"testing"

	"github.com/deepagents-go/deepagents/sandbox/host"
)

// The transcripts of docs/tools.md are what the tools really answer.
func TestToolsDoc(t *testing.T) {
	b, err := os.ReadFile("../../docs/tools.md")
	if err != nil {
		t.Fatal(err)
	}
	w := shellWorld(t, host.Options{}, defaults)
	blocks := strings.Split(string(b), "```tool\n")
	if len(blocks) < 10 {
		t.Fatalf("%d blocks", len(blocks))
	}
	for _, block := range blocks[1:] {
		block, _, _ = strings.Cut(block, "\n```\n")
		call, want, _ := strings.Cut(block, "\n")
		name, a, _ := strings.Cut(call, " ")
		if got := strings.TrimPrefix(w.call(name, a), "[err] "); got != want {
			t.Errorf("%s\n got %q\nwant %q", call, got, want)
		}
	}
}
