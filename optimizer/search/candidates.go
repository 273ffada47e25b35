package search

import (
	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/optimizer/catalog"
)

// NewCandidate is a configuration with what the catalog knows of its machine type.
func NewCandidate(c model.Configuration, m catalog.MachineType) Candidate {
	return Candidate{
		Configuration: c, Resources: m.Resources,
		USDPerHour: m.USDPerHour, IdleWatts: m.IdleWatts, FullWatts: m.FullWatts,
	}
}

// FromCatalog turns what the catalog offers into candidates, in the same order.
func FromCatalog(choices []catalog.Choice) []Candidate {
	out := make([]Candidate, len(choices))
	for i, c := range choices {
		out[i] = NewCandidate(c.Configuration, c.Machine)
	}
	return out
}
