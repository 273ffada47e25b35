package predict

import (
	"context"
)

// Learner makes general models.
type Learner interface {
	// Name of the model as reports show it.
	Name() string
	// Fit trains a general model of one algorithm on runs in many contexts. An empty
	// history makes a model that knows only its prior, where it has one. Errors wrap
	// [model.ErrInvalid], [ErrNumeric] or the context's error.
	Fit(ctx context.Context, history []History) (General, error)
}

// General is a model of an algorithm over contexts. It is immutable.
type General interface {
	// Condition fits the model to one context, of which the runs, none being fine,
	// are known. Runs that the history of the fit already holds must not be among them:
	// they would count twice. It names essential arguments that are missing. Errors wrap
	// [model.ErrInvalid], [ErrNumeric], or [ErrNoRuns] where the model cannot predict
	// without more runs.
	Condition(target Context, runs []Observation) (Predictor, error)
	// Weights returns the model in a form that can be shared. It wraps
	// [ErrNotPortable] where there is none.
	Weights() (*Weights, error)
}

// Refitter is a [General] that can take in another history without repeating what
// is slow, such as the search for hyper-parameters.
type Refitter interface {
	General
	// Refit returns the model of that history with the settings of this one.
	Refit(history []History) (General, error)
}

// Targeter is a [General] that can do once for a context what does not depend on
// the context's runs.
type Targeter interface {
	General
	Target(target Context) (Target, error)
}

// Target is a general model's view of one context. Not safe for concurrent use.
type Target interface {
	Condition(runs []Observation) (Predictor, error)
}

// Predictor predicts the runtime of one context.
type Predictor interface {
	// Predict returns the distribution of the runtime of one run at a scale-out. It
	// wraps [model.ErrInvalid] or [ErrNumeric]; what it returns is finite.
	Predict(scaleOut int) (Distribution, error)
}
