package checkpoint

import (
	"context"
	"errors"
	"fmt"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/stage"
	"github.com/karasu-project/karasu/store/private"
)

// Errors that callers tell apart. Bad input wraps [model.ErrInvalid], an application that
// is not stored [private.ErrNoExecution].
var (
	// ErrNoStages means that nothing with stages is stored that could be cut.
	ErrNoStages = errors.New("no stages to cut")
	// ErrNoPredictor means that nothing is known to predict stages from.
	ErrNoPredictor = errors.New("nothing to predict stages from")
)

// Executions is what the advisor needs of the private store.
type Executions interface {
	// EachExecution calls fn with every execution without its stages.
	EachExecution(ctx context.Context, fn func(private.StoredExecution) error) error
	// GetExecution returns one with its stages, by the ID of its run or its first digits.
	GetExecution(ctx context.Context, id string) (private.StoredExecution, error)
	Runs(ctx context.Context, f private.Filter) ([]model.Run, error)
	// Subscribe signals changes; the function ends the subscription.
	Subscribe() (<-chan struct{}, func())
}

// Shared is a general predictor of stages that a peer trained.
type Shared struct {
	// Organisation is the display name that the author claims.
	Organisation string
	Model        *stage.General
}

// Predictors are those that peers share.
type Predictors interface {
	// StagePredictors returns those that can be used for jobs of a framework, such as
	// "spark"; it may be none. It returns at once: nothing is fetched.
	StagePredictors(ctx context.Context, framework string) ([]Shared, error)
}

// Options of an [Advisor].
type Options struct {
	Executions Executions
	// Predictors may be nil: then peers share none.
	Predictors Predictors
	// JobOf names the job of an execution that still runs, by the rules; empty where none
	// does. nil names none.
	JobOf func(e model.Execution) string
}

// Advisor is safe for concurrent use.
type Advisor struct {
	Options
	index       indexCache
	fitted      predictorCache
	unsubscribe func()
}

// New returns an advisor; [Advisor.Close] ends it.
func New(o Options) *Advisor {
	a := &Advisor{Options: o}
	a.index.changed, a.unsubscribe = o.Executions.Subscribe()
	return a
}

// Close ends the advisor's subscription to the private store.
func (a *Advisor) Close() { a.unsubscribe() }

func badInput(field, format string, args ...any) error {
	return &model.FieldError{Field: field, Problem: fmt.Sprintf(format, args...)}
}
