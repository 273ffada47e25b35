package search

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math"
	"slices"
	"sync"

	"github.com/karasu-project/karasu/model/ensemble"
)

// cachedProblems is how many ensembles a method keeps: a few searches that
// alternate. One of 69 candidates and 50 supports takes about 3 MB.
const cachedProblems = 4

// ensembleCache keeps ensembles by the content of what they were built from, so
// that nothing depends on whether an entry is found. Safe for concurrent use.
type ensembleCache struct {
	mu      sync.Mutex
	entries []*cachedEnsemble // most recently used first
}

type cachedEnsemble struct {
	key [sha256.Size]byte
	// mu is held while the ensemble is in use.
	mu       sync.Mutex
	ensemble *ensemble.Ensemble
	err      error
	observed []conditionedRun
}

// conditionedRun is what an ensemble was told, to find out what is new.
type conditionedRun struct {
	point                int
	logRuntime, noiseVar float64
	bound                bool
}

func newEnsembleCache() *ensembleCache { return &ensembleCache{} }

// conditioned returns an ensemble conditioned on the points. The caller has it
// for itself until it calls release.
func (c *ensembleCache) conditioned(p ensemble.Params, config *ensembleConfig, points []point) (e *ensemble.Ensemble, release func(), err error) {
	entry := c.entry(fingerprint(&config.Config))
	entry.mu.Lock()
	defer func() {
		if err != nil {
			entry.mu.Unlock()
		}
	}()
	if entry.ensemble == nil && entry.err == nil {
		entry.ensemble, entry.err = ensemble.New(p, config.Config)
	}
	if entry.err != nil {
		return nil, nil, entry.err
	}
	runs := conditionedRuns(points, len(config.Candidates))
	told := len(entry.observed)
	if told > len(runs) || !slices.Equal(entry.observed, runs[:told]) {
		entry.ensemble.Reset()
		told = 0
	}
	entry.observed = runs[:told]
	for _, r := range runs[told:] {
		observe := entry.ensemble.Observe
		if r.bound {
			observe = entry.ensemble.ObserveBound
		}
		if err := observe(r.point, r.logRuntime, r.noiseVar); err != nil {
			entry.ensemble.Reset()
			entry.observed = nil
			return nil, nil, err
		}
	}
	entry.observed = runs
	return entry.ensemble, entry.mu.Unlock, nil
}

func conditionedRuns(points []point, candidates int) []conditionedRun {
	runs := make([]conditionedRun, len(points))
	outside := candidates
	for i, q := range points {
		runs[i] = conditionedRun{q.candidate, q.logRuntime, q.noiseVar, q.timedOut}
		if q.candidate < 0 {
			runs[i].point = outside
			outside++
		}
	}
	return runs
}

func (c *ensembleCache) entry(key [sha256.Size]byte) *cachedEnsemble {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.entries, func(e *cachedEnsemble) bool { return e.key == key })
	var e *cachedEnsemble
	if i >= 0 {
		e = c.entries[i]
		c.entries = slices.Delete(c.entries, i, i+1)
	} else {
		e = &cachedEnsemble{key: key}
	}
	c.entries = slices.Insert(c.entries, 0, e)
	c.entries = c.entries[:min(len(c.entries), cachedProblems)]
	return e
}

// fingerprint hashes everything that an ensemble is built from.
func fingerprint(c *ensemble.Config) [sha256.Size]byte {
	h := sha256.New()
	numbers(h, c.LevelMean, c.LevelSD, c.InputBytes, float64(len(c.Candidates)), float64(len(c.Outside)), flag(c.Borrowed != nil))
	if b := c.Borrowed; b != nil {
		numbers(h, b.Mean, b.SD, b.Share)
	}
	points(h, c.Candidates)
	points(h, c.Outside)
	for i := range c.Supports {
		t := &c.Supports[i]
		numbers(h, float64(t.Class), t.InputBytes, flag(t.Centred), float64(len(t.Points)), float64(len(t.Workload)))
		h.Write([]byte(t.Workload))
		points(h, t.Points)
		numbers(h, t.LogRuntime...)
		numbers(h, t.NoiseVar...)
		for _, b := range t.Bound {
			numbers(h, flag(b))
		}
	}
	return [sha256.Size]byte(h.Sum(nil))
}

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func points(h hash.Hash, all []ensemble.Point) {
	for _, q := range all {
		numbers(h, q.Nodes, q.CoresPerNode, q.GiBPerNode)
		numbers(h, q.Extra...)
	}
}

func numbers(h hash.Hash, values ...float64) {
	var b [128]byte
	for len(values) > 0 {
		n := min(len(values), len(b)/8)
		for i, v := range values[:n] {
			binary.LittleEndian.PutUint64(b[8*i:], math.Float64bits(v))
		}
		h.Write(b[:8*n])
		values = values[n:]
	}
}
