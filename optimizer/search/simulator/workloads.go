package simulator

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/karasu-project/karasu/model"
)

// Profile is what workloads of one algorithm have in common, a GiB of input.
type Profile struct {
	Framework, Algorithm string
	// SerialSeconds to start and to finish.
	SerialSeconds float64
	// CoreSecondsPerGiB of one pass over the input.
	CoreSecondsPerGiB float64
	// Iterations over the input; 1 for batch jobs.
	Iterations float64
	// ShuffleShare of the input that each iteration moves between nodes.
	ShuffleShare float64
	// Expansion of the input in memory; 0 where nothing is kept there.
	Expansion float64
	// SpillPenalty as in [Workload].
	SpillPenalty float64
}

// Profiles returns the algorithms that are simulated. The constants are chosen so
// that jobs of 20 to 400 GiB take minutes to a few hours on clusters of 16 to 256
// cores and so that iterative jobs hit a memory cliff within that range.
func Profiles() []Profile {
	return []Profile{
		{"spark", "pagerank", 45, 60, 8, .30, 3.0, 4},
		{"spark", "kmeans", 30, 45, 12, .02, 1.5, 5},
		{"spark", "sort", 25, 55, 1, 1.0, .50, 1},
		{"spark", "join", 35, 90, 1, .80, .80, 1.5},
		{"spark", "regression", 30, 40, 15, .01, 1.8, 6},
		{"spark", "wordcount", 20, 80, 1, .05, 0, 0},
		{"hadoop", "terasort", 60, 120, 1, 1.0, 0, 0},
		{"hadoop", "pagerank", 90, 110, 6, .60, 0, 0},
		{"hadoop", "wordcount", 50, 150, 1, .10, 0, 0},
	}
}

// Workloads returns n workloads, going round the profiles, each with its own input
// size (20 to 400 GiB, log-uniform) and constants within 25% of the profile's: so
// two workloads of one algorithm are alike, not equal. The first k of n+k
// workloads are those of k.
func Workloads(infrastructure string, n int, seed uint64) []Workload {
	profiles := Profiles()
	out := make([]Workload, n)
	for i := range out {
		out[i] = profiles[i%len(profiles)].Workload(infrastructure, i, seed)
	}
	return out
}

// Workload returns the i-th workload of a profile. The same arguments give the
// same workload.
func (p Profile) Workload(infrastructure string, i int, seed uint64) Workload {
	r := rand.New(rand.NewPCG(seed, 0x6b617261^uint64(i)))
	about := func(v float64) float64 { return v * math.Exp(.25*(2*r.Float64()-1)) }
	gib := math.Round(20 * math.Pow(20, r.Float64()))
	barrier := about(.8)
	return Workload{
		Workload: model.Workload{
			Infrastructure: infrastructure, Framework: p.Framework, Algorithm: p.Algorithm,
			Job:     fmt.Sprintf("simulated-%s-%s-%02d", p.Framework, p.Algorithm, i),
			Dataset: fmt.Sprintf("simulated-%g-gib", gib), InputBytes: gib * (1 << 30),
		},
		SerialSeconds:  about(p.SerialSeconds),
		CoreSeconds:    about(p.CoreSecondsPerGiB) * p.Iterations * gib,
		ShuffleSeconds: about(p.ShuffleShare) * p.Iterations * gib * networkSecondsPerGiB,
		SyncSeconds:    barrier * p.Iterations,
		WorkingSetGiB:  about(p.Expansion) * gib,
		SpillPenalty:   about(p.SpillPenalty),
	}
}
