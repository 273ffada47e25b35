package elastic

import (
	"math"
	"slices"
)

// UnitCores is the size in which knees, gains and allocations are counted: 8 cores of
// workers.
const UnitCores = 8

// Bounds of the sizes that are considered.
const (
	// maxUnits where nobody bounds the workers: the largest size measured is 14.
	maxUnits = 64
	// fineUnits are considered one by one; above, sizes grow by coarse.
	fineUnits = 16
	coarse    = 1.15
	// minRungs: with fewer whole units between the bounds, every gang is considered.
	minRungs = 4
)

// units of so many workers. A worker of unknown size counts as one unit.
func (j Job) units(workers int) float64 {
	cores := j.Current.Workers.Pod.CPU
	if cores == 0 {
		cores = UnitCores
	}
	return float64(workers) * cores / UnitCores
}

// sizes lists the numbers of workers that are considered, ascending: those within the
// bounds, in whole gangs and, where it is kept, dividing the global batch; about one a
// unit.
func (j Job) sizes() []int {
	b := j.Bounds.withDefaults(j.Mode)
	most := b.MaxWorkers
	if j.Bounds.MaxWorkers == 0 {
		most = max(b.MinWorkers, min(most, int(math.Ceil(maxUnits/j.units(1)))))
	}
	if j.GlobalBatch > 0 {
		most = min(most, j.GlobalBatch)
	}
	var all []int
	first := (b.MinWorkers + b.WorkerMultiple - 1) / b.WorkerMultiple * b.WorkerMultiple
	for n := max(first, b.WorkerMultiple); n <= most; n += b.WorkerMultiple {
		if j.GlobalBatch == 0 || j.GlobalBatch%n == 0 {
			all = append(all, n)
		}
	}
	if len(all) <= minRungs || j.units(all[len(all)-1]-all[0]) < minRungs {
		return thin(all, minRungs*4, func(n int) float64 { return float64(n) / float64(all[0]) })
	}
	return thin(all, fineUnits, j.units)
}

// thin keeps the first and last and, between them, sizes that are at least one apart up
// to fine, and by a factor above.
func thin(all []int, fine float64, units func(int) float64) []int {
	if len(all) == 0 {
		return nil
	}
	kept := all[:1:1]
	next := math.Floor(units(all[0])) + 1
	for _, n := range all[1:] {
		u := units(n)
		if u < next-1e-9 {
			continue
		}
		kept = append(kept, n)
		next = max(math.Floor(u)+1, u)
		if next > fine {
			next = max(next, u*coarse)
		}
	}
	if last := all[len(all)-1]; kept[len(kept)-1] != last {
		kept = append(kept, last)
	}
	return slices.Clip(kept)
}

// atMost is the largest size of a ladder that is not above n, or its smallest.
func atMost(sizes []int, n int) int {
	i, found := slices.BinarySearch(sizes, n)
	if !found {
		i--
	}
	return sizes[max(i, 0)]
}
