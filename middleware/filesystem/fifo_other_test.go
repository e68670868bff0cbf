//go:build !unix

package filesystem_test

import "testing"

func mkfifo(t *testing.T, _ string) { t.Skip("this system has no FIFO") }
