package replay

import (
	"errors"

	"github.com/karasu-project/karasu/model/runtime"
)

// Protocols.
const (
	Full     = "c3o-full"
	Filtered = "c3o-filtered"
	Shared   = "c3o-shared"
	Peers    = "c3o-peers"
	Bell     = "bell"
	Splits   = "c3o-splits"
	Points   = "c3o-points"
)

// Protocols are all, in the order of reports.
var Protocols = []string{Full, Filtered, Shared, Peers, Bell, Splits, Points}

// Splits of the scale-outs that are predicted.
const (
	Interpolation = "interpolation"
	Extrapolation = "extrapolation"
	All           = "all"
)

// MaxRuns is the largest number of known runs of the target.
const MaxRuns = 6

// Defaults of [Config].
const (
	// DefaultDraws of n runs a context, as in the published evaluation.
	DefaultDraws = 3
	// BellDraws a job, which has a single context.
	BellDraws = 40
	// DefaultSplits are random training sets a job in C3O's protocol, which published
	// figures average over 300 of.
	DefaultSplits = 300
)

// PointCounts are the training points of [Points].
var PointCounts = []int{3, 9, 15, 30}

// ErrTables means that a protocol has no tables to run on.
var ErrTables = errors.New("no tables for a protocol")

// Model is a learner under test.
type Model struct {
	Learner predict.Learner
	// Folds of contexts that share one fit of what is slow; 0 fits for every target.
	// With k folds, k fits on all contexts outside of a fold are made: a model that is
	// a [predict.Refitter] then takes in all contexts but the target, another sees
	// those outside of the fold only.
	Folds int
	// Contexts bounds the targets of a table, evenly spaced; 0 is all.
	Contexts int
	// Splits bounds the repetitions of C3O's protocols; 0 is the configuration's.
	Splits int
	// Protocols that the model takes part in; empty is all.
	Protocols []string
	// Import turns weights into a general model; nil leaves the model out of
	// [Shared] and [Peers].
	Import func(*predict.Weights) (predict.General, error)
	// Derived models are made of each fit and measured beside it.
	Derived []Derived
}

// Derived is another model that a fit makes at no cost, such as another way to
// fine-tune it.
type Derived struct {
	Name string
	Of   func(predict.General) predict.General
}

// Config is one replay.
type Config struct {
	// C3O and Bell are the tables; those of protocols that do not run may be empty.
	C3O, Bell []Table
	// Models; the first is the default, of which the coverage is reported.
	Models []Model
	// Protocols default to all.
	Protocols []string
	// Draws, BellDraws and Splits default to the constants.
	Draws, BellDraws, Splits int
	// Contexts bounds the targets of a table; 0 is all.
	Contexts int
	Seed     uint64
	// Workers defaults to GOMAXPROCS. Results do not depend on it.
	Workers int
	// Progress is called from one goroutine at a time with work done and in all.
	Progress func(done, total int)
}

func (c *Config) defaults() {
	if len(c.Protocols) == 0 {
		c.Protocols = Protocols
	}
	for _, d := range []struct {
		p *int
		v int
	}{{&c.Draws, DefaultDraws}, {&c.BellDraws, BellDraws}, {&c.Splits, DefaultSplits}} {
		if *d.p <= 0 {
			*d.p = d.v
		}
	}
}
