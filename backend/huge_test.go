package backend_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deepagents-go/deepagents/backend"
	"github.com/deepagents-go/deepagents/backend/disk"
)

// TestPastTheEndOfAHugeFile asks for lines after the end of a file whose lines were not all counted, near a place that was
// remembered: that is a range error, not a conflict.
func TestPastTheEndOfAHugeFile(t *testing.T) {
	dir := t.TempDir()
	const lines = 600
	line := strings.Repeat("x", 128<<10-1) + "\n"
	f, err := os.Create(filepath.Join(dir, "huge"))
	if err != nil {
		t.Fatal(err)
	}
	for range lines {
		if _, err := f.WriteString(line); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	d, err := disk.New(dir, disk.Options{StateDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	fs, err := backend.New(d, backend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fs.Read(t.Context(), "/huge", backend.Window{Limit: 1, MaxBytes: 100}); err != nil {
		t.Fatal(err)
	}
	_, err = fs.Read(t.Context(), "/huge", backend.Window{Offset: lines + 10, Limit: 1, MaxBytes: 100})
	var re *backend.RangeError
	if !errors.As(err, &re) || re.Total != lines {
		t.Errorf("got %v, want a range error with %d lines", err, lines)
	}
}
