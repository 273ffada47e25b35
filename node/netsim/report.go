package netsim

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// Names of the scenarios.
const (
	LateJoiner      = "late-joiner"
	Partition       = "partition"
	Churn           = "churn"
	Reconcile100    = "reconcile-100"
	Reconcile100000 = "reconcile-100000"
)

// Scenarios lists all, in the order in which they run.
func Scenarios() []string {
	return []string{LateJoiner, Partition, Churn, Reconcile100, Reconcile100000}
}

// Result is what was measured once.
type Result struct {
	// Nodes took part, and each held so many Records in the end, if it converged.
	Nodes   int `json:"nodes"`
	Records int `json:"records"`
	// Converged says that every node held every record that was acknowledged, and
	// nothing else.
	Converged bool `json:"converged"`
	// SecondsP50 and SecondsP99 are over nodes: from the beginning until one held all.
	SecondsP50 float64 `json:"seconds_p50"`
	SecondsP99 float64 `json:"seconds_p99"`
	// BytesPerNode were sent and received by a node on all its streams, on average over
	// those that had to get something. BytesMinimum are the envelopes that such a node
	// lacked on average, once.
	BytesPerNode int64 `json:"bytes_per_node"`
	BytesMinimum int64 `json:"bytes_minimum"`
	// ResidentMB is the most that the process had resident, in MiB, with all nodes.
	ResidentMB int `json:"resident_mb"`
	// ExtraMB is how much memory of the process's own, in MiB, was added meanwhile by both
	// nodes of a reconciliation: sessions, what is known of new records, the database's
	// tables in memory.
	ExtraMB int `json:"extra_mb,omitempty"`
	// Sessions were needed, of a reconciliation of two nodes.
	Sessions int `json:"sessions,omitempty"`
	// OpenSeconds is how long it took to open a database of so many records, of a
	// reconciliation of two nodes.
	OpenSeconds float64 `json:"open_seconds,omitempty"`
}

// Report is what [Run] returns: the network as a whole, and each scenario.
type Report struct {
	Result
	Scenarios   map[string]Result `json:"scenarios"`
	WallSeconds float64           `json:"wall_seconds"`
}

// AllConverged says whether the network and all scenarios did.
func (r *Report) AllConverged() bool {
	for _, s := range r.Scenarios {
		if !s.Converged {
			return false
		}
	}
	return r.Converged
}

// quantile returns the smallest value that a share q of all does not exceed.
func quantile(all []time.Duration, q float64) float64 {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	i := int(q*float64(len(sorted)) + 0.999999)
	return sorted[min(max(i, 1), len(sorted))-1].Seconds()
}

// resident returns the bytes of memory that the process has resident, and how many of
// these are its own: the others are pages of files, which the databases map and the
// system takes back when it needs room. Where that cannot be known, both are what the
// runtime has from the system.
func resident() (total, own int64) {
	if b, err := os.ReadFile("/proc/self/status"); err == nil {
		for line := range strings.Lines(string(b)) {
			var kb int64
			if _, err := fmt.Sscanf(line, "VmRSS: %d kB", &kb); err == nil {
				total = kb << 10
			}
			if _, err := fmt.Sscanf(line, "RssAnon: %d kB", &kb); err == nil {
				own = kb << 10
			}
		}
		if total > 0 && own > 0 {
			return total, own
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys), int64(m.Sys)
}

// gauge follows the resident memory until it is stopped.
type gauge struct {
	stop chan struct{}
	work sync.WaitGroup
	// most is the most that was resident; of what is the process's own, begin is what
	// there was, and mostOwn the most.
	most, begin, mostOwn int64
}

// sampleEvery is how often memory is looked at.
const sampleEvery = 20 * time.Millisecond

func startGauge() *gauge {
	g := &gauge{stop: make(chan struct{})}
	g.look()
	g.begin = g.mostOwn
	g.work.Go(func() {
		tick := time.NewTicker(sampleEvery)
		defer tick.Stop()
		for {
			select {
			case <-g.stop:
				return
			case <-tick.C:
				g.look()
			}
		}
	})
	return g
}

// end returns the most and what was added, in MiB.
func (g *gauge) end() (most, added int) {
	close(g.stop)
	g.work.Wait()
	g.look()
	return int(g.most >> 20), int((g.mostOwn - g.begin) >> 20)
}

func (g *gauge) look() {
	total, own := resident()
	g.most, g.mostOwn = max(g.most, total), max(g.mostOwn, own)
}
