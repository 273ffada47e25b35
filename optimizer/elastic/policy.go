package elastic

import (
	"fmt"
	"time"
)

// Policy are the constants of the controller. They were chosen on measured curves of
// parameter-server training (see docs/elastic.md); sizes are in units of 8 worker cores.
type Policy struct {
	// Kappa is the elasticity of speed by size at which growing ends: it trades an
	// efficiency of sqrt(Kappa) for a speed of sqrt(1 - Kappa) of the cap.
	Kappa float64
	// StartElasticity bounds the size at the start, as Kappa does later, and
	// StartAlone, StartPeers and StartOwn bound it in units, by whose history is known.
	StartElasticity                  float64
	StartAlone, StartPeers, StartOwn float64
	// Reach bounds growing to so many times the largest size that was measured.
	Reach float64

	// Growing needs a gain in speed, time saved, a size that differs, and a gain of
	// J = ln speed - Kappa ln size, each as a share but the time.
	GrowGain, GrowSize, GrowJ float64
	GrowSaves                 time.Duration
	// Cooldown since the last change, FirstCooldown for the first one.
	Cooldown, FirstCooldown time.Duration
	// Shrinking needs ShrinkCooldown since the last change and so much work left, and
	// either waiting jobs and a target of at most ShrinkStarved of the size, or a gain of
	// J of GrowJ and of ShrinkPause over the time left, a size ShrinkSize times the
	// target, and a loss of speed of at most ShrinkLoss.
	ShrinkCooldown, ShrinkLeft, ShrinkPause time.Duration
	ShrinkStarved, ShrinkSize, ShrinkLoss   float64

	// MemoryStart is what a pod gets at the start, times what similar jobs used;
	// MemoryMargin is kept above the prediction, MemoryAfter is the factor of the limit
	// after it was exceeded. MemoryEvery is how often memory changes without need, and
	// MemorySlack how far below the limit the target must be for that.
	MemoryStart, MemoryMargin, MemoryAfter, MemorySlack float64
	MemoryEvery                                         time.Duration

	// HotShare of its cores makes a server hot after HotReports reports in a row;
	// HotFactor is what its cores are multiplied by.
	HotShare, HotFactor float64
	HotReports          int
	// A straggler's steps take StragglerFactor times the median for StragglerReports
	// reports in a row.
	StragglerFactor  float64
	StragglerReports int
	// PendingAfter is how long pods may wait before the plan asks for less, PendingFor how
	// long it then asks for no more.
	PendingAfter, PendingFor time.Duration
}

// DefaultPolicy returns the constants in use.
func DefaultPolicy() Policy {
	return Policy{
		Kappa: .25, StartElasticity: .17, StartAlone: 1, StartPeers: 4, StartOwn: 14, Reach: 3,
		GrowGain: .08, GrowSize: .20, GrowJ: .01, GrowSaves: 180 * time.Second,
		Cooldown: 600 * time.Second, FirstCooldown: 300 * time.Second,
		ShrinkCooldown: 300 * time.Second, ShrinkLeft: 900 * time.Second, ShrinkPause: 60 * time.Second,
		ShrinkStarved: .8, ShrinkSize: 1.25, ShrinkLoss: .20,
		MemoryStart: 1.5, MemoryMargin: 1.2, MemoryAfter: 1.5, MemorySlack: .9, MemoryEvery: 5 * time.Minute,
		HotShare: .9, HotFactor: 1.5, HotReports: 5,
		StragglerFactor: 2, StragglerReports: 5,
		PendingAfter: 5 * time.Minute, PendingFor: time.Hour,
	}
}

// Validate says which constant cannot be.
func (p Policy) Validate() error {
	for _, f := range []struct {
		name               string
		value, least, most float64
	}{
		{"kappa", p.Kappa, 0, 1}, {"start elasticity", p.StartElasticity, 0, 1},
		{"start alone", p.StartAlone, 0, 1e6}, {"start with peers", p.StartPeers, 0, 1e6}, {"start with own history", p.StartOwn, 0, 1e6},
		{"reach", p.Reach, 1, 1e6}, {"gain", p.GrowGain, 0, 1e6}, {"size", p.GrowSize, 0, 1e6}, {"gain of J", p.GrowJ, 0, 1e6},
		{"size to shrink from", p.ShrinkSize, 1, 1e6}, {"size to make room at", p.ShrinkStarved, 0, 1}, {"loss", p.ShrinkLoss, 0, 1},
		{"memory at start", p.MemoryStart, 1, 1e3}, {"memory margin", p.MemoryMargin, 1, 1e3},
		{"memory after it ran out", p.MemoryAfter, 1, 1e3}, {"memory slack", p.MemorySlack, 0, 1},
		{"share of a hot server", p.HotShare, 0, 1}, {"factor of a hot server", p.HotFactor, 1, 1e3},
		{"reports of a hot server", float64(p.HotReports), 1, 1e6},
		{"factor of a straggler", p.StragglerFactor, 1, 1e6}, {"reports of a straggler", float64(p.StragglerReports), 1, 1e6},
	} {
		if !(f.value >= f.least && f.value <= f.most) {
			return fmt.Errorf("policy: %s must be between %g and %g: %g: %w", f.name, f.least, f.most, f.value, ErrInvalid)
		}
	}
	for _, f := range []struct {
		name  string
		value time.Duration
	}{
		{"time saved", p.GrowSaves}, {"cool-down", p.Cooldown}, {"first cool-down", p.FirstCooldown},
		{"cool-down to shrink", p.ShrinkCooldown}, {"time left", p.ShrinkLeft}, {"pause", p.ShrinkPause},
		{"interval of memory", p.MemoryEvery}, {"wait for pods", p.PendingAfter}, {"time to ask for less", p.PendingFor},
	} {
		if f.value < 0 || f.value > 1000*time.Hour {
			return fmt.Errorf("policy: %s must be between 0 and 1000 h: %s: %w", f.name, f.value, ErrInvalid)
		}
	}
	return nil
}
