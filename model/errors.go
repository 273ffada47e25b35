package model

import (
	"errors"
	"fmt"
)

// ErrInvalid is wrapped by every error of this package's Validate methods.
var ErrInvalid = errors.New("invalid")

// FieldError says which field of a value is wrong and what would be right.
type FieldError struct {
	// Field is the field's name as users know it, such as "runtime".
	Field string
	// Problem completes "<field> ...", such as "is negative: -3 s".
	Problem string
}

// Error returns "<field> <problem>".
func (e *FieldError) Error() string { return e.Field + " " + e.Problem }

// Unwrap returns [ErrInvalid].
func (e *FieldError) Unwrap() error { return ErrInvalid }

func invalid(field, format string, args ...any) error {
	return &FieldError{Field: field, Problem: fmt.Sprintf(format, args...)}
}
