//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package disk

import (
	"os"
	"time"
)

// tryFlock has nothing to take here: only writers of this process exclude each other.
func tryFlock(*os.File) (bool, error) { return true, nil }

// recordAge is how old a record must be to count as left behind, since no lock tells whether its writer lives.
const recordAge = 24 * time.Hour
