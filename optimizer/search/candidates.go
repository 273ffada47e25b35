package search

import "github.com/karasu-project/karasu/optimizer/catalog"

// FromCatalog turns what the catalog offers into candidates, in the same order.
func FromCatalog(choices []catalog.Choice) []Candidate {
	out := make([]Candidate, len(choices))
	for i, c := range choices {
		out[i] = Candidate{
			Configuration: c.Configuration,
			Resources:     c.Machine.Resources,
			USDPerHour:    c.Machine.USDPerHour,
			IdleWatts:     c.Machine.IdleWatts,
			FullWatts:     c.Machine.FullWatts,
		}
	}
	return out
}
