package advisor

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/optimizer/catalog"
	"github.com/karasu-project/karasu/optimizer/search"
	"github.com/karasu-project/karasu/store/wire"
)

const (
	// maxKnownTypes bounds the machine types that a default space takes from runs of
	// the same framework and algorithm, beside the catalog's nine.
	maxKnownTypes = 9
	// maxClusterVCPUs is the largest cluster of a default space, as in the catalog.
	maxClusterVCPUs = 256
)

// defaultSpace is the catalog's, and what others who ran the same framework and
// algorithm ran it on: knowledge of a machine type is worth most on that type.
func (a *Advisor) defaultSpace(t *task, needWatts bool) ([]catalog.Choice, error) {
	infrastructure := t.workload.Infrastructure
	out, err := a.Catalog.DefaultSpace(infrastructure, needWatts)
	if err != nil {
		return nil, err
	}
	in := map[string]bool{}
	for _, c := range out {
		in[c.Machine.Name] = true
	}
	for _, name := range t.knownTypes {
		m, err := a.Catalog.Lookup(infrastructure, name)
		if err != nil || in[m.Name] || !usable(t, m) {
			continue
		}
		in[m.Name] = true
		for _, n := range catalog.DefaultScaleOuts() {
			if float64(n)*m.VCPUs <= maxClusterVCPUs {
				out = append(out, catalog.Choice{Configuration: model.Configuration{MachineType: m.Name, ScaleOut: n}, Machine: m})
			}
		}
	}
	return out, nil
}

// usable reports whether all that the task needs can be computed on m.
func usable(t *task, m catalog.MachineType) bool {
	c := t.candidate(catalog.Choice{Configuration: model.Configuration{MachineType: m.Name, ScaleOut: 1}, Machine: m})
	return t.computable(&c)
}

// freeze writes a default space into the settings, so that what peers share later
// does not change the candidates of a search that runs.
func (a *Advisor) freeze(ctx context.Context, t *task) error {
	s := t.settings
	if len(s.GetConfigurations())+len(s.GetMachineTypes())+len(s.GetScaleOuts()) > 0 {
		return nil
	}
	var err error
	if t.knownTypes, err = a.knownTypes(ctx, t); err != nil || len(t.knownTypes) == 0 {
		return err
	}
	choices, err := a.space(t)
	if err != nil {
		return err
	}
	for _, c := range choices {
		s.Configurations = append(s.Configurations, wire.FromConfiguration(c.Configuration))
	}
	return nil
}

// knownTypes lists the machine types on which the own organisation or, unless the
// search is solo, peers ran the same framework and algorithm; those that most
// workloads ran on first.
func (a *Advisor) knownTypes(ctx context.Context, t *task) ([]string, error) {
	a.known.mu.Lock()
	defer a.known.mu.Unlock()
	if err := a.refreshOwn(ctx); err != nil {
		return nil, err
	}
	var supports []search.Support
	for _, o := range a.known.own {
		supports = append(supports, o.support)
	}
	if !t.settings.GetSolo() {
		peers, err := a.peerSupports()
		if err != nil {
			return nil, err
		}
		supports = append(supports, peers...)
	}
	workloads := map[string]int{}
	for i := range supports {
		s := &supports[i].Summary
		if s.Topic.Framework != t.workload.Framework || s.Topic.Algorithm != t.workload.Algorithm {
			continue
		}
		types := map[string]bool{}
		for _, p := range s.Points {
			types[p.Configuration.MachineType] = true
		}
		for name := range types {
			if _, err := a.Catalog.Lookup(t.workload.Infrastructure, name); err == nil {
				workloads[name]++
			}
		}
	}
	names := slices.SortedFunc(maps.Keys(workloads), func(x, y string) int {
		return cmp.Or(cmp.Compare(workloads[y], workloads[x]), cmp.Compare(x, y))
	})
	return names[:min(len(names), maxKnownTypes)], nil
}
