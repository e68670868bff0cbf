package main

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestMainPrintsEvents: the program prints one JSON object a line, numbered without gaps, from the start of the run to its end.
func TestMainPrintsEvents(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	stdout := os.Stdout
	os.Stdout = f
	main()
	os.Stdout = stdout
	if _, err := f.Seek(0, 0); err != nil {
		t.Fatal(err)
	}
	var types []string
	var last map[string]any
	for lines := bufio.NewScanner(f); lines.Scan(); {
		last = nil
		if err := json.Unmarshal(lines.Bytes(), &last); err != nil {
			t.Fatalf("%v: %s", err, lines.Text())
		}
		types = append(types, last["type"].(string))
		if last["seq"] != float64(len(types)) {
			t.Errorf("seq %v, want %d", last["seq"], len(types))
		}
	}
	if len(types) == 0 || types[0] != "run.started" || last["type"] != "run.completed" || last["result"] != "The file greets the world." {
		t.Errorf("events %q, the last %v", types, last)
	}
	for _, want := range []string{"tool.requested", "file.changed", "tool.completed", "message.delta"} {
		if !slices.Contains(types, want) {
			t.Errorf("no %s in %q", want, types)
		}
	}
}
