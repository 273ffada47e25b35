package hadoop

import (
	"cmp"
	"math"
	"slices"

	"github.com/karasu-project/karasu/model"
)

// container is what one attempt holds.
type container struct{ cores, bytes float64 } // 0 is unknown

// containers of maps and reduces: as configured, or else as the job's counters tell
// (core time and memory time over time).
func (j *job) containers(c *jobConf) (maps, reduces container) {
	of := func(kind, plural string) container {
		x := container{c.number("mapreduce." + kind + ".cpu.vcores"), c.number("mapreduce."+kind+".memory.mb") * (1 << 20)}
		if ms := j.total[jobGroup+"MILLIS_"+plural]; ms > 0 {
			if x.cores == 0 {
				x.cores = j.total[jobGroup+"VCORES_MILLIS_"+plural] / ms
			}
			if x.bytes == 0 {
				x.bytes = j.total[jobGroup+"MB_MILLIS_"+plural] / ms * (1 << 20)
			}
		}
		if !(x.cores >= 1 && x.cores <= 1<<16) {
			x.cores = 0
		}
		if !(x.bytes <= 1<<50) {
			x.bytes = 0
		}
		return x
	}
	return of("map", "MAPS"), of("reduce", "REDUCES")
}

// change of what a host holds.
type change struct {
	at    int64
	host  string
	n     int
	cores float64
	bytes float64
}

// cluster sweeps over the attempts in time.
func (j *job) cluster(spans []span, maps, reduces container) model.Cluster {
	c := model.Cluster{
		Manager:       "yarn",
		ExecutorCores: int(math.Ceil(max(maps.cores, reduces.cores))), ExecutorMemoryBytes: max(maps.bytes, reduces.bytes),
	}
	var changes []change
	for _, s := range spans {
		x := maps
		if s.task.reduce {
			x = reduces
		}
		c.CoreSeconds += x.cores * s.seconds()
		changes = append(changes, change{s.from, s.host, 1, x.cores, x.bytes}, change{s.to, s.host, -1, -x.cores, -x.bytes})
	}
	// What ends makes room for what starts in the same moment.
	slices.SortFunc(changes, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), a.n-b.n, cmp.Compare(a.host, b.host)) })
	held := make(map[string]change)
	running, hosts := 0, 0
	for _, x := range changes {
		h := held[x.host]
		before := h.n
		h.n, h.cores, h.bytes = h.n+x.n, h.cores+x.cores, h.bytes+x.bytes
		held[x.host] = h
		running += x.n
		if x.host != "" && before == 0 && h.n == 1 {
			hosts++
		}
		if x.host != "" && before == 1 && h.n == 0 {
			hosts--
		}
		c.Hosts, c.MaxExecutors = max(c.Hosts, hosts), max(c.MaxExecutors, running)
		if x.host != "" {
			c.HostCores = max(c.HostCores, int(math.Ceil(h.cores-1e-9)))
			c.HostMemoryBytes = max(c.HostMemoryBytes, h.bytes)
		}
	}
	return c
}
