package main

import "os/exec"

// unprivileged changes nothing: the scripts that need it do not run here.
func unprivileged(*exec.Cmd) {}
