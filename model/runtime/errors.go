package predict

import (
	"errors"
	"fmt"

	"github.com/karasu-project/karasu/model"
)

var (
	// ErrNoRuns means that a model has nothing to predict from.
	ErrNoRuns = errors.New("no runs to predict from")
	// ErrWeights is wrapped by every error about unusable weights.
	ErrWeights = errors.New("unusable runtime model weights")
	// ErrNumeric means that a computation broke down although its input was valid.
	ErrNumeric = errors.New("runtime model broke down")
	// ErrNotPortable means that a model has no form that can be shared.
	ErrNotPortable = errors.New("runtime model cannot be shared")
)

func invalid(field, format string, args ...any) error {
	return &model.FieldError{Field: field, Problem: fmt.Sprintf(format, args...)}
}
