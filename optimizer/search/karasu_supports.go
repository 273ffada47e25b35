package search

import (
	"crypto/sha256"
	"math"
	"sync"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/ensemble"
	"github.com/karasu-project/karasu/model/gp"
)

const (
	// MaxKarasuSupports bounds the support models of one ranking-weighted ensemble.
	// 50 take 5 ms a suggestion.
	MaxKarasuSupports = 50
	// cachedSupports is how many support models a method keeps: those of a few searches.
	// One of ten inputs and 69 candidates takes 4 KB, the largest allowed 0.6 MB.
	cachedSupports = 4 * MaxKarasuSupports
)

// cachedSupport is one support's model and what it says of the candidates that it
// was asked about last.
type cachedSupport struct {
	ensemble.RankedSupport

	mu             sync.Mutex
	at             [sha256.Size]byte
	mean, variance []float64
}

// posterior returns the standardised posterior at the candidates x, whose hash is at.
// The caller must not write to it.
func (c *cachedSupport) posterior(x []float64, at [sha256.Size]byte) (mean, variance []float64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mean == nil || c.at != at {
		if c.mean, c.variance, err = c.Model.Posterior(x); err != nil {
			c.mean = nil
			return nil, nil, err
		}
		c.at = at
	}
	return c.mean, c.variance, nil
}

// supportCache keeps support models by the content that they were built from, so
// that nothing depends on whether one is found. Safe for concurrent use.
type supportCache struct {
	mu      sync.Mutex
	entries map[[sha256.Size]byte]*cachedSupport
}

func newSupportCache() *supportCache {
	return &supportCache{entries: map[[sha256.Size]byte]*cachedSupport{}}
}

// usable returns the supports of the problem that are alike and have a usable model,
// at most the first [MaxKarasuSupports], and their indices into Problem.Supports.
func (c *supportCache) usable(p *Problem) (used []*cachedSupport, index []int) {
	for _, i := range alike(p) {
		if s := c.get(&p.Supports[i]); s.Model != nil {
			used, index = append(used, s), append(index, i)
		}
		if len(used) == MaxKarasuSupports {
			break
		}
	}
	return used, index
}

// alike lists the supports with the target's framework and algorithm; where there are
// none, those that share one of the two. Others make searches with a ranking-weighted
// ensemble worse.
func alike(p *Problem) []int {
	best := ensemble.Related
	for i := range p.Supports {
		best = max(best, classOf(p.Supports[i].Summary.Topic, p.Topic))
	}
	var out []int
	for i := range p.Supports {
		if classOf(p.Supports[i].Summary.Topic, p.Topic) == best {
			out = append(out, i)
		}
	}
	return out
}

// get returns the support's entry. Its model is nil where it has no usable one.
func (c *supportCache) get(s *Support) *cachedSupport {
	key := hashSupport(s)
	c.mu.Lock()
	entry := c.entries[key]
	c.mu.Unlock()
	if entry != nil {
		return entry
	}
	entry = &cachedSupport{RankedSupport: supportModel(s)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.entries) >= cachedSupports {
		clear(c.entries)
	}
	c.entries[key] = entry
	return entry
}

// supportModel returns the shared model where it is valid, else one fitted to the
// summary. A bad record of a peer makes no error: it must not stop a search.
func supportModel(s *Support) ensemble.RankedSupport {
	var points []model.Point
	if s.Summary.Validate() == nil {
		points = s.Summary.Points
	}
	out := ensemble.RankedSupport{Scale: spread(points)}
	if s.Model != nil && s.Model.Dimensions == gp.FeatureDimensions {
		out.Model, _ = gp.FromWeights(s.Model) // nil where they are unusable
	}
	if out.Model == nil {
		if g, err := gp.FitPoints(points); err == nil {
			out.Model = g.Standardised()
		}
	}
	return out
}

// spread is the standard deviation of the points' log runtimes; 0 is unknown.
func spread(points []model.Point) float64 {
	var n, mean, sum float64
	for _, p := range points {
		if p.Observed() {
			n++
			mean += p.LogRuntime
		}
	}
	if n < gp.MinSupportPoints {
		return 0
	}
	mean /= n
	for _, p := range points {
		if p.Observed() {
			sum += (p.LogRuntime - mean) * (p.LogRuntime - mean)
		}
	}
	return math.Sqrt(sum / n)
}

// hashSupport covers everything that [supportModel] and [supportPairs] read.
func hashSupport(s *Support) [sha256.Size]byte {
	h := sha256.New()
	flag := func(b bool) float64 {
		if b {
			return 1
		}
		return 0
	}
	sum := &s.Summary
	h.Write([]byte(sum.Topic.String() + "\x00" + sum.Pseudonym + "\x00"))
	numbers(h, sum.InputBytes(), flag(sum.Absolute), sum.Level, sum.NoiseScale, float64(len(sum.Points)))
	for _, q := range sum.Points {
		h.Write([]byte(q.Configuration.String() + "\x00"))
		numbers(h, q.Resources.VCPUs, q.Resources.MemoryGiB, q.LogRuntime, float64(q.OK), float64(q.Failed), float64(q.Timeout))
		for _, r := range series(&q.Metrics) {
			if r == nil {
				r = &model.Percentiles{P10: -1}
			}
			numbers(h, r.P10, r.P50, r.P90)
		}
	}
	if w := s.Model; w != nil {
		numbers(h, float64(w.Dimensions), float64(len(w.Inputs)), float64(len(w.Targets)), float64(len(w.LengthScales)), w.SignalSD, w.NoiseSD)
		numbers(h, w.Inputs...)
		numbers(h, w.Targets...)
		numbers(h, w.LengthScales...)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

func hashPoints(x []float64) [sha256.Size]byte {
	h := sha256.New()
	numbers(h, x...)
	return [sha256.Size]byte(h.Sum(nil))
}
