//go:build !linux

package proc

import "errors"

// Watchdog exists on Linux only.
type Watchdog struct{}

// StartWatchdog is not supported here: trees live on when this program is killed.
func StartWatchdog(*Marks) (*Watchdog, error) { return nil, errors.ErrUnsupported }

// Stop does nothing.
func (*Watchdog) Stop() error { return nil }
