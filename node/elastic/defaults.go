package elastic

import (
	"fmt"
	"slices"

	"github.com/karasu-project/karasu/optimizer/elastic"
)

// What a pod gets where nobody said how large it is: the size that knees are counted in,
// with what clouds' general machine types have a core.
const (
	DefaultPodCores  = elastic.UnitCores
	DefaultCoreBytes = 4 << 30
)

// WithDefaults fills in the sizes of pods that nobody asked for, within the job's bounds,
// and says so, a sentence each. Schedulers that know what their pods ask for do without.
func WithDefaults(j elastic.Job) (elastic.Job, []string) {
	var notes []string
	fill := func(what string, pod *elastic.Resources) {
		if pod.CPU == 0 {
			pod.CPU = atMost(DefaultPodCores, j.Bounds.MaxPodCPU)
			notes = append(notes, fmt.Sprintf("nobody said how large a %s is: %g cores", what, pod.CPU))
		}
		if pod.Memory == 0 {
			pod.Memory = atMost(pod.CPU*DefaultCoreBytes, j.Bounds.MaxPodMemory)
			notes = append(notes, fmt.Sprintf("nobody said how much memory a %s has: %.3g GiB, or what jobs like it needed", what, pod.Memory/(1<<30)))
		}
	}
	fill("worker", &j.Current.Workers.Pod)
	if j.Mode.Servers() {
		fill("parameter server", &j.Current.Servers.Pod)
	}
	return j, notes
}

// Uninformed says that a first plan rests on no other job.
func Uninformed(d elastic.Decision) bool {
	return slices.ContainsFunc(d.Evidence, func(e elastic.Evidence) bool { return e.Name == "similar jobs" && e.Value == 0 })
}

// atMost bounds a value; a bound of 0 is none.
func atMost(v, most float64) float64 {
	if most > 0 {
		return min(v, most)
	}
	return v
}
