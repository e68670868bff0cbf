//go:build !unix

package disk

import (
	"errors"
	"os"

	"github.com/deepagents-go/deepagents/backend/driver"
)

const nonBlock = 0

func sentinel(err error) error {
	if errors.Is(err, driver.ErrNotDir) {
		return driver.ErrNotDir
	}
	return nil
}

func keepOwner(*os.File, meta, meta) bool { return true }

// syncDir does nothing: directories cannot be synced here.
func syncDir(*os.File) error { return nil }
