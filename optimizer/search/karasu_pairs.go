package search

import (
	"cmp"
	"crypto/sha256"
	"slices"
	"sync"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/gp"
)

const (
	// maxPairSupports bounds the supports of one ensemble of trees: 16 take 30 ms a
	// suggestion.
	maxPairSupports = 16
	// maxSupportSources are the configurations of a support that make pairs; a trace of
	// ten runs is used whole.
	maxSupportSources = 12
	// cachedPairs is how many supports' trees a method keeps. Those of 12
	// configurations take 1 MB.
	cachedPairs = 8 * maxPairSupports
)

// pairSupport is a support's trees and the configurations that they know.
type pairSupport struct {
	sources []source
	forest  *pairForest
}

// pairKey is a support's content and whether its metrics are used.
type pairKey struct {
	content [sha256.Size]byte
	metrics bool
}

// pairCache keeps trees by what they were grown from, so that nothing depends on whether
// they are found. Safe for concurrent use.
type pairCache struct {
	mu      sync.Mutex
	entries map[pairKey]*pairSupport
}

func newPairCache() *pairCache { return &pairCache{entries: map[pairKey]*pairSupport{}} }

// usable returns the supports that are alike and have enough runtimes, at most the first
// [maxPairSupports], and their indices into Problem.Supports. Metrics are used where
// both sides have some; before the first run, where the support has.
func (c *pairCache) usable(p *Problem, metrics bool) (used []*pairSupport, index []int) {
	for _, i := range alike(p) {
		if s := c.get(&p.Supports[i], metrics); s != nil {
			used, index = append(used, s), append(index, i)
		}
		if len(used) == maxPairSupports {
			break
		}
	}
	return used, index
}

// get returns the support's trees; nil where it has none.
func (c *pairCache) get(s *Support, metrics bool) *pairSupport {
	key := pairKey{hashSupport(s), metrics}
	c.mu.Lock()
	entry, found := c.entries[key]
	c.mu.Unlock()
	if found {
		return entry
	}
	entry = supportPairs(s, metrics)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.entries) >= cachedPairs {
		clear(c.entries)
	}
	c.entries[key] = entry
	return entry
}

// supportPairs grows a support's trees; nil where its summary is invalid or has too few
// runtimes. A bad record of a peer makes no error: it must not stop a search. The seed is
// the same for all, so that the trees depend on the support alone.
func supportPairs(s *Support, metrics bool) *pairSupport {
	if s.Summary.Validate() != nil {
		return nil
	}
	points := slices.DeleteFunc(slices.Clone(s.Summary.Points), func(q model.Point) bool { return !q.Observed() })
	if len(points) < gp.MinSupportPoints {
		return nil
	}
	// Of too many, an even mix of those with most runs.
	slices.SortStableFunc(points, func(a, b model.Point) int {
		return cmp.Or(cmp.Compare(b.OK+b.Timeout, a.OK+a.Timeout), cmp.Compare(gp.Shuffled(a.Configuration), gp.Shuffled(b.Configuration)))
	})
	points = points[:min(len(points), maxSupportSources)]
	u := &pairSupport{sources: make([]source, len(points))}
	for i := range points {
		q := &points[i]
		u.sources[i] = source{newPlace(q.Configuration, q.Resources), q.LogRuntime, q.Metrics}
	}
	var err error
	if u.forest, err = fitPairs(u.sources, metrics && measured(u.sources), rankingTrees, 0); err != nil {
		return nil
	}
	return u
}
