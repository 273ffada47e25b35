package spark

import (
	"cmp"
	"slices"
	"strings"

	"github.com/karasu-project/karasu/model"
)

// driverID and legacyDriverID are the executor of a local run; elsewhere the driver,
// which runs no tasks.
const (
	driverID       = "driver"
	legacyDriverID = "<driver>"
)

type executor struct {
	id, host       string
	cores          int
	profile        int64
	added, removed int64 // ms
	gone           bool
	reason         string
}

// executors over time.
type executors struct {
	list []executor
	// memory is what executors of a profile were asked for, as far as it is known; it
	// is forgotten whenever an event may change it.
	memory map[int64]float64
	byID   map[string]int // index into list of the latest with an id
}

func (x *executors) init() { x.byID, x.memory = make(map[string]int), make(map[int64]float64) }

// get returns the latest executor with an id; nil where there is none.
func (x *executors) get(id string) *executor {
	if i, ok := x.byID[clip(id, model.MaxName)]; ok {
		return &x.list[i]
	}
	return nil
}

// seen returns the executor that an event names, made where it is the first to do so;
// nil where there are too many.
func (x *executors) seen(id, host string, at int64) *executor {
	if e := x.get(id); e != nil {
		if e.host == "" {
			e.host = cleanName(host)
		}
		if at != 0 && (e.added == 0 || at < e.added) {
			e.added = at
		}
		return e
	}
	return x.start(id, host, at)
}

func (x *executors) start(id, host string, at int64) *executor {
	if len(x.list) >= maxExecutors {
		return nil
	}
	clear(x.memory)
	x.byID[strings.Clone(clip(id, model.MaxName))] = len(x.list)
	x.list = append(x.list, executor{id: cleanName(id), host: cleanName(host), added: at})
	return &x.list[len(x.list)-1]
}

func (x *executors) remove(id string, at int64, reason string) {
	if e := x.get(id); e != nil && !e.gone {
		e.gone, e.removed, e.reason = true, max(at, e.added), cleanName(clip(reason, 256))
	}
}

// onlyDriver says whether the driver runs the tasks, as in a local run.
func (x *executors) onlyDriver() bool {
	for i := range x.list {
		if !isDriver(x.list[i].id) {
			return false
		}
	}
	return len(x.list) > 0
}

func isDriver(id string) bool { return id == driverID || id == legacyDriverID }

func (p *Parser) executorAdded(text []byte) error {
	var e executorAdded
	if err := decode(text, &e); err != nil {
		return err
	}
	at := p.at(e.Time)
	x := p.executors.seen(e.ID, e.Info.Host, at)
	if x != nil && x.gone { // another with the id of one that is gone
		x = p.executors.start(e.ID, e.Info.Host, at)
	}
	if x != nil {
		x.profile = e.Info.Profile
		x.cores = int(min(max(e.Info.Cores, 0), maxCores))
	} else {
		p.note("more executors than are kept")
	}
	return nil
}

// maxCores is what model allows of an executor.
const maxCores = 1 << 16

func (p *Parser) executorRemoved(text []byte) error {
	var e executorRemoved
	if err := decode(text, &e); err != nil {
		return err
	}
	p.executors.remove(e.ID, p.at(e.Time), e.Reason)
	return nil
}

// blockManagerAdded tells executors in Spark 1.2, which has no event for them.
func (p *Parser) blockManagerAdded(text []byte) error {
	var e blockManagerEvent
	if err := decode(text, &e); err != nil {
		return err
	}
	at := p.at(e.Time)
	if !isDriver(e.ID.Executor) {
		p.executors.seen(e.ID.Executor, e.ID.Host, at)
	}
	return nil
}

func (p *Parser) blockManagerRemoved(text []byte) error {
	var e blockManagerEvent
	if err := decode(text, &e); err != nil {
		return err
	}
	at := p.at(e.Time)
	if x := p.executors.get(e.ID.Executor); x != nil && x.cores == 0 {
		p.executors.remove(e.ID.Executor, at, "")
	}
	return nil
}

// local says whether the driver runs the tasks.
func (p *Parser) local() bool {
	return p.executors.onlyDriver() || len(p.executors.list) == 0 && p.env.manager() == "local"
}

// memory returns what an executor was asked for, in bytes: heap, overhead, off-heap
// and Python (Spark configuration, "Memory Management" and "Running on YARN").
func (p *Parser) memory(profile int64) float64 {
	m, ok := p.executors.memory[profile]
	if !ok {
		m = p.requested(profile)
		p.executors.memory[profile] = m
	}
	return m
}

func (p *Parser) requested(profile int64) float64 {
	if p.local() {
		return p.env.size("spark.driver.memory", mib, gib)
	}
	request := func(name string, def float64) float64 {
		if r, ok := p.profiles[profile][name]; ok && r.Amount >= 0 && r.Amount < 1e12 {
			return r.Amount * mib
		}
		return def
	}
	heap := request("memory", p.env.size("spark.executor.memory", mib, gib))
	overhead := 0.
	if m := p.env.manager(); m == "yarn" || m == "kubernetes" {
		const least, factor = 384 * mib, .1
		f := p.env.number("spark.executor.memoryOverheadFactor", p.env.number("spark.kubernetes.memoryOverheadFactor", factor))
		overhead = max(least, f*heap)
	}
	overhead = p.env.size("spark.yarn.executor.memoryOverhead", mib, overhead)
	overhead = p.env.size("spark.executor.memoryOverhead", mib, overhead)
	offHeap := 0.
	if p.env.property("spark.memory.offHeap.enabled") == "true" {
		offHeap = p.env.size("spark.memory.offHeap.size", 1, 0)
	}
	return heap + request("memoryOverhead", overhead) + request("offHeap", offHeap) +
		request("pyspark.memory", p.env.size("spark.executor.pyspark.memory", mib, 0))
}

// executorList returns the executors within a run, in order of their coming.
func (p *Parser) executorList(start, end int64) []model.Executor {
	var out []model.Executor
	cores := p.env.localCores()
	local := p.local()
	for _, e := range p.executors.list {
		if isDriver(e.id) && !local {
			continue
		}
		x := model.Executor{ID: e.id, Host: e.host, Cores: e.cores, MemoryBytes: p.memory(e.profile),
			AddedSeconds: offset(e.added, start, end), Removed: e.gone, Reason: e.reason}
		if x.Cores == 0 && local {
			x.Cores = cores
		}
		x.RemovedSeconds = offset(end, start, end)
		if e.gone {
			x.RemovedSeconds = max(x.AddedSeconds, offset(e.removed, start, end))
		}
		out = append(out, x)
	}
	slices.SortStableFunc(out, func(a, b model.Executor) int {
		return cmp.Or(cmp.Compare(a.AddedSeconds, b.AddedSeconds), cmp.Compare(len(a.ID), len(b.ID)), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// offset returns the seconds from start, within the run. A time that is not known is
// the start.
func offset(at, start, end int64) float64 {
	return float64(min(max(at, start), end)-start) / 1000
}
