package driver

import "errors"

// Under returns what a driver said of a file as the caller of its mount knows it: Path and Resolved below the prefix.
func (i Info) Under(prefix string) Info {
	if i.Path != "" {
		i.Path = Join(prefix, i.Path)
	}
	if i.Resolved != "" {
		i.Resolved = Join(prefix, i.Resolved)
	}
	return i
}

// Under returns the guard for a driver that is mounted at a prefix: its rules and its function are asked about the paths that the
// caller knows. All of it is in Func then.
func (g Guard) Under(prefix string) Guard {
	if prefix == "/" || g.Empty() {
		return g
	}
	return Guard{Action: g.Action, Func: func(i Info) error { return g.Check(i.Under(prefix)) }}
}

// ErrorUnder returns an error of a driver that is mounted at a prefix with the path that the caller knows. An error that holds no
// [*Error] stays as it is.
func ErrorUnder(prefix string, err error) error {
	if err == nil || prefix == "/" {
		return err
	}
	if de, ok := err.(*Error); ok { //nolint:errorlint // only the outermost is replaced
		return &Error{Op: de.Op, Path: Join(prefix, de.Path), Err: de.Err}
	}
	var de *Error
	if !errors.As(err, &de) {
		return err
	}
	return &Error{Op: de.Op, Path: Join(prefix, de.Path), Err: &aside{err, de.Err}}
}

// aside prints the cause of the error inside, whose path is the driver's own, and is still all of what it was.
type aside struct {
	error
	cause error
}

func (a *aside) Error() string { return a.cause.Error() }
func (a *aside) Unwrap() error { return a.error }
