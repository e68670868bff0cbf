package model

import (
	"errors"
	"fmt"
	"time"
)

// Kind classifies an error of a provider.
type Kind string

// The kinds.
const (
	RateLimited     Kind = "rate_limited"
	ContextOverflow Kind = "context_overflow"
	Auth            Kind = "auth"
	Overloaded      Kind = "overloaded"
	Refused         Kind = "refused"
	Invalid         Kind = "invalid_request"
	Connection      Kind = "connection"
	Other           Kind = "other"
)

// The sentinels that [errors.Is] finds in an [*Error] of their kind.
var (
	ErrRateLimited     = errors.New("rate limited")
	ErrContextOverflow = errors.New("the conversation is longer than the model's context")
	ErrAuth            = errors.New("the provider refused the credentials")
	ErrOverloaded      = errors.New("the provider is overloaded")
	ErrRefused         = errors.New("the model refused")
)

// Error is the error of a model call.
type Error struct {
	Kind Kind
	// Status is the HTTP status, or 0.
	Status int
	// RetryAfter is how long the provider asks to wait; 0 means that it did not say.
	RetryAfter time.Duration
	// Provider and Code are the provider's names of itself and of the error.
	Provider, Code string
	Err            error
}

// Error says who failed, how and why.
func (e *Error) Error() string {
	s := string(e.Kind)
	if e.Provider != "" {
		s = e.Provider + ": " + s
	}
	if e.Status != 0 {
		s += fmt.Sprintf(" (HTTP %d)", e.Status)
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is the sentinel of the error's kind.
func (e *Error) Is(target error) bool {
	switch e.Kind {
	case RateLimited:
		return target == ErrRateLimited
	case ContextOverflow:
		return target == ErrContextOverflow
	case Auth:
		return target == ErrAuth
	case Overloaded:
		return target == ErrOverloaded
	case Refused:
		return target == ErrRefused
	case Invalid, Connection, Other:
	}
	return false
}

// Retryable reports whether the same request may succeed later.
func (e *Error) Retryable() bool {
	return e.Kind == RateLimited || e.Kind == Overloaded || e.Kind == Connection
}
