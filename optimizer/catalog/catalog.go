// Package catalog knows machine types: what a node of each has, costs and draws.
//
// It holds a built-in table with its source and date, which an organisation's own
// file overrides and extends. What is unknown stays unknown: a missing price is
// never zero and never the cheapest.
package catalog

import (
	"time"

	"github.com/karasu-project/karasu/model"
)

// MachineType is one row of the catalog.
type MachineType struct {
	// Cloud is the provider's slug, such as "aws" or "gcp".
	Cloud string
	// Name is the provider's name, such as "m4.xlarge".
	Name string
	// Resources of one node.
	model.Resources
	// USDPerHour is the on-demand price of one node; 0 is unknown.
	USDPerHour float64
	// PriceDate is when the price held; zero is unknown.
	PriceDate time.Time
	// IdleWatts and FullWatts are one node's power at rest and at full load; 0 is unknown.
	IdleWatts, FullWatts float64
	// Source says where the row comes from: "built-in" or a file's name.
	Source string
}
