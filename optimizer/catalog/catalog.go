// Package catalog knows machine types: what a node of each has, costs and draws.
//
// It holds a built-in table with its source and date, which an organisation's own
// file overrides and extends. What is unknown stays unknown: a missing price is
// never zero and never the cheapest.
//
// An infrastructure of a workload, such as "aws-emr", is looked up under its own
// name first and then under each shorter name that ends at a hyphen ("aws"), so
// that a file can price one service of a cloud apart from the rest.
package catalog

import (
	_ "embed"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/karasu-project/karasu/model"
)

// Errors that callers tell apart.
var (
	// ErrUnknownMachineType means that no row has the name under the infrastructure.
	ErrUnknownMachineType = errors.New("unknown machine type")
	// ErrUnknownInfrastructure means that no row belongs to the infrastructure.
	ErrUnknownInfrastructure = errors.New("no machine types are known for the infrastructure")
)

// PriceLifetime is how long a price is taken as current: list prices of the large
// clouds change about once or twice a year.
const PriceLifetime = 180 * 24 * time.Hour

// SourceBuiltin is the source of the rows of [Builtin].
const SourceBuiltin = "built-in"

// MachineType is one row of the catalog.
type MachineType struct {
	// Cloud is the provider's slug, such as "aws" or "gcp", or the name of an
	// infrastructure of one's own.
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

// StalePrice says whether the price is known and older than [PriceLifetime]. A
// price without a date is not called stale; its age is unknown.
func (m MachineType) StalePrice(now time.Time) bool {
	return m.USDPerHour > 0 && !m.PriceDate.IsZero() && now.Sub(m.PriceDate) > PriceLifetime
}

// Watts returns the power of one node at a utilisation, which is clamped to
// [0, 1]: linear between idle and full load. It is false where either is unknown.
func (m MachineType) Watts(utilisation float64) (watts float64, known bool) {
	if !(m.IdleWatts > 0 && m.FullWatts > 0) || math.IsNaN(utilisation) {
		return 0, false
	}
	return m.IdleWatts + min(max(utilisation, 0), 1)*(m.FullWatts-m.IdleWatts), true
}

type key struct{ cloud, name string } // both lower case

// Catalog is a table of machine types. It does not change after it is built and
// is safe for concurrent use.
type Catalog struct {
	rows   map[key]MachineType
	order  []key    // as added: built-in first
	clouds []string // that have rows, sorted
}

//go:embed machines.csv
var machines string

// Builtin returns the built-in table of AWS and GCP machine types. Prices are
// those of AWS us-east-1, on demand; the header of machines.csv says from when.
// Those of GCP are unknown.
func Builtin() *Catalog {
	rows, err := parseCSV("machines.csv", strings.NewReader(machines))
	if err != nil {
		panic(err) // the table is part of the program and has a test
	}
	c := &Catalog{rows: make(map[key]MachineType, len(rows))}
	for _, r := range rows {
		m, err := r.over(MachineType{}, false)
		if err != nil {
			panic(err)
		}
		m.Source = SourceBuiltin
		c.add(m)
	}
	return c
}

func (c *Catalog) add(m MachineType) {
	k := key{strings.ToLower(m.Cloud), strings.ToLower(m.Name)}
	if _, known := c.rows[k]; !known {
		c.order = append(c.order, k)
	}
	if i, known := slices.BinarySearch(c.clouds, k.cloud); !known {
		c.clouds = slices.Insert(c.clouds, i, k.cloud)
	}
	c.rows[k] = m
}

// Clouds lists the names that rows stand under, sorted.
func (c *Catalog) Clouds() []string { return slices.Clone(c.clouds) }

// aliases are infrastructures that do not begin with the name of their cloud.
func alias(infrastructure string) string {
	switch first, _, _ := strings.Cut(infrastructure, "-"); first {
	case "ec2", "emr", "eks", "amazon":
		return "aws"
	case "gce", "gke", "dataproc", "google":
		return "gcp"
	}
	return ""
}

// cloudsOf returns the names that an infrastructure is looked up under, the most
// specific first, and only those that have rows.
func (c *Catalog) cloudsOf(infrastructure string) []string {
	known := c.clouds
	var out []string
	for name := strings.ToLower(strings.TrimSpace(infrastructure)); name != ""; {
		if slices.Contains(known, name) {
			out = append(out, name)
		}
		name = name[:max(strings.LastIndexByte(name, '-'), 0)]
	}
	if a := alias(strings.ToLower(infrastructure)); a != "" && slices.Contains(known, a) && !slices.Contains(out, a) {
		out = append(out, a)
	}
	return out
}

// Lookup finds a machine type of an infrastructure or cloud; case does not matter.
// The error wraps [ErrUnknownInfrastructure] or [ErrUnknownMachineType], and the
// latter names the nearest ones.
func (c *Catalog) Lookup(infrastructure, name string) (MachineType, error) {
	clouds := c.cloudsOf(infrastructure)
	if len(clouds) == 0 {
		return MachineType{}, c.unknownInfrastructure(infrastructure)
	}
	for _, cloud := range clouds {
		if m, ok := c.rows[key{cloud, strings.ToLower(strings.TrimSpace(name))}]; ok {
			return m, nil
		}
	}
	hint := ""
	if near := c.Suggest(infrastructure, name); len(near) > 0 {
		hint = "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return MachineType{}, fmt.Errorf("%w %q for %s%s", ErrUnknownMachineType, model.Clip(name), infrastructure, hint)
}

func (c *Catalog) unknownInfrastructure(infrastructure string) error {
	return fmt.Errorf("%w %q (known: %s; a catalog file of your own can add it)",
		ErrUnknownInfrastructure, model.Clip(infrastructure), strings.Join(c.clouds, ", "))
}

// MachineTypes lists the machine types of an infrastructure, those that a more
// specific name overrides once; "" lists all of all clouds. Sorted by cloud,
// then as in the table, own additions last.
func (c *Catalog) MachineTypes(infrastructure string) []MachineType {
	clouds := c.Clouds()
	if infrastructure != "" {
		clouds = c.cloudsOf(infrastructure)
	}
	seen := make(map[string]bool)
	var out []MachineType
	for _, cloud := range clouds {
		for _, k := range c.order {
			if k.cloud != cloud || infrastructure != "" && seen[k.name] {
				continue
			}
			seen[k.name] = true
			out = append(out, c.rows[k])
		}
	}
	return out
}
