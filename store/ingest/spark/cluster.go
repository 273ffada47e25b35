package spark

import (
	"cmp"
	"slices"
	"strings"

	"github.com/karasu-project/karasu/model"
)

// cluster sums up the executors.
func (p *Parser) cluster(list []model.Executor) model.Cluster {
	c := model.Cluster{Manager: p.env.manager(), Platform: p.env.platform(p.version)}
	switch {
	case c.Manager != "":
	case p.local():
		c.Manager = "local"
	case strings.HasPrefix(p.app.ID, "application_"): // ids of YARN
		c.Manager = "yarn"
	}
	c.MachineType, c.DriverMachineType = p.env.machineTypes()
	for _, x := range list {
		c.ExecutorCores = max(c.ExecutorCores, x.Cores)
		c.ExecutorMemoryBytes = max(c.ExecutorMemoryBytes, x.MemoryBytes)
		c.CoreSeconds += float64(x.Cores) * (x.RemovedSeconds - x.AddedSeconds)
	}
	atOnce(list, &c)
	return c
}

// atOnce walks through the comings and goings for the greatest numbers at one time.
func atOnce(list []model.Executor, c *model.Cluster) {
	type change struct {
		at  float64
		add bool
		x   *model.Executor
	}
	var changes []change
	for i := range list {
		x := &list[i]
		changes = append(changes, change{x.AddedSeconds, true, x})
		if x.Removed {
			changes = append(changes, change{max(x.RemovedSeconds, x.AddedSeconds), false, x})
		}
	}
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	type held struct {
		executors, cores int
		memory           float64
	}
	hosts := make(map[string]held)
	running := 0
	for _, ch := range changes {
		h := hosts[ch.x.Host]
		sign := 1
		if !ch.add {
			sign = -1
		}
		running += sign
		h.executors += sign
		h.cores += sign * ch.x.Cores
		h.memory += float64(sign) * ch.x.MemoryBytes
		hosts[ch.x.Host] = h
		if h.executors <= 0 {
			delete(hosts, ch.x.Host)
		}
		c.MaxExecutors = max(c.MaxExecutors, running)
		c.HostCores = max(c.HostCores, h.cores)
		c.HostMemoryBytes = max(c.HostMemoryBytes, h.memory)
		known := len(hosts)
		if _, ok := hosts[""]; ok {
			known--
		}
		c.Hosts = max(c.Hosts, known)
	}
}
