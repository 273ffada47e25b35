// Package search finds a near-optimal cluster configuration in few profiling runs.
//
// A [Problem] is a discrete set of candidates, what is wanted of them and what
// other workloads' runs are known. A [Method] conditions on the runs so far and
// says what to try next. All of it is deterministic and free of input and output;
// it does not need the daemon.
//
// Runtimes are modelled, in log space; cost and energy follow from the catalog
// (cost = price x nodes x runtime).
package search

import (
	"errors"
	"time"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/gp"
)

// Errors that callers tell apart.
var (
	// ErrNoCandidates means that the space is empty.
	ErrNoCandidates = errors.New("no candidate configurations")
	// ErrUnknownPrice means that the objective needs a price that no candidate has.
	ErrUnknownPrice = errors.New("no candidate has a known price")
	// ErrUnknownPower means that the objective needs a power figure that no candidate has.
	ErrUnknownPower = errors.New("no candidate has known watts")
	// ErrUnknownGrid means that the objective needs a grid's carbon intensity that no
	// candidate has.
	ErrUnknownGrid = errors.New("no candidate has a known grid intensity; name a region")
	// ErrUnsupported means that the method cannot do what the problem asks for.
	ErrUnsupported = errors.New("unsupported by the method")
	// ErrUnknownObjective means that the objective is none of those of this package.
	ErrUnknownObjective = errors.New("unknown objective")
)

// Objective is what is minimised.
type Objective string

// The objectives. All are per run of the job.
const (
	Cost    Objective = "cost"    // USD
	Runtime Objective = "runtime" // seconds
	Energy  Objective = "energy"  // Wh
	Carbon  Objective = "carbon"  // g CO2e
)

// Candidate is a configuration that may be tried, with what the catalog knows.
type Candidate struct {
	Configuration model.Configuration
	// Resources of one node.
	Resources model.Resources
	// USDPerHour is the price of one node; 0 is unknown.
	USDPerHour float64
	// IdleWatts and FullWatts are the power of one node; 0 is unknown.
	IdleWatts, FullWatts float64
	// Utilisation of its CPUs by the workload, in [0, 1]: where between idle and full
	// power a node runs. 0 is unknown.
	Utilisation float64
	// GramsPerKWh is the CO2 equivalent of the grid that it draws from; 0 is unknown.
	GramsPerKWh float64
}

// Support is another workload's shape, from a peer or from the own history.
type Support struct {
	// Organisation is a display name, Author the peer identity; "" is one's own.
	Organisation, Author string
	Summary              model.Summary
	// Model is the shared surrogate for the ranking-weighted ensemble; nil where
	// only a summary is known, and then one is fitted from the summary.
	Model *gp.Weights
}

// Problem is one search. It is read-only to methods.
type Problem struct {
	Topic      model.Topic
	Candidates []Candidate
	Objective  Objective
	// Objectives are two or three of a Pareto search, which Objective then has no
	// part in; the first of them is the one that an incumbent is best at.
	Objectives []Objective
	// Target is the runtime that a run must not exceed; 0 is none.
	Target time.Duration
	// BudgetUSD is the cost that a run must not exceed; 0 is none.
	BudgetUSD float64
	// Confidence is the probability of staying within target and budget from which
	// on a configuration is an answer, in [0.5, 1). 0 takes a run's word for it.
	Confidence float64
	// InputBytes of the target workload; 0 is unknown.
	InputBytes float64
	// LevelMean and LevelSD are what is known beforehand of the mean log runtime (ln
	// seconds) over the candidates; LevelSD 0 is nothing, and then the target is
	// taken as a guess. Only the evidence method uses them.
	LevelMean, LevelSD float64
	// LevelDoubt is the prior probability that this level is wrong and the search's own
	// guess holds; the runs decide between the two. In [0, 1); at 0 only LevelMean counts.
	LevelDoubt float64
	// Supports are ignored by methods that search alone. Where a method bounds their
	// number it takes the first: see [SelectSupports].
	Supports []Support
	// Seed drives whatever is random.
	Seed uint64
}

// Observation is one finished profiling run.
type Observation struct {
	Configuration model.Configuration
	// Resources of one node. Used for configurations outside the candidates.
	Resources model.Resources
	Outcome   model.Outcome
	// RuntimeSeconds is the wall time; 0 only where failed and unknown.
	RuntimeSeconds float64
	// Metrics are the utilisation during the run; what was not measured is nil.
	Metrics model.Metrics
}

// Prediction is the posterior at one candidate after the observations.
type Prediction struct {
	// LogMean and LogSD are of ln(runtime in seconds), the mixture's moments.
	LogMean, LogSD float64
	// RuntimeSeconds is the median; Low and High bound the central 80%.
	RuntimeSeconds, LowSeconds, HighSeconds float64
	// MeetsTarget is the probability that a run ends with a result within the target
	// and within the budget; 1 without both.
	MeetsTarget float64
	// Acquisition is the criterion's value, in natural-log units of the objective;
	// of a Pareto search, the product of them over objectives.
	Acquisition float64
}

const (
	// OwnPrior is the weight that rests on no other workload.
	OwnPrior = -1
	// OthersLevel is the weight that takes nothing but its level from other workloads.
	OthersLevel = -2
)

// Weight is the share of the ensemble that one origin carries.
type Weight struct {
	// Support is the index into Problem.Supports, [OwnPrior] or [OthersLevel].
	Support int
	// Share is in [0, 1]; all shares add up to 1.
	Share float64
}

// Evaluation is what a method makes of the observations.
type Evaluation struct {
	// Predictions has one entry a candidate.
	Predictions []Prediction
	// Weights is sorted by falling share, own prior included.
	Weights []Weight
	// OthersLevel is the share of all weight that takes its level from other workloads,
	// in [0, 1].
	OthersLevel float64
	// Next is the index of the candidate to try; -1 where the space is exhausted.
	Next int
	// Incumbent is the index of the best valid candidate observed; -1 where none is.
	Incumbent int
	// Front are the valid candidates observed that no other one is better than in
	// every objective, by rising first objective. Of a Pareto search only.
	Front []int
	// Stop is true where one more run is not expected to pay; Reason says why.
	Stop   bool
	Reason string
}

// Method proposes configurations. Implementations are safe for concurrent use.
type Method interface {
	// Name is the value of --method.
	Name() string
	// Evaluate conditions on the observations, in the order they were made.
	// It suggests no configuration that has been observed.
	Evaluate(p *Problem, observed []Observation) (*Evaluation, error)
}
