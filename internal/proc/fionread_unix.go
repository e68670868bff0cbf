//go:build unix && !linux

package proc

// fionread is FIONREAD of the BSD family.
const fionread = 0x4004667f
