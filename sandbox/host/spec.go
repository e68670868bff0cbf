package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/deepagents-go/deepagents/internal/proc"
	"github.com/deepagents-go/deepagents/sandbox"
)

// spec turns a command into what is to be started, and finds what can be found wrong before.
func (h *Host) spec(c sandbox.Command) (proc.Spec, error) {
	invalid := func(err error) (proc.Spec, error) {
		return proc.Spec{}, &sandbox.StartError{Kind: sandbox.InvalidCommand, Err: err}
	}
	switch {
	case c.Line == "":
		return invalid(sandbox.ErrEmptyCommand)
	case strings.ContainsRune(c.Line, 0):
		return invalid(errors.New("the command holds a NUL"))
	}
	if err := checkTimeout(c.Timeout); err != nil {
		return invalid(err)
	}
	if err := sandbox.CheckEnv(c.Env, h.o.AllowSecretEnv); err != nil {
		return invalid(err)
	}
	dir := c.Dir
	switch {
	case dir == "":
		dir = h.o.Dir
	case !filepath.IsAbs(dir):
		dir = filepath.Join(h.o.Dir, dir)
	}
	line := c.Line
	if line[0] == '-' || line[0] == '+' {
		line = " " + line // else the shell takes it for options
	}
	env := maps.Clone(h.env)
	maps.Copy(env, c.Env)
	return proc.Spec{
		Path: h.o.Shell, Args: []string{filepath.Base(h.o.Shell), "-c", line}, Dir: dir, Env: environ(env),
		Stdin: c.Stdin, Mark: h.marks.Next(),
	}, nil
}

// environ returns the variables as "NAME=value", sorted by name.
func environ(env map[string]string) []string {
	out := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		out = append(out, name+"="+env[name])
	}
	return out
}

// startError names why a process could not be started. The system says "not found" or "not permitted" of the directory and of the
// shell alike, so both are looked at.
func startError(spec proc.Spec, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	fail := func(kind sandbox.StartKind, cause error) error { return &sandbox.StartError{Kind: kind, Err: cause} }
	info, derr := os.Stat(spec.Dir)
	switch {
	case errors.Is(derr, fs.ErrNotExist):
		return fail(sandbox.WorkingDirectoryNotFound, fmt.Errorf("directory %s: %w", spec.Dir, fs.ErrNotExist))
	case derr == nil && !info.IsDir(), errors.Is(derr, syscall.ENOTDIR):
		return fail(sandbox.WorkingDirectoryNotFound, fmt.Errorf("%s: %w", spec.Dir, syscall.ENOTDIR))
	case errors.Is(derr, fs.ErrPermission):
		return fail(sandbox.PermissionDenied, fmt.Errorf("directory %s: %w", spec.Dir, fs.ErrPermission))
	case errors.Is(err, syscall.E2BIG):
		return fail(sandbox.InvalidCommand, fmt.Errorf("the command is too long (%d bytes); write it to a file and run that: %w", len(spec.Args[2]), err))
	case errors.Is(err, fs.ErrPermission):
		return fail(sandbox.PermissionDenied, fmt.Errorf("%s in %s: %w", spec.Path, spec.Dir, fs.ErrPermission))
	}
	return fail(sandbox.StartFailed, err)
}
