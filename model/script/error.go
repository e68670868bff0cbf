package script

import (
	"fmt"

	"github.com/deepagents-go/deepagents/model"
)

// ErrorKind says what is wrong with a script, or with the run that it meets.
type ErrorKind string

// The kinds of errors.
const (
	// Syntax is a line that is no valid script line.
	Syntax ErrorKind = "syntax"
	// Expect is a line that expects a text which is not there.
	Expect ErrorKind = "expect"
	// Exhausted is a turn for which no line is left.
	Exhausted ErrorKind = "exhausted"
)

// Error is an error of the script itself, as opposed to the provider errors that a script plays. For [errors.As] it is also a
// [*model.Error] of kind [model.Other], which no one retries.
type Error struct {
	// File is the script's name and Line the number of the line, counted from 1. Line is 0 when the error is about none.
	File string
	Line int
	Kind ErrorKind
	// Text says what is wrong.
	Text string
	// Err is the cause, or nil.
	Err error
}

// Error returns "file:line: text".
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Text
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Text)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// As sets target when it is a **model.Error.
func (e *Error) As(target any) bool {
	m, ok := target.(**model.Error)
	if ok {
		*m = &model.Error{Kind: model.Other, Provider: provider, Code: string(e.Kind), Err: e}
	}
	return ok
}
