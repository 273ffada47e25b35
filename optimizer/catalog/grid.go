package catalog

import (
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/karasu-project/karasu/model"
)

// ErrUnknownRegion means that no grid intensity is known under a region's name.
var ErrUnknownRegion = errors.New("unknown region")

// Region is a place of a cloud with the grid that it draws from.
type Region struct {
	// Cloud is the provider's slug, Name the region as its tools spell it, such as
	// "eu-west-1" or "westeurope".
	Cloud, Name string
	// GramsPerKWh is CO2 equivalent per kWh of the grid, a yearly average of the location.
	GramsPerKWh float64
}

// GridDate is how old the built-in grid intensities are: that of their source's
// last state. Grids change by some percent a year.
func GridDate() time.Time { return time.Date(2023, time.May, 11, 0, 0, 0, 0, time.UTC) }

//go:embed grid.csv
var grid string

// Regions lists the regions with a known grid intensity by cloud and name; those
// of one infrastructure's cloud, or all with "".
func Regions(infrastructure string) []Region {
	r := csv.NewReader(strings.NewReader(grid))
	r.Comment = '#'
	rows, err := r.ReadAll()
	if err != nil {
		panic(err) // the table is part of the program and has a test
	}
	cloud := cloudOf(infrastructure)
	var out []Region
	for _, row := range rows[1:] {
		g, err := strconv.ParseFloat(row[2], 64)
		if err != nil {
			panic(err)
		}
		if infrastructure == "" || row[0] == cloud {
			out = append(out, Region{row[0], row[1], g})
		}
	}
	return out
}

// DefaultRegion names the region that an infrastructure is taken to be in where
// none is said: that of the built-in prices for AWS, and the first of the others;
// "" where no region of the infrastructure is known.
func DefaultRegion(infrastructure string) string {
	return map[string]string{"aws": "us-east-1", "gcp": "us-central1", "azure": "eastus"}[cloudOf(infrastructure)]
}

// LookupRegion finds a region of an infrastructure's cloud; case and spaces do not
// matter, and "" is [DefaultRegion]. An infrastructure of one's own may name a
// region of any cloud, since it draws from some grid too. The error wraps
// [ErrUnknownRegion] and names the nearest ones.
func LookupRegion(infrastructure, name string) (Region, error) {
	cloud := cloudOf(infrastructure)
	among := ""
	if DefaultRegion(infrastructure) != "" {
		among = cloud
	}
	if name == "" {
		name = DefaultRegion(infrastructure)
	}
	regions := Regions(among)
	if name == "" {
		return Region{}, fmt.Errorf("%w of %q; name one whose grid is alike, such as eu-west-1 (Ireland) or us-east-1 (Virginia)", ErrUnknownRegion, model.Clip(infrastructure))
	}
	slug := strings.ToLower(strings.ReplaceAll(strings.TrimSpace(name), " ", ""))
	names := make([]string, len(regions))
	for i, r := range regions {
		if r.Name == slug {
			return r, nil
		}
		names[i] = r.Name
	}
	hint := fmt.Sprintf("karasu catalog regions lists all %d", len(names))
	if near := nearest(slug, names); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "? (" + hint + ")"
	}
	return Region{}, fmt.Errorf("%w %q for %s; %s", ErrUnknownRegion, model.Clip(name), model.Clip(infrastructure), hint)
}

// cloudOf returns the slug of the cloud that an infrastructure belongs to.
func cloudOf(infrastructure string) string {
	name := strings.ToLower(strings.TrimSpace(infrastructure))
	if a := alias(name); a != "" {
		return a
	}
	first, _, _ := strings.Cut(name, "-")
	if slices.Contains([]string{"hdinsight", "aks"}, first) {
		return "azure"
	}
	return first
}
