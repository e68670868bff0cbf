package disk_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/deepagents-go/deepagents/backend/backendtest"
	"github.com/deepagents-go/deepagents/backend/disk"
	"github.com/deepagents-go/deepagents/backend/driver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newDisk opens a directory for a test.
func newDisk(t testing.TB, root string) *disk.Disk {
	t.Helper()
	d, err := disk.New(root, disk.Options{StateDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func TestConformance(t *testing.T) {
	backendtest.Run(t, func(t *testing.T) driver.Driver { return newDisk(t, t.TempDir()) })
}
