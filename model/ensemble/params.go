package ensemble

import (
	"errors"
	"fmt"
	"math"
)

// ErrInvalid is wrapped by errors about unusable inputs: shapes that do not fit,
// numbers that are not finite, parameters out of range.
var ErrInvalid = errors.New("invalid ensemble input")

// Class says how alike the descriptions of a support workload and the target are.
type Class int

// The classes, by rising likeness.
const (
	// Unrelated workloads share neither framework nor algorithm.
	Unrelated Class = iota
	// Related workloads share one of them.
	Related
	// Same workloads share framework and algorithm and differ in their data.
	Same
	classes
)

// Params are the constants of the evidence-weighted ensemble. [Base] documents
// where each comes from. Logs are natural except where a name says log2.
type Params struct {
	// SlopeMean and SlopeSD are the prior of the linear trend of log runtime in
	// the three base features (see [Features]): nats per doubling.
	SlopeMean, SlopeSD [baseFeatures]float64
	// ExtraSlopeSD is the slope's standard deviation in every further feature.
	ExtraSlopeSD float64
	// LengthScale and ExtraLengthScale of the Matérn 5/2 kernel, in doublings.
	LengthScale, ExtraLengthScale float64
	// ShapeSDs are the signal standard deviations of the Matérn kernel: one
	// hypothesis each.
	ShapeSDs []float64
	// NuggetSD is what one configuration deviates by from a smooth surface.
	NuggetSD float64
	// NoiseSD is of one run's log runtime.
	NoiseSD float64
	// LevelSD is of the target's mean log runtime around the given level.
	LevelSD float64
	// SupportLevelSD is the level's standard deviation where a support's level
	// is to be ignored.
	SupportLevelSD float64

	// TimeoutsAreBounds takes a stopped run for a lower bound of its runtime; otherwise
	// it counts as if it had ended when it was stopped. So do those of a support that lie
	// above all of its runs that ended: the slow end of a shape is better drawn too low
	// than from the prior.
	TimeoutsAreBounds bool

	// CliffReserveGiB is the memory that every core keeps for itself (system,
	// framework, the task's working set); only what is left over holds data, and
	// cliffs are about that. 0 counts all memory.
	CliffReserveGiB float64
	// CliffQuantiles of the cluster's memory for data, over the candidates, are where
	// a cliff may be.
	CliffQuantiles []float64
	// SupportCliffQuantiles are the same for hypotheses that a support stands behind;
	// nil takes CliffQuantiles.
	SupportCliffQuantiles []float64
	// CliffMean and CliffSD are of a cliff's height in nats.
	CliffMean, CliffSD float64
	// CliffShare is the part of every hypothesis' mass that goes to its copies
	// with a cliff.
	CliffShare float64

	// Mass of the supports of a class, beside a mass of 1 for searching alone.
	Mass [classes]float64
	// CentredMass multiplies the mass of a support whose traces have no level of
	// their own: less can be tested about them.
	CentredMass float64
	// MetricBound and MetricScale are of what resource utilisation says of a support, for
	// whoever has it: its log mass moves by up to ±MetricBound, up where the root mean
	// square difference of the utilisation (shares, in [0, 1]) is below MetricScale. A
	// bound of 0 leaves utilisation out.
	MetricBound, MetricScale float64
	// Shrinkage is the weight of a support's shape against the shape prior.
	Shrinkage float64
	// ShrinkageShapeSD is the Matérn standard deviation of the prior shrunk to.
	ShrinkageShapeSD float64
	// Shifts and ShiftMass are displacements of the scale-out in doublings, and
	// their prior, where an input size is not known.
	Shifts, ShiftMass []float64
	// KnownShiftMass goes to the shift that the input sizes imply; the rest to no shift.
	KnownShiftMass float64
	// MaxShift bounds the shift that input sizes may imply; beyond it they say nothing.
	MaxShift float64

	// PriorPlausible is the prior probability that a trace is what it says.
	PriorPlausible float64
	// MinPlausible is the posterior below which a trace is dropped.
	MinPlausible float64
	// MinAgreement is the log Bayes factor of one shape against two, in nats,
	// above which two traces agree.
	MinAgreement float64
	// MinCentredAgreement is the same for two traces of one workload that can be compared
	// by their shapes only.
	MinCentredAgreement float64
	// SiblingCorrelation is of the shapes of two workloads of a class that agree;
	// 1 asks for one and the same shape.
	SiblingCorrelation float64
	// SelfAgreement counts a workload as agreeing with itself in its class, so that
	// two that disagree keep half of their mass each.
	SelfAgreement bool
}

// Base returns the constants that the test vectors were computed with. They were
// chosen on the 18 workloads of the scout table, so the table's own figures are
// optimistic by 0.02 to 0.03 of AUC (docs/search.md).
func Base() Params {
	return Params{
		// Doubling the cores at best halves the runtime (-ln 2 = -.69); -.5 is a
		// parallel fraction usual for data-parallel jobs.
		SlopeMean:           [baseFeatures]float64{-.5, 0, -.1},
		SlopeSD:             [baseFeatures]float64{.3, .15, .2},
		ExtraSlopeSD:        .15,
		LengthScale:         1.5,
		ExtraLengthScale:    1,
		ShapeSDs:            []float64{.1, .2, .4, .8},
		NuggetSD:            .05,
		NoiseSD:             .1,
		LevelSD:             .7,
		SupportLevelSD:      3,
		CliffQuantiles:      []float64{.25, .5, .75},
		CliffMean:           .4,
		CliffSD:             .6,
		CliffShare:          .5,
		Mass:                [classes]float64{Same: 4},
		CentredMass:         1,
		Shrinkage:           .9,
		ShrinkageShapeSD:    .2,
		Shifts:              []float64{-1, 0, 1},
		ShiftMass:           []float64{.25, .5, .25},
		KnownShiftMass:      .75,
		MaxShift:            3,
		PriorPlausible:      .8,
		MinPlausible:        .5,
		MinAgreement:        -1,
		MinCentredAgreement: -1,
		SiblingCorrelation:  1,
	}
}

// Default returns the constants of the default method. They differ from [Base] in
// what follows; docs/search.md has the figures and what they were chosen on.
func Default() Params {
	p := Base()

	// A test between the workloads of a class that does not get stricter without
	// end as their histories grow. On whole histories of the scout table (59 to 69
	// runs each) one shape for both is refused for 8 of the 9 pairs that share
	// framework and algorithm, by up to 837 nats; a correlation of .8 accepts 5 of
	// them and none of two unlike pairs.
	p.SiblingCorrelation = .8
	p.SelfAgreement = true

	// Traces of one workload without levels have to say that they are one: shapes alone
	// rarely contradict each other by a nat, so that at -1 whatever is labelled alike is
	// pooled. A factor of e^2 tells two labels from one.
	p.MinCentredAgreement = 2

	// The same cores in fewer nodes shuffle less over the network. Over the scout
	// table the slope has a mean of -.04 and a standard deviation of .07 between
	// workloads; -.1 is optimistic within that.
	p.SlopeMean[1], p.SlopeSD[1] = -.1, .1

	// Data sets that fit in memory only from some size on: boundaries everywhere,
	// counted in the memory that a core leaves over. Caching frameworks lose a
	// factor of 2 to 7 below the boundary, so the height is wider than in Base.
	p.CliffReserveGiB = 1
	p.CliffQuantiles = []float64{.1, .2, .3, .4, .5, .6, .7, .8, .9}
	// A support's shape has most boundaries in it, so fewer are enough beside it.
	p.SupportCliffQuantiles = []float64{.25, .5, .75, .9}
	p.CliffMean, p.CliffSD = .6, .8

	// With boundaries and slopes in the solo hypotheses, wrong supports are found
	// out sooner, so right ones can be believed more.
	p.Mass[Same] = 10
	p.CentredMass = .8
	p.Shrinkage = .95

	// Utilisation tells apart what descriptions do not, but it is not what is searched
	// for, and whoever shares it can make it up: a factor of 4 either way is what two
	// runs that fit a hypothesis better by 1.2 standard deviations undo. Repeated runs of
	// a job differ by some .05 in their shares of utilisation, and two uniform random
	// shares by .41; between the two, on the geometric scale, is .15.
	p.MetricBound, p.MetricScale = math.Log(4), .15

	// Siblings behave alike on the same nodes more often than on nodes in proportion
	// to their data, on scout and on C3O.
	p.KnownShiftMass = .25

	// What a stopped run says: no less than that it would have taken longer, and no more.
	p.TimeoutsAreBounds = true

	// Users' targets are within a factor of e^1.5 = 4.5 of what the mean
	// configuration takes, not of 2.
	p.LevelSD = 1.5
	return p
}

// Validate checks that the parameters describe proper distributions.
func (p *Params) Validate() error {
	positive := []float64{p.ExtraSlopeSD, p.LengthScale, p.ExtraLengthScale, p.NoiseSD, p.LevelSD, p.SupportLevelSD, p.CliffSD, p.ShrinkageShapeSD}
	positive = append(positive, p.SlopeSD[:]...)
	positive = append(positive, p.ShapeSDs...)
	for _, v := range positive {
		if !(v > 0) || math.IsInf(v, 0) {
			return fmt.Errorf("%w: a scale of %g, must be above zero and finite", ErrInvalid, v)
		}
	}
	for _, v := range []float64{p.CliffShare, p.Shrinkage, p.KnownShiftMass, p.PriorPlausible, p.MinPlausible, p.SiblingCorrelation, p.CentredMass} {
		if !(v >= 0 && v <= 1) {
			return fmt.Errorf("%w: a share of %g, must be between 0 and 1", ErrInvalid, v)
		}
	}
	if !(p.MetricBound >= 0) || math.IsInf(p.MetricBound, 0) || p.MetricBound > 0 && !(p.MetricScale > 0) {
		return fmt.Errorf("%w: utilisation bounded to ±%g at a scale of %g", ErrInvalid, p.MetricBound, p.MetricScale)
	}
	if len(p.ShapeSDs) == 0 || len(p.Shifts) == 0 || len(p.Shifts) != len(p.ShiftMass) {
		return fmt.Errorf("%w: %d shape scales, %d shifts with %d masses", ErrInvalid, len(p.ShapeSDs), len(p.Shifts), len(p.ShiftMass))
	}
	for _, m := range p.Mass {
		if !(m >= 0) || math.IsInf(m, 0) {
			return fmt.Errorf("%w: a class mass of %g", ErrInvalid, m)
		}
	}
	return nil
}
