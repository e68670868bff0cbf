//go:build unix

package main

import (
	"os"
	"os/exec"
	"syscall"
)

// unprivileged makes a command run as a user without rights, when this one has them all.
func unprivileged(cmd *exec.Cmd) {
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
}
