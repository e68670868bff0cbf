package kv_test

import (
	"path/filepath"
	"testing"

	"github.com/deepagents-go/deepagents/backend"
	"github.com/deepagents-go/deepagents/backend/backendtest"
	"github.com/deepagents-go/deepagents/backend/driver"
	"github.com/deepagents-go/deepagents/backend/kv"
	"github.com/deepagents-go/deepagents/store/memory"
	"github.com/deepagents-go/deepagents/store/sqlite"
)

func TestSuite(t *testing.T) {
	for name, mk := range map[string]func(t *testing.T) driver.Driver{
		"memory": func(t *testing.T) driver.Driver { return newKV(t, kv.Options{Store: memory.New(memory.Options{})}) },
		"sqlite": func(t *testing.T) driver.Driver { return newKV(t, kv.Options{Store: openSQLite(t)}) },
		"V1": func(t *testing.T) driver.Driver {
			return newKV(t, kv.Options{Store: memory.New(memory.Options{}), FileFormat: kv.V1, Index: true})
		},
	} {
		t.Run(name, func(t *testing.T) { backendtest.Run(t, mk, backendtest.ImplicitDirs) })
	}
}

// TestTwoProcesses edits through two stores on one file, as two processes do.
func TestTwoProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	var fss []*backend.FS
	for range 2 {
		s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		f, err := backend.New(newKV(t, kv.Options{Store: s}), backend.Options{})
		if err != nil {
			t.Fatal(err)
		}
		fss = append(fss, f)
	}
	lines := ""
	for i := range 8 {
		lines += "line " + string(rune('0'+i)) + " of 8\n"
	}
	if _, err := fss[0].Write(t.Context(), "/f", []byte(lines), backend.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	backendtest.Edits(t, fss, "/f")
}
