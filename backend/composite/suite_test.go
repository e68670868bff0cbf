package composite_test

import (
	"context"
	"testing"

	"github.com/deepagents-go/deepagents/backend/backendtest"
	"github.com/deepagents-go/deepagents/backend/driver"
)

// TestSuite runs the suite over composites whose routes stay out of the way of its files, and below the prefix of one.
func TestSuite(t *testing.T) {
	t.Run("disk and routes", func(t *testing.T) {
		backendtest.Run(t, func(t *testing.T) driver.Driver {
			r := routes{"/zz/routed": newKV(t), "/mem": newKV(t), "/mem/disk": newDisk(t, t.TempDir())}
			return mustNew(t, newDisk(t, t.TempDir()), r, "/zz/routed", "/mem", "/mem/disk")
		})
	})
	t.Run("no routes", func(t *testing.T) {
		backendtest.Run(t, func(t *testing.T) driver.Driver { return mustNew(t, newKV(t), nil) }, backendtest.ImplicitDirs)
	})
	t.Run("nested", func(t *testing.T) {
		backendtest.Run(t, func(t *testing.T) driver.Driver {
			return mustNew(t, mustNew(t, newDisk(t, t.TempDir()), routes{"/inner": newKV(t)}, "/inner"), routes{"/outer": newKV(t)}, "/outer")
		})
	})
	t.Run("state", func(t *testing.T) {
		backendtest.RunContext(
			t,
			func(t *testing.T) driver.Driver { return mustNew(t, inState, routes{"/mem": newKV(t)}, "/mem") },
			func(t *testing.T) context.Context { return inRun(t) },
			backendtest.ImplicitDirs, backendtest.Sequential,
		)
	})
}

// TestSuiteBelow runs the suite on the driver of a route, as the composite serves it.
func TestSuiteBelow(t *testing.T) {
	for name, mk := range map[string]func(t *testing.T) driver.Driver{
		"disk": func(t *testing.T) driver.Driver { return newDisk(t, t.TempDir()) },
	} {
		t.Run(name, func(t *testing.T) {
			backendtest.Run(t, func(t *testing.T) driver.Driver {
				return &chrooted{mustNew(t, newKV(t), routes{"/in/here": mk(t)}), "/in/here"}
			})
		})
	}
}
