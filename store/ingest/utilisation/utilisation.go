// Package utilisation attaches to a run how much of its nodes' CPU, memory, disks and
// network it used: percentiles over samples and nodes, as shares in [0, 1]. They come
// from a Prometheus server that scrapes node_exporter ([Prometheus]), or from exports
// of sar ([ReadSar]).
//
// A share needs a capacity. Where a source does not tell it, as the speed of a virtual
// network interface, the resource stays unset; nothing is guessed. The same holds
// where the samples cover less than half of the run.
package utilisation

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/store/ingest/internal/percentile"
)

// Resource is one of the resources of a node.
type Resource int

// The resources, in the order of [Resources].
const (
	CPU Resource = iota
	Memory
	Disk
	Network
	resources
)

// String returns cpu, memory, disk or network.
func (r Resource) String() string { return [...]string{"cpu", "memory", "disk", "network"}[r] }

// Resources returns all resources.
func Resources() []Resource { return []Resource{CPU, Memory, Disk, Network} }

// minCoverage is the least share of a run that samples cover.
const minCoverage = 0.5

// ErrWindow says that a run has no window in time.
var ErrWindow = errors.New("has no start or no runtime, so its utilisation cannot be looked up")

// Window is when a run was.
type Window struct{ Start, End time.Time }

// WindowOf returns the window of a run, or [ErrWindow].
func WindowOf(r model.Run) (Window, error) {
	if r.Start.IsZero() || !(r.RuntimeSeconds > 0) {
		return Window{}, ErrWindow
	}
	return Window{r.Start, r.Start.Add(r.Runtime())}, nil
}

// Seconds is the length of the window.
func (w Window) Seconds() float64 { return w.End.Sub(w.Start).Seconds() }

// Summary is what samples tell of a run.
type Summary struct {
	// Metrics has what could be measured.
	Metrics model.Metrics
	// Nodes and Samples that went into it.
	Nodes, Samples int
	// Missing says why a resource is not in it, in the order of [Resources].
	Missing []string
}

// Fill sets what is not measured yet in a run's metrics, and returns how many
// resources it set.
func Fill(into *model.Metrics, from model.Metrics) int {
	n := 0
	for _, f := range []struct{ to, from **model.Percentiles }{
		{&into.CPU, &from.CPU}, {&into.Memory, &from.Memory}, {&into.Disk, &from.Disk}, {&into.Network, &from.Network},
	} {
		if *f.to == nil && *f.from != nil {
			p := **f.from
			*f.to = &p
			n++
		}
	}
	return n
}

// sample is a share over the time before its end.
type sample struct {
	node    int32
	seconds float32
	share   float64
	end     int64 // ms since 1970
}

// maxSamples bounds the samples of one resource: a year of one node at every 10 s.
const maxSamples = 4_000_000

var errTooMany = fmt.Errorf("holds more than %d samples of a resource: export less time at once", maxSamples)

// Usage is what sources told of nodes over time. It is made by [ReadSar].
type Usage struct {
	nodes   []string
	index   map[string]int32
	samples [resources][]sample
	// BadLines could not be read and were skipped; Cut says that a source ends in the
	// middle.
	BadLines int
	Cut      bool
}

func newUsage() *Usage { return &Usage{index: make(map[string]int32)} }

// Nodes returns the names of the nodes, in the order of their first samples.
func (u *Usage) Nodes() []string { return slices.Clone(u.nodes) }

func (u *Usage) node(name string) int32 {
	i, known := u.index[name]
	if !known {
		i = int32(len(u.nodes))
		u.index[name] = i
		u.nodes = append(u.nodes, name)
	}
	return i
}

// add takes a share; what is none is passed over.
func (u *Usage) add(r Resource, s sample) error {
	if !(s.share >= 0 && s.share <= 1.01) || !(s.seconds > 0) {
		return nil
	}
	if len(u.samples[r]) == maxSamples {
		return errTooMany
	}
	s.share = min(s.share, 1)
	u.samples[r] = append(u.samples[r], s)
	return nil
}

// Of returns what the nodes used in the window. A sample counts for the part of its
// time that lies in the window, and not at all where that is less than half. Names
// limit it to some nodes; without any all count.
func (u *Usage) Of(w Window, names ...string) Summary {
	var s Summary
	used := make(map[int32]bool)
	set := []**model.Percentiles{&s.Metrics.CPU, &s.Metrics.Memory, &s.Metrics.Disk, &s.Metrics.Network}
	for _, r := range Resources() {
		var values []percentile.Sample
		covered := make(map[int32]float64)
		for _, x := range u.samples[r] {
			if len(names) > 0 && !slices.Contains(names, u.nodes[x.node]) {
				continue
			}
			if in := overlap(x, w); in > 0 {
				values = append(values, percentile.Of(x.share, in))
				covered[x.node] += in
			}
		}
		coverage := 0.0
		for _, seconds := range covered {
			coverage = max(coverage, seconds/w.Seconds())
		}
		switch {
		case len(u.samples[r]) == 0:
			s.Missing = append(s.Missing, r.String()+" is not in the source, or without what its capacity is")
		case !(coverage >= minCoverage):
			s.Missing = append(s.Missing, fmt.Sprintf("%s covers %.0f%% of the run, less than half", r, 100*coverage))
		default:
			*set[r] = percentile.Shares(values)
			s.Samples += len(values)
			for n := range covered {
				used[n] = true
			}
		}
	}
	s.Nodes = len(used)
	return s
}

// overlap returns the seconds of a sample in the window; 0 where they are less than
// half of it.
func overlap(x sample, w Window) float64 {
	end := float64(x.end) / 1000
	start := end - float64(x.seconds)
	in := min(end, float64(w.End.UnixMilli())/1000) - max(start, float64(w.Start.UnixMilli())/1000)
	if in < float64(x.seconds)/2 {
		return 0
	}
	return in
}

// device is a disk or an interface of a node.
type device struct {
	node int32
	name string
}

// mergeDevices turns samples of devices into such of nodes: that of the busiest.
func (u *Usage) mergeDevices(r Resource, devices map[device][]sample) error {
	var all []sample
	for _, list := range devices {
		all = append(all, list...)
	}
	slices.SortFunc(all, func(a, b sample) int {
		return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.end, b.end), cmp.Compare(b.share, a.share), cmp.Compare(b.seconds, a.seconds))
	})
	for i, s := range all {
		if i > 0 && all[i-1].node == s.node && all[i-1].end == s.end {
			continue
		}
		if err := u.add(r, s); err != nil {
			return err
		}
	}
	return nil
}
