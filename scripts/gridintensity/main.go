// Command gridintensity writes the built-in grid intensity table of
// optimizer/catalog.
//
//	go run ./scripts/gridintensity FACTS.csv > optimizer/catalog/grid.csv
//
// FACTS.csv has the columns cloud, region and g_co2e_per_kwh. Regions are written
// as the clouds' tools spell them: lower case, no spaces. A figure that no grid can
// have is left out with a word on it: it is a slip of a unit, and which one is a guess.
package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// maxIntensity is g CO2e per kWh: lignite alone is at about 1,200.
const maxIntensity = 1500

const header = `# Built-in grid intensities. Written by scripts/gridintensity; do not edit.
# Grams of CO2 equivalent per kWh of the grid that a region draws from, yearly averages of its location
# (no certificates counted), as collected by the cloud-carbon-coefficients project; its last state is of May 2023.
`

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./scripts/gridintensity FACTS.csv > optimizer/catalog/grid.csv")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "gridintensity:", err)
		os.Exit(1)
	}
}

// run reads the facts and writes the table, sorted by cloud and region.
func run(path string, out, notes io.Writer) error {
	facts, err := os.ReadFile(path) //nolint:gosec // the path that the caller names
	if err != nil {
		return err
	}
	rows, err := csv.NewReader(bytes.NewReader(facts)).ReadAll()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if len(rows) == 0 || !slices.Equal(rows[0], []string{"cloud", "region", "g_co2e_per_kwh"}) {
		return fmt.Errorf("%s must begin with the line cloud,region,g_co2e_per_kwh", path)
	}
	var table [][]string
	for i, row := range rows[1:] {
		v, err := strconv.ParseFloat(row[2], 64)
		if err != nil {
			return fmt.Errorf("%s: row %d: not a number: %q", path, i+2, row[2])
		}
		if !(v > 0 && v <= maxIntensity) {
			_, _ = fmt.Fprintf(notes, "left out: %s %s at %g g/kWh\n", row[0], row[1], v)
			continue
		}
		region := strings.ToLower(strings.ReplaceAll(row[1], " ", ""))
		table = append(table, []string{strings.ToLower(row[0]), region, strconv.FormatFloat(v, 'f', -1, 64)})
	}
	slices.SortFunc(table, func(a, b []string) int { return slices.Compare(a[:2], b[:2]) })
	if _, err := io.WriteString(out, header); err != nil {
		return err
	}
	w := csv.NewWriter(out)
	if err := w.Write(rows[0]); err != nil {
		return err
	}
	if err := w.WriteAll(table); err != nil {
		return err
	}
	return w.Error()
}
