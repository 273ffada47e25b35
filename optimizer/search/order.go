package search

import (
	"cmp"
	"slices"

	"github.com/karasu-project/karasu/model"
)

// SortPoints orders the points of a summary by what they say and not by the names of
// machine types, which may be keyed hashes.
func SortPoints(points []model.Point) { slices.SortStableFunc(points, comparePoints) }

func comparePoints(a, b model.Point) int {
	return cmp.Or(
		cmp.Compare(a.Configuration.ScaleOut, b.Configuration.ScaleOut),
		cmp.Compare(a.Resources.VCPUs, b.Resources.VCPUs), cmp.Compare(a.Resources.MemoryGiB, b.Resources.MemoryGiB),
		cmp.Compare(a.LogRuntime, b.LogRuntime),
		cmp.Compare(a.OK, b.OK), cmp.Compare(a.Failed, b.Failed), cmp.Compare(a.Timeout, b.Timeout))
}

// compareSupports orders supports by what they say, so that equal data give equal answers
// whatever keys their pseudonyms and authors were made with; these only tell apart what
// says the same.
func compareSupports(a, b *Support) int {
	x, y := &a.Summary, &b.Summary
	return cmp.Or(
		cmp.Compare(x.Topic.String(), y.Topic.String()),
		cmp.Compare(x.InputBytes(), y.InputBytes()), cmp.Compare(x.Level, y.Level), cmp.Compare(x.NoiseScale, y.NoiseScale),
		slices.CompareFunc(x.Points, y.Points, comparePoints),
		cmp.Compare(a.Author, b.Author), cmp.Compare(x.Pseudonym, y.Pseudonym))
}
