package catalog

import (
	"cmp"
	"slices"
	"strings"

	"github.com/karasu-project/karasu/model"
)

// maxSuggestions bounds how many names an error message offers.
const maxSuggestions = 3

// Suggest returns the names of an infrastructure's machine types that are nearest
// to a mistyped one by edit distance, at most three that are equally near. A name that
// differs in more than a third of its letters is not offered.
func (c *Catalog) Suggest(infrastructure, name string) []string {
	machines := c.MachineTypes(infrastructure)
	names := make([]string, 0, len(machines))
	for _, m := range machines {
		names = append(names, m.Name)
	}
	return nearest(name, names)
}

// nearest returns the names that are nearest to a mistyped one, as Suggest does.
func nearest(name string, names []string) []string {
	name = strings.ToLower(strings.TrimSpace(model.Clip(name)))
	limit := max(1, len(name)/3)
	type near struct {
		name     string
		distance int
	}
	var found []near
	for _, n := range names {
		if d := editDistance(name, strings.ToLower(n)); d <= limit {
			found = append(found, near{n, d})
		}
	}
	slices.SortStableFunc(found, func(a, b near) int {
		return cmp.Or(a.distance-b.distance, strings.Compare(a.name, b.name))
	})
	var out []string
	for _, f := range found[:min(len(found), maxSuggestions)] {
		if f.distance > found[0].distance {
			break
		}
		out = append(out, f.name)
	}
	return out
}

// editDistance counts the bytes to insert, delete, replace or swap with their
// neighbour that turn a into b (optimal string alignment).
func editDistance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
