package share

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/store/commons"
)

// maxShownDeviation keeps a shared log runtime within what every node accepts.
const maxShownDeviation = 12

// MachineLookup returns what one node of a machine type has, and whether its name
// is public knowledge (a provider's) and not the organisation's own.
type MachineLookup func(infrastructure, machineType string) (r model.Resources, public, ok bool)

// Pseudonymizer turns private names into names that only the organisation can trace.
type Pseudonymizer struct{ secret []byte }

// NewPseudonymizer uses the organisation's secret key (32 bytes).
func NewPseudonymizer(secret []byte) Pseudonymizer { return Pseudonymizer{slices.Clone(secret)} }

// Workload returns the workload's pseudonym: 32 hex digits of an HMAC-SHA-256.
func (p Pseudonymizer) Workload(w model.Workload) string {
	return hex.EncodeToString(p.mac("workload", w.Identity())[:16])
}

// Source identifies the secret without telling it, and so the private database that
// holds it.
func (p Pseudonymizer) Source() []byte { return p.mac("source")[:commons.SourceSize] }

// machine hides the name of a machine type that is the organisation's own.
func (p Pseudonymizer) machine(name string) string {
	return "custom-" + hex.EncodeToString(p.mac("machine", name)[:6])
}

func (p Pseudonymizer) mac(parts ...string) []byte {
	h := hmac.New(sha256.New, p.secret)
	for _, s := range parts {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		h.Write([]byte(s))
	}
	return h.Sum(nil)
}

// Group is one workload with its runs.
type Group struct {
	// Workload of the first run; the input size is the median over runs that know it.
	Workload model.Workload
	Runs     []model.Run
}

// GroupRuns splits runs by workload identity, in the order of the identities.
func GroupRuns(runs []model.Run) []Group {
	index := map[string]int{}
	var groups []Group
	for _, r := range runs {
		id := r.Workload.Identity()
		i, seen := index[id]
		if !seen {
			i = len(groups)
			index[id] = i
			groups = append(groups, Group{Workload: r.Workload})
		}
		groups[i].Runs = append(groups[i].Runs, r)
	}
	for i := range groups {
		groups[i].Workload.InputBytes = medianInput(groups[i].Runs)
	}
	slices.SortFunc(groups, func(a, b Group) int { return cmp.Compare(a.Workload.Identity(), b.Workload.Identity()) })
	return groups
}

func medianInput(runs []model.Run) float64 {
	var known []float64
	for _, r := range runs {
		if r.Workload.InputBytes > 0 {
			known = append(known, r.Workload.InputBytes)
		}
	}
	if len(known) == 0 {
		return 0
	}
	return median(known)
}

// Summarize aggregates the runs of one workload: the median log runtime a
// configuration, centred, without any name. Runs on machine types that lookup does
// not know are left out. The result keeps its level and exact input size; ok is false where no run is left.
func Summarize(g Group, p Pseudonymizer, lookup MachineLookup) (s model.Summary, ok bool) {
	w := g.Workload
	s = model.Summary{Topic: w.Topic(), Pseudonym: p.Workload(w), InputSizeLog2: w.InputSizeLog2(), ExactInputBytes: w.InputBytes}
	byConfiguration := map[model.Configuration][]model.Run{}
	for _, r := range g.Runs {
		byConfiguration[r.Configuration] = append(byConfiguration[r.Configuration], r)
	}
	for c, runs := range byConfiguration {
		resources, public, known := lookup(w.Infrastructure, c.MachineType)
		if !known {
			continue
		}
		if !public {
			c.MachineType = p.machine(c.MachineType)
		}
		s.Points = append(s.Points, point(c, resources, runs))
	}
	if len(s.Points) == 0 {
		return s, false
	}
	slices.SortFunc(s.Points, byName)
	keepMost(&s, func(i int, _ model.Point) bool { return i < model.MaxPoints })
	center(&s)
	return s, true
}

// byName orders points by machine type and scale-out.
func byName(a, b model.Point) int {
	return cmp.Or(cmp.Compare(a.Configuration.MachineType, b.Configuration.MachineType),
		cmp.Compare(a.Configuration.ScaleOut, b.Configuration.ScaleOut))
}

func point(c model.Configuration, r model.Resources, runs []model.Run) model.Point {
	pt := model.Point{Configuration: c, Resources: r}
	var logs []float64
	for _, run := range runs {
		switch run.Outcome {
		case model.OK:
			pt.OK++
			logs = append(logs, math.Log(run.RuntimeSeconds))
		case model.Timeout:
			pt.Timeout++
			logs = append(logs, math.Log(run.RuntimeSeconds))
		case model.Failed:
			pt.Failed++
		}
	}
	if len(logs) > 0 {
		pt.LogRuntime = median(logs)
	}
	pt.Metrics = medianMetrics(runs)
	return pt
}

// center moves the mean log runtime over observed points into the level.
func center(s *model.Summary) {
	var logs []float64
	for _, p := range s.Points {
		if p.Observed() {
			logs = append(logs, p.LogRuntime)
		}
	}
	if len(logs) == 0 {
		return
	}
	// The order of points may be that of keyed hashes, and the last digit of a sum would
	// be, too.
	slices.Sort(logs)
	sum := 0.0
	for _, v := range logs {
		sum += v
	}
	mean := sum / float64(len(logs))
	s.Level += mean
	for i := range s.Points {
		if p := &s.Points[i]; p.Observed() {
			p.LogRuntime = min(max(p.LogRuntime-mean, -maxShownDeviation), maxShownDeviation)
		}
	}
	s.Absolute = true
}

func medianMetrics(runs []model.Run) model.Metrics {
	aggregate := func(pick func(model.Metrics) *model.Percentiles) *model.Percentiles {
		var p10, p50, p90 []float64
		for _, r := range runs {
			if p := pick(r.Metrics); p != nil {
				p10, p50, p90 = append(p10, p.P10), append(p50, p.P50), append(p90, p.P90)
			}
		}
		if len(p50) == 0 {
			return nil
		}
		return &model.Percentiles{P10: median(p10), P50: median(p50), P90: median(p90)}
	}
	return model.Metrics{
		CPU:     aggregate(func(m model.Metrics) *model.Percentiles { return m.CPU }),
		Memory:  aggregate(func(m model.Metrics) *model.Percentiles { return m.Memory }),
		Disk:    aggregate(func(m model.Metrics) *model.Percentiles { return m.Disk }),
		Network: aggregate(func(m model.Metrics) *model.Percentiles { return m.Network }),
	}
}

// median of at least one value; the mean of the middle two where their number is even.
func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	n := len(v)
	return (v[(n-1)/2] + v[n/2]) / 2
}
